#!/usr/bin/env python3
"""Stripes at work: allreduces over four sites on equal access links, around a router that only forwards and around a hub that
sums; one root at a site, four stripes, the form that the controller chooses by itself, and gloo over bbr.

usage: stripes.py [--elements N] [--steps N] [--rounds N] [--prefix COMMAND] [--json FILE]     as root, after building (tools/demo does)

Each round runs every case once, in turn; a figure is the median over rounds of a run's median sum, with its spread.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITES = "s0,s1,s2,s3"
CASES = [  # lab, case, options of the lab
    ("four-stripes", "one root at a site", ["--roots", "s0"]),
    ("four-stripes", "four stripes", ["--roots", SITES]),
    ("four-stripes", "chosen", []),
    ("four-stripes", "gloo bbr", ["--backend", "gloo", "--tcp", "bbr"]),
    ("star", "one root at a site", ["--roots", "s0"]),
    ("star", "four stripes", ["--roots", SITES]),
    ("star", "one root at the hub", ["--roots", "hub"]),
    ("star", "chosen", []),
    ("star", "gloo bbr", ["--backend", "gloo", "--tcp", "bbr"]),
]
TARGETS = [  # name, lab, slower case, faster case, least ratio
    ("four_stripes_over_one_root", "four-stripes", "one root at a site", "four stripes", 1.8),
    ("four_stripes_over_gloo_bbr", "four-stripes", "gloo bbr", "four stripes", 1.0),
    ("hub_over_one_root_at_a_site", "star", "one root at a site", "one root at the hub", 1.0),
    ("hub_over_four_stripes", "star", "four stripes", "one root at the hub", 1.0),
    ("hub_over_gloo_bbr", "star", "gloo bbr", "one root at the hub", 1.0),
]
WANTED = {"four-stripes": SITES, "star": "hub"}  # the form that the controller should choose


def run(lab, options, args, folder):
    """Seconds of a sum (median of the run) and the roots it had."""
    file = os.path.join(folder, "lab.yaml")
    with open(os.path.join(ROOT, "tools/lab/labs", lab + ".yaml")) as source, open(file, "w") as target:
        command = ["/usr/bin/python3", f"{ROOT}/tools/train/allreduce.py", "--elements", str(args.elements), "--steps", str(args.steps)]
        target.write(source.read() + f"workload: {{command: {json.dumps(command)}}}\n")
    report = os.path.join(folder, "report.json")
    subprocess.run([*args.prefix.split(), f"{ROOT}/build/tools/l3dml-lab", "run", file, *options, "--out", folder + "/out", "--json", report],
                   check=True, timeout=600)
    with open(report) as source:
        document = json.load(source)
    rows = document["rows"]
    [seconds] = [row["value"] for row in rows if row["name"] == "communication_time"]
    roots = sorted(row["group"]["root"] for row in rows if row["name"] == "stripe_share")
    return seconds, ",".join(roots), document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--elements", type=int, default=2_000_000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prefix", default="", help="put before each run of the lab, as taskset or chrt")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    times, forms, document = {}, {}, None
    with tempfile.TemporaryDirectory(prefix="l3dml-stripes-") as folder:
        for number in range(args.rounds):
            for lab, case, options in CASES:
                print(f"round {number + 1} of {args.rounds}: {lab}, {case}", flush=True)
                seconds, roots, document = run(lab, options, args, folder)
                times.setdefault((lab, case), []).append(seconds)
                forms[lab, case] = roots
                print(f"{seconds:.3f} s {roots}", flush=True)
    rows = [{"name": "sum_time", "value": statistics.median(values), "unit": "s", "spread": [min(values), max(values)],
             "group": {"lab": lab, "case": case, "roots": forms[lab, case]}} for (lab, case), values in times.items()]
    for name, lab, slower, faster, least in TARGETS:
        ratios = [a / b for a, b in zip(times[lab, slower], times[lab, faster])]
        rows.append({"name": name, "value": statistics.median(ratios), "unit": "ratio", "target": least,
                     "spread": [min(ratios), max(ratios)], "group": {"lab": lab}})
    for lab, wanted in WANTED.items():
        rows.append({"name": "chosen_form_is_right", "value": float(forms[lab, "chosen"] == wanted), "unit": "", "target": 1.0,
                     "group": {"lab": lab, "chosen": forms[lab, "chosen"]}})
    for row in rows:
        low, high = row.get("spread", [row["value"]] * 2)
        target = f"  target {row['target']:g}" if "target" in row else ""
        print(f"{row['name']:28} {row['group'].get('lab', ''):13} {row['group'].get('case', row['group'].get('chosen', '')):20} "
              f"{row['value']:.3f} {row['unit']} ({low:.3f} to {high:.3f}){target}")
    if args.json:
        with open(args.json, "w") as target:
            json.dump({**{key: document[key] for key in ("version", "commit", "machine")}, "program": "bench/macro/stripes.py",
                       "command": " ".join(sys.argv), "rows": rows}, target, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
