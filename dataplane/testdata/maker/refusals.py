"""What touches no state: admission, contradictions, malformed at every header."""

import struct

from case import ELSEWHERE, LOCATOR
from frames import AGGREGATE, FLAG_DOWN, FLAG_ECE, FLAG_RETX, HOST, address, ethernet, ipv6, udp
from registry import X86, case, case_without_job


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


@case("a number of lanes that is not the job's is refused")
def wrong_lane_count(job):
    for count in (63, 65, 128):
        job.up(0, lanes=[1] * count)
    job.probe(0, lanes=[1] * 64)
    job.down(child=0, type=2, dst=address(LOCATOR, AGGREGATE, 7, 0), port=1, src=job.host(0), lanes=[])


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
