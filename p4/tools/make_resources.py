#!/usr/bin/env python3
"""Derives resources.json from the P4 sources: what the program asks of a chip. Tables and free-standing actions of both
gresses with what must be placed before them, registers and counters with the sizes they scale with, bits of packet
headers and metadata, and how often each kind of packet goes through ingress. The switch places it on a chip
(dataplane/tna/budget.h). `--check` compares with the committed file instead."""

import argparse
import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import p4_ast
from p4_source import P4, TOKEN, Program, SourceError

GRESSES = (("ingress", "Ingress", "IngressParser", "ig_md"), ("egress", "Egress", "EgressParser", "eg_md"))
SCALABLE = ("SLOTS", "NEIGHBORS", "RING_ENTRIES")  # sizes of configuration.p4 that a device may choose
FAMILY = re.compile(r"(.*\D)\d\d$")               # lanes00, lanes01, ...: one per pair of lanes


@dataclass
class Node:
    """What is placed in a stage: a table, actions that are always run, or a condition (a gateway)."""
    name: str
    keys: list = field(default_factory=list)  # (bits, match)
    entries: int = 1
    action_bits: int = 0
    actions: int = 0
    registers: set = field(default_factory=set)
    counters: set = field(default_factory=set)
    matches: set = field(default_factory=set)  # fields that say what happens: keys, or what a condition compares
    reads: set = field(default_factory=set)
    writes: set = field(default_factory=set)
    branch: tuple = ()                         # ((number of an if, which side), ...)
    inside: tuple = ()                         # conditions and tables whose hit decides whether this is run


def overlap(a, b):
    return any(x == y or x.startswith(y + ".") or y.startswith(x + ".") for x in a for y in b)


class Gress:
    def __init__(self, program, top):
        self.program, self.nodes, self.ifs, self.bits = program, [], 0, {}
        control = program.controls[top]
        self.branch, self.inside = (), ()
        self.apply(control, top, {name: name for name, _ in control.params})

    def apply(self, control, path, names):
        self.control, self.path, self.names = control, path, names
        self.statements(p4_ast.statements(control.apply))

    # ---- apply blocks
    def statements(self, body):
        for statement in body:
            if statement[0] == "if":
                self.ifs += 1
                outer, number = (self.branch, self.inside), self.ifs
                self.inside = (*self.inside, self.condition(statement[1]))
                for side, statements in ((True, statement[2]), (False, statement[3])):
                    self.branch = (*outer[0], (number, side))
                    self.statements(statements)
                self.branch, self.inside = outer
            elif statement[0] == "do" and statement[1][0] == "call":
                self.call(statement[1])
            elif statement[0] == "assign":
                node = self.add(Node(f"{self.path}.{statement[1][-1]}", actions=1))
                node.writes, node.reads = {self.path_of(statement[1])}, self.reads(statement[2], node)
            else:
                raise SourceError(f"{self.path}: {statement[0]} in an apply block")

    def add(self, node):
        node.branch, node.inside = self.branch, self.inside
        self.nodes.append(node)
        return node

    def condition(self, condition):
        """Index of the node that decides: the table whose hit it is, or a gateway."""
        inner = condition[2] if condition[0] == "unary" else condition
        if inner[0] == "member" and inner[2] == "hit":
            self.call(inner[1])
        else:
            self.add(Node(f"{self.path}.if{self.ifs}", matches=self.reads(condition, Node(""))))
        return len(self.nodes) - 1

    def call(self, call):
        target = call[1]
        if target[0] == "member" and target[2] == "apply":
            name = target[1][1]
            if name in self.control.tables:
                self.table(self.control.tables[name])
                return
            outer = (self.control, self.path, self.names)
            block = self.program.controls[self.control.instances[name]]
            names = {param: self.inner_path(argument) for (param, _), argument in zip(block.params, call[2], strict=True)}
            self.apply(block, f"{self.path}.{name}", names)
            self.control, self.path, self.names = outer
        else:
            self.action(target[1], self.add(Node(f"{self.path}.{target[1]}", actions=1)))

    def table(self, table):
        node = self.add(Node(f"{self.path}.{table.name}", entries=table.size))
        for key in table.keys:
            node.keys.append((key.width, key.match))
            node.matches |= self.reads(p4_ast.Parser(TOKEN.findall(key.expression)).expression(), node)
        for name, _ in table.actions:
            node.actions += 1
            if name in self.control.actions:
                node.action_bits = max(node.action_bits, sum(width for _, width in self.control.actions[name].params))
                self.action(name, node)
        if table.is_const:  # the entries give the parameters: no memory for what a controller may write
            node.action_bits = min(node.action_bits, 32)

    def action(self, name, node):
        action = self.control.actions[name]
        for statement in p4_ast.statements(action.body):
            if statement[0] == "assign":
                node.writes.add(self.path_of(statement[1]))
                if statement[1][0] == "slice":
                    node.reads.add(self.path_of(statement[1]))
                node.reads |= self.reads(statement[2], node)
            else:
                self.reads(statement[1], node, True)

    # ---- expressions
    def path_of(self, expression):
        """'hdr.ipv6.src_addr' of a field; empty for what is no field of the packet (parameters, constants)."""
        if expression[0] == "slice":
            path = self.inner_path(expression[1])
            self.bits.setdefault(path, set()).update(range(self.value(expression[3]), self.value(expression[2]) + 1))
            return path
        path = self.inner_path(expression)
        if path:
            self.bits.setdefault(path, set()).add("all")
        return path

    def validity(self, header):
        path = self.inner_path(header) + ".$valid"
        self.bits.setdefault(path, set())
        return path

    def inner_path(self, expression):
        if expression[0] == "member":
            outer = self.inner_path(expression[1])
            return f"{outer}.{expression[2]}" if outer else ""
        return self.names.get(expression[1], "") if expression[0] == "name" else ""

    def value(self, expression):
        if expression[0] == "binary":
            return self.value(expression[2]) - self.value(expression[3])
        return self.program.number(expression[1])

    def touched(self, path, width):
        """How many bits of a field some table reads or writes."""
        if any(path.startswith(other + ".") for other in self.bits):
            return width
        bits = self.bits.get(path, set())
        return width if "all" in bits else len(bits)

    def reads(self, expression, node, write_nothing=False):
        kind = expression[0]
        if kind == "call":
            return self.extern(expression, node)
        if kind in ("name", "member", "slice"):
            path = self.path_of(expression)
            return {path} if path else set()
        parts = {"binary": expression[2:], "unary": expression[2:], "cast": expression[3:], "list": expression[1]}[kind]
        return set().union(*(self.reads(part, node) for part in parts), set())

    def extern(self, call, node):
        target = call[1]
        if target[0] == "name":  # another action
            self.action(target[1], node)
            return set()
        object_, method = target[1], target[2]
        if method in ("setValid", "setInvalid"):
            node.writes.add(self.validity(object_))
            return set()
        if method == "isValid":
            return {self.validity(object_)}
        for argument in call[2]:
            node.reads |= self.reads(argument, node)
        if method == "execute":
            register, own, body = self.control.register_actions[object_[1]]
            node.registers.add(f"{self.path}.{register}")
            self.register_action(p4_ast.statements(body), set(own), node)
        elif method == "count":
            node.counters.add(f"{self.path}.{object_[1]}")
        return set()

    def register_action(self, body, own, node):
        for statement in body:
            if statement[0] == "if":
                node.reads |= self.reads(statement[1], node)
                self.register_action(statement[2], own, node)
                self.register_action(statement[3], own, node)
            elif statement[0] == "assign":
                node.reads |= self.reads(statement[2], node)

    # ---- order
    def predecessors(self, index):
        """[node, stages later]: 1 after what wrote a field that this one needs or writes, 0 after what decides whether this one
        is run and after what must still read a field that this one writes."""
        node, result = self.nodes[index], []
        for i, earlier in enumerate(self.nodes[:index]):
            sides = dict(earlier.branch)
            if any(sides.get(number, side) != side for number, side in node.branch):
                continue  # a packet takes one of them
            if overlap(earlier.writes, node.matches | node.reads | node.writes):
                result.append([i, 1])
            elif i in node.inside or overlap(earlier.matches | earlier.reads, node.writes):
                result.append([i, 0])
        return result


def headers_of(program, parser):
    """Headers that a parser (and the parsers in it) extracts."""
    found, control = set(), program.controls[parser]
    for tokens in control.states.values():
        found |= {tokens[i + 5] for i in range(len(tokens) - 5) if tokens[i:i + 5] == [".", "extract", "(", "hdr", "."]}
    for kind in control.instances.values():
        found |= headers_of(program, kind)
    return found


def phv(program, gress, parser, metadata, placed):
    """Bits that a gress keeps of a packet: those that some table reads or writes, those that only pass, and lanes."""
    headers = headers_of(program, parser) | {name.split(".")[1] for name in placed.bits if name.endswith(".$valid")}
    used = unused = lanes = 0
    for header in headers:
        kind = program.members["header_t"][header]
        for name, width in program.headers[kind]:
            if kind == "lanes_h":
                lanes += width
            else:
                bits = placed.touched(f"hdr.{header}.{name}", width)
                used, unused = used + bits, unused + width - bits
    struct = dict(next(c for n, c in program.blocks(gress.capitalize())).params)[metadata]
    used += sum(placed.touched(f"{metadata}.{name}", width) for name, width in program.structs[struct])
    return {"gress": gress, "matched_bits": used, "carried_bits": unused, "lane_bits": lanes}


def passes(program):
    """How often a packet of each type goes through ingress, from the constant tables that decide it."""
    next_step = program.controls["NextStep"]
    table = next_step.tables["next_step"]
    keys = [key.expression for key in table.keys]
    op, steered = keys.index("ig_md.op"), keys.index("ig_md.steered")
    deliver = program.controls["Ingress"].tables["deliver"]
    back = set()  # verdicts that lead to a recirculation port
    for matches, action, _ in p4_ast.entries(deliver.const_entries):
        if {"recirculation_port", "owner_port"} & set(program.controls["Ingress"].actions[action].body):
            back.add(matches[0][1])
    from_egress = {body[i + 1] for control in ("Replica", "SegmentSender") for action in program.controls[control].actions.values()
                   for body in [action.body] for i in range(len(body) - 1) if body[i - 5:i + 1] == ["hdr", ".", "bridge", ".", "pass", "="]}
    after = {}  # op or pass -> passes that may follow
    for matches, action, arguments in p4_ast.entries(table.const_entries):
        known = next_step.actions[action]
        values = {param: argument[1] for (param, _), argument in zip(known.params, arguments)}
        assigned = {s[1][2]: values.get(s[2][1], s[2][1]) for s in p4_ast.statements(known.body) if s[0] == "assign"}
        if matches[op][0] == "name" and assigned.get("verdict") in back:
            after.setdefault(matches[op][1], set()).add(assigned["next_pass"])

    def longest(pass_):
        following = sorted(after.get(pass_, set())) if pass_.startswith(("OP_", "PASS_")) else sorted(from_egress)
        return max(([pass_] + longest(f) for f in following), key=len, default=[pass_])

    result = []
    for name in program.constants:
        if name.startswith("OP_") and any(m[op] == ("name", name) for m, _, _ in p4_ast.entries(table.const_entries)):
            way = longest(name)
            result.append({"packet": name[len("OP_"):].lower(), "passes": sum(p.startswith(("OP_", "PASS_")) for p in way),
                           "way": way})
    assert any(m[steered] != ("any",) for m, _, _ in p4_ast.entries(table.const_entries))
    return result


def symbolic(folder):
    """name of a register, counter or table -> the size of configuration.p4 it has. Found by giving each size a value of its
    own and reading the program again."""
    with tempfile.TemporaryDirectory() as copy:
        for file in folder.glob("*.p4"):
            shutil.copy(file, copy)
        configuration = Path(copy) / "configuration.p4"
        marks = {}
        def mark(match):
            if match.group(1) not in SCALABLE:
                return match.group(0)
            marks[1_000_003 + len(marks)] = match.group(1)
            return f"#define {match.group(1)} {1_000_002 + len(marks)}"
        configuration.write_text(re.sub(r"#define (\w+) (\d+)", mark, configuration.read_text()))
        program = Program(Path(copy) / "switch.p4")
        sizes = {}
        for top in ("Ingress", "Egress"):
            for path, control in program.blocks(top):
                for name, (_, size) in control.registers.items():
                    sizes[f"{path}.{name}"] = marks.get(size, size)
                for name, (size, _) in control.counters.items():
                    sizes[f"{path}.{name}"] = marks.get(size, size)
        return sizes


def resources(folder=P4):
    program, sizes = Program(folder / "switch.p4"), symbolic(folder)
    configuration = dict(re.findall(r"#define (\w+) (\d+)", (folder / "configuration.p4").read_text()))
    registers, counters = [], []
    for top in ("Ingress", "Egress"):
        for path, control in program.blocks(top):
            registers += [{"name": f"{path}.{n}", "bits": program.width([cell]), "cells": sizes[f"{path}.{n}"]}
                          for n, (cell, _) in control.registers.items()]
            counters += [{"name": f"{path}.{n}", "cells": sizes[f"{path}.{n}"]} for n in control.counters]
    nodes, bits, first = [], [], 0
    for gress, top, parser, metadata in GRESSES:
        placed = Gress(program, top)
        bits.append(phv(program, gress, parser, metadata, placed))
        for index, node in enumerate(placed.nodes):
            nodes.append({"name": node.name, "gress": gress, "keys": [list(k) for k in node.keys], "entries": node.entries,
                          "action_bits": node.action_bits, "actions": node.actions, "registers": sorted(node.registers),
                          "counters": sorted(node.counters), "lane": any(FAMILY.match(r) for r in node.registers),
                          "after": [[first + i, delay] for i, delay in placed.predecessors(index)]})
        first += len(placed.nodes)
    lanes = sum(width for _, width in program.headers["lanes_h"]) // 32 * 2
    return {"program": "l3dml", "lanes": lanes, "parameters": {name: int(configuration[name]) for name in SCALABLE},
            "registers": registers, "counters": counters, "nodes": nodes, "phv": bits, "passes": passes(program)}


def text(made):
    """One line per object, so that differences can be read."""
    parts = []
    for name, value in made.items():
        if isinstance(value, list):
            parts.append(f'"{name}": [\n' + ",\n".join("  " + json.dumps(v) for v in value) + "\n]")
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    return "{" + ",\n".join(parts) + "}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", default=P4 / "resources.json", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        made = text(resources())
    except SourceError as error:
        print(f"make_resources: {error}", file=sys.stderr)
        return 1
    if not options.check:
        options.output.write_text(made)
        return 0
    if options.output.read_text() == made:
        return 0
    print(f"make_resources: {options.output} differs from the sources: run p4/tools/make_resources.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
