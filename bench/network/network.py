#!/usr/bin/python3
"""The rows of the speed table that need a network: allreduces over taps and over the demo's WAN, against gloo.

Usage: network.py BUILD_DIR [--only taps|wan|memif] [--rounds N] [--quick] [--json FILE]

Each side is a run of l3dml-lab with allreduce.py as its workload (one process per worker, in a namespace of its
own). Runs of the peers take turns; a round's figure is the median over its allreduces of the slowest rank, a row is the
median of the rounds' ratios. memif: two processes with a DPDK device each (memif, interrupt mode) on one switch, against gloo over
loopback TCP. Needs root.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
CHUNK = 256 * 4  # bytes of a packet's lanes
HEAD, WIRE = 86, 24  # bytes: heads of a gradient; preamble, check sequence and gap
WAN_RATE, WAN_DELAY = 100e6, 0.025  # bit/s, s one way
TAPS = "name: bench-taps\nsites: {hub: {workers: 4}}\n"
WAN = """name: bench-wan
sites: {west: {workers: 2}, east: {workers: 2}}
links:
  - {name: wan, between: [west, east], rate: 100Mbit, delay: 25ms, loss: 0.1%}
"""
LIMIT_S = 300


class Lab:
    def __init__(self, build, quick):
        self.build, self.quick = build, quick
        self.runs = 0

    def seconds(self, text, root, backend, sizes, tcp="cubic", lane_format="fixed32"):
        """size -> seconds of its allreduces (the slowest rank of each), of one run of the lab."""
        self.runs += 1
        with tempfile.TemporaryDirectory(prefix="l3dml-bench-") as folder:
            command = ["/usr/bin/python3", f"{HERE}/allreduce.py", "--backend", backend, "--timeout", "120"]
            file = os.path.join(folder, "lab.yaml")
            plan = ",".join(f"{size}:{rounds}" for size, rounds in sizes.items())
            with open(file, "w") as out:
                out.write(text + f"seed: {self.runs}\njob: {{roots: [{root}], format: {lane_format}}}\n"
                          f"workload: {{command: {json.dumps(command + ['--plan', plan])}}}\n")
            run = subprocess.run([f"{self.build}/tools/l3dml-lab", "run", file, "--backend", backend, "--tcp", tcp, "--out", folder],
                                 text=True, capture_output=True, timeout=LIMIT_S)
            if run.returncode != 0:
                raise RuntimeError(f"l3dml-lab with {backend} {tcp} {lane_format}: {(run.stderr or run.stdout).strip()[-400:]}")
            ranks = []
            for rank in sorted(glob.glob(f"{folder}/*/rank*.json")):
                with open(rank) as source:
                    ranks.append(json.load(source)["sizes"])
        if len(ranks) != 4:
            raise RuntimeError(f"l3dml-lab with {backend} left figures of {len(ranks)} ranks instead of 4")
        return {size: [max(rounds) for rounds in zip(*(r[str(size)] for r in ranks))] for size in sizes}


def row(name, ratios, target, group):
    return {"name": name, "value": statistics.median(ratios), "unit": "1", "group": group, "target": target,
            "spread": [min(ratios), max(ratios)]}


def milliseconds(values):
    return f"{1e3 * statistics.median(values):.2f}"


def taps(lab, rounds):
    """Rates no link limits: what host library, switch and taps cost, against gloo over the same taps."""
    big, small = 64 * MIB, CHUNK
    sizes = {small: 50, big: 2 if lab.quick else 4}
    ours, gloo = [], []
    for _ in range(rounds):
        ours.append(lab.seconds(TAPS, "hub", "l3dml", sizes))
        gloo.append(lab.seconds(TAPS, "hub", "gloo", sizes))
    rows = []
    for size, name, target in ((big, "allreduce_64MB_taps_vs_gloo", 1.5), (small, "allreduce_1_chunk_latency_vs_gloo", 0.8)):
        ratios = [statistics.median(g[size]) / statistics.median(o[size]) for o, g in zip(ours, gloo)]
        rows.append(row(name, ratios, target, {
            "workers": "4", "bytes": str(size), "ours_ms": milliseconds([v for o in ours for v in o[size]]),
            "peer_ms": milliseconds([v for g in gloo for v in g[size]])}))
    return rows


def limit_s(size):
    """What the link itself needs: every byte of every packet at its rate, and one round trip."""
    return size / CHUNK * 8 * (CHUNK + HEAD + WIRE) / WAN_RATE + 2 * WAN_DELAY


def wan(lab, rounds):
    """The demo's WAN: 100 Mb/s, 25 ms one way, 0.1 % loss, two workers on either side."""
    small, large = 4 * MIB, 16 * MIB
    count = 3 if lab.quick else 7
    formats = {"fixed32": 1.3, "fixed16x2": 2.1, "fixed8x4": 3.2}
    ours = {name: [] for name in formats}
    peers = {"bbr": [], "cubic": []}
    for _ in range(rounds):
        for name in formats:
            ours[name].append(lab.seconds(WAN, "west", "l3dml", {small: count, large: count}, lane_format=name))
        for tcp in peers:
            peers[tcp].append(lab.seconds(WAN, "west", "gloo", {small: count}, tcp=tcp))
    rows = []
    median = statistics.median

    def against(tcp, name, target):
        ratios = [median(p[small]) / median(o[small]) for o, p in zip(ours[name], peers[tcp])]
        rows.append(row(f"allreduce_4MB_wan_vs_gloo_{tcp}", ratios, target, {
            "format": name, "bytes": str(small), "ours_ms": milliseconds([v for o in ours[name] for v in o[small]]),
            "peer_ms": milliseconds([v for p in peers[tcp] for v in p[small]])}))

    for name, target in formats.items():
        against("bbr", name, target)
    against("cubic", "fixed32", 8)
    rows.append(row("allreduce_16MB_wan_vs_link_limit", [limit_s(large) / median(o[large]) for o in ours["fixed32"]], 0.95, {
        "format": "fixed32", "bytes": str(large), "ours_ms": milliseconds([v for o in ours["fixed32"] for v in o[large]]),
        "limit_ms": f"{1e3 * limit_s(large):.2f}"}))
    for name, target in (("fixed16x2", 0.55), ("fixed8x4", 0.32)):
        ratios = [median(o[large]) / median(base[large]) for o, base in zip(ours[name], ours["fixed32"])]
        rows.append(row("allreduce_16MB_wan_time_vs_fixed32", ratios, target, {
            "format": name, "bytes": str(large), "target_is": "at most",
            "ours_ms": milliseconds([v for o in ours[name] for v in o[large]])}))
    return rows


def ranks(commands, environment=()):
    """Runs one process per rank; their standard outputs. All end with the first that fails."""
    processes = [subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, **dict(environment), "RANK": str(rank), "OMP_NUM_THREADS": "1"})
                 for rank, command in enumerate(commands)]
    try:
        outputs = [process.communicate(timeout=LIMIT_S) for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    for process, (_, errors) in zip(processes, outputs):
        if process.returncode != 0:
            raise RuntimeError(f"{os.path.basename(process.args[1])}: {errors.strip()[-400:]}")
    return [output for output, _ in outputs]


class MemifSwitch:
    """A switch with two memif ports that sleeps when idle, programmed for one job of two workers."""
    MAC = "02:13:d3:00:00:00"

    def __init__(self, build, folder):
        self.folder, self.build = folder, build
        ports = "".join(f'      - {{port: {rank + 1}, dpdk: "net_memif{rank},role=server,id={rank},socket={folder}/m{rank}.sock,'
                        f'socket-abstract=no"}}\n' for rank in range(2))
        with open(f"{folder}/switch.yaml", "w") as file:
            file.write(f'log_level: warning\nbfrt: "127.0.0.1:0"\nstatus: ""\ncontrol: unix:{folder}/switch.sock\n'
                       f'devices:\n  - name: bench\n    ports:\n{ports}')
        self.process = subprocess.Popen([f"{build}/dataplane/l3dml-switch", f"{folder}/switch.yaml", "--json"], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def program(self):
        for line in self.process.stdout:
            if '"ready"' in line:
                break
        else:
            raise RuntimeError("the switch did not start")
        run = subprocess.run([f"{self.build}/tools/l3dml-gen", "program", self.folder, "--switch",
                              f"127.0.0.1:{json.loads(line)['bfrt_port']}", "--device-port", "1,2", "--workers", "2",
                              "--window", "512"],  # fits into memif's rings of 1024: a window of 2048 took three times as long
                             text=True, capture_output=True, timeout=60)
        if run.returncode != 0:
            raise RuntimeError(f"l3dml-gen program: {run.stderr.strip()[-400:]}")

    def device(self, rank):
        return f"net_memif0,role=client,id={rank},socket={self.folder}/m{rank}.sock,socket-abstract=no"

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=20)


def memif(lab, rounds):
    """Two workers without a kernel between them and the switch, against gloo over loopback TCP."""
    size, count = 64 * MIB, 2 if lab.quick else 5
    ours, gloo = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="l3dml-bench-") as folder:
            switch = MemifSwitch(lab.build, folder)
            try:
                switch.program()
                outputs = ranks([["/usr/bin/python3", f"{HERE}/memif_worker.py", f"{lab.build}/tools/host/dpdk/libl3dml_dpdk.so.1",
                                  f"{folder}/rank{rank}.json", switch.device(rank), MemifSwitch.MAC, str(size), str(count)]
                                 for rank in range(2)])
            finally:
                switch.close()
            ours.append([max(pair) for pair in zip(*map(json.loads, outputs))])
            lab.runs += 1
            ranks([["/usr/bin/python3", f"{HERE}/allreduce.py", "--backend", "gloo", "--plan", f"{size}:{count}", "--init",
                    f"file://{folder}/meeting", "--out", folder]] * 2, {"WORLD_SIZE": "2", "GLOO_SOCKET_IFNAME": "lo"}.items())
            times = []
            for rank in range(2):
                with open(f"{folder}/rank{rank}.json") as file:
                    times.append(json.load(file)["sizes"][str(size)])
            gloo.append([max(pair) for pair in zip(*times)])
    ratios = [statistics.median(g) / statistics.median(o) for o, g in zip(ours, gloo)]
    return [row("allreduce_64MB_memif_vs_gloo_loopback", ratios, 2.0, {
        "workers": "2", "bytes": str(size), "ours_ms": milliseconds([v for o in ours for v in o]),
        "peer_ms": milliseconds([v for g in gloo for v in g])})]


SECTIONS = {"taps": taps, "wan": wan, "memif": memif}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", help="write the rows there, as a list")
    args = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network.py: makes network namespaces, run it as root")
    rows = []
    for name, section in SECTIONS.items():
        if args.only in (None, name):
            rows += section(Lab(os.path.abspath(args.build), args.quick), args.rounds)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(rows, file)
    else:
        for r in rows:
            print(f"{r['name']:42} {r['value']:7.2f}  ({r['spread'][0]:.2f}-{r['spread'][1]:.2f})  target {r['target']:.2f} "
                  + " ".join(f"{k}={v}" for k, v in r["group"].items()))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"network.py: {error}")
