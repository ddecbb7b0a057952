#!/usr/bin/env python3
"""Adds the example block to a copy of the program by the steps of README.md and shows that each of them did what it says:
the block is applied where it should be, bf-rt.json describes it, it counts, nothing else changes, and the x86
pipeline with the block's C++ half sends and counts the same.
usage: example_block_test.py X86_ENGINE (the pipeline with the block, see meson.build)"""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
P4 = HERE.parent
sys.path.insert(0, str(P4 / "tools"))
sys.path.insert(0, str(P4 / "differential"))
from add_block import insert_after  # noqa: E402
from differential_test import X86, l3dml_only, program_both  # noqa: E402
from make_bfrt import bf_rt  # noqa: E402
from p4_run import Switch  # noqa: E402
from p4_source import Program  # noqa: E402
from scenario import MGID, Scenario  # noqa: E402


def program_with_block(folder):
    for name in ("switch.p4", "ingress.p4"):
        shutil.copy(P4 / name, folder / name)
    shutil.copy(HERE / "ce_marks.p4", folder / "ce_marks.p4")
    text = (folder / "ingress.p4").read_text()
    text = insert_after(text, '#include "aggregator.p4"\n', '#include "ce_marks.p4"\n')
    text = insert_after(text, "  Admission() admission;\n", "  CeMarks() ce_marks;\n")
    text = insert_after(text, "    admission.apply(hdr, ig_md, ig_intr_md.ingress_port);\n", "    ce_marks.apply(hdr, ig_md);\n")
    (folder / "ingress.p4").write_text(text)
    return Program(folder / "switch.p4")


def switch_of(program, scenario):
    switch = Switch(program)
    for name, action, priority, keys, params in scenario.entries():
        _, table = switch.table(name)
        matches = [(v[0], (1 << k.width) - 1 >> v[1] ^ (1 << k.width) - 1) if k.match == "lpm" else v
                   for k, v in zip(table.keys, keys, strict=True)]
        switch.insert(name, matches, action, params, priority)
    switch.groups[MGID] = [(rid, [port]) for rid, port in scenario.group()]
    return switch


class ExampleBlock(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.program = program_with_block(Path(folder))
        cls.plain = Program()

    def test_it_is_applied_between_admission_and_job(self):
        order = self.program.apply_order("Ingress")
        self.assertEqual(order[order.index("ce_marks") - 1:][:3], ["admission", "ce_marks", "job"])
        self.assertEqual([block for block in order if block != "ce_marks"], self.plain.apply_order("Ingress"))

    def test_bf_rt_gains_its_objects_and_nothing_else(self):
        plain, more = ({t["name"]: t for t in bf_rt(p)["tables"]} for p in (self.plain, self.program))
        self.assertEqual(set(more) - set(plain), {"pipe.Ingress.ce_marks.marked", "pipe.Ingress.ce_marks.marks"})
        self.assertTrue(all(more[name] == table for name, table in plain.items()))

    def test_it_counts_marked_packets_of_members_and_changes_no_packet(self):
        plain = switch_of(self.plain, Scenario(3))
        switch = switch_of(self.program, Scenario(3))
        packets = list(Scenario(3).packets(60))
        for port, frame in packets:
            self.assertEqual(switch.process(port, frame), plain.process(port, frame))
        counted = sum(switch.counters["Ingress.ce_marks.marks"].values())
        marked = sum(frame[15] >> 4 & 3 == 3 for _, frame in packets)  # CE, of members or not
        self.assertGreater(counted, 0)
        self.assertLessEqual(counted, marked)

    def test_both_engines_send_and_count_the_same(self):
        for seed in range(3, 9):
            scenario, switch, x86 = Scenario(seed), Switch(self.program), X86(ENGINE)
            program_both(scenario, switch, x86)
            for port, frame in scenario.packets(80):
                ours = switch.process(port, frame)
                theirs = l3dml_only([(int(p), bytes.fromhex(f)) for p, f in x86.ask(f"packet {port} {frame.hex()}")])
                self.assertEqual(*(sorted(sent, key=lambda item: item[0]) for sent in (ours, theirs)), f"seed {seed}")
            marks = {int(index): int(count) for index, count in x86.ask("counter pipe.Ingress.ce_marks.marks")}
            x86.close()
            self.assertEqual(switch.counters.get("Ingress.ce_marks.marks", {}), marks, f"seed {seed}")
            self.assertGreater(sum(marks.values()), 0, f"seed {seed}")


if __name__ == "__main__":
    ENGINE = sys.argv.pop(1)
    unittest.main()
