"""The main job, end to end: two sites, two workers each, a WAN of 100 Mb/s, 25 ms and 0.1 % loss between them.

Sets up this machine, builds, then trains a net of a million parameters on handwritten digits with DistributedDataParallel:
once with l3dml through the software switch, once with gloo over the very same links and TCP cubic, and once more with bbr
where the kernel has it. Ends with a table.

usage: tools/demo [--quick] [--seeds N] [--json FILE]

  --quick      2 epochs instead of 6: the same claims in less time, at less accuracy
  --seeds N    trains N times more, from other initial weights: each time with gloo and twice with l3dml, the second time
               with other packets lost; ends with the mean accuracy of both and whether l3dml's weights were the same
  --json FILE  writes the figures too
"""
import json
import os
import signal
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = "two-sites"
LAB_BINARY = "tools/l3dml-lab"
BINARIES = ["dataplane/l3dml-switch", "control/l3dml-controller", LAB_BINARY, "l3dml_torch"]
ROWS = [  # row, heading, how to show it
    ("step_time", "step time", lambda v: f"{v:.3f} s"),
    ("communication_time", "communication", lambda v: f"{v:.3f} s"),
    ("goodput", "goodput", lambda v: f"{v / 1e6:.1f} Mb/s"),
    ("wan_bytes", "WAN bytes", lambda v: f"{v / 1e6:.0f} MB"),
    ("lost_packets", "lost", lambda v: f"{v:.0f}"),
    ("repaired_packets", "repaired", lambda v: f"{v:.0f}"),
    ("accuracy", "accuracy", lambda v: f"{100 * v:.1f} %"),
]


def fail(text):
    print(f"tools/demo: {text}", file=sys.stderr)
    return 1


def parse(arguments):
    """(quick, seeds, json file), or an exit code."""
    quick, seeds, file = False, 0, ""
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-h", "--help"):
            print(__doc__.strip())
            return 0
        if word == "--quick":
            quick = True
        elif word == "--seeds" and rest and rest[0].isdecimal():
            seeds = int(rest.pop(0))
        elif word == "--json" and rest:
            file = os.path.abspath(rest.pop(0))
        else:
            print(f"tools/demo: '{word}' is not understood: tools/demo [--quick] [--seeds N] [--json FILE]",
                  file=sys.stderr)
            return 2
    return quick, seeds, file


def run_name(row):
    group = row.get("group", {})
    return "l3dml" if group.get("backend") == "l3dml" else f"{group.get('backend')} {group.get('tcp', '')}".strip()


def figures_of(report):
    """run -> row name -> value, of the rows that speak of a whole run."""
    runs = {}
    for row in report["rows"]:
        if not {"link", "segment", "stripe"} & row.get("group", {}).keys():
            runs.setdefault(run_name(row), {})[row["name"]] = row["value"]
    return runs


def table(runs):
    ours = runs["l3dml"]["communication_time"]
    lines = [["", *(heading for _, heading, _ in ROWS), "speed-up"]]
    for name, figures in runs.items():
        ratio = figures["communication_time"] / ours
        lines.append([name, *(show(figures[row]) if row in figures else "-" for row, _, show in ROWS),
                      "" if name == "l3dml" else f"{ratio:.1f} x"])
    columns = list(zip(*lines))
    widths = [max(map(len, column)) for column in columns]
    return "\n".join("  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths)))
                     for line in lines)


def add_speed_ups(report, runs):
    ours = runs["l3dml"]["communication_time"]
    for row in [r for r in report["rows"] if r["name"] == "communication_time" and run_name(r) != "l3dml"]:
        target = 4.0 if row["group"].get("tcp") == "cubic" else 1.0
        report["rows"].append({"name": "speed_up", "value": row["value"] / ours, "unit": "ratio", "group": row["group"],
                               "target": target})


def repairs_by_segment(report):
    rows = [row for row in report["rows"] if row["name"] == "segment_repairs"]
    return ", ".join(f"{row['group']['segment']} {row['value']:.0f}" for row in rows)


def run_lab(arguments, file):
    """The report of one run of the lab; None if it failed, of which it has told."""
    command = [os.path.join(ROOT, "build", LAB_BINARY), "run", LAB, *arguments, "--json", file]
    if subprocess.run(command).returncode != 0:
        return None
    with open(file) as source:
        return json.load(source)


def train_seeds(seeds, epochs, tcp, file):
    """Rows on what must not depend on chance: accuracy over seeds, and l3dml's weights over what was lost."""
    accuracies, same = {"l3dml": [], "gloo": []}, True
    for seed in range(1, seeds + 1):
        hashes = set()
        for backend, loss_seed in (("gloo", seed), ("l3dml", seed), ("l3dml", seed + 1000)):
            print(f"\nseed {seed} of {seeds}, {backend}, losses of seed {loss_seed}", flush=True)
            report = run_lab(["--backend", backend, "--tcp", tcp, "--seed", str(loss_seed), "--set", f"seed={seed}", "--set",
                              f"epochs={epochs}"], file)
            if report is None:
                return None
            [figures] = figures_of(report).values()
            if loss_seed == seed:
                accuracies[backend].append(figures["accuracy"])
            if backend == "l3dml":
                hashes.add(figures["weights_sha256"])
        same = same and len(hashes) == 1
    rows = [{"name": "accuracy_mean", "value": statistics.mean(values), "unit": "", "spread": [min(values), max(values)],
             "group": {"backend": backend, "seeds": str(seeds)}} for backend, values in accuracies.items()]
    return rows + [{"name": "same_weights_whatever_is_lost", "value": float(same), "unit": "", "target": 1.0,
                    "group": {"backend": "l3dml", "seeds": str(seeds)}}]


def show_seeds(rows):
    for row in rows[:2]:
        print(f"{row['group']['backend']:6} accuracy {100 * row['value']:.1f} % (mean of {row['group']['seeds']} seeds, "
              f"{100 * row['spread'][0]:.1f} to {100 * row['spread'][1]:.1f} %)")
    print("l3dml's weights, with other packets lost: " + ("bit for bit the same" if rows[2]["value"] else "DIFFERENT"))


def main():
    options = parse(sys.argv[1:])
    if isinstance(options, int):
        return options
    quick, seeds, file = options
    if os.geteuid() != 0:
        return fail("makes network namespaces and taps: run it as root (sudo tools/demo)")
    if subprocess.run([os.path.join(ROOT, "tools/setup")]).returncode != 0:
        return 1
    print("Building the switch, the controller, the lab and the PyTorch backend", flush=True)
    if subprocess.run([os.path.join(ROOT, "tools/build"), *BINARIES]).returncode != 0:
        return fail("the build failed")

    figures_file = os.path.join(ROOT, "build", "demo.json")
    epochs = 2 if quick else 6
    # Ctrl-C reaches the lab too, and it takes everything down; we wait for that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    report = run_lab(["--compare", "--set", f"epochs={epochs}"], figures_file)
    if report is None:
        return fail("the lab did not end well; its last line says why")
    runs = figures_of(report)
    add_speed_ups(report, runs)
    seed_rows = []
    if seeds:
        tcp = "bbr" if "gloo bbr" in runs else "cubic"
        seed_rows = train_seeds(seeds, epochs, tcp, figures_file)
        if seed_rows is None:
            return fail("the lab did not end well; its last line says why")
        report["rows"] += seed_rows
    report["program"], report["command"] = "tools/demo", " ".join(["tools/demo", *sys.argv[1:]])
    if file:
        with open(file, "w") as target:
            json.dump(report, target, indent=1)
    print(f"\n{epochs} epochs, 4 workers, two sites, 100 Mb/s, 25 ms one way, 0.1 % loss; medians per step:\n")
    print(table(runs))
    print(f"\nl3dml's repairs by segment: {repairs_by_segment(report)}")
    if seed_rows:
        print()
        show_seeds(seed_rows)
    gloo = [name for name in runs if name.startswith("gloo")]
    if not any("bbr" in name for name in gloo):
        print("\nThis kernel has no bbr (modprobe tcp_bbr), so there is no row for it.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
