#!/usr/bin/env python3
"""Writes config.json and in.pcap of every golden case, and out.pcap for those that a Tofino can run, from the P4 program
run from its source. What only x86 can tell (traces, counters, more lanes) is written by `golden_test --write`, which also
checks that x86 sends the same as the P4 program. Cases that are no longer made are left alone."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "p4/tools"))
from cases import CASES  # noqa: E402
from p4_golden import run  # noqa: E402
import pcapng  # noqa: E402


def main():
    for case in CASES:
        folder = HERE.parent / case.name
        folder.mkdir(exist_ok=True)
        for name, data in case.files().items():
            (folder / name).write_bytes(data)
        if "tna" in case.config["engines"]:
            (folder / "out.pcap").write_bytes(pcapng.to_bytes(run(folder).sent))
    print(f"{len(CASES)} cases")


if __name__ == "__main__":
    main()
