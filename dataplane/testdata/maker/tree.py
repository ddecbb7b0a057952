"""Above and below: inner aggregators, PROBE, congestion marks, answers that take their own way."""

from case import FIRST
from frames import FLAG_ECE, FLAG_RETX
from registry import case


# ---- inner aggregator
@case("an inner aggregator sends its complete sum to the parent", inner=True)
def inner_sends_up(job):
    job.up(0, weight=2)
    job.up(1, next_exp=140)


@case("the parent's DOWN goes to all children", inner=True)
def down_at_inner(job):
    job.up(0)
    job.up(1)
    job.down()


@case("the parent's DOWN for a number that no child of ours sent is stored and passed on", inner=True)
def down_before_any_up(job):
    job.down()
    job.up(0)


@case("a DOWN that comes twice is not passed on twice", inner=True)
def down_twice(job):
    job.up(0)
    job.up(1)
    job.down()
    job.down()


@case("a DOWN older than its slot is dropped", inner=True)
def down_stale(job):
    job.up(0, FIRST + 64)
    job.down(FIRST)


@case("a child that asks again while the sum is under way makes the aggregator send it again", inner=True)
def inner_finishes_again(job):
    job.up(0)
    job.up(1)
    job.up(1, flags=FLAG_RETX)


@case("a child that asks again after the parent's DOWN gets the result alone", inner=True)
def inner_answers(job):
    job.up(0)
    job.up(1)
    job.down()
    job.up(0, flags=FLAG_RETX)


# ---- PROBE
@case("PROBE for a number that has not begun: yours is missing")
def probe_before_the_number(job):
    job.probe(0)
    job.up(0)


@case("PROBE of a child that was added: waiting for others")
def probe_waiting(job):
    job.up(0)
    job.probe(0)


@case("PROBE of a child that was not added: yours is missing")
def probe_missing(job):
    job.up(0)
    job.probe(1)


@case("PROBE for a done number brings the result")
def probe_done(job):
    job.up(0)
    job.up(1)
    job.probe(0)


@case("PROBE for a complete sum that waits for the parent sends it again and says so", inner=True)
def probe_complete(job):
    job.up(0)
    job.up(1)
    job.probe(1)


@case("PROBE for a number that its slot has left behind is dropped")
def probe_stale(job):
    job.up(0, FIRST + 64)
    job.probe(0, FIRST)


# ---- there and back by different ports
@case("answers leave by the port that leads to the child, not by the one its packet came by", detour=True)
def answers_take_their_own_way(job):
    job.up(0)
    job.probe(1)
    job.up(1, seq=3)
    job.up(0, flags=FLAG_RETX)
    job.nack(1, 0, 1)


@case("so do a NACK, repairs and the sum that a PROBE brings out again at an inner aggregator", detour=True, inner=True)
def inner_answers_take_their_own_way(job):
    job.up(0)
    job.up(1)
    job.probe(0)
    job.nack(5, 0, 2)
    job.down(seq=2)
    job.sync(5, 7)
    job.up(1, flags=FLAG_RETX)


# ---- congestion
@case("CE on the packet that completes is echoed to all")
def ce_is_echoed(job):
    job.up(0)
    job.up(1, traffic_class=3)


@case("CE on a packet that does not complete is forgotten")
def ce_of_the_first(job):
    job.up(0, traffic_class=3)
    job.up(1)


@case("ECE of the completing packet goes on to the parent", inner=True)
def ece_goes_up(job):
    job.up(0)
    job.up(1, flags=FLAG_ECE)


@case("ECE of the parent's DOWN reaches the children", inner=True)
def ece_goes_down(job):
    job.down(flags=FLAG_ECE)
