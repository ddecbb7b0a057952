"""Lossless segments: holes, NACK, SYNC, repairs and where they end."""

import struct

from case import FIRST
from frames import FLAG_DOWN
from registry import X86, case


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


@case("a packet of the generator becomes the SYNC of the segment it stands for, or is dropped")
def generated(job):
    job.up(0)
    job.up(1)
    for child in (0, 1):
        job.case.table("pipe.Ingress.admission.generated", {"hdr.generator.packet": child}, "Ingress.admission.speak_for",
                       {"neighbor": job.pair + 1 + child, "port": 1 + child, "job": job.job, "epoch": job.epoch,
                        "flags": FLAG_DOWN, "udp_dst_port": 19507})
    job.sync(0, 0)
    _, _, form = job.case.packets.pop()
    for number in (1, 0, 2, 1):
        job.case.packet(68, struct.pack(">BBHH", 0, 0, 7, number) + form)


@case("a segment that falls quiet sends SYNC three times", X86)
def quiet_segment(job):
    job.up(0)
    job.up(1)
    job.case.config["until_ns"] = 20_000_000


@case("repairs end where first transmissions have allowed no more", X86, seq_ring=256)
def nack_limited(job):
    job.up(0)
    job.up(1)
    for _ in range(70):
        job.nack(0, 0, 1)
