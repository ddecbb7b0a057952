"""What Tofino refuses in a program that a compiler's front end takes: rules of its stateful ALUs, its arithmetic, its gateways,
mirror headers and parser. Each complaint names the place. What needs a placement (stages, memories, PHV) is asked of
`l3dml-switch --budget`."""

import p4_ast
from p4_check import TNA
from p4_source import TOKEN, SourceError

ACCESSES_PER_REGISTER = 4   # RegisterActions
COMPARATORS = 2             # of a stateful ALU
OPERANDS = 2                # that it takes from the packet
WORD = 32                   # bits of an operand and of the result
ARITHMETIC = 16             # bits outside of stateful ALUs: all 32-bit containers hold lanes
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
TOPS = ("Ingress", "Egress")


def walk(node):
    """All expressions and statements in a tree."""
    if isinstance(node, tuple):
        yield node
    if isinstance(node, (tuple, list)):
        for part in node:
            yield from walk(part)


def text(node):
    """A field as it is written, slices left out."""
    if node[0] == "slice":
        return text(node[1])
    return f"{text(node[1])}.{node[2]}" if node[0] == "member" else str(node[1])


class Chip:
    def __init__(self, program):
        self.program, self.complaints = program, []
        for top in TOPS:
            for path, control in program.blocks(top):
                self.path, self.control = path, control
                self.registers()
                for name in control.register_actions:
                    self.access(name)
                for name, action in control.actions.items():
                    self.arithmetic(name, p4_ast.statements(action.body))
                self.gateways(p4_ast.statements(control.apply))
                self.arithmetic("apply", p4_ast.statements(control.apply))
                self.keys()
        for name in ("IngressDeparser", "EgressDeparser"):
            self.mirrors(name)
        for top in TOPS:
            self.parser(f"{top}Parser")

    def complain(self, place, what):
        self.complaints.append(f"{self.path}.{place}: {what}")

    # ---- registers
    def registers(self):
        """One table reaches a register, and no packet meets that table twice."""
        control = self.control
        applied = [n[1][1] for n in walk(p4_ast.statements(control.apply))
                   if n[0] == "member" and n[2] == "apply" and n[1][1] in control.tables]
        for name in {n for n in applied if applied.count(n) > 1}:
            self.complain(name, "is applied twice")
        reach = {}
        for table in control.tables.values():
            for action, _ in table.actions:
                if action in control.actions:
                    for register in self.executed(action):
                        reach.setdefault(register, set()).add(table.name)
                    if len(self.executed_in_order(action)) > len(set(self.executed_in_order(action))):
                        self.complain(action, "reaches a register twice")
        for register, tables in reach.items():
            if len(tables) > 1:
                self.complain(register, f"is reached from {' and '.join(sorted(tables))}: a register lies in one stage")
        for node in walk(p4_ast.statements(control.apply)):
            if node[0] == "call" and node[1][0] == "member" and node[1][2] == "execute":
                self.complain("apply", "a register is reached outside of a table")
        for register, (cell, _) in control.registers.items():
            accesses = [n for n, (of, _, _) in control.register_actions.items() if of == register]
            if len(accesses) > ACCESSES_PER_REGISTER:
                self.complain(register, f"has {len(accesses)} accesses, a stateful ALU has {ACCESSES_PER_REGISTER}")
            widths = [w for _, w in self.program.structs[cell]] if cell in self.program.structs else [self.program.width([cell])]
            if len(widths) > 2 or any(w not in (1, 8, 16, 32) for w in widths):
                self.complain(register, f"cells of {widths} bits")

    def executed_in_order(self, action):
        control, found = self.control, []
        for node in walk(p4_ast.statements(control.actions[action].body)):
            if node[0] != "call":
                continue
            if node[1][0] == "member" and node[1][2] == "execute":
                found.append(control.register_actions[node[1][1][1]][0])
                self.index(action, node[2][0])
            elif node[1][0] == "name" and node[1][1] in control.actions:
                found += self.executed_in_order(node[1][1])
        return found

    def executed(self, action):
        return set(self.executed_in_order(action))

    def index(self, action, node):
        """An index is a field or a part of one: nothing is worked out before the first access."""
        while node[0] in ("cast", "slice"):
            node = node[3] if node[0] == "cast" else node[1]
        if node[0] not in ("member", "name"):
            self.complain(action, "the index of a register is worked out")

    def access(self, name):
        _, parameters, tokens = self.control.register_actions[name]
        kinds = list(self.control.accesses[name].values())
        body = p4_ast.statements(tokens)
        comparisons = {n for n in walk(body) if n[0] == "binary" and n[1] in COMPARISONS}
        if len(comparisons) > COMPARATORS:
            self.complain(name, f"{len(comparisons)} comparisons, a stateful ALU has {COMPARATORS}")
        operands = {text(n) for n in walk(body) if n[0] == "member" and text(n).split(".")[0] not in parameters and
                    text(n).split(".")[0] in dict(self.control.params) and "." in text(n) and self.is_field(n)}
        if len(operands) > OPERANDS:
            self.complain(name, f"takes {' and '.join(sorted(operands))}: a stateful ALU takes {OPERANDS} fields")
        for field in operands:
            if self.width(field) > WORD:
                self.complain(name, f"{field} has more than {WORD} bits")
        if len(kinds) > 1:
            if self.program.width([kinds[1]]) > WORD:
                self.complain(name, f"returns more than {WORD} bits")
            self.result(name, parameters[1], body)
        for node in walk(body):
            if node[0] == "binary" and node[1] in ("<<", ">>", "++"):
                self.complain(name, f"'{node[1]}' in a stateful ALU")
            if node[0] == "call":
                self.complain(name, "calls something")

    def result(self, name, result, body):
        """Assigned at most once on each path, but for a zero that comes first: what is assigned is ORed."""
        def longest(statements, before):
            for statement in statements:
                if statement[0] == "if":
                    before = max(longest(statement[2], before), longest(statement[3], before))
                elif statement[0] == "assign" and statement[1] == ("name", result):
                    zero = statement[2][0] == "name" and self.is_number(statement[2][1]) and \
                        self.program.number(statement[2][1]) == 0
                    before += 0 if zero and before == 0 else 1
            return before
        if longest(body, 0) > 1:
            self.complain(name, "assigns a result twice on a path")

    def is_number(self, token):
        try:
            self.program.number(token)
            return True
        except SourceError:
            return False

    # ---- fields
    def is_field(self, node):
        try:
            return self.width(text(node)) > 0
        except SourceError:
            return False

    def width(self, field):
        kinds = dict(self.control.params)
        path = field.split(".")
        if kinds.get(path[0]) in TNA:
            return TNA[kinds[path[0]]].get(path[1], 0)
        kind = kinds.get(path[0], "")
        for name in path[1:]:
            kind = self.program.members.get(kind, {}).get(name, "")
        if kind in self.program.members:
            return 0  # a whole header
        return self.program.width([kind])

    def bits_of(self, node):
        if node[0] == "slice":
            return self.program.number(node[2][1]) - self.program.number(node[3][1]) + 1 \
                if node[2][0] == node[3][0] == "name" else self.width(text(node))
        if node[0] == "cast":
            return self.program.number(node[2][1])
        if node[0] == "binary":
            return max(self.bits_of(node[2]), self.bits_of(node[3]))
        if node[0] == "member" and self.is_field(node):
            return self.width(text(node))
        return 0

    def arithmetic(self, place, body):
        for node in walk(body):
            if node[0] != "binary":
                continue
            if node[1] in ("+", "-") and self.bits_of(node) > ARITHMETIC:
                self.complain(place, f"arithmetic on {self.bits_of(node)} bits outside of a stateful ALU")
            if node[1] in ("<<", ">>") and not self.is_number(str(node[3][1])):
                self.complain(place, "a shift by a variable")

    def gateways(self, body):
        """A condition compares fields with constants or with each other; what is combined of two fields is a table key."""
        for node in walk(body):
            if node[0] == "if":
                for inner in walk(node[1]):
                    if inner[0] == "binary" and inner[1] in ("&", "|", "+", "-") and self.bits_of(inner[2]) and self.bits_of(inner[3]):
                        self.complain("apply", f"'{inner[1]}' of two fields in a condition: make it a table key")

    def keys(self):
        for table in self.control.tables.values():
            for key in table.keys:
                node = p4_ast.Parser(TOKEN.findall(key.expression)).expression()
                if node[0] == "slice" and not key.name:
                    self.complain(table.name, f"the slice {key.expression} has no @name")

    # ---- deparsers and parsers
    def mirrors(self, name):
        for node in walk(p4_ast.statements(self.program.controls[name].apply)):
            if node[0] == "call" and node[1][0] == "typed" and node[1][1][2] == "emit":
                for item in (node[2][0], *node[2][1][1]):
                    if item[0] != "member":
                        self.complaints.append(f"{name}: a mirror header takes fields, not '{text(item)}'")

    def parser(self, name):
        """No field is written twice on a path: extractors OR into what is there."""
        control = self.program.controls[name]
        metadata = {p for p, kind in control.params if kind.endswith("metadata_t")}
        sub = {n: self.program.controls[k] for n, k in control.instances.items()}

        def visit(states, state, written, seen, leave):
            if state in ("accept", "reject"):
                return leave(written) if state == "accept" else None
            if state in seen:
                return None  # a loop
            for statement in p4_ast.statements(states[state]):
                if statement[0] == "assign" and text(statement[1]).split(".")[0] in metadata:
                    field = text(statement[1])
                    if field in written:
                        self.complaints.append(f"{name}.{state}: {field} is written again")
                    written = written | {field}
                elif statement[0] == "do" and statement[1][1][0] == "member" and statement[1][1][1][1] in sub:
                    inner = sub[statement[1][1][1][1]].states
                    after = set()
                    visit(inner, "start", written, set(), after.update)
                    written = written | after
                elif statement[0] == "goto":
                    visit(states, statement[1], written, seen | {state}, leave)
                elif statement[0] == "select":
                    for target in sorted({target for _, target in statement[2]}):
                        visit(states, target, written, seen | {state}, leave)
            return None

        visit(control.states, "start", frozenset(), set(), lambda written: None)
