#!/usr/bin/env python3
"""Derives p4info.txtpb (p4.config.v1.P4Info as text, what P4Runtime clients read) from bf-rt.json: the same tables, keys,
actions, registers and counters. `--check` compares with the committed file instead."""

import argparse
import json
import sys

from p4_source import P4

MATCH = {"Exact": "EXACT", "Ternary": "TERNARY", "LPM": "LPM", "Range": "RANGE"}
COUNTER, REGISTER = 0x12, 0x16  # P4Runtime's object types; tables and actions have the same as BfRuntime


def preamble(id_, name):
    return ["preamble {", f"  id: {id_}", f'  name: "{name}"', f'  alias: "{name.removeprefix("pipe.")}"', "}"]


def block(kind, lines):
    return [f"{kind} {{"] + ["  " + line for line in lines] + ["}"]


def table(entry):
    lines = preamble(entry["id"], entry["name"])
    for key in entry["key"]:
        if key["name"].startswith("$"):
            continue
        lines += block("match_fields", [f'id: {key["id"]}', f'name: "{key["name"]}"', f'bitwidth: {key["type"]["width"]}',
                                        f'match_type: {MATCH[key["match_type"]]}'])
    for action in entry["action_specs"]:
        scope = ["scope: DEFAULT_ONLY"] if action["action_scope"] == "DefaultOnly" else []
        lines += block("action_refs", [f'id: {action["id"]}'] + scope)
    lines.append(f'size: {entry["size"]}')
    if "ConstTable" in entry["attributes"]:
        lines.append("is_const_table: true")
    return block("tables", lines)


def action(entry):
    lines = preamble(entry["id"], entry["name"])
    for param in entry["data"]:
        lines += block("params", [f'id: {param["id"]}', f'name: "{param["name"]}"', f'bitwidth: {param["type"]["width"]}'])
    return block("actions", lines)


def counter(entry):
    names = {d["singleton"]["name"] for d in entry["data"]}
    unit = "BOTH" if len(names) == 2 else "PACKETS" if "$COUNTER_SPEC_PKTS" in names else "BYTES"
    return block("counters", preamble(COUNTER << 24 | entry["id"] & 0xFFFFFF, entry["name"]) +
                 block("spec", [f"unit: {unit}"]) + [f'size: {entry["size"]}'])


def bits(width):
    return block("bitstring", block("bit", [f"bitwidth: {width}"]))


def register(entry):
    widths = [d["singleton"]["type"]["width"] for d in entry["data"]]
    if len(widths) == 1:
        spec = bits(widths[0])
    else:
        spec = block("tuple", sum((block("members", bits(width)) for width in widths), []))
    return block("registers", preamble(REGISTER << 24 | entry["id"] & 0xFFFFFF, entry["name"]) +
                 block("type_spec", spec) + [f'size: {entry["size"]}'])


def p4info(bf_rt):
    lines = ["# proto-file: p4/config/v1/p4info.proto", "# proto-message: p4.config.v1.P4Info",
             "# derived from bf-rt.json by tools/make_p4info.py", 'pkg_info {', '  name: "l3dml"', '  arch: "tna"', '}']
    actions = {}
    for entry in bf_rt["tables"]:
        if entry["table_type"] == "MatchAction_Direct":
            lines += table(entry)
            actions.update({a["id"]: a for a in entry["action_specs"]})
    for entry in actions.values():
        lines += action(entry)
    for kind, emit in (("Counter", counter), ("Register", register)):
        for entry in bf_rt["tables"]:
            if entry["table_type"] == kind:
                lines += emit(entry)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", default=P4 / "bf-rt.json")
    parser.add_argument("--output", default=P4 / "p4info.txtpb")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    made = p4info(json.load(open(options.input)))
    if options.check:
        if open(options.output).read() == made:
            return 0
        print(f"make_p4info: {options.output} is not what bf-rt.json says: run p4/tools/make_p4info.py", file=sys.stderr)
        return 1
    with open(options.output, "w") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
