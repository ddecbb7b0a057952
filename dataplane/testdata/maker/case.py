"""A golden case: one switch, the jobs on it, and the packets that come, one a microsecond."""

import json

from frames import (AGGREGATE, DOWN, FLAG_DOWN, FROM_PARENT, FROM_SWITCH, HOST, HOST_MAC, NACK, PROBE, SWITCH_MAC, SYNC, UP,
                    Packet, address)
import pcapng

EVERY_ENGINE = ("x86", "bmv2", "tna")
LOCATOR, PARENT_LOCATOR, ELSEWHERE = 0x0101, 0x0201, 0x0305
PARENT_PORT, ELSEWHERE_PORT = 40, 41
FIRST = 1 << 20  # first number of a job
REASON = {"unknown_job": 13, "wrong_epoch": 14, "wrong_child": 15, "wrong_source": 16, "wrong_slot": 17}


def hexed(value):
    return f"0x{value:x}"


class Job:
    """One stripe at this switch. Children are hosts on ports 1, 2, ...; an inner aggregator is child 5 of its parent."""

    def __init__(self, case, job=7, index=1, children=2, inner=False, lanes=64, epoch=3, slot_base=64, ring=64,
                 seq_ring=64, detour=False):
        self.case, self.job, self.index, self.children, self.inner = case, job, index, children, inner
        self.lanes, self.epoch, self.slot_base, self.ring, self.seq_ring = lanes, epoch, slot_base, ring, seq_ring
        self.detour = detour  # what peers send comes by the port towards elsewhere, not by the one that leads to them
        self.seqs = {}
        self.pair = index * 32  # of the parent; children follow
        self.program()

    # ---- tables
    def program(self):
        table = self.case.table
        table("pipe.Ingress.job.job", {"job_index": self.index}, "Ingress.job.set_job",
              {"lanes": self.lanes, "shard_shift": 0, "slot_base": self.slot_base, "ring_mask": self.ring - 1})
        for child in range(self.children):
            self.admit(child, ((UP, 0), (PROBE, 0)), True)
            self.admit(child, ((SYNC, 0), (NACK, FLAG_DOWN)), False)
            peer = self.peer_key(child)
            self.reject(peer, "wrong_slot", 10)
            self.reject({k: peer[k] for k in ("hdr.l3dml.job", "hdr.l3dml.epoch", "hdr.l3dml.child")}, "wrong_source", 20)
            self.replica(self.pair + 1 + child, self.host(child), 30000 + child, child, 0)
            self.route(address(LOCATOR, AGGREGATE, self.job, child))
        if self.inner:
            self.admit(5, ((DOWN, 0),), True)
            self.admit(5, ((SYNC, FLAG_DOWN), (NACK, 0)), False)
            self.replica(self.pair, address(PARENT_LOCATOR, AGGREGATE, self.job, 5), 19507, 5, 1024)
            self.route(address(LOCATOR, AGGREGATE, self.job, FROM_PARENT))
        self.reject({"hdr.l3dml.job": self.job, "hdr.l3dml.epoch": self.epoch}, "wrong_child", 30)
        self.reject({"hdr.l3dml.job": self.job}, "wrong_epoch", 40)
        self.case.config["multicast"].append(
            {"mgid": self.index,
             "nodes": [{"rid": self.pair + 1 + c, "ports": [1 + c]} for c in range(self.children)]})

    def route(self, destination):
        self.case.table("pipe.Ingress.forwarder.host6", {"hdr.ipv6.dst_addr": destination}, "Ingress.forwarder.aggregate", {})

    def is_parent(self, child):
        return self.inner and child == 5

    def source(self, child):
        return address(PARENT_LOCATOR, AGGREGATE, self.job, FROM_SWITCH) if self.is_parent(child) else self.host(child)

    @staticmethod
    def host(child):
        return address(LOCATOR, HOST, low=100 + child)

    def port(self, child):
        """The port that leads to it."""
        return PARENT_PORT if self.is_parent(child) else 1 + child

    def peer_key(self, child):
        source = self.source(child)
        key = {"hdr.l3dml.job": self.job, "hdr.l3dml.epoch": self.epoch, "hdr.l3dml.child": child,
               "src_locator": source >> 64 & 0xFFFF, "src_host": source & 0xFFFFFFFF}
        if not self.is_parent(child) and not self.detour:  # the edge is ours
            key["ig_intr_md.ingress_port"] = self.port(child)
        return key

    def admit(self, child, kinds, in_ring):
        parent = self.is_parent(child)
        for type_, down in kinds:
            key = {"hdr.l3dml.type": type_, "hdr.l3dml.flags": (down, FLAG_DOWN), **self.peer_key(child)}
            if in_ring:
                key["hdr.l3dml.slot"] = (self.slot_base, 0xFFFFFFFF & ~(self.ring - 1))
            self.case.table("pipe.Ingress.admission.admission", key, "Ingress.admission.admit",
                            {"mask": 0 if parent else 1 << child, "children": self.children, "role": 2 if self.inner else 1,
                             "neighbor": self.pair if parent else self.pair + 1 + child,
                             "neighbor_port": self.port(child), "parent": self.pair, "parent_port": PARENT_PORT,
                             "mgid": self.index, "job_index": self.index}, 1)

    def reject(self, key, reason, priority):
        self.case.table("pipe.Ingress.admission.admission", key, "Ingress.admission.reject", {"reason": REASON[reason]}, priority)

    def replica(self, neighbor, destination, udp_port, child, slot_base):
        self.case.table("pipe.Egress.replica.replica", {"neighbor": neighbor, "shard": 0}, "Egress.replica.to_neighbor",
                        {"dmac": int.from_bytes(HOST_MAC, "big"), "smac": int.from_bytes(SWITCH_MAC, "big"),
                         "dst_addr": destination, "src_addr": address(LOCATOR, AGGREGATE, self.job, FROM_SWITCH),
                         "udp_src_port": 49152 + child, "udp_dst_port": udp_port, "child": child, "slot_base": slot_base,
                         "slot_mask": self.ring - 1, "shard_shift": 0, "ring_base": neighbor * self.seq_ring,
                         "ring_mask": self.seq_ring - 1})

    # ---- packets; keyword arguments overwrite fields
    def send(self, type_, child, number, fields, lanes=(), flags=0, numbered=False):
        parent = self.is_parent(child)
        packet = Packet(type_, child, number, ELSEWHERE_PORT if self.detour else self.port(child), self.source(child),
                        address(LOCATOR, AGGREGATE, self.job, FROM_PARENT if parent else child), job=self.job,
                        epoch=self.epoch, flags=flags, slot=self.slot_base + number % self.ring, lanes=list(lanes))
        if numbered and "seq" not in fields:
            packet.seq = self.seqs.get(child, 0)
        for name, value in fields.items():
            setattr(packet, name, value)
        if numbered:
            self.seqs[child] = packet.seq + 1 & 0xFFFFFFFF
        self.case.packet(packet.port, packet.frame())

    def values(self, child, number):
        return [(child + 1) * 0x10000 + number % 256 * 0x100 + lane for lane in range(self.lanes)]

    def up(self, child, number=FIRST, /, **fields):
        self.send(UP, child, number, {"lanes": self.values(child, number), **fields}, numbered=True)

    def empty_up(self, child, number=FIRST, /, **fields):
        self.send(UP, child, number, {"weight": 0, **fields}, numbered=True)

    def down(self, number=FIRST, /, **fields):
        self.send(DOWN, 5, number, {"lanes": self.values(99, number), "weight": 9, **fields}, numbered=True)

    def probe(self, child, number=FIRST, /, **fields):
        self.send(PROBE, child, number, {"tag": 0xBEEF, "weight": 0, **fields})

    def nack(self, child, first, end, /, **fields):
        """From a child about results, from the parent about sums."""
        self.send(NACK, child, end, {"seq": first, "slot": self.slot_base, **fields},
                  flags=0 if self.is_parent(child) else FLAG_DOWN)

    def sync(self, child, next_seq, /, **fields):
        self.send(SYNC, child, 0, {"seq": next_seq, "slot": self.slot_base, **fields},
                  flags=FLAG_DOWN if self.is_parent(child) else 0)


class Case:
    def __init__(self, name, sentence, engines=EVERY_ENGINE):
        self.name, self.packets = name, []
        self.config = {
            "sentence": sentence, "engines": list(engines),
            "device": {"mac": SWITCH_MAC.hex(":"), "slots": 1024, "lanes": 320, "neighbors": 256, "ring_entries": 16384},
            "ports": [*range(1, 32), PARENT_PORT, ELSEWHERE_PORT], "tables": [], "multicast": [], "registers": [],
            "until_ns": 0}
        self.table("pipe.Ingress.forwarder.prefix6", {"hdr.ipv6.dst_addr": (address(ELSEWHERE & 0xFF00, 0), 56)},
                   "Ingress.forwarder.forward", {"port": ELSEWHERE_PORT, "dmac": 0x0200000000AA})

    def job(self, **options):
        return Job(self, **options)

    def table(self, name, key, action, data, priority=0):
        """Key values: an integer, (value, mask) of a ternary key, (value, bits) of a prefix."""
        shown = {}
        for field, value in key.items():
            if not isinstance(value, tuple):
                shown[field] = hexed(value)
            elif "prefix" in name:
                shown[field] = {"value": hexed(value[0]), "prefix": value[1]}
            else:
                shown[field] = {"value": hexed(value[0]), "mask": hexed(value[1])}
        entry = {"table": name, "key": shown, "action": action, "data": {n: hexed(v) for n, v in data.items()}}
        if priority:
            entry["priority"] = priority
        self.config["tables"].append(entry)

    def register(self, name, index, *values):
        self.config["registers"].append({"register": name, "index": index, "values": [hexed(v) for v in values]})

    def packet(self, port, frame):
        self.packets.append((port, 1000 * (1 + len(self.packets)), frame))

    def files(self):
        return {"config.json": (json.dumps(self.config, indent=1) + "\n").encode(), "in.pcap": pcapng.to_bytes(self.packets)}
