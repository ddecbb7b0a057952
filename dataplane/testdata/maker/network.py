"""What is not ours to sum: routing, and the answers of the switch's own processor."""

import struct

from case import ELSEWHERE, LOCATOR
from frames import AGGREGATE, HOST, HOST_MAC, address, ethernet, ipv6, udp
from registry import X86, case_without_job


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
