"""What a compiler would refuse in the P4 program, as far as can be told from the source: names and fields that do not exist,
operands of different widths, casts that are not written, constants out of range, parameters that are only read. Knows the
language of p4/ and both architectures; p4_chip.py adds what the chip refuses."""

import re

import p4_ast
from p4_source import TOKEN, SourceError

# Intrinsic metadata: name -> bits.
TNA = {
    "ingress_intrinsic_metadata_t": {"resubmit_flag": 1, "packet_version": 2, "ingress_port": 9, "ingress_mac_tstamp": 48},
    "ingress_intrinsic_metadata_from_parser_t": {"global_tstamp": 48, "global_ver": 32, "parser_err": 16},
    "ingress_intrinsic_metadata_for_tm_t": {
        "ucast_egress_port": 9, "bypass_egress": 1, "deflect_on_drop": 1, "ingress_cos": 3, "qid": 5, "icos_for_copy_to_cpu": 3,
        "copy_to_cpu": 1, "packet_color": 2, "disable_ucast_cutthru": 1, "enable_mcast_cutthru": 1, "mcast_grp_a": 16,
        "mcast_grp_b": 16, "level1_mcast_hash": 13, "level2_mcast_hash": 13, "level1_exclusion_id": 16,
        "level2_exclusion_id": 9, "rid": 16},
    "ingress_intrinsic_metadata_for_deparser_t": {"drop_ctl": 3, "digest_type": 3, "resubmit_type": 3, "mirror_type": 3},
    "egress_intrinsic_metadata_t": {
        "egress_port": 9, "enq_qdepth": 19, "enq_congest_stat": 2, "enq_tstamp": 18, "deq_qdepth": 19, "deq_congest_stat": 2,
        "app_pool_congest_stat": 8, "deq_timedelta": 18, "egress_rid": 16, "egress_rid_first": 1, "egress_qid": 5,
        "egress_cos": 3, "deflection_flag": 1, "pkt_length": 16},
    "egress_intrinsic_metadata_from_parser_t": {"global_tstamp": 48, "global_ver": 32, "parser_err": 16},
    "egress_intrinsic_metadata_for_deparser_t": {"drop_ctl": 3, "mirror_type": 3, "coalesce_flush": 1, "coalesce_length": 7},
    "egress_intrinsic_metadata_for_output_port_t": {"capture_tstamp_on_tx": 1, "update_delay_on_tx": 1},
}
V1MODEL = {"standard_metadata_t": {
    "ingress_port": 9, "egress_spec": 9, "egress_port": 9, "instance_type": 32, "packet_length": 32, "enq_timestamp": 32,
    "enq_qdepth": 19, "deq_timedelta": 32, "deq_qdepth": 19, "ingress_global_timestamp": 48, "egress_global_timestamp": 48,
    "mcast_grp": 16, "egress_rid": 16, "checksum_error": 1, "priority": 3}}
# What is built in: method of an extern, or function -> type of its result.
TNA_METHODS = {"Counter": {"count": "void"}, "Mirror": {"emit": "void"}, "Checksum": {"update": "bit<16>"}}
V1MODEL_METHODS = {"counter": {"count": "void"}, "register": {"read": "void", "write": "void"}}
V1MODEL_FUNCTIONS = {"mark_to_drop", "clone_preserving_field_list", "recirculate_preserving_field_list", "update_checksum"}
V1MODEL_NAMES = {"CloneType": {"I2E", "E2E"}, "HashAlgorithm": {"csum16"}}
PACKET = {"extract": "void", "advance": "void", "emit": "void"}


def bits(kind):
    """N of bit<N>, else None."""
    match = re.fullmatch(r"bit<(\d+)>", kind)
    return int(match.group(1)) if match else None


class Checker:
    def __init__(self, program, tna=True):
        self.program, self.tna, self.complaints = program, tna, []
        self.intrinsics = TNA if tna else V1MODEL
        self.methods = TNA_METHODS if tna else V1MODEL_METHODS
        for control in program.controls.values():
            self.control(control)

    def complain(self, what):
        self.complaints.append(f"{self.where}: {what}")

    def guarded(self, where, scope, function, *arguments):
        self.where, self.scope = where, scope
        try:
            function(*arguments)
        except SourceError as error:
            self.complain(str(error))

    # ---- controls
    def control(self, control):
        self.in_control = control
        base = dict(control.params)
        for name, tokens in control.states.items():
            self.guarded(f"{control.name}.{name}", dict(base), lambda t=tokens: self.statements(p4_ast.statements(t)))
        for action in control.actions.values():
            self.guarded(f"{control.name}.{action.name}", {**base, **action.kinds},
                         lambda a=action: self.statements(p4_ast.statements(a.body)))
        for name, (register, _, body) in control.register_actions.items():
            cell = control.registers[register][0]
            result = list(control.accesses[name].values())
            self.where = f"{control.name}.{name}"
            if result[0] != cell or control.type_arguments[name][0] != cell:
                self.complain(f"works on {result[0]}, the cells of {register} are {cell}")
            self.guarded(f"{control.name}.{name}", {**base, **control.accesses[name]},
                         lambda b=body: self.statements(p4_ast.statements(b)))
        for table in control.tables.values():
            self.guarded(f"{control.name}.{table.name}", dict(base), self.table, control, table)
        self.guarded(f"{control.name}.apply", dict(base), lambda: self.statements(p4_ast.statements(control.apply)))

    def table(self, control, table):
        kinds = [self.type_of(p4_ast.Parser(TOKEN.findall(key.expression)).expression()) for key in table.keys]
        names = {name for name, _ in table.actions}
        for name in names - set(control.actions) - {"NoAction"}:
            self.complain(f"there is no action {name}")
        call = p4_ast.Parser(table.default).postfix() if table.default else ("call", ("name", "NoAction"), [])
        self.action_call(call[1][1], call[2], names)
        count = 0
        for matches, action, arguments in p4_ast.entries(table.const_entries):
            count += 1
            if len(matches) != len(kinds):
                self.complain(f"an entry has {len(matches)} keys, not {len(kinds)}")
                continue
            for kind, key, match in zip(kinds, table.keys, matches):
                self.match(kind, match, key.match == "exact")
            self.action_call(action, arguments, names)
        if count > table.size:
            self.complain(f"{count} entries in a table of {table.size}")

    def match(self, kind, match, exact=False):
        if match[0] == "any":
            if exact:
                self.complain("an exact key is left open")
        elif match[0] == "binary" and match[1] == "&&&":
            if exact:
                self.complain("an exact key has a mask")
            self.assignable(kind, match[2])
            self.assignable(kind, match[3])
        else:
            self.assignable(kind, match)

    def action_call(self, name, arguments, among=None):
        if among is not None and name not in among:
            self.complain(f"{name} is not among the table's actions")
        if name == "NoAction":
            return
        kinds = list(self.in_control.actions[name].kinds.values())
        if len(kinds) != len(arguments):
            self.complain(f"{name} takes {len(kinds)} arguments, not {len(arguments)}")
        for kind, argument in zip(kinds, arguments):
            self.assignable(kind, argument)

    # ---- statements
    def statements(self, body):
        for statement in body:
            kind = statement[0]
            if kind == "if":
                if self.type_of(statement[1]) != "bool":
                    self.complain("a condition is not bool")
                self.statements(statement[2])
                self.statements(statement[3])
            elif kind == "assign":
                self.writable(statement[1])
                self.assignable(self.type_of(statement[1]), statement[2])
            elif kind == "declare":
                self.scope[statement[2]] = self.plain(statement[1])
                if statement[3] is not None:
                    self.assignable(self.plain(statement[1]), statement[3])
            elif kind == "do":
                self.type_of(statement[1])
            elif kind == "goto":
                self.state(statement[1])
            elif kind == "select":
                keys = [self.type_of(key) for key in statement[1]]
                for matches, state in statement[2]:
                    self.state(state)
                    if matches == [("any",)]:
                        continue
                    if len(matches) != len(keys):
                        self.complain(f"a case has {len(matches)} keys, not {len(keys)}")
                    for key, match in zip(keys, matches):
                        self.match(key, match)

    def state(self, name):
        if name not in self.in_control.states and name not in ("accept", "reject"):
            self.complain(f"there is no state {name}")

    def writable(self, node):
        root = node
        while root[0] in ("member", "slice"):
            root = root[1]
        if root[0] != "name" or root[1] not in self.scope:
            self.complain(f"'{root[1]}' cannot be assigned to")
        elif root[1] in self.in_control.read_only:
            self.complain(f"'{root[1]}' is only read here")

    def assignable(self, kind, node):
        """May the value of `node` stand where `kind` is wanted? Only a plain number takes the width that is wanted."""
        given = self.type_of(node)
        if node[0] == "list":
            fields = self.fields(kind)
            if len(fields) != len(node[1]):
                self.complain(f"{len(node[1])} values for the {len(fields)} fields of {kind}")
            for wanted, item in zip(fields.values(), node[1]):
                self.assignable(self.plain(wanted), item)
        elif given == "number":
            self.in_range(kind, node)
        elif given != kind:
            self.complain(f"{given} where {kind} is wanted")

    def in_range(self, kind, node):
        width, value = bits(kind), self.number(node)
        if width is None and not kind.startswith("int<"):
            self.complain(f"a number where {kind} is wanted")
        elif width is not None and not 0 <= value < 1 << width:
            self.complain(f"{value} does not fit into {kind}")

    def number(self, node):
        if node[0] == "unary":
            return -self.number(node[2])
        if node[0] == "binary":
            left, right = self.number(node[2]), self.number(node[3])
            return left - right if node[1] == "-" else left + right
        return self.program.number(node[1])

    # ---- types
    def plain(self, kind):
        """A type as text, with numbers for what stands in angle brackets."""
        match = re.fullmatch(r"(bit|int)<(.+)>", kind)
        return f"{match.group(1)}<{self.program.number(match.group(2))}>" if match else kind

    def fields(self, kind):
        if kind in self.intrinsics:
            return {name: f"bit<{width}>" for name, width in self.intrinsics[kind].items()}
        return self.program.members.get(kind, {})

    def type_of(self, node):
        return getattr(self, "of_" + node[0])(*node[1:])

    def of_name(self, name):
        if name in self.scope:
            return self.plain(self.scope[name])
        if name in self.program.constants:
            return f"bit<{self.program.constant_widths[name]}>"
        if name in ("true", "false"):
            return "bool"
        if name == "PORT_METADATA_SIZE" and self.tna:
            return "number"
        match = re.fullmatch(r"(\d+)w(0x[0-9a-fA-F]+|\d+)", name)
        if match:
            if int(match.group(2), 0) >> int(match.group(1)):
                self.complain(f"{name} does not fit")
            return f"bit<{match.group(1)}>"
        if re.fullmatch(r"0x[0-9a-fA-F]+|\d+", name):
            return "number"
        raise SourceError(f"'{name}' is not known here")

    def of_member(self, owner, name):
        if not self.tna and owner[0] == "name" and name in V1MODEL_NAMES.get(owner[1], ()):
            return "void"
        if owner[0] == "call" and name in ("hit", "miss"):
            self.type_of(owner)
            return "bool"
        kind = self.type_of(owner)
        fields = self.fields(kind)
        if name not in fields:
            raise SourceError(f"{kind} has no field '{name}'")
        return self.plain(fields[name])

    def of_slice(self, whole, high, low):
        kind, high, low = self.type_of(whole), self.number(high), self.number(low)
        if bits(kind) is None or not 0 <= low <= high < bits(kind):
            self.complain(f"[{high}:{low}] of {kind}")
        return f"bit<{high - low + 1}>"

    def of_cast(self, kind, width, inner):
        target, given = self.plain(f"{kind}<{self.number(width)}>"), self.type_of(inner)
        if given == "number":
            self.in_range(target, inner)
        elif kind == "int" and given != target and bits(given) != self.number(width):
            self.complain(f"{given} cannot become {target} at once")
        elif given not in ("number", "bool") and not given.startswith(("bit<", "int<")):
            self.complain(f"{given} cannot become {target}")
        return target

    def of_unary(self, operator, inner):
        kind = self.type_of(inner)
        if (operator == "!") != (kind == "bool"):
            self.complain(f"'{operator}' of {kind}")
        return kind

    def of_binary(self, operator, left, right):
        a, b = self.type_of(left), self.type_of(right)
        if operator in ("&&", "||"):
            if (a, b) != ("bool", "bool"):
                self.complain(f"'{operator}' of {a} and {b}")
            return "bool"
        if operator == "++":
            return f"bit<{bits(a) + bits(b)}>"
        if operator in ("<<", ">>"):
            if b != "number":
                self.complain("a shift by a variable")
            return a
        if "number" in (a, b):
            wanted, number = (a, right) if b == "number" else (b, left)
            if wanted != "number":
                self.in_range(wanted, number)
        elif a != b:
            self.complain(f"'{operator}' of {a} and {b}")
        elif a == "bool" and operator not in ("==", "!="):
            self.complain(f"'{operator}' of bool")
        if operator in ("==", "!=", "<", ">", "<=", ">="):
            return "bool"
        return b if a == "number" else a

    def of_list(self, items):
        for item in items:
            self.type_of(item)
        return "list"

    def of_typed(self, target, arguments):
        return "typed"

    # ---- calls
    def of_call(self, target, arguments):
        if target[0] == "typed":
            return self.typed_call(target[1], target[2], arguments)
        if target[0] == "name":
            return self.function(target[1], arguments)
        owner, method = target[1], target[2]
        name = owner[1] if owner[0] == "name" else ""
        control = self.in_control
        if method == "apply":
            if name in control.tables:
                return "applied"
            if name in control.instances and control.instances[name] in self.program.controls:
                return self.block(self.program.controls[control.instances[name]], arguments)
            raise SourceError(f"'{name}' cannot be applied")
        if name in control.register_actions and method == "execute":
            return self.execute(name, arguments)
        kind = control.externs.get(name) or ("Counter" if name in control.counters else "")
        if kind:
            if method not in self.methods.get(kind, {}):
                raise SourceError(f"{kind} has no '{method}'")
            for argument in arguments:
                self.type_of(argument)
            if method == "count" and self.tna:
                self.assignable(self.plain(control.type_arguments[name][1]), arguments[0])
            if method in ("read", "write"):
                cell = self.plain(control.type_arguments[name][0])
                value, index = arguments if method == "read" else arguments[::-1]
                self.assignable(cell, value)
                self.assignable("bit<32>", index)
            return self.methods[kind][method]
        kind = self.type_of(owner)
        if method in ("setValid", "setInvalid", "isValid") and kind in self.program.headers:
            if method != "isValid":
                self.writable(owner)
            return "bool" if method == "isValid" else "void"
        if kind in ("packet_in", "packet_out") and method in PACKET:
            for argument in arguments:
                self.type_of(argument)
            return "void"
        raise SourceError(f"{kind} has no '{method}'")

    def block(self, control, arguments):
        if len(arguments) != len(control.params):
            raise SourceError(f"{control.name} takes {len(control.params)} arguments")
        for (name, kind), argument in zip(control.params, arguments):
            self.assignable(self.plain(kind), argument)
            if name not in control.read_only and kind != "packet_in":
                self.writable(argument)
        return "void"

    def execute(self, name, arguments):
        control = self.in_control
        self.assignable(self.plain(control.type_arguments[name][1]), arguments[0])
        kinds = list(control.accesses[name].values())
        return self.plain(kinds[1]) if len(kinds) > 1 else "void"

    def function(self, name, arguments):
        if name in self.in_control.actions:
            self.action_call(name, arguments)
        elif not self.tna and name in V1MODEL_FUNCTIONS:
            for argument in arguments:
                self.type_of(argument)
        else:
            raise SourceError(f"there is no '{name}'")
        return "void"

    def typed_call(self, target, kind, arguments):
        method = target[2]
        if method == "lookahead" and self.type_of(target[1]) == "packet_in":
            return self.plain("".join(kind))
        if method == "emit" and self.in_control.externs.get(target[1][1]) == "Mirror":
            self.assignable("bit<10>", arguments[0])
            self.assignable("".join(kind), arguments[1])
            return "void"
        raise SourceError(f"there is no '{method}<{''.join(kind)}>'")
