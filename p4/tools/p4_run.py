"""Runs the Tofino program of p4/ on frames, straight from its source: parsers, tables, registers, deparsers and, around
them, what the chip does with a packet (traffic manager, multicast, mirror, recirculation). A second engine for the golden
captures that needs no compiler. Slow, exact about widths, and knows only the language of p4/."""

from dataclasses import dataclass, field

import p4_ast
from p4_source import Program, SourceError

INTRINSIC_WIDTHS = {"ingress_port": 9, "egress_port": 9, "egress_rid": 16}
HEAD = 86  # bytes before the lanes: where mirror sessions cut


class Record:
    """A struct or a header; fields of an unknown (intrinsic) kind appear when they are written."""

    def __init__(self, program, kind):
        self.kind, self.valid, self.values, self.widths = kind, False, {}, {}
        self.known = kind in program.members
        for name, member in program.members.get(kind, {}).items():
            nested = member in program.members
            self.values[name] = Record(program, member) if nested else 0
            if not nested:
                self.widths[name] = program.width([member])

    def get(self, name):
        if self.known and name not in self.values:
            raise SourceError(f"{self.kind} has no field '{name}'")
        return self.values.get(name, 0)

    def put(self, name, value):
        if self.known and name not in self.values:
            raise SourceError(f"{self.kind} has no field '{name}'")
        width = self.widths.get(name)
        self.values[name] = value & (1 << width) - 1 if width else value


class ParserReject(Exception):
    pass


class Packet:
    """Bits of a frame, read from the front by a parser or appended to by a deparser."""

    def __init__(self, data=b""):
        self.data, self.at = data, 0

    def read(self, width, peek=False):
        if self.at + width > 8 * len(self.data):
            raise ParserReject()
        value = int.from_bytes(self.data, "big") >> (8 * len(self.data) - self.at - width) & (1 << width) - 1
        self.at += 0 if peek else width
        return value

    def extract(self, record):
        total = sum(record.widths.values())
        bits = self.read(total)
        for name, width in record.widths.items():
            total -= width
            record.put(name, bits >> total & (1 << width) - 1)
        record.valid = True

    def emit(self, record):
        if record.valid:
            self.data += to_bytes([(record.get(n), w) for n, w in record.widths.items()])

    def rest(self):
        return self.data[self.at // 8:]


def to_bytes(fields):
    bits = width = 0
    for value, size in fields:
        bits, width = bits << size | value, width + size
    return bits.to_bytes(width // 8, "big")


def checksum(data):
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Entry:
    matches: list            # per key: (value, mask)
    action: str
    params: list
    priority: int = 0        # lower wins; longest prefix is made of it too


@dataclass
class Frame:
    """One block's view of the packet that is on its way: names of parameters and locals."""
    control: object
    path: str
    names: dict
    locals: dict = field(default_factory=dict)


class Switch:
    def __init__(self, program=None):
        self.program = program or Program()
        self.registers, self.counters, self.entries, self.defaults, self.groups = {}, {}, {}, {}, {}
        self.parsed = {}
        self.trace = None  # a function that is told (path of the table, action) of every application

    # ---- control plane
    def table(self, name):
        path, table = name.removeprefix("pipe.").rsplit(".", 1)
        for top in ("Ingress", "Egress"):
            for block, control in self.program.blocks(top):
                if block == path and table in control.tables:
                    return control, control.tables[table]
        raise KeyError(name)

    def insert(self, name, matches, action, params=(), priority=0):
        """matches: per key of the table an int, (value, mask), or None for any; a prefix is a mask."""
        control, table = self.table(name)
        pairs = []
        for key, match in zip(table.keys, matches, strict=True):
            full = (1 << key.width) - 1
            value, mask = (0, 0) if match is None else match if isinstance(match, tuple) else (match, full)
            pairs.append((value & mask, mask))
        action = action.rsplit(".", 1)[-1]
        if len(control.actions[action].params) != len(params):
            raise ValueError(f"{name}: {action} has {len(control.actions[action].params)} parameters")
        if any(key.match == "lpm" for key in table.keys):
            priority = -sum(bin(mask).count("1") for _, mask in pairs)
        entries = self.entries.setdefault(name.removeprefix("pipe."), [])
        entries.append(Entry(pairs, action, list(params), priority))
        entries.sort(key=lambda e: e.priority)

    def set_default(self, name, action, params=()):
        self.defaults[name.removeprefix("pipe.")] = (action.rsplit(".", 1)[-1], list(params))

    def register(self, name):
        return self.registers.setdefault(name.removeprefix("pipe."), {})

    # ---- packets
    def process(self, port, data):
        """Everything that leaves because of this frame, in order: [(port, bytes)]."""
        out, work = [], [("ingress", port, data, 0)]
        while work:
            where, port, data, rid = work.pop(0)
            if where == "ingress":
                work = self.ingress(port, data) + work
            elif where == "egress":
                work = self.egress(port, data, rid) + work
            elif port & 0x7F == self.program.constants["RECIRCULATION_PORT"]:
                work.insert(0, ("ingress", port, data, 0))
            else:
                out.append((port, data))
        return out

    def ingress(self, port, data):
        top = self.program.controls["Ingress"]
        names = {name: Record(self.program, kind) for name, kind in top.params}
        intrinsic = names["ig_intr_md"]
        intrinsic.put("ingress_port", port)
        packet = Packet(data)
        try:
            self.parse("IngressParser", {**names, "packet": packet})
        except ParserReject:
            return []
        self.control(Frame(top, "Ingress", names))
        result, mirrored = self.deparse("IngressDeparser", names, packet)
        tm, work = names["ig_tm_md"], []
        if mirrored:
            session, head = mirrored
            steered = head[0] in (self.program.constants["MIRROR_NACK_STEERED"],
                                  self.program.constants["MIRROR_WAITING_STEERED"])
            work.append(("egress", session & 511, head + data[:HEAD + 5 * steered], 0))
        if names["ig_dprsr_md"].get("drop_ctl") & 1:
            return work
        if tm.get("bypass_egress"):
            return work + [("out", tm.get("ucast_egress_port"), result, 0)]
        if "ucast_egress_port" in tm.values:
            work.append(("egress", tm.get("ucast_egress_port"), result, 0))
        for rid, ports in self.groups.get(tm.get("mcast_grp_a"), []) if tm.get("mcast_grp_a") else []:
            work += [("egress", p, result, rid) for p in ports]
        return work

    def egress(self, port, data, rid):
        top = self.program.controls["Egress"]
        names = {name: Record(self.program, kind) for name, kind in top.params}
        names["eg_intr_md"].put("egress_port", port)
        names["eg_intr_md"].put("egress_rid", rid)
        packet = Packet(data)
        try:
            self.parse("EgressParser", {**names, "packet": packet})
        except ParserReject:
            return []
        self.control(Frame(top, "Egress", names))
        result, mirrored = self.deparse("EgressDeparser", names, packet)
        work = [] if names["eg_dprsr_md"].get("drop_ctl") & 1 else [("out", port, result, 0)]
        if mirrored:
            session, head = mirrored
            work.append(("egress", session & 511, head + result, 0))
        return work

    def deparse(self, name, names, packet):
        control = self.program.controls[name]
        given = {**names, "packet": Packet()}
        frame = Frame(control, name, {})
        for (parameter, kind) in control.params:
            frame.names[parameter] = given.get(parameter) or next(v for v in names.values() if v.kind == kind)
        frame.locals["mirrored"] = None
        self.control(frame)
        return frame.names["packet"].data + packet.rest(), frame.locals["mirrored"]

    # ---- parsers
    def parse(self, name, given):
        parser = self.program.controls[name]
        frame = Frame(parser, name, {p: given[p] for p, _ in parser.params})
        state = "start"
        while state not in ("accept", "reject"):
            if state not in parser.states:
                raise SourceError(f"{name}: no state {state}")
            state = self.run(frame, self.statements((name, state), parser.states[state]))
        if state == "reject":
            raise ParserReject()

    def select(self, frame, keys, cases):
        values = [int(self.value(frame, key)) for key in keys]
        for matches, state in cases:
            if len(matches) == 1 and matches[0][0] == "any":
                return state
            if all(self.matches(frame, match, value) for match, value in zip(matches, values, strict=True)):
                return state
        raise ParserReject()

    def matches(self, frame, match, value):
        if match[0] == "any":
            return True
        if match[0] == "binary" and match[1] == "&&&":
            mask = self.value(frame, match[3])
            return value & mask == self.value(frame, match[2]) & mask
        return value == int(self.value(frame, match))

    # ---- controls, statements
    def statements(self, where, tokens):
        if where not in self.parsed:
            self.parsed[where] = p4_ast.statements(tokens)
        return self.parsed[where]

    def control(self, frame):
        self.run(frame, self.statements((frame.control.name, ""), frame.control.apply))

    def run(self, frame, statements):
        for statement in statements:
            kind = statement[0]
            if kind == "if":
                self.run(frame, statement[2] if self.value(frame, statement[1]) else statement[3])
            elif kind == "assign":
                self.assign(frame, statement[1], self.value(frame, statement[2]))
            elif kind == "do":
                self.value(frame, statement[1])
            elif kind == "goto":
                return statement[1]
            elif kind == "select":
                return self.select(frame, statement[1], statement[2])
        return None

    def action(self, frame, name, arguments):
        if name == "NoAction":
            return
        action = frame.control.actions[name]
        inner = Frame(frame.control, frame.path, frame.names,
                      {p: v & (1 << w) - 1 for (p, w), v in zip(action.params, arguments, strict=True)})
        self.run(inner, self.statements((frame.control.name, "action", name), action.body))

    def apply_table(self, frame, table):
        path = f"{frame.path}.{table.name}"
        keys = [int(self.value(frame, self.expression(key.expression))) for key in table.keys]
        name, arguments, hit = None, [], False
        if table.is_const:
            for matches, action, given in self.const_entries(frame.control, table):
                if all(self.matches(frame, m, k) for m, k in zip(matches, keys, strict=True)):
                    name, arguments, hit = action, [self.value(frame, a) for a in given], True
                    break
        else:
            for entry in self.entries.get(path, []):
                if all(k & mask == value for k, (value, mask) in zip(keys, entry.matches)):
                    name, arguments, hit = entry.action, entry.params, True
                    break
        if not hit:
            name, arguments = self.defaults.get(path) or self.source_default(frame, table)
        if self.trace:
            self.trace(path, name, hit)
        self.action(frame, name, arguments)
        result = Record(self.program, "")
        result.put("hit", hit)
        return result

    def source_default(self, frame, table):
        call = p4_ast.Parser(table.default).postfix()
        return call[1][1], [self.value(frame, argument) for argument in call[2]]

    def const_entries(self, control, table):
        where = (control.name, "entries", table.name)
        if where not in self.parsed:
            self.parsed[where] = p4_ast.entries(table.const_entries)
        return self.parsed[where]

    def expression(self, text):
        if text not in self.parsed:
            from p4_source import TOKEN
            self.parsed[text] = p4_ast.Parser(TOKEN.findall(text)).expression()
        return self.parsed[text]

    # ---- values
    def value(self, frame, node):
        kind = node[0]
        if kind == "name":
            return self.name(frame, node[1])
        if kind == "member":
            return self.value(frame, node[1]).get(node[2])
        if kind == "binary":
            return self.binary(frame, node)
        if kind == "slice":
            high, low = self.value(frame, node[2]), self.value(frame, node[3])
            return self.value(frame, node[1]) >> low & (1 << high - low + 1) - 1
        if kind == "cast":
            width = self.value(frame, node[2])
            value = self.value(frame, node[3]) & (1 << width) - 1
            return value - (1 << width) if node[1] == "int" and value >> width - 1 else value
        if kind == "unary":
            value = self.value(frame, node[2])
            return not value if node[1] == "!" else -value
        if kind == "list":
            return [(self.value(frame, item), self.width(frame, item)) for item in node[1]]
        if kind == "call":
            return self.call(frame, node[1], node[2])
        raise SourceError(f"cannot evaluate {node}")

    def name(self, frame, name):
        for scope in (frame.locals, frame.names, self.program.constants):
            if name in scope:
                return scope[name]
        if name in ("true", "false"):
            return name == "true"
        if name == "PORT_METADATA_SIZE":
            return 0  # our frames start at the Ethernet header
        return self.program.number(name)

    def binary(self, frame, node):
        op = node[1]
        left = self.value(frame, node[2])
        if op == "&&":
            return bool(left) and bool(self.value(frame, node[3]))
        if op == "||":
            return bool(left) or bool(self.value(frame, node[3]))
        right = self.value(frame, node[3])
        if op == "++":
            return left << self.width(frame, node[3]) | right
        return {"==": lambda: left == right, "!=": lambda: left != right, "<": lambda: left < right,
                ">": lambda: left > right, "<=": lambda: left <= right, ">=": lambda: left >= right,
                "+": lambda: left + right, "-": lambda: left - right, "|": lambda: left | right,
                "&": lambda: left & right, ">>": lambda: left >> right, "<<": lambda: left << right}[op]()

    def width(self, frame, node):
        if node[0] == "slice":
            return self.value(frame, node[2]) - self.value(frame, node[3]) + 1
        if node[0] == "member":
            return self.value(frame, node[1]).widths.get(node[2]) or INTRINSIC_WIDTHS.get(node[2], 0)
        if node[0] == "name" and node[1] in self.program.constant_widths:
            return self.program.constant_widths[node[1]]
        if node[0] == "name" and "w" in node[1]:
            return int(node[1].split("w")[0])
        return 0

    def assign(self, frame, target, value):
        if target[0] == "member":
            owner = self.value(frame, target[1])
            if isinstance(value, list):
                record = owner.get(target[2])
                for name, (item, _) in zip(record.widths, value, strict=True):
                    record.put(name, item)
                record.valid = True
            else:
                owner.put(target[2], value)
        elif target[0] == "slice":
            high, low = self.value(frame, target[2]), self.value(frame, target[3])
            mask = (1 << high - low + 1) - 1
            old = self.value(frame, target[1])
            self.assign(frame, target[1], old & ~(mask << low) | (value & mask) << low)
        else:
            scope = frame.locals if target[1] in frame.locals else frame.names
            scope[target[1]] = value

    # ---- calls
    def call(self, frame, target, arguments):
        if target[0] == "typed":
            return self.typed_call(frame, target[1], target[2], arguments)
        if target[0] == "name":
            return self.action(frame, target[1], [self.value(frame, a) for a in arguments])
        method, owner = target[2], target[1]
        name = owner[1] if owner[0] == "name" else None
        control = frame.control
        if method == "apply" and name in control.tables:
            return self.apply_table(frame, control.tables[name])
        if method == "apply" and name in control.instances:
            return self.apply_block(frame, name, arguments)
        if method == "execute" and name in control.register_actions:
            return self.execute(frame, control.register_actions[name], int(self.value(frame, arguments[0])))
        if method == "count" and name in control.counters:
            cells = self.counters.setdefault(f"{frame.path}.{name}", {})
            index = self.value(frame, arguments[0])
            cells[index] = cells.get(index, 0) + 1
            return None
        if method == "update":
            return checksum(to_bytes(self.value(frame, arguments[0])))
        record = self.value(frame, owner)
        if method == "isValid":
            return record.valid
        if method in ("setValid", "setInvalid"):
            record.valid = method == "setValid"
        elif method == "extract":
            inner = self.value(frame, arguments[0])
            if inner.kind in self.program.headers:  # intrinsic metadata does not lie in the frame
                record.extract(inner)
        elif method == "advance":
            record.at += self.value(frame, arguments[0])
        elif method == "emit":
            record.emit(self.value(frame, arguments[0]))
        else:
            raise SourceError(f"{control.name}: unknown method {method}")
        return None

    def typed_call(self, frame, target, kind, arguments):
        if target[2] == "lookahead":
            return self.value(frame, target[1]).read(self.program.width(kind), peek=True)
        session, fields = (self.value(frame, a) for a in arguments)
        widths = [width for _, width in self.program.headers[kind[0]]]
        frame.locals["mirrored"] = (session, to_bytes([(v, w) for (v, _), w in zip(fields, widths, strict=True)]))
        return None

    def apply_block(self, frame, name, arguments):
        control = self.program.controls[frame.control.instances[name]]
        values = [self.value(frame, a) for a in arguments]
        names = {p: v for (p, _), v in zip(control.params, values, strict=True)}
        if control.states:
            self.parse(control.name, names)
        else:
            self.control(Frame(control, f"{frame.path}.{name}", names))

    def execute(self, frame, register_action, index):
        register, parameters, body = register_action
        cell = frame.control.registers[register][0]
        cells = self.registers.setdefault(f"{frame.path}.{register}", {})
        pair = cell in self.program.structs
        value = Record(self.program, cell) if pair else cells.get(index, 0)
        if pair:
            value.values.update(cells.get(index, {}))
        inner = Frame(frame.control, frame.path, frame.names, {parameters[0]: value})
        if len(parameters) > 1:
            inner.locals[parameters[1]] = 0
        self.run(inner, self.statements((frame.control.name, "access", id(body)), body))
        value = inner.locals[parameters[0]]
        cells[index] = dict(value.values) if pair else value & (1 << self.program.width([cell])) - 1
        return inner.locals.get(parameters[1], 0) if len(parameters) > 1 else 0
