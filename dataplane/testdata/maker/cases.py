"""The golden cases, each a sentence. Add one at the end of its group, run make.py, look at the new capture, commit both."""

import struct

from case import ELSEWHERE, EVERY_ENGINE, FIRST, LOCATOR, PARENT_LOCATOR, Case
from frames import AGGREGATE, FLAG_DOWN, FLAG_ECE, FLAG_RETX, FROM_SWITCH, HOST, HOST_MAC, address, ethernet, ipv6, udp

CASES = []
X86 = ("x86",)  # more lanes than a pass of the chip, or answers of the switch's own processor


def case(sentence, engines=EVERY_ENGINE, **options):
    """A case with one job; its function adds the packets."""
    def add(function):
        made = Case(function.__name__, sentence, engines)
        function(made.job(**options))
        CASES.append(made)
        return function
    return add


def case_without_job(sentence, engines=EVERY_ENGINE):
    def add(function):
        made = Case(function.__name__, sentence, engines)
        function(made)
        CASES.append(made)
        return function
    return add


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


# ---- admission
@case("a packet of another epoch is refused")
def wrong_epoch(job):
    job.up(0, epoch=2)
    job.up(0, epoch=4)


@case("a child that the job does not have is refused")
def wrong_child(job):
    job.case.table("pipe.Ingress.forwarder.host6", {"hdr.ipv6.dst_addr": address(LOCATOR, AGGREGATE, 7, 9)},
                   "Ingress.forwarder.aggregate", {})
    job.up(0, child=9, dst=address(LOCATOR, AGGREGATE, 7, 9))


@case("a child at another address is refused")
def wrong_source(job):
    job.up(0, src=address(LOCATOR, HOST, low=999))


@case("a child's packet that comes in by another port is refused")
def wrong_port(job):
    job.up(0, port=2)


@case("a slot outside the job's ring is refused")
def wrong_slot(job):
    job.up(0, slot=63)
    job.up(0, slot=128)


@case("a job that is not here is refused")
def unknown_job(job):
    job.case.table("pipe.Ingress.forwarder.host6", {"hdr.ipv6.dst_addr": address(LOCATOR, AGGREGATE, 70, 0)},
                   "Ingress.forwarder.aggregate", {})
    job.up(0, job=70, dst=address(LOCATOR, AGGREGATE, 70, 0))


@case("job in address and header differ: refused")
def job_mismatch(job):
    job.up(0, job=8)


@case("child in address and header differ: refused")
def child_mismatch(job):
    job.up(0, dst=address(LOCATOR, AGGREGATE, 7, 1))


@case("a child may not send a DOWN, nor a NACK about sums")
def wrong_type_for_a_child(job):
    job.up(0, type=2)
    job.nack(0, 0, 1, flags=0)


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


# ---- holes, NACK, SYNC
@case("a jump in a child's sequence numbers is NACKed with both ends of the hole")
def hole_of_a_child(job):
    job.up(0, FIRST)
    job.up(0, FIRST + 3, seq=3)
    job.up(0, FIRST + 1, seq=4)


@case("a jump in the parent's sequence numbers is NACKed downward", inner=True)
def hole_of_the_parent(job):
    job.down(FIRST, seq=0)
    job.down(FIRST + 2, seq=2)


@case("a packet that comes late leaves the expected number as it is")
def late_packet(job):
    job.up(0, FIRST, seq=1)
    job.up(0, FIRST + 1, seq=0)
    job.up(0, FIRST + 2, seq=2)


@case("sequence numbers wrap around without a hole")
def seq_wraps(job):
    job.case.register("pipe.Ingress.segment_receiver.expected", 33, 0xFFFFFFFF)
    job.up(0, FIRST, seq=0xFFFFFFFF)
    job.up(0, FIRST + 1, seq=0)
    job.up(0, FIRST + 2, seq=2)


@case("a hole across the wrap of sequence numbers is NACKed")
def hole_across_the_wrap(job):
    job.case.register("pipe.Ingress.segment_receiver.expected", 33, 0xFFFFFFFE)
    job.up(0, FIRST, seq=1)


@case("SYNC that shows no hole is dropped")
def sync_in_order(job):
    job.up(0)
    job.sync(0, 1)


@case("SYNC that shows a hole is answered with a NACK")
def sync_with_hole(job):
    job.up(0)
    job.sync(0, 4)
    job.sync(0, 4)


@case("the parent's SYNC that shows a hole is answered with a NACK", inner=True)
def sync_of_the_parent(job):
    job.down()
    job.sync(5, 2)


@case("a NACK of a child is answered with the results it lacks")
def nack_of_a_child(job):
    for number in range(3):
        job.up(0, FIRST + number)
        job.up(1, FIRST + number)
    job.nack(0, 1, 3)


@case("a NACK of the parent is answered with the sums it lacks", inner=True)
def nack_of_the_parent(job):
    for number in range(3):
        job.up(0, FIRST + number)
        job.up(1, FIRST + number)
    job.nack(5, 0, 2)


@case("a NACKed sum whose result has come is not sent again", inner=True)
def nack_of_a_done_sum(job):
    job.up(0)
    job.up(1)
    job.down()
    job.nack(5, 0, 1)


@case("a NACKed result whose slot has moved on is not sent again")
def nack_of_a_restarted_entry(job):
    job.up(0)
    job.up(1)
    job.up(0, FIRST + 64)
    job.nack(1, 0, 1)


@case("a NACK beyond what was sent, an empty one and an inverted one are refused")
def nack_out_of_range(job):
    job.up(0)
    job.up(1)
    job.nack(0, 0, 2)
    job.nack(0, 1, 1)
    job.nack(0, 1, 0)


@case("a repair is a new packet with a new sequence number, so it can be NACKed itself")
def nack_of_a_repair(job):
    job.up(0)
    job.up(1)
    job.nack(0, 0, 1)
    job.nack(0, 1, 2)


@case("sequence numbers of what we send wrap around, and a NACK finds them", seq_ring=8)
def sent_seq_wraps(job):
    for neighbor in (33, 34):
        job.case.register("pipe.Egress.segment_sender.tx_seq", neighbor, 0xFFFFFFFF)
    for number in range(2):
        job.up(0, FIRST + number)
        job.up(1, FIRST + number)
    job.nack(0, 0xFFFFFFFF, 1)


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


@case("a segment that falls quiet sends SYNC three times", X86)
def quiet_segment(job):
    job.up(0)
    job.up(1)
    job.case.config["until_ns"] = 20_000_000


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


@case("a number of lanes that is not the job's is refused")
def wrong_lane_count(job):
    for count in (63, 65, 128):
        job.up(0, lanes=[1] * count)
    job.probe(0, lanes=[1] * 64)
    job.down(child=0, type=2, dst=address(LOCATOR, AGGREGATE, 7, 0), port=1, src=job.host(0), lanes=[])


# ---- malformed
@case("an unknown version is refused")
def version(job):
    job.up(0, version=2)
    job.up(0, version=0)


@case("unknown types and the one for recirculation are refused")
def types(job):
    for type_ in (0, 5, 7, 15):
        job.up(0, type=type_)


@case("flags that must be zero, or do not go with the type, are refused")
def flags(job):
    for bit in (2, 16, 32, 64, 128):
        job.up(0, flags=bit)
    job.up(0, flags=FLAG_DOWN)
    job.sync(0, 0, flags=FLAG_RETX)
    job.nack(0, 0, 1, flags=FLAG_DOWN | FLAG_ECE)
    for flag in (FLAG_ECE, FLAG_DOWN):
        job.probe(0, flags=flag)


@case("UDP and IPv6 lengths that differ are refused")
def udp_length(job):
    job.up(0, udp_length=32)
    job.up(0, udp_length=292)


@case("what is sent to an aggregation address but is not L3DML is refused")
def not_l3dml(job):
    job.up(0, udp_port=19506)
    job.up(0, udp_port=19571)
    job.up(0, next_header=6)


@case("frames cut short are dropped", X86)
def truncated(job):
    job.up(0)
    port, time, frame = job.case.packets.pop()
    for size in (13, 20, 53, 60, 90):
        job.case.packet(port, frame[:size])


# ---- what is not ours
@case_without_job("gradients for another switch pass with one hop less")
def transit(made):
    made.job()
    job = made.job(job=9, index=2, slot_base=128)
    job.up(0, dst=address(ELSEWHERE, AGGREGATE, 9, 0))
    job.empty_up(0, dst=address(ELSEWHERE, AGGREGATE, 9, 0))
    job.probe(0, dst=address(ELSEWHERE, AGGREGATE, 9, 0))


@case_without_job("other IPv6 traffic is routed, host routes before prefixes")
def routed_ipv6(made):
    far, near = address(ELSEWHERE, HOST, low=1), address(ELSEWHERE, HOST, low=2)
    made.table("pipe.Ingress.forwarder.host6", {"hdr.ipv6.dst_addr": near}, "Ingress.forwarder.forward",
               {"port": 2, "dmac": 0x0200000000BB})
    for destination in (far, near):
        payload = udp(1000, 2000, b"not for an aggregator")
        made.packet(1, ethernet(0x86DD, ipv6(address(LOCATOR, HOST, low=100), destination, payload)))


@case_without_job("IPv4 traffic is routed and its header checksum stays right")
def routed_ipv4(made):
    made.table("pipe.Ingress.forwarder.prefix4", {"hdr.ipv4.dst_addr": (0x0A000000, 8)}, "Ingress.forwarder.forward",
               {"port": 3, "dmac": 0x0200000000CC})
    made.table("pipe.Ingress.forwarder.host4", {"hdr.ipv4.dst_addr": 0x0A000002}, "Ingress.forwarder.forward",
               {"port": 4, "dmac": 0x0200000000DD})
    for destination, hops in ((0x0A000001, 64), (0x0A000002, 2)):
        payload = udp(1000, 2000, b"old")
        head = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(payload), 1, 0, hops, 17, 0, 0xC0A80001, destination)
        total = sum(struct.unpack(">10H", head))
        head = head[:10] + struct.pack(">H", ~(total % 0xFFFF) & 0xFFFF) + head[12:]
        made.packet(1, ethernet(0x0800, head + payload))


def icmpv6(source, destination, body, hop_limit=64):
    pseudo = source.to_bytes(16, "big") + destination.to_bytes(16, "big") + struct.pack(">II", len(body), 58)
    data = pseudo + body + b"\0" * (len(body) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    body = body[:2] + struct.pack(">H", ~total & 0xFFFF) + body[4:]
    return ethernet(0x86DD, ipv6(source, destination, body, 58, hop_limit, 0))


GATEWAY, WORKER = address(LOCATOR, HOST, low=1), address(LOCATOR, HOST, low=100)


def gateway(made):
    made.table("pipe.Ingress.forwarder.local6", {"hdr.ipv6.dst_addr": GATEWAY}, "Ingress.forwarder.local", {})
    made.table("pipe.Ingress.forwarder.host6", {"hdr.ipv6.dst_addr": WORKER}, "Ingress.forwarder.forward",
               {"port": 1, "dmac": int.from_bytes(HOST_MAC, "big")})


@case_without_job("the switch answers an ICMPv6 echo to its own address", X86)
def echo(made):
    gateway(made)
    made.packet(1, icmpv6(WORKER, GATEWAY, struct.pack(">BBHHH", 128, 0, 0, 1, 1) + b"are you there"))


@case_without_job("a packet at its last hop is answered with time exceeded", X86)
def hop_limit(made):
    gateway(made)
    frame = ipv6(WORKER, address(ELSEWHERE, HOST, low=1), udp(1, 2, b"far"), hop_limit=1)
    made.packet(1, ethernet(0x86DD, frame))


@case_without_job("a destination without a route is answered with unreachable", X86)
def no_route(made):
    gateway(made)
    made.packet(1, ethernet(0x86DD, ipv6(WORKER, address(0x7777, HOST, low=1), udp(1, 2, b"nowhere"))))


@case_without_job("a frame for another station is dropped", X86)
def foreign_mac(made):
    frame = ipv6(WORKER, address(ELSEWHERE, HOST, low=1), udp(1, 2, b"astray"))
    made.packet(1, ethernet(0x86DD, frame, dst=bytes.fromhex("02000000ffff")))


# ---- malformed below L3DML, and what only x86 tells apart
@case_without_job("an IPv4 header of another version, too short, or with a wrong checksum is dropped", X86)
def bad_ipv4_header(made):
    payload = udp(1000, 2000, b"old")
    for first, checksum in ((0x55, 0), (0x44, 0), (0x45, 1)):
        head = struct.pack(">BBHHHBBHII", first, 0, 20 + len(payload), 1, 0, 64, 17, checksum, 0xC0A80001, 0x0A000001)
        made.packet(1, ethernet(0x0800, head + payload))


@case_without_job("an IPv6 header of another version is dropped", X86)
def bad_ipv6_header(made):
    frame = ipv6(address(LOCATOR, HOST, low=100), address(ELSEWHERE, HOST, low=1), udp(1, 2, b"odd"), version=5)
    made.packet(1, ethernet(0x86DD, frame))


@case("a fragment sent to an aggregation address is refused", X86)
def fragment(job):
    frame = ipv6(job.host(0), address(LOCATOR, AGGREGATE, 7, 0), struct.pack(">BBHI", 17, 0, 1, 1) + bytes(64), 44)
    job.case.packet(1, ethernet(0x86DD, frame))


@case_without_job("a frame that is neither IP nor ARP is dropped", X86)
def unsupported_ethertype(made):
    made.packet(1, ethernet(0x88CC, bytes(46)))


@case_without_job("a neighbour that is not known yet is asked for, and the packet dropped", X86)
def no_neighbor(made):
    gateway(made)
    made.table("pipe.Ingress.forwarder.prefix6", {"hdr.ipv6.dst_addr": (address(LOCATOR, HOST), 64)},
               "Ingress.forwarder.forward", {"port": 2, "dmac": 0})
    made.packet(1, ethernet(0x86DD, ipv6(WORKER, address(LOCATOR, HOST, low=7), udp(1, 2, b"who"))))


@case_without_job("a packet routed to a port that is down is dropped", X86)
def port_down(made):
    made.table("pipe.Ingress.forwarder.prefix6", {"hdr.ipv6.dst_addr": (address(0x4400, HOST), 56)},
               "Ingress.forwarder.forward", {"port": 99, "dmac": 0x0200000000BB})
    made.packet(1, ethernet(0x86DD, ipv6(WORKER, address(0x4401, HOST, low=1), udp(1, 2, b"down"))))


@case("a result for a receiver that nobody described is not sent", X86)
def unknown_replica(job):
    tables = job.case.config["tables"]
    tables[:] = [t for t in tables if t["table"] != "pipe.Egress.replica.replica"]
    job.up(0)
    job.up(1)


@case("number, slot and UDP port that contradict each other are refused", X86)
def wrong_shard(job):
    job.up(0, udp_port=19508)
    job.up(0, slot=64 + 5)


@case("repairs end where first transmissions have allowed no more", X86, seq_ring=256)
def nack_limited(job):
    job.up(0)
    job.up(1)
    for _ in range(70):
        job.nack(0, 0, 1)


@case_without_job("ARP for the switch's own address is answered", X86)
def arp(made):
    made.table("pipe.Ingress.forwarder.local4", {"hdr.ipv4.dst_addr": 0x0A000001}, "Ingress.forwarder.local", {})
    made.table("pipe.Ingress.forwarder.host4", {"hdr.ipv4.dst_addr": 0x0A000002}, "Ingress.forwarder.forward",
               {"port": 1, "dmac": int.from_bytes(HOST_MAC, "big")})
    for asked in (0x0A000001, 0x0A000009):
        body = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + HOST_MAC + struct.pack(">I", 0x0A000002) + bytes(6)
        made.packet(1, ethernet(0x0806, body + struct.pack(">I", asked), dst=b"\xff" * 6))


@case_without_job("a neighbour solicitation for the switch's own address is answered", X86)
def neighbor_solicitation(made):
    gateway(made)
    group = 0xFF0200000000000000000001FF000000 | GATEWAY & 0xFFFFFF
    body = struct.pack(">BBHI", 135, 0, 0, 0) + GATEWAY.to_bytes(16, "big") + b"\x01\x01" + HOST_MAC
    frame = bytearray(icmpv6(WORKER, group, body, hop_limit=255))
    frame[:6] = b"\x33\x33" + frame[50:54]
    made.packet(1, bytes(frame))
