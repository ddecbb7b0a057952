"""Runs the BMv2 program (p4/v1model) from its source: its blocks are those of the Tofino program, around them is what
simple_switch does with a packet (clones are parsed again or taken as egress left them, replicas, recirculation). A third engine
for the golden cases; where BMv2 itself is at hand, it plays the same captures."""

from p4_run import Frame, Packet, ParserReject, Record, Switch, checksum, to_bytes
from p4_source import P4, Program

DROP_PORT = 511
NORMAL, INGRESS_COPY, EGRESS_COPY, RECIRCULATED, REPLICA = 0, 1, 2, 4, 5


class Bmv2(Switch):
    def __init__(self, program=None):
        super().__init__(program or Program(P4 / "v1model/switch.p4"))
        self.kept = [name for name in self.program.members["metadata_t"] if name.startswith("copy_")]  # @field_list(1)

    # ---- packets
    def process(self, port, data):
        out, work = [], [("ingress", port, data, NORMAL)]  # queues: first in, first out
        while work:
            where, *packet = work.pop(0)
            if where == "ingress":
                work += self.ingress(*packet)
            elif where == "egress":
                work += self.egress(*packet)
            else:
                out.append(tuple(packet))
        return out

    def fresh(self, port, instance, kept=()):
        kinds = dict(self.program.controls["Ingress"].params)
        names = {name: Record(self.program, kind) for name, kind in kinds.items()}
        names["standard_metadata"].put("ingress_port", port)
        names["standard_metadata"].put("instance_type", instance)
        for name, value in kept:
            names["meta"].put(name, value)
        return names

    def parse_frame(self, names, data):
        packet = Packet(data)
        try:
            self.parse("SwitchParser", {**names, "packet": packet})
        except ParserReject:
            pass  # simple_switch goes on with what was extracted; only `core` errors tell
        return packet

    def ingress(self, port, data, instance):
        names = self.fresh(port, instance)
        packet = self.parse_frame(names, data)
        self.copies, self.again = [], False
        self.control(Frame(self.program.controls["Ingress"], "Ingress", names))
        work, sm = [], names["standard_metadata"]
        for session in self.copies:  # of the packet as it came, parsed once more
            copy = self.fresh(port, NORMAL)
            rest = self.parse_frame(copy, data)
            copy["standard_metadata"].put("instance_type", INGRESS_COPY)
            for name in self.kept:
                copy["meta"].put(name, names["meta"].get(name))
            work.append(("egress", session & 511, 0, copy, rest, port))
        if sm.get("mcast_grp"):
            for rid, ports in self.groups.get(sm.get("mcast_grp"), []):
                for to in ports:
                    work.append(("egress", to, rid, copy_of(self.program, names), packet, port))
        elif sm.get("egress_spec") != DROP_PORT:
            work.append(("egress", sm.get("egress_spec"), 0, names, packet, port))
        return work

    def egress(self, port, rid, names, packet, came_by):
        sm = names["standard_metadata"]
        sm.put("egress_port", port)
        sm.put("egress_rid", rid)
        sm.put("egress_spec", 0)
        self.copies, self.again = [], False
        control = self.program.controls["Egress"]
        self.control(Frame(control, "Egress", dict(zip([n for n, _ in control.params], names.values()))))
        work = []
        for session in self.copies:  # as egress left it, with nothing but the kept metadata
            copy = copy_of(self.program, names)
            copy["meta"] = self.fresh(0, 0, [(name, names["meta"].get(name)) for name in self.kept])["meta"]
            copy["standard_metadata"].put("instance_type", EGRESS_COPY)
            work.append(("egress", session & 511, 0, copy, packet, came_by))
        if sm.get("egress_spec") == DROP_PORT:
            return work
        header = names["hdr"].get("ipv4")
        if header.valid:
            fields = [(header.get(n), w) for n, w in header.widths.items() if n != "checksum"]
            header.put("checksum", checksum(to_bytes(fields)))
        made = Packet()
        self.control(Frame(self.program.controls["SwitchDeparser"], "SwitchDeparser", {"hdr": names["hdr"], "packet": made}))
        data = made.data + packet.rest()
        return work + [("ingress", came_by, data, RECIRCULATED) if self.again else ("out", port, data)]

    # ---- what is built in
    def run(self, frame, statements):
        for statement in statements:
            if statement[0] == "declare":
                kind = statement[1]
                record = kind in self.program.members
                frame.locals[statement[2]] = Record(self.program, kind) if record else 0
                if statement[3] is not None:
                    frame.locals[statement[2]] = self.value(frame, statement[3])
            else:
                state = super().run(frame, [statement])
                if state is not None:
                    return state
        return None

    def call(self, frame, target, arguments):
        if target[0] == "name":
            return self.function(frame, target[1], arguments)
        owner, method = target[1] if target[0] == "member" else None, target[2]
        kind = frame.control.externs.get(owner[1]) if owner and owner[0] == "name" else None
        if kind == "counter":
            cells = self.counters.setdefault(f"{frame.path}.{owner[1]}", {})
            index = self.value(frame, arguments[0])
            cells[index] = cells.get(index, 0) + 1
            return None
        if kind == "register":
            cells = self.registers.setdefault(f"{frame.path}.{owner[1]}", {})
            if method == "read":
                self.assign(frame, arguments[0], cells.get(self.value(frame, arguments[1]), 0))
            else:
                width = self.program.width([frame.control.type_arguments[owner[1]][0]])
                cells[self.value(frame, arguments[0])] = self.value(frame, arguments[1]) & (1 << width) - 1
            return None
        return super().call(frame, target, arguments)

    def function(self, frame, name, arguments):
        if name == "mark_to_drop":
            record = self.value(frame, arguments[0])
            record.put("egress_spec", DROP_PORT)
            record.put("mcast_grp", 0)
        elif name == "clone_preserving_field_list":
            self.copies.append(self.value(frame, arguments[1]))
        elif name == "recirculate_preserving_field_list":
            self.again = True
        elif name in frame.control.actions and frame.control.actions[name].given_back:
            action = frame.control.actions[name]
            inner = Frame(frame.control, frame.path, frame.names,
                          {p: self.value(frame, a) for (p, _), a in zip(action.params, arguments, strict=True)})
            self.run(inner, self.statements((frame.control.name, "action", name), action.body))
            for (parameter, width), argument in zip(action.params, arguments, strict=True):
                value = inner.locals[parameter]
                self.assign(frame, argument, value if isinstance(value, Record) else value & (1 << width) - 1)
        else:
            return super().call(frame, ("name", name), arguments)
        return None


def copy_of(program, names):
    """Records copied in depth."""
    def clone(record):
        made = Record(program, record.kind)
        made.valid = record.valid
        made.values = {n: clone(v) if isinstance(v, Record) else v for n, v in record.values.items()}
        return made
    return {name: clone(record) for name, record in names.items()}
