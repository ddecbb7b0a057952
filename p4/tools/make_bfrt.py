#!/usr/bin/env python3
"""Derives bf-rt.json from the P4 sources: what a control plane may touch, with the names, widths and ids that the Tofino
compiler gives them (id = object type << 24 | Jenkins one-at-a-time hash of the name). `--check` compares with the
committed file instead and says the first difference."""

import argparse
import json
import sys

from p4_source import P4, Program, SourceError

PREFIX = {"action": 0x01, "table": 0x02, "counter": 0x83, "register": 0x8B, "port_metadata": 0x90}
MATCH = {"exact": "Exact", "ternary": "Ternary", "lpm": "LPM", "range": "Range"}


def jenkins(text):
    value = 0
    for byte in text.encode():
        value = value + byte & 0xFFFFFFFF
        value = value + (value << 10) & 0xFFFFFFFF
        value ^= value >> 6
    value = value + (value << 3) & 0xFFFFFFFF
    value ^= value >> 11
    return value + (value << 15) & 0xFFFFFFFF


class Ids:
    def __init__(self):
        self.taken = {}

    def of(self, kind, name):
        value = jenkins(name) & 0xFFFFFF
        while self.taken.setdefault(PREFIX[kind] << 24 | value, name) != name:
            value = value + 1 & 0xFFFFFF
        return PREFIX[kind] << 24 | value


def bytes_type(width):
    return {"type": "bytes", "width": width}


def singleton(id_, name, type_, annotations=(), mandatory=False):
    return {"mandatory": mandatory, "read_only": False,
            "singleton": {"id": id_, "name": name, "repeated": False, "annotations": list(annotations), "type": type_}}


def index_key(id_, name):
    return [{"id": id_, "name": name, "repeated": False, "annotations": [], "mandatory": True, "match_type": "Exact",
             "type": {"type": "uint32"}}]


def table_json(path, control, table, ids):
    keys = []
    for number, key in enumerate(table.keys, 1):
        name = key.name or key.expression.replace(".isValid()", ".$valid")
        is_slice = "[" in key.expression
        keys.append({"id": number, "name": name, "repeated": False,
                     "annotations": [{"name": "isFieldSlice", "value": "true"}] if is_slice else [],
                     "mandatory": False, "match_type": MATCH[key.match], "type": bytes_type(key.width)})
    if any(key.match in ("ternary", "range") for key in table.keys):
        keys.append({"id": 65537, "name": "$MATCH_PRIORITY", "repeated": False, "annotations": [], "mandatory": False,
                     "match_type": "Exact", "type": {"type": "uint32"}})
    actions = []
    for name, marks in table.actions:
        known = control.actions.get(name)
        full = f"{path}.{name}" if known else name
        actions.append({"id": ids.of("action", full), "name": full,
                        "action_scope": "DefaultOnly" if "defaultonly" in marks else "TableAndDefault",
                        "annotations": [{"name": "@defaultonly"}] if "defaultonly" in marks else [],
                        "data": [{"id": n, "name": param, "repeated": False, "mandatory": True, "read_only": False,
                                  "annotations": [], "type": bytes_type(width)}
                                 for n, (param, width) in enumerate(known.params if known else [], 1)]})
    name = f"pipe.{path}.{table.name}"
    return {"name": name, "id": ids.of("table", name), "table_type": "MatchAction_Direct", "size": table.size,
            "annotations": [], "depends_on": [], "has_const_default_action": table.const_default, "key": keys,
            "action_specs": actions, "data": [], "supported_operations": [],
            "attributes": ["EntryScope"] + (["ConstTable"] if table.is_const else [])}


def register_json(program, path, name, cell, size, ids):
    full = f"{path}.{name}"
    fields = program.structs.get(cell) or [("f1", program.width([cell]))]
    mark = [{"name": "$bfrt_field_class", "value": "register_data"}]
    return {"name": f"pipe.{full}", "id": ids.of("register", f"pipe.{full}"), "table_type": "Register", "size": size,
            "depends_on": [], "key": index_key(65557, "$REGISTER_INDEX"),
            "data": [singleton(n, f"{full}.{part}", bytes_type(width), mark, mandatory=True)
                     for n, (part, width) in enumerate(fields, 1)],
            "supported_operations": ["Sync"], "attributes": []}


def counter_json(path, name, size, kind, ids):
    full = f"pipe.{path}.{name}"
    specs = {"BYTES": (65553, "$COUNTER_SPEC_BYTES"), "PACKETS": (65554, "$COUNTER_SPEC_PKTS")}
    wanted = [specs[k] for k in ("BYTES", "PACKETS") if k in kind]
    return {"name": full, "id": ids.of("counter", full), "table_type": "Counter", "size": size, "annotations": [],
            "depends_on": [], "key": index_key(65556, "$COUNTER_INDEX"),
            "data": [singleton(id_, spec, {"type": "uint64", "default_value": 0}) for id_, spec in wanted],
            "supported_operations": ["Sync"], "attributes": []}


def bf_rt(program):
    ids = Ids()
    tables, registers, counters = [], [], []
    for top in ("Ingress", "Egress"):
        for path, control in program.blocks(top):
            tables += [table_json(path, control, t, ids) for t in control.tables.values()]
            registers += [register_json(program, path, n, cell, size, ids)
                          for n, (cell, size) in control.registers.items()]
            counters += [counter_json(path, n, size, kind, ids) for n, (size, kind) in control.counters.items()]
    return {"schema_version": "1.0.0", "tables": tables + registers + counters, "learn_filters": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=P4 / "switch.p4")
    parser.add_argument("--output", default=P4 / "bf-rt.json")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    try:
        made = bf_rt(Program(options.program))
    except SourceError as error:
        print(f"make_bfrt: {error}", file=sys.stderr)
        return 1
    if not options.check:
        with open(options.output, "w") as file:
            json.dump(made, file, indent=2)
            file.write("\n")
        return 0
    committed = json.load(open(options.output))
    if committed == made:
        return 0
    old, new = ({t["name"]: t for t in j["tables"]} for j in (committed, made))
    names = [n for n in {**old, **new} if old.get(n) != new.get(n)]
    print(f"make_bfrt: {options.output} differs from the sources in {', '.join(names)}: run p4/tools/make_bfrt.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
