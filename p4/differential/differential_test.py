#!/usr/bin/env python3
"""The P4 program, run from its source, and the x86 pipeline get the same tables and the same random packets; what leaves
must be the same bytes, on each port in the same order, and what is refused must be refused for the same reason.
usage: differential_test.py X86_ENGINE [--seeds N] [--first SEED] [--packets N]"""

import argparse
import subprocess
import sys
from pathlib import Path

P4 = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(P4 / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from p4_run import Switch  # noqa: E402
from p4_source import Program  # noqa: E402
from scenario import MGID, Scenario  # noqa: E402

# Known differences, see README.md: a repair that is refused or done is counted per packet there, per NACK here; errors of
# the network layer are answered by the switch's processor on x86.
NOT_COMPARED = {"consumed", "nack_empty", "nack_not_held", "nack_limited"}


class X86:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, line):
        self.process.stdin.write(line + "\n")

    def ask(self, line):
        self.tell(line)
        self.process.stdin.flush()
        answers = []
        while (answer := self.process.stdout.readline().split()) != ["."]:
            if not answer:
                sys.exit(f"x86_engine ended at: {line[:200]}")
            answers.append(answer[1:])
        return answers

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def hex_of(value, width):
    return value.to_bytes((width + 7) // 8, "big").hex()


def program_both(scenario, switch, x86):
    for name, action, priority, keys, params in scenario.entries():
        control, table = switch.table(name)
        ours, theirs = [], []
        for key, given in zip(table.keys, keys, strict=True):
            full = (1 << key.width) - 1
            if key.match == "lpm":
                value, length = given
                ours.append((value, full >> length ^ full))
                theirs.append(f"l:{hex_of(value, key.width)}/{length}")
            elif key.match == "ternary":
                value, mask = (0, 0) if given is None else given if isinstance(given, tuple) else (given, full)
                ours.append((value, mask))
                theirs.append(f"t:{hex_of(value, key.width)}/{hex_of(mask, key.width)}")
            else:
                ours.append(given)
                theirs.append(f"e:{hex_of(given, key.width)}")
        widths = [width for _, width in control.actions[action.rsplit('.', 1)[1]].params]
        switch.insert(name, ours, action, params, priority)
        parameters = ",".join(hex_of(v, w) for v, w in zip(params, widths, strict=True)) or "-"
        x86.tell(f"insert {name} {action} {priority} {','.join(theirs)} {parameters}")
    switch.groups[MGID] = [(rid, [port]) for rid, port in scenario.group()]
    x86.tell(f"group {MGID} " + " ".join(f"{rid}:{port}" for rid, port in scenario.group()))


def l3dml_only(sent):
    """Answers of the x86 switch's own processor (ICMPv6 errors, neighbour discovery) are not the program's."""
    return [(port, frame) for port, frame in sent if frame[20] != 58]


def compare(seed, packets, program, path):
    """None, or what differed."""
    scenario, switch, x86 = Scenario(seed), Switch(program), X86(path)
    program_both(scenario, switch, x86)
    for number, (port, frame) in enumerate(scenario.packets(packets)):
        ours = switch.process(port, frame)
        theirs = l3dml_only([(int(p), bytes.fromhex(f)) for p, f in x86.ask(f"packet {port} {frame.hex()}")])
        ours, theirs = (sorted(sent, key=lambda item: item[0]) for sent in (ours, theirs))  # ports are not in step
        if ours != theirs:
            return (f"packet {number} of seed {seed}, by port {port}: {frame[:86].hex()}\n  P4:  {describe(ours)}\n"
                    f"  x86: {describe(theirs)}")
    reasons = {n[len("REASON_"):].lower(): v for n, v in program.constants.items() if n.startswith("REASON_")}
    counted = switch.counters.get("Ingress.drop_reasons", {})
    ours = {name: counted[value] for name, value in reasons.items() if counted.get(value) and name not in NOT_COMPARED}
    theirs = {name: int(count) for name, count in x86.ask("drops") if name not in NOT_COMPARED}
    x86.close()
    return None if ours == theirs else f"drop reasons of seed {seed}\n  P4:  {ours}\n  x86: {theirs}"


def describe(sent):
    return ", ".join(f"[{port}] {frame[54:86].hex()} +{len(frame) - 86}" for port, frame in sent) or "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--packets", type=int, default=150)
    options = parser.parse_args()
    program = Program()
    for seed in range(options.first, options.first + options.seeds):
        difference = compare(seed, options.packets, program, options.engine)
        if difference:
            print(f"{difference}\nagain: {sys.argv[0]} {options.engine} --first {seed} --seeds 1 --packets {options.packets}")
            return 1
    print(f"{options.seeds} scenarios of {options.packets} packets: the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
