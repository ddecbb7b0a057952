"""Frames of the L3DML wire format (dataplane/wire/header.h) from fields, for tests."""

import struct
from dataclasses import dataclass, field

PREFIX = 0xFD0000000001
SWITCH_MAC, HOST_MAC = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
UP, DOWN, NACK, SYNC, PROBE = 1, 2, 3, 4, 6
FLAG_RETX, FLAG_DOWN, FLAG_ECE = 1, 4, 8
HOST, AGGREGATE = 0, 1
FROM_SWITCH, FROM_PARENT = 0xFFFE, 0xFFFF


def address(locator, function, job=0, child=0, low=0):
    """prefix | locator | function | path 0 | job | child | low, as an integer."""
    return PREFIX << 80 | locator << 64 | function << 56 | job << 32 | child << 16 | low


def ethernet(ether_type, payload, dst=SWITCH_MAC, src=HOST_MAC):
    return dst + src + struct.pack(">H", ether_type) + payload


def ipv6(src, dst, payload, next_header=17, hop_limit=64, traffic_class=2, version=6):
    head = struct.pack(">IHBB", version << 28 | traffic_class << 20, len(payload), next_header, hop_limit)
    return head + src.to_bytes(16, "big") + dst.to_bytes(16, "big") + payload


def udp(src_port, dst_port, payload, length=0):
    return struct.pack(">HHHH", src_port, dst_port, length or 8 + len(payload), 0) + payload


@dataclass
class Packet:
    """Fields of an L3DML packet before it is bytes, so that a test can spoil one of them."""
    type: int
    child: int
    number: int
    port: int
    src: int
    dst: int
    job: int = 7
    epoch: int = 3
    flags: int = 0
    tag: int = 0
    slot: int = 0
    exp: int = 130
    next_exp: int = 128
    weight: int = 1
    seq: int = 0
    lanes: list = field(default_factory=list)
    traffic_class: int = 2
    udp_port: int = 19507
    version: int = 1
    udp_length: int = 0  # 0: the right one
    next_header: int = 17

    def frame(self):
        l3dml = struct.pack(">BBHBBHIIBBHI", self.version << 4 | self.type, self.flags, self.job, self.epoch, self.child,
                            self.tag, self.slot, self.number, self.exp, self.next_exp, self.weight, self.seq)
        body = l3dml + struct.pack(f">{len(self.lanes)}I", *self.lanes)
        datagram = udp(40000 + self.child, self.udp_port, body, self.udp_length)
        return ethernet(0x86DD, ipv6(self.src, self.dst, datagram, self.next_header, traffic_class=self.traffic_class))
