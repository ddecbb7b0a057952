"""Reads the P4 program as far as control planes and tests need it: constants, headers, structs, and per control its
tables, actions, registers, counters, instances and apply order. Not a compiler: it knows the subset that p4/ is written
in and stops with a line saying what it did not understand."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

P4 = Path(__file__).resolve().parent.parent
TOKEN = re.compile(r'"[^"]*"|\d+[ws](?:0x[0-9a-fA-F]+|\d+)|0x[0-9a-fA-F]+|[A-Za-z_]\w*|\d+|&&&|&&|\|\||<<|>>|==|!=|<=|>=|\+\+|\.\.|\S')


class SourceError(Exception):
    pass


@dataclass
class Key:
    expression: str
    match: str
    name: str = ""      # @name, else empty
    width: int = 0      # filled in by Program


@dataclass
class Action:
    name: str
    params: list        # (name, width)
    body: list          # tokens
    kinds: dict = field(default_factory=dict)  # parameter -> type
    given_back: list = field(default_factory=list)  # parameters that are out or inout


@dataclass
class Table:
    name: str
    keys: list
    actions: list       # (name, annotations)
    size: int = 0
    const_default: bool = False
    default: list = field(default_factory=list)        # tokens of the call
    const_entries: list = field(default_factory=list)  # tokens
    is_const: bool = False


@dataclass
class Control:
    name: str
    params: list                                    # (name, type)
    actions: dict = field(default_factory=dict)
    tables: dict = field(default_factory=dict)
    registers: dict = field(default_factory=dict)   # name -> (cell type, size)
    counters: dict = field(default_factory=dict)    # name -> (size, kind)
    register_actions: dict = field(default_factory=dict)  # name -> (register, parameter names, body tokens)
    externs: dict = field(default_factory=dict)     # name -> kind, of everything else built in
    instances: dict = field(default_factory=dict)   # name -> type, in order
    apply: list = field(default_factory=list)       # tokens
    states: dict = field(default_factory=dict)      # of a parser: name -> tokens
    type_arguments: dict = field(default_factory=dict)  # of what is built in: name -> types in angle brackets
    accesses: dict = field(default_factory=dict)    # of a register action: name -> {parameter: type}
    read_only: set = field(default_factory=set)     # parameters that are only "in"


def preprocess(path):
    """The program after cpp, without the includes of the architecture."""
    path = Path(path).resolve()
    text = path.read_text()
    text = "\n".join("" if line.startswith("#include <") else line for line in text.splitlines())
    run = subprocess.run(["cpp", "-P", "-nostdinc", "-undef", "-iquote", str(path.parent), "-iquote", str(P4), "-"],
                         input=text, capture_output=True, text=True, cwd=path.parent)  # where "..." is looked for first
    if run.returncode:
        raise SourceError(f"{path}: {run.stderr.strip()}")
    return run.stdout


class Reader:
    """Token cursor."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        if expected is not None and token != expected:
            raise SourceError(f"expected '{expected}', found '{' '.join(self.tokens[self.at:self.at + 8])}'")
        self.at += 1
        return token

    def group(self, opening, closing):
        """Tokens between a matching pair, which is consumed."""
        self.take(opening)
        start, depth = self.at, 1
        while depth:
            token = self.take()
            if token == "":
                raise SourceError(f"'{opening}' without '{closing}'")
            # '>>' closes two type argument lists
            depth += (token == opening) - (token == closing) - 2 * (closing == ">" and token == ">>")
        return self.tokens[start:self.at - 1] + [">"] * (token == ">>")

    def until(self, *stops):
        start = self.at
        while self.peek() not in stops:
            if self.peek() == "":
                raise SourceError(f"expected one of {stops}")
            self.at += 1
        return self.tokens[start:self.at]


def split(tokens, separator=","):
    """Splits at top-level separators."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += token in "([{<" and token != "" or 0
        depth -= token in ")]}>" and token != "" or 0
        if token == separator and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [p for p in parts if p]


class Program:
    def __init__(self, path=P4 / "switch.p4"):
        self.constants, self.types, self.headers, self.structs, self.controls, self.members = {}, {}, {}, {}, {}, {}
        self.constant_widths = {}
        self.reader = Reader(preprocess(path))
        while self.reader.peek():
            self.declaration()
        for control in self.controls.values():
            for table in control.tables.values():
                for key in table.keys:
                    key.width = self.width_of(key.expression, control)

    # ---- values and widths
    def number(self, token):
        token = token.strip()
        if token in self.constants:
            return self.constants[token]
        match = re.fullmatch(r"(?:\d+[ws])?(0x[0-9a-fA-F]+|\d+)", token)
        if match:
            return int(match.group(1), 0)
        if re.fullmatch(r"[\d\s+\-*()x]+", token):
            return int(eval(token))  # sizes such as "14 - 1"; digits and operators only
        raise SourceError(f"'{token}' is not a number")

    def width(self, tokens):
        """Bits of a type; pairs have the sum of their fields."""
        text = "".join(tokens)
        match = re.fullmatch(r"(?:bit|int)<(.+)>", text)
        if match:
            return self.number(match.group(1))
        if text in self.types:
            return self.types[text]
        for known in (self.headers, self.structs):
            if text in known:
                return sum(width for _, width in known[text])
        raise SourceError(f"unknown type '{text}'")

    def width_of(self, expression, control):
        if expression.endswith(".isValid()"):
            return 1
        slice_match = re.fullmatch(r"(.*)\[([^:\]]+):([^\]]+)\]", expression)
        if slice_match:
            return self.number(slice_match.group(2)) - self.number(slice_match.group(3)) + 1
        path = expression.split(".")
        types = dict(control.params)
        if path[0] not in types:
            raise SourceError(f"{control.name}: unknown '{expression}'")
        kind = types[path[0]]
        for name in path[1:]:
            members = self.members.get(kind)
            if members is None or name not in members:
                raise SourceError(f"{control.name}: unknown '{expression}'")
            kind = members[name]
        return self.width([kind])

    # ---- declarations
    def declaration(self):
        r = self.reader
        while r.peek() == "@":
            r.take()
            r.take()
            if r.peek() == "(":
                r.group("(", ")")
        word = r.take()
        if word == "const":
            width = self.width(self.type_tokens())
            name = r.take()
            r.take("=")
            self.constants[name] = self.number("".join(r.until(";")))
            self.constant_widths[name] = width
            r.take(";")
        elif word == "typedef":
            width = self.width(self.type_tokens())
            self.types[r.take()] = width
            r.take(";")
        elif word in ("header", "struct"):
            self.record(word)
        elif word in ("control", "parser"):
            self.control(word)
        else:
            r.until(";")  # package instances
            r.take(";")

    def type_tokens(self):
        r = self.reader
        tokens = [r.take()]
        if r.peek() == "<":
            tokens += ["<"] + r.group("<", ">") + [">"]
        return tokens

    def record(self, word):
        r = self.reader
        name = r.take()
        fields, members = [], {}
        body = Reader("")
        body.tokens = r.group("{", "}")
        while body.peek():
            while body.peek() == "@":
                body.take()
                body.take()
                if body.peek() == "(":
                    body.group("(", ")")
            line = body.until(";")
            body.take(";")
            kind, member = line[:-1], line[-1]
            members[member] = "".join(kind)
            fields.append((member, self.width(kind)))
        self.members[name] = members
        (self.headers if word == "header" else self.structs)[name] = fields

    def params(self, tokens):
        result = []
        for part in split(tokens):
            part = [t for t in part if t not in ("in", "out", "inout")]
            result.append((part[-1], "".join(part[:-1])))
        return result

    def control(self, word):
        r = self.reader
        name, params = r.take(), r.group("(", ")")
        control = Control(name, self.params(params), read_only={p[-1] for p in split(params) if p[0] == "in"})
        body = Reader("")
        body.tokens = r.group("{", "}")
        self.controls[control.name] = control
        if word == "parser":
            self.parser_body(control, body)
            return
        outer, self.reader = self.reader, body
        while body.peek():
            self.member(control)
        self.reader = outer

    def parser_body(self, control, body):
        while body.peek() and body.peek() != "state":  # instances: Kind() name;
            kind = body.take()
            body.group("(", ")")
            control.instances[body.take()] = kind
            body.take(";")
        while body.peek():
            body.take("state")
            name = body.take()
            control.states[name] = body.group("{", "}")

    def member(self, control):
        r = self.reader
        annotations = []
        while r.peek() == "@":
            r.take()
            annotations.append(r.take())
            if r.peek() == "(":
                r.group("(", ")")
        word = r.peek()
        if word == "action":
            r.take()
            name = r.take()
            given = r.group("(", ")")
            kinds = self.params(given)
            params = [(n, self.width([t])) for n, t in kinds]
            given_back = [p[-1] for p in split(given) if p[0] in ("out", "inout")]
            control.actions[name] = Action(name, params, r.group("{", "}"), dict(kinds), given_back)
        elif word == "table":
            r.take()
            name = r.take()
            control.tables[name] = self.table(name, r.group("{", "}"))
        elif word == "apply":
            r.take()
            control.apply = r.group("{", "}")
        elif word in ("Register", "RegisterAction", "Counter", "DirectCounter", "Meter", "Mirror", "Checksum", "Hash",
                      "register", "counter"):
            self.extern(control)
        else:
            kind = r.take()
            if r.peek() == "<":
                r.group("<", ">")
            if r.peek() == "(":
                r.group("(", ")")
            name = r.take()
            if r.peek() == "=":
                r.until(";")
            r.take(";")
            if kind[0].isupper():
                control.instances[name] = kind

    def extern(self, control):
        r = self.reader
        kind = r.take()
        types = split(r.group("<", ">")) if r.peek() == "<" else []
        args = split(r.group("(", ")")) if r.peek() == "(" else []
        name = r.take()
        body = []
        if r.peek() == "=":
            r.take()
            body = r.group("{", "}")
        r.take(";")
        control.type_arguments[name] = ["".join(t) for t in types]
        if kind == "Register":
            control.registers[name] = ("".join(types[0]), self.number("".join(args[0])))
        elif kind == "RegisterAction":
            open_, close = body.index("("), body.index(")")
            control.accesses[name] = dict(self.params(body[open_ + 1:close]))
            control.register_actions[name] = ("".join(args[0]), list(control.accesses[name]), body[body.index("{") + 1:-1])
        elif kind == "Counter":
            control.counters[name] = (self.number("".join(args[0])), "".join(args[1]).split(".")[-1])
        else:
            control.externs[name] = kind

    def table(self, name, tokens):
        table = Table(name, [], [])
        r = Reader("")
        r.tokens = tokens
        while r.peek():
            const = r.peek() == "const"
            if const:
                r.take()
            word = r.take()
            r.take("=")
            if word == "key":
                for part in split(r.group("{", "}"), ";"):
                    colon = max(i for i, t in enumerate(part) if t == ":" and "]" not in part[i:])
                    expression, rest = "".join(part[:colon]), part[colon + 1:]
                    alias = rest[rest.index("name") + 2].strip('"') if "name" in rest else ""
                    table.keys.append(Key(expression, rest[0], alias))
            elif word == "actions":
                for part in split(r.group("{", "}"), ";"):
                    marks = [part[i + 1] for i, t in enumerate(part) if t == "@"]
                    table.actions.append((part[-1], marks))
            elif word == "entries":
                table.const_entries = r.group("{", "}")
                table.is_const = const
                if r.peek() == ";":
                    r.take()
            else:
                value = r.until(";")
                r.take(";")
                if word == "size":
                    table.size = self.number("".join(value))
                elif word == "default_action":
                    table.const_default = const
                    table.default = value
        return table

    # ---- views
    def blocks(self, top):
        """(path, control) of a top control and of the blocks in it, in the order of their declaration."""
        control = self.controls[top]
        yield top, control
        for name, kind in control.instances.items():
            if kind in self.controls:
                yield f"{top}.{name}", self.controls[kind]

    def apply_order(self, top):
        """Names of the block instances in the order in which the control applies them."""
        control = self.controls[top]
        tokens = control.apply
        return [tokens[i] for i in range(len(tokens) - 2)
                if tokens[i] in control.instances and tokens[i + 1] == "." and tokens[i + 2] == "apply"]
