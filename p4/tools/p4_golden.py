#!/usr/bin/env python3
"""Golden cases through the P4 program: dataplane/testdata/CASE/{config.json,in.pcap} in, packets and drop reasons out.
usage: p4_golden.py [--bmv2] [CASE ...]   compares with out.pcap and counters.json, per port, and prints one line a case;
--bmv2: by the program for BMv2 instead of the one for Tofino."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from p4_bmv2 import Bmv2
from p4_run import Switch
from p4_source import P4, Program

TESTDATA = P4.parent / "dataplane/testdata"
sys.path.insert(0, str(TESTDATA / "maker"))
import pcapng  # noqa: E402

# Counted per packet on x86 and per NACK, or not at all, on the chip (README.md).
NOT_COMPARED = {"consumed", "nack_empty", "nack_not_held", "nack_limited"}
PROGRAM = Program()


@dataclass
class Result:
    sent: list   # (port, time in ns, frame)
    drops: dict  # reason -> count


def number(text):
    return int(text, 0)


def key_of(table, given):
    matches = []
    for key in table.keys:
        value = given.get(key.name or key.expression)
        full = (1 << key.width) - 1
        if value is None:
            matches.append(None)
        elif isinstance(value, str):
            matches.append(number(value))
        elif "prefix" in value:
            matches.append((number(value["value"]), full >> value["prefix"] ^ full))
        else:
            matches.append((number(value["value"]), number(value["mask"])))
    return matches


def load(config, engine):
    switch = Switch(PROGRAM) if engine == "tna" else Bmv2()
    for entry in config["tables"]:
        control, table = switch.table(entry["table"])
        names = [name for name, _ in control.actions[entry["action"].rsplit(".", 1)[1]].params]
        switch.insert(entry["table"], key_of(table, entry["key"]), entry["action"],
                      [number(entry["data"][name]) for name in names], entry.get("priority", 0))
    for group in config["multicast"]:
        switch.groups[group["mgid"]] = [(node["rid"], node["ports"]) for node in group["nodes"]]
    for cell in config["registers"]:
        switch.register(cell["register"])[cell["index"]] = number(cell["values"][0])
    return switch


def run(folder, engine="tna"):
    switch = load(json.loads((folder / "config.json").read_text()), engine)
    sent = []
    for port, time, frame in pcapng.from_bytes((folder / "in.pcap").read_bytes()):
        sent += [(out, time, data) for out, data in switch.process(port, frame)]
    names = {value: name[len("REASON_"):].lower() for name, value in PROGRAM.constants.items() if name.startswith("REASON_")}
    return Result(sent, {names[i]: n for i, n in switch.counters.get("Ingress.drop_reasons", {}).items()})


def by_port(packets):
    ports = {}
    for port, _, frame in packets:
        ports.setdefault(port, []).append(frame)
    return ports


def check(folder, engine):
    """None, or what differs."""
    result = run(folder, engine)
    expected = pcapng.from_bytes((folder / "out.pcap").read_bytes())
    if by_port(result.sent) != by_port(expected):
        return f"sent {len(result.sent)} packets, {len(expected)} are expected, or others"
    counters = json.loads((folder / "counters.json").read_text())
    drops = counters["pipe.Ingress.drop_reasons"]
    ours, theirs = ({n: c for n, c in d.items() if n not in NOT_COMPARED} for d in (result.drops, drops))
    return None if ours == theirs else f"dropped {ours}, expected {theirs}"


def main():
    engine = "bmv2" if "--bmv2" in sys.argv else "tna"
    names = [name for name in sys.argv[1:] if name != "--bmv2"] or sorted(f.parent.name for f in TESTDATA.glob("*/config.json"))
    ran = failed = 0
    for name in names:
        folder = TESTDATA / name
        if engine in json.loads((folder / "config.json").read_text())["engines"]:
            ran += 1
            if difference := check(folder, engine):
                failed += 1
                print(f"{name}: {difference}")
    print(f"{ran - failed} passed, {failed} failed, {len(names) - ran} skipped")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
