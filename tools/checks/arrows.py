#!/usr/bin/env python3
"""Checks every #include of the project against the arrows of ARCHITECTURE.md: who may know whom. Tests (`*_test.cc`,
`*_fuzz.cc`, `*_bench.cc`, folders named `testing`) may include more, but never across the walls (control and drl never see a
dataplane header)."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Folder -> folders it may include from (itself always). The longest matching prefix counts.
ARROWS = {
    "dataplane/base": [],
    "dataplane/wire": ["dataplane/base"],
    "dataplane/kernels": [],
    "dataplane/tna": ["dataplane/wire", "dataplane/base"],
    "dataplane/blocks": ["dataplane/tna", "dataplane/wire", "dataplane/kernels", "dataplane/base"],
    "dataplane/pipeline": ["dataplane/blocks", "dataplane/tna", "dataplane/wire", "dataplane/base", "dataplane/io/port.h"],
    "dataplane/io": ["dataplane/base", "dataplane/wire"],
    "dataplane/server": ["dataplane/tna", "dataplane/io", "dataplane/base"],
    "dataplane/app": ["dataplane"],
    "control": ["control", "drl/policy/policy.h"],
    "control/app": ["control", "tools/report"],
    "drl": ["drl"],
    "drl/app": ["drl", "tools/report"],
    "tools/host": ["dataplane/wire", "dataplane/kernels", "dataplane/base"],
    "tools/host/dpdk": ["tools/host", "dataplane/io", "dataplane/wire", "dataplane/kernels", "dataplane/base"],
    "tools": ["tools", "dataplane", "control", "drl", "bench"],
    "bench": ["tools", "dataplane", "control", "drl", "bench"],
}
TEST = re.compile(r"(_test|_fuzz|_bench|_mock)\.(cc|h)$|/testing/")
TEST_WALLS = {"control": ["dataplane"], "drl": ["dataplane", "control"]}


def longest(path):
    fitting = [folder for folder in ARROWS if path == folder or path.startswith(folder + "/")]
    return max(fitting, key=len, default=None)


def allowed(source, target, is_test):
    folder = longest(source)
    if is_test:
        area = source.split("/")[0]
        return not any(target.startswith(wall + "/") for wall in TEST_WALLS.get(area, []))
    own = folder + "/"
    return target.startswith(own) or any(target == to or target.startswith(to + "/") for to in ARROWS[folder])


def main():
    wrong = seen = 0
    for path in sorted(p for area in ("dataplane", "control", "drl", "tools", "bench") for p in (ROOT / area).rglob("*")):
        if path.suffix not in (".h", ".cc") or not path.is_file():
            continue
        source = path.relative_to(ROOT).as_posix()
        is_test = bool(TEST.search(source))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#include "((?:dataplane|control|drl|tools|bench)/[^"]+)"', line)
            if not match:
                continue
            seen += 1
            if not allowed(source, match.group(1), is_test):
                wrong += 1
                print(f"{source}:{number}: {longest(source)} must not include {match.group(1)}")
    print(f"{seen} includes, {wrong} against the arrows")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
