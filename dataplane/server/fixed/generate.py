#!/usr/bin/env python3
"""Turns the fixed tables (*.tables, one line per table, key, action or data field) into JSON and a C++ string.

usage: generate.py OUT.json OUT.cc FILE.tables...

A line is `table NAME ID TYPE SIZE [attributes=A,B]`, `key ID NAME MATCH TYPE [words]`, `action ID NAME` or
`data ID NAME TYPE [words]`; indentation nests data under an action or a container. Words: mandatory, read-only,
default=V, choices=A/B/C. A type ending in [] is a list, bytesN is N bits.
"""
import json
import re
import sys


def type_of(name, words):
    bits = re.fullmatch(r"bytes(\d+)", name)
    spec = {"type": "bytes", "width": int(bits.group(1))} if bits else {"type": name}
    for word in words:
        key, _, value = word.partition("=")
        if key == "choices":
            spec["choices"] = value.split("/")
        elif key == "default":
            if name == "bool":
                spec["default_value"] = value == "True"
            elif name == "string":
                spec["default_value"] = value
            else:
                spec["default_value"] = float(value) if name == "float" else int(value)
    return spec


def field(words, where):
    number, name, type_name, *rest = words
    repeated = type_name.endswith("[]")
    type_name = type_name.removesuffix("[]")
    out = {"id": int(number), "name": name, "repeated": repeated, "annotations": []}
    if type_name == "container":
        out["container"] = []
    else:
        out["type"] = type_of(type_name, rest)
    unknown = [w for w in rest if w not in ("mandatory", "read-only") and "=" not in w]
    if unknown:
        sys.exit(f"{where}: unknown word {unknown[0]}")
    return out, "mandatory" in rest, "read-only" in rest


def parse(path):
    tables, stack = [], []
    for number, line in enumerate(open(path), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"{path}:{number}"
        depth = (len(line) - len(line.lstrip())) // 2
        kind = words[0]
        if kind == "table":
            attributes = words[5].partition("=")[2].split(",") if len(words) > 5 else []
            tables.append({"name": words[1], "id": int(words[2], 0), "table_type": words[3], "size": int(words[4]),
                           "annotations": [], "depends_on": [], "key": [], "data": [],
                           "supported_operations": [], "attributes": attributes})
            stack = [(tables[-1]["data"], True)]
            continue
        table = tables[-1]
        del stack[depth:]
        if kind == "key":
            out, mandatory, _ = field(words[1:3] + words[4:], where)
            out.update(mandatory=mandatory, match_type=words[3])
            table["key"].append(out)
        elif kind == "action":
            action = {"id": int(words[1]), "name": words[2], "action_scope": "TableAndDefault", "annotations": [],
                      "data": []}
            table.setdefault("action_specs", []).append(action)
            stack.append((action["data"], False))
        elif kind == "data":
            out, mandatory, read_only = field(words[1:], where)
            owner, singleton = stack[-1]
            flags = {"mandatory": mandatory, "read_only": read_only}
            owner.append({**flags, "singleton": out} if singleton else {**out, **flags})
            if "container" in out:
                stack.append((out["container"], True))
        else:
            sys.exit(f"{where}: unknown line {kind}")
    return tables


def main():
    json_path, cc_path, *paths = sys.argv[1:]
    text = json.dumps({"schema_version": "1.0.0", "tables": [t for p in paths for t in parse(p)],
                       "learn_filters": []}, indent=1)
    with open(json_path, "w") as out:
        out.write(text + "\n")
    # String literals have a length limit in some compilers, so the text goes out in pieces.
    pieces = [text[i:i + 8000] for i in range(0, len(text), 8000)]
    with open(cc_path, "w") as out:
        out.write('#include "dataplane/server/schema.h"\n\nnamespace l3dml::server {\n\n')
        out.write("std::string_view fixed_tables_json() {\n  static constexpr char text[] =\n")
        out.write("\n".join(f'R"json({piece})json"' for piece in pieces))
        out.write(";\n  return std::string_view(text, sizeof(text) - 1);\n}\n\n}  // namespace l3dml::server\n")


if __name__ == "__main__":
    main()
