"""What children send is summed: first, middle, last, again, stale, empty; exponents; sizes."""

from case import FIRST, LOCATOR
from frames import AGGREGATE, FLAG_ECE, FLAG_RETX, FROM_SWITCH, address
from registry import X86, case


# ---- summing
@case("the first child of two starts the entry and nothing leaves")
def first(job):
    job.up(0)


@case("the second child of three is added and nothing leaves", children=3)
def middle(job):
    job.up(2)
    job.up(0)


@case("the last child completes the sum and both get it")
def last(job):
    job.up(0)
    job.up(1)


@case("an only child gets its own lanes back as the result", children=1)
def only_child(job):
    job.up(0)


@case("children in any order give the same sum", children=3)
def any_order(job):
    for number, order in enumerate(((0, 1, 2), (2, 1, 0), (1, 2, 0))):
        for child in order:
            job.up(child, FIRST + number)


@case("31 children fill the bitmap", children=31)
def children_31(job):
    for child in range(31):
        job.up(child)


@case("lanes wrap around at 32 bits")
def lanes_wrap(job):
    job.up(0, lanes=[0xFFFFFFFF] * 32 + [0x80000000] * 32)
    job.up(1, lanes=[2] * 32 + [0x80000001] * 32)


@case("weights add up to the workers summed")
def weight(job):
    job.up(0, weight=3)
    job.up(1, weight=40000)


@case("two jobs use slots of their own under the same number")
def two_jobs(job):
    other = job.case.job(job=8, index=2, slot_base=128)
    job.up(0)
    other.up(0, weight=5)
    other.up(1)
    job.up(1)


@case("the window moves on: eight numbers, then the ring again", ring=8)
def ring_again(job):
    for number in range(18):
        job.up(0, FIRST + number)
        job.up(1, FIRST + number)


@case("numbers wrap around from ffffffff to 0")
def number_wraps(job):
    job.case.register("pipe.Ingress.slot_state.stamp", 64 + 63, 0xFFFFFFBF)
    job.case.register("pipe.Ingress.slot_state.stamp", 64, 0xFFFFFFC0)
    for number in (0xFFFFFFFF, 0):
        job.up(0, number)
        job.up(1, number)


# ---- repeats and stale packets
@case("a child that was added already is not added again")
def duplicate_before_completion(job):
    job.up(0)
    job.up(0, flags=FLAG_RETX)
    job.up(1)


@case("a child that asks again after completion gets the result alone")
def duplicate_after_completion(job):
    job.up(0)
    job.up(1)
    job.up(0, flags=FLAG_RETX)


@case("an answer to one child has the tag of what asked and no ECE")
def answer_has_the_tag(job):
    job.up(0)
    job.up(1)
    job.up(0, flags=FLAG_RETX | FLAG_ECE, tag=0x1234)
    job.probe(1, tag=0x5678, traffic_class=3)


@case("a packet older than its slot touches nothing")
def stale(job):
    job.up(0, FIRST + 64)
    job.up(1, FIRST)
    job.up(1, FIRST + 64)


@case("a newer number restarts a done entry")
def done_entry_restarts(job):
    job.up(0)
    job.up(1)
    job.up(0, FIRST + 64)
    job.up(1, FIRST + 64)


@case("a newer number restarts an entry that was never completed")
def unfinished_entry_restarts(job):
    job.up(0, weight=7)
    job.up(0, FIRST + 64)
    job.up(1, FIRST + 64)


# ---- UP without lanes
@case("an UP without lanes first counts as zeros")
def empty_first(job):
    job.empty_up(0)
    job.up(1)


@case("an UP without lanes in the middle adds nothing", children=3)
def empty_middle(job):
    job.up(0)
    job.empty_up(1)
    job.up(2)


@case("an UP without lanes that completes still brings the lanes of the sum")
def empty_last(job):
    job.up(0)
    job.empty_up(1)


@case("only UPs without lanes give a result of zeros and weight 0")
def all_empty(job):
    job.empty_up(0, exp=0, next_exp=140)
    job.empty_up(1, exp=0, next_exp=141)


@case("an UP without lanes from an aggregator is refused")
def empty_from_switch(job):
    source = address(LOCATOR, AGGREGATE, 7, FROM_SWITCH)
    key = job.peer_key(0)
    job.case.table("pipe.Ingress.admission.admission",
                   {**key, "hdr.l3dml.type": 1, "src_host": source & 0xFFFFFFFF}, "Ingress.admission.admit",
                   {"mask": 1, "children": 2, "role": 1, "neighbor": 33, "neighbor_port": 1, "parent": 32,
                    "parent_port": 40, "mgid": 1, "job_index": 1}, 1)
    job.empty_up(0, src=source)
    job.up(0, src=source)


# ---- exponents
@case("next_exp of the result is the largest one wanted", children=3)
def next_exp_is_the_largest(job):
    for child, wanted in enumerate((120, 131, 125)):
        job.up(child, next_exp=wanted)


@case("next_exp 255, a lane did not fit, reaches everybody")
def next_exp_255(job):
    job.up(0, next_exp=255)
    job.up(1, next_exp=254)


@case("next_exp 254, an input was not finite, reaches everybody")
def next_exp_254(job):
    job.up(0, next_exp=200)
    job.up(1, next_exp=254)


@case("exponents that differ make next_exp 255; exp is the first one's")
def exps_differ(job):
    job.up(0, exp=130, next_exp=100)
    job.up(1, exp=131, next_exp=100)


# ---- sizes
@case("256 lanes in one packet", X86, lanes=256)
def lanes_256(job):
    job.up(0)
    job.up(1)
    job.up(0, flags=FLAG_RETX)


@case("320 lanes in one packet at an inner aggregator", X86, lanes=320, inner=True)
def lanes_320(job):
    job.up(0)
    job.empty_up(1)
    job.down()
