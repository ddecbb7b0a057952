"""A switch with one job, programmed alike in both engines, and random packets for it: mostly what members send, with
losses, repeats, disorder and contradictions in between. Ring 16, window 8, shard 0; children on ports 1, 2, ...; the
parent on port 9."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "dataplane/testdata/maker"))
from frames import DOWN, FLAG_DOWN, FLAG_ECE, FLAG_RETX, HOST_MAC, NACK, PROBE, SWITCH_MAC, SYNC, UP, Packet, address  # noqa: E402

LOCATOR, PARENT_LOCATOR = 0x0101, 0x0201
JOB, EPOCH, JOB_INDEX, MGID = 7, 3, 2, 5
SLOT_BASE, RING, OWN_CHILD, PARENT_PORT, PARENT_PAIR = 64, 16, 5, 9, 40
REASONS = {"unknown_job": 13, "wrong_epoch": 14, "wrong_child": 15, "wrong_source": 16, "wrong_slot": 17}


def host(child):
    return address(LOCATOR, 0, low=100 + child)


class Scenario:
    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.children = self.random.choice((1, 2, 2, 3, 4))
        self.inner = self.random.random() < 0.5
        self.first = self.random.choice((1 << 20, (1 << 32) - 32, (1 << 31) - 16, RING))
        self.detour = self.random.random() < 0.3  # children are far, their packets come by another port than leads there
        self.base = self.first  # window: numbers base .. base + 7 are in flight
        self.seqs = {}

    # ---- what a controller installs: (table, action, priority, keys, parameters)
    def entries(self):
        for job in (JOB, JOB + 1):  # the second one is known to the forwarder only
            for child in (*range(self.children + 1), 0xFFFF):
                yield ("pipe.Ingress.forwarder.host6", "Ingress.forwarder.aggregate", 0, [address(LOCATOR, 1, job, child)], [])
        yield ("pipe.Ingress.forwarder.prefix6", "Ingress.forwarder.forward", 0,
               [(address(0x0300, 0), 56)], [12, int.from_bytes(HOST_MAC, "big")])
        yield ("pipe.Ingress.job.job", "Ingress.job.set_job", 0, [JOB_INDEX], [64, 0, SLOT_BASE, RING - 1])
        for child in range(self.children):
            yield from self.peer(child, 1 << child, 20 + child, host(child), 1 + child, ((UP, 0), (PROBE, 0)),
                                 ((SYNC, 0), (NACK, FLAG_DOWN)))
            yield self.replica(20 + child, host(child), 30000 + child, child, 0, child)
        if self.inner:
            yield from self.peer(OWN_CHILD, 0, PARENT_PAIR, address(PARENT_LOCATOR, 1, JOB, 0xFFFE), PARENT_PORT, ((DOWN, 0),),
                                 ((SYNC, FLAG_DOWN), (NACK, 0)))
            yield self.replica(PARENT_PAIR, address(PARENT_LOCATOR, 1, JOB, OWN_CHILD), 19507, OWN_CHILD, 256, 30)
        for priority, epoch, reason in ((30, EPOCH, "wrong_child"), (40, None, "wrong_epoch")):
            yield ("pipe.Ingress.admission.admission", "Ingress.admission.reject", priority,
                   [None, None, JOB, epoch, None, None, None, None, None], [REASONS[reason]])

    def peer(self, child, mask, neighbor, src, port, with_slot, without_slot):
        ingress_port = None if self.detour or not mask else port
        key = [JOB, EPOCH, child, src >> 64 & 0xFFFF, src & 0xFFFFFFFF]
        for kinds, slot in ((with_slot, (SLOT_BASE, 0xFFFFFFFF & ~(RING - 1))), (without_slot, None)):
            for type_, down in kinds:
                yield ("pipe.Ingress.admission.admission", "Ingress.admission.admit", 1,
                       [type_, (down, FLAG_DOWN), *key, slot, ingress_port],
                       [mask, self.children, 2 if self.inner else 1, neighbor, port, PARENT_PAIR, PARENT_PORT, MGID, JOB_INDEX])
        if mask:
            yield ("pipe.Ingress.admission.admission", "Ingress.admission.reject", 10,
                   [None, None, *key, None, ingress_port], [REASONS["wrong_slot"]])
            yield ("pipe.Ingress.admission.admission", "Ingress.admission.reject", 20,
                   [None, None, JOB, EPOCH, child, None, None, None, None], [REASONS["wrong_source"]])

    @staticmethod
    def replica(neighbor, dst, udp_port, child, slot_base, ring_index):
        return ("pipe.Egress.replica.replica", "Egress.replica.to_neighbor", 0, [neighbor, 0],
                [int.from_bytes(HOST_MAC, "big"), int.from_bytes(SWITCH_MAC, "big"), dst, address(LOCATOR, 1, JOB, 0xFFFE),
                 49152 + child, udp_port, child, slot_base, RING - 1, 0, ring_index * 256, 255])

    def group(self):
        return [(20 + child, 1 + child) for child in range(self.children)]

    # ---- packets
    def seq(self, child, lost=0.05):
        """The next of this sender's sequence numbers; some get lost on the way, some come twice."""
        draw = self.random.random()
        if draw < lost:
            self.seqs[child] = self.seqs.get(child, 0) + self.random.randint(1, 3)
        seq = self.seqs.get(child, 0)
        if draw < 0.95:
            self.seqs[child] = seq + 1
        return seq & 0xFFFFFFFF

    def packets(self, count):
        for _ in range(count):
            if self.random.random() < 0.08:
                self.base = self.base + self.random.randint(1, 3) & 0xFFFFFFFF
            packet = self.from_parent() if self.inner and self.random.random() < 0.3 else self.from_child()
            if self.random.random() < 0.1:
                self.spoil(packet)
            yield packet.port, packet.frame()

    def number(self):
        return self.base + self.random.choice((0, 0, 0, 1, 1, 2, 3, 7, -1, -8)) & 0xFFFFFFFF

    def content(self, child, number):
        """exp, next_exp, weight and lanes of a child's UP: fixed when it is first sent. Now and then two exps differ."""
        r = random.Random(f"{self.seed} {child} {number}")
        exp, next_exp = 130 + (r.random() < 0.05), r.choice((0, 120, 128, 128, 200, 254, 255))
        empty = r.random() < 0.15
        return exp, next_exp, 0 if empty else 1, [] if empty else [r.getrandbits(32) for _ in range(64)]

    def result(self, number):
        """The same of the parent's DOWN, which knows more children than ours."""
        ups = [self.content(child, number) for child in range(self.children)]
        exps = {130} | {exp for exp, _, _, _ in ups}
        wanted = 255 if len(exps) > 1 else max(next_exp for _, next_exp, _, _ in ups)
        r = random.Random(f"{self.seed} result {number}")
        return 130, wanted, 9, [r.getrandbits(32) for _ in range(64)]

    def packet(self, type_, child, number, port, src, dst):
        r = self.random
        p = Packet(type_, child, number, port, src, dst, slot=SLOT_BASE + number % RING)
        p.tag = r.getrandbits(16)
        p.flags |= FLAG_ECE * (r.random() < 0.1)
        p.traffic_class = r.choice((2, 2, 2, 3, 0))
        return p

    def from_child(self):
        r = self.random
        child = r.randrange(self.children)
        type_ = r.choice((UP, UP, UP, UP, UP, PROBE, NACK, SYNC))
        p = self.packet(type_, child, self.number(), 11 if self.detour else 1 + child, host(child), address(LOCATOR, 1, JOB, child))
        if type_ == UP:
            p.flags |= FLAG_RETX * (r.random() < 0.2)
            p.seq = self.seq(child)
            p.exp, p.next_exp, p.weight, p.lanes = self.content(child, p.number)
        elif type_ == SYNC:
            p.seq = self.seqs.get(child, 0) + r.choice((0, 0, 0, 1, 2))
        elif type_ == NACK:
            p.flags |= FLAG_DOWN
            self.ask_for_repairs(p)
        return p

    def from_parent(self):
        r = self.random
        type_ = r.choice((DOWN, DOWN, DOWN, NACK, SYNC))
        p = self.packet(type_, OWN_CHILD, self.number(), 11 if self.detour else PARENT_PORT, address(PARENT_LOCATOR, 1, JOB, 0xFFFE),
                        address(LOCATOR, 1, JOB, 0xFFFF))
        if type_ == DOWN:
            p.seq = self.seq("parent")
            p.exp, p.next_exp, p.weight, p.lanes = self.result(p.number)
        elif type_ == SYNC:
            p.flags |= FLAG_DOWN
            p.seq = self.seqs.get("parent", 0) + r.choice((0, 0, 1))
        else:
            self.ask_for_repairs(p)
        return p

    def ask_for_repairs(self, packet):
        packet.seq = self.random.choice((0, 1, 2, 3, 5, 9, 20))
        packet.number = packet.seq + self.random.choice((0, 1, 1, 1, 2, 3, 30))

    def spoil(self, packet):
        r = self.random
        what = r.choice(("version", "type", "flags", "job", "epoch", "child", "slot", "src", "dst", "port", "lanes",
                         "length", "udp_port", "next_header", "elsewhere", "nowhere"))
        if what == "version":
            packet.version = 2
        elif what == "type":
            packet.type = r.choice((0, 5, 7, 9))
        elif what == "flags":
            packet.flags |= r.choice((2, 16, 128))
        elif what in ("job", "epoch", "child"):
            setattr(packet, what, getattr(packet, what) + 1)
            if what == "job" and r.random() < 0.5:  # of nobody, but consistent
                packet.dst = address(LOCATOR, 1, packet.job, packet.dst >> 16 & 0xFFFF)
        elif what == "slot":
            packet.slot += RING
        elif what == "src":
            packet.src += 50
        elif what == "dst":
            packet.dst += 1 << 16
        elif what == "port":
            packet.port = 20
        elif what == "lanes":
            packet.lanes = [1] * r.choice((1, 63, 65, 128))
        elif what == "length":
            packet.udp_length = r.choice((31, 33, 36, 290))
        elif what == "udp_port":
            packet.udp_port = r.choice((19506, 19571))
        elif what == "next_header":
            packet.next_header = 6
        elif what == "elsewhere":
            packet.dst = address(0x0305, 1, packet.job, packet.child)
        else:
            packet.dst = address(0x0405, 1, packet.job, packet.child)
