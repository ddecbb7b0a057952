#!/usr/bin/env python3
"""Instructions per gradient in the whole pipeline, counted by callgrind: a regression shows here, however busy the
machine is. bench/results/instructions.json holds the counts that were last accepted; more than 10 % above fails.

Usage: instructions_test.py PACKETS_PROGRAM [--accept]. With --accept the counts of this run are written to the file.
"""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).parent / "results/instructions.json"
SKIPPED = 77
CASES = {"64 lanes, 4 children": ["64", "4", "1"], "256 lanes, 4 children": ["256", "4", "1"],
         "64 lanes, 31 children": ["64", "31", "1"], "64 lanes, 8 children, 256 jobs": ["64", "8", "256"]}


def count(program, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out",
             "--toggle-collect=l3dml::bench::Load::process(bool)", program, *arguments, "1", "avx2"],
            capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        sys.exit(f"{program} failed under valgrind: {run.stderr[-500:]}")
    collected = int(re.search(r"Collected : (\d+)", run.stderr).group(1))
    return collected / int(re.search(r"packets (\d+)", run.stdout).group(1))


def main():
    if shutil.which("valgrind") is None or " avx2 " not in Path("/proc/cpuinfo").read_text():
        print("skipped: wants valgrind and a CPU with AVX2")
        return SKIPPED
    counts = {name: round(count(sys.argv[1], arguments)) for name, arguments in CASES.items()}
    if "--accept" in sys.argv:
        FILE.write_text(json.dumps(counts, indent=2) + "\n")
    accepted = json.loads(FILE.read_text())
    failed = False
    for name, value in counts.items():
        worse = value > accepted[name] * 1.1
        failed |= worse
        print(f"{name:32} {value:5} instructions a packet, accepted {accepted[name]}{'  TOO MANY' if worse else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
