#!/usr/bin/env python3
"""Writes the tables of bench/results/lossless.md from the report of `l3dml-sim measure all --json`.

usage: tools/sim/lossless.py REPORT.json LOSSLESS.md

What stands in LOSSLESS.md from its line "## Remarks" on is written by hand and kept."""
import json
import pathlib
import sys

REMARKS = "## Remarks"
LOSSES = ["0", "0.1 %", "1 %", "5 %", "1 % in bursts of 8"]
ORDERS = {"none": "nothing lost", "first": "first order", "second": "second order"}
QUANTILES = {"0.01": "p1", "0.5": "p50", "0.95": "p95", "0.99": "p99", "1": "largest"}
INTRODUCTION = """The simulator runs the real pipeline, worker core and coordinator under a virtual clock, so a busy machine changes no figure but
`packet_events_per_second`. The network: two sites, a switch and two workers each, 1 Gb/s and 25 ms one way between them (queue 6.25 MB, marks
from 150 kB), an inner aggregator at one site, the root at the other; 320 lanes a packet, window 8,192. A worker's ceiling is 0.99 x rate x
(1 - loss), as the controller reckons it with that headroom."""
LOSS_COST = """0.2 % of the packets with lanes between the switches are lost, and 20 % of the repairs. The cost: from the moment when all workers have sent the
chunk until all hold its result, less the median of the five chunks that were sent next to it and lost nothing. Segment round trip: 50 ms.
Target for the first order: at most 52 ms."""
TCP_MODEL = """TCP is a model of CUBIC (RFC 9438) with SACK in the simulator, through the real pipeline and queue (DECISIONS 0333), not the kernel's."""


class Report:
    def __init__(self, text):
        self.report = json.loads(text)
        self.command, self.commit = self.report["command"], self.report["commit"]

    def row(self, mode, name, **group):
        """The row, or None where the run did not measure it."""
        wanted = dict(group, mode=mode)
        for row in self.report["rows"]:
            if row["name"] == name and wanted.items() <= row.get("group", {}).items():
                return row
        return None

    def value(self, mode, name, **group):
        row = self.row(mode, name, **group)
        return row["value"] if row else float("nan")


def verdict(reached):
    return "" if reached else " **missed**"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def percent(share):
    return f"{100 * share:.1f} %"


def kilobytes(size):
    return f"{size / 1e3:.0f} kB"


def goodput(report):
    rows = []
    for loss in LOSSES:
        share = report.row("goodput", "goodput_share", loss=loss)
        if not share:
            continue
        least, most = share.get("spread", [share["value"]] * 2)
        rows.append([loss, f"{percent(share['value'])} ({100 * least:.1f}, {100 * most:.1f})" +
                     verdict(share["value"] >= share["target"]), f"{100 * share['target']:.0f} %",
                     f"{report.value('goodput', 'wan_packets_per_chunk', loss=loss):.4f}",
                     kilobytes(report.value("goodput", "largest_queue", loss=loss))])
    head = ["loss", "share (smallest, largest of 3 seeds)", "target", "WAN packets per chunk and direction", "largest queue"]
    return ["## Goodput, as share of what headers leave (1280 of 1390 bytes on the wire)", table(head, rows)] if rows else []


def loss_cost(report):
    rows = [[name, f"{report.value('loss_cost', 'chunks', order=order):.0f}",
             *(f"{1e3 * report.value('loss_cost', 'loss_cost', order=order, quantile=q):.2f} ms" for q in QUANTILES)]
            for order, name in ORDERS.items()]
    head = ["", "chunks", *QUANTILES.values()]
    return ["## What a lost packet costs its chunk", LOSS_COST, table(head, rows), "![distribution](lossless.svg)"]


def fairness(report):
    first = report.row("fairness", "share_of_first_job")
    if not first:
        return []

    def value(name, beside):
        return report.value("fairness", name, beside=beside)

    least, most = first["spread"]
    rows = [[f"two jobs, the second begins 1 s later: share of the first (second by second: {100 * least:.1f} to {percent(most)})",
             percent(first["value"]) + verdict(0.4 <= first["value"] <= 0.6), "40-60 %"],
            ["goodput of both together, of what headers leave", percent(value("goodput_share", "job")), ""],
            ["queue drops; largest queue, two jobs",
             f"{value('queue_drops', 'job'):.0f}; {kilobytes(value('largest_queue', 'job'))}", "no collapse"]]
    for beside in ("tcp cubic", "tcp cubic with ecn"):
        part = value("tcp_part_of_fair_share", beside)
        rows += [[f"{beside} beside a job: part of its fair half of the link",
                  f"{100 * part:.0f} %{verdict(part >= 1 / 3)}", "33 %"],
                 ["... job and TCP together, of the link; the job alone",
                  f"{percent(value('link_share', beside))}; {percent(value('goodput_share', beside))}", ""],
                 ["... queue drops; largest queue; TCP time-outs",
                  f"{value('queue_drops', beside):.0f}; {kilobytes(value('largest_queue', beside))}; "
                  f"{value('tcp_timeouts', beside):.0f}", ""]]
    return ["## Who shares the link", table(["", "figure", "target"], rows), TCP_MODEL]


def scale(report):
    rate = report.row("scale", "packet_events_per_second")
    if not rate:
        return []
    return ["## Scale", f"1,000 workers on 100 switches on three levels in one process: {report.value('scale', 'packet_events') / 1e6:.2f} million "
            f"packet events in {report.value('scale', 'cpu_time'):.1f} s of one core, {rate['value']:,.0f} a second (target "
            f"{rate['target']:,.0f}){verdict(rate['value'] >= rate['target'])}; {report.value('scale', 'violations'):.0f} violations."]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report = Report(pathlib.Path(sys.argv[1]).read_text())
    page = pathlib.Path(sys.argv[2])
    before = page.read_text() if page.exists() else ""
    remarks = [before[before.index(REMARKS):].rstrip()] if REMARKS in before else []
    parts = ["# Lossless segments, measured in the simulator",
             f"One run of `{report.command}`, commit {report.commit}; figures in [lossless.json](lossless.json).\n" + INTRODUCTION,
             *goodput(report), *loss_cost(report), *fairness(report), *scale(report), *remarks]
    page.write_text("\n\n".join(parts) + "\n")


main()
