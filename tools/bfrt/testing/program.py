"""bf-rt.json of a small program that has one of everything, written as a compiler writes it; and of one with the table
names that SwitchML's controller asks for. Both have no pipeline: the driver alone answers."""
import json
import sys


def number(name, identity, kind="uint32", **more):
    kind = {"type": "bytes", "width": kind} if isinstance(kind, int) else {"type": kind}
    return {"id": identity, "name": name, "repeated": False, "annotations": [], "mandatory": False, "type": kind, **more}


def data(field, mandatory=False, read_only=False):
    return {"mandatory": mandatory, "read_only": read_only, "singleton": field}


def key(name, identity, kind, match="Exact"):
    return number(name, identity, kind, match_type=match)


PRIORITY = key("$MATCH_PRIORITY", 65537, "uint32")
COUNTERS = [data(number("$COUNTER_SPEC_BYTES", 65553, "uint64")), data(number("$COUNTER_SPEC_PKTS", 65554, "uint64"))]


class Program:
    def __init__(self):
        self.tables, self.filters, self.next = [], [], 1

    def add(self, prefix, name, kind, keys, fields=(), actions=(), size=1024, operations=(), attributes=(), **more):
        self.tables.append({
            "name": name, "id": prefix << 24 | self.next, "table_type": kind, "size": size, "annotations": [], "depends_on": [],
            "key": list(keys), "data": list(fields), "supported_operations": list(operations),
            "attributes": list(attributes), **more})
        if actions:
            self.tables[-1]["action_specs"] = list(actions)
        self.next += 1

    def action(self, name, *fields, **more):
        self.next += 1
        return {"id": 0x01 << 24 | self.next, "name": name, "action_scope": "TableAndDefault", "annotations": [],
                "data": [dict(f, mandatory=True, read_only=False) for f in fields], **more}

    def match(self, name, keys, actions, fields=(), const_default=False, **more):
        self.add(0x02, name, "MatchAction_Direct", keys, fields, actions, attributes=["EntryScope"] +
                 more.pop("attributes", []), has_const_default_action=const_default, **more)

    def register(self, name, names, width=32, size=1024):
        mark = [{"name": "$bfrt_field_class", "value": "register_data"}]
        self.add(0x8B, name, "Register", [dict(key("$REGISTER_INDEX", 65557, "uint32"), mandatory=True)],
                 [data(number(n, i + 1, width, annotations=mark), mandatory=True) for i, n in enumerate(names)],
                 size=size, operations=["Sync"])

    def counter(self, name, size=64):
        self.add(0x83, name, "Counter", [dict(key("$COUNTER_INDEX", 65556, "uint32"), mandatory=True)], COUNTERS, size=size,
                 operations=["Sync"])

    def write(self, path):
        with open(path, "w") as file:
            json.dump({"schema_version": "1.0.0", "tables": self.tables, "learn_filters": self.filters}, file)


def one_of_everything(path):
    p = Program()
    set_port, drop = p.action("Ingress.set_port", number("port", 1, 9)), p.action("Ingress.drop")
    p.match("pipe.Ingress.fwd", [key("hdr.ethernet.dst_addr", 1, 48), key("hdr.ipv4.protocol", 2, 8, "Ternary"),
                                 key("hdr.udp.dst_port", 3, 16, "Range"), PRIORITY], [set_port, drop], COUNTERS,
            operations=["SyncCounters"])
    p.match("pipe.Ingress.route", [key("hdr.ipv4.dst_addr", 1, 32, "LPM")], [set_port, drop], size=16)
    p.match("pipe.Ingress.fixed", [key("hdr.ipv4.ttl", 1, 8)], [set_port, drop], const_default=True)
    p.match("pipe.Ingress.aging", [key("hdr.ethernet.src_addr", 1, 48)], [set_port],
            [data(number("$ENTRY_TTL", 65543, "uint32")),
             data(number("$ENTRY_HIT_STATE", 65544, "string"))], attributes=["IdleTimeout"], operations=["UpdateHitState"])
    p.match("pipe.Ingress.big", [key("k", 1, 32)], [set_port], size=200000)
    p.register("pipe.Ingress.pool", ["Ingress.pool.first", "Ingress.pool.second"])
    p.register("pipe.Ingress.single", ["Ingress.single.f1"], width=16)
    p.counter("pipe.Ingress.hits")
    p.filters.append({"name": "pipe.IngressDeparser.learn", "id": 0x8E000001, "annotations": [], "fields": [
        dict(number("src_addr", 1, 48), read_only=False), dict(number("port", 2, 9), read_only=False)]})
    p.write(path)


def switchml(path):
    """Names and shapes as its controller uses them; the fields that it touches."""
    p = Program()
    p.add(0x90, "pipe.IngressParser.$PORT_METADATA", "PortMetadata", [key("ig_intr_md.ingress_port", 1, 9)],
          [data(number("ingress_drop_probability", 1, 16)), data(number("egress_drop_probability", 2, 16))], size=288)
    for name in ("forwarder.forward", "arp_icmp_responder.arp_icmp", "udp_receiver.receive_udp", "rdma_receiver.receive_roce",
                 "next_step_selector.next_step", "update_and_check_worker_bitmap.update_and_check_worker_bitmap",
                 "workers_counter.count_workers", "exponents.exponent_max"):
        p.match("pipe.Ingress." + name, [key("k", 1, 48), key("t", 2, 16, "Ternary"), PRIORITY],
                [p.action("Ingress.%s.set" % name.split(".")[0], number("value", 1, 16)), p.action("NoAction")], COUNTERS,
                const_default=name.endswith("count_workers"), operations=["SyncCounters"])
    for i in range(32):
        p.register("pipe.Ingress.value%02d.values" % i, ["Ingress.value%02d.values.%s" % (i, n) for n in ("first", "second")],
                   size=16384)
        p.match("pipe.Ingress.value%02d.sum" % i, [key("k", 1, 8)], [p.action("Ingress.value%02d.read" % i)], const_default=True)
    p.register("pipe.Ingress.update_and_check_worker_bitmap.worker_bitmap", ["w.first", "w.second"], size=16384)
    p.register("pipe.Ingress.workers_counter.workers_count", ["c.f1"], width=8, size=16384)
    p.register("pipe.Ingress.exponents.exponents", ["e.first", "e.second"], width=8, size=16384)
    for name in ("rdma_receiver.rdma_packet_counter", "next_step_selector.broadcast_counter",
                 "next_step_selector.retransmit_counter", "next_step_selector.drop_counter"):
        p.counter("pipe.Ingress." + name, size=16384)
    for name in ("rdma_sender.switch_mac_and_ip", "rdma_sender.create_roce_packet", "udp_sender.switch_mac_and_ip",
                 "udp_sender.dst_addr"):
        p.match("pipe.Egress." + name, [key("eg_md.worker", 1, 16)],
                [p.action("Egress.%s.set" % name, number("mac", 1, 48), number("ip", 2, 32))])
    p.write(path)


if __name__ == "__main__":  # for tests that are not Python
    one_of_everything(sys.argv[1])
    switchml(sys.argv[2])
