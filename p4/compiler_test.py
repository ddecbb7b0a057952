#!/usr/bin/env python3
"""A compiler is not ours to ship; what one would refuse is looked for here. Both programs pass, and each rule finds the fault
that is planted for it in a copy of the sources."""

import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

P4 = Path(__file__).resolve().parent
sys.path.insert(0, str(P4 / "tools"))
import p4_ast  # noqa: E402
from p4_check import Checker  # noqa: E402
from p4_chip import Chip  # noqa: E402
from p4_source import Program, SourceError  # noqa: E402


def complaints(folder):
    """Of the TNA program, then those of the BMv2 program that are new."""
    try:
        tna = Program(folder / "switch.p4")
        found = Checker(tna).complaints or Chip(tna).complaints
        return found + [c for c in Checker(Program(folder / "v1model/switch.p4"), tna=False).complaints if c not in found]
    except SourceError as error:
        return [str(error)]


# file, what stands there, what is planted instead, what must be said
FAULTS = (
    # what any compiler refuses
    ("slot_state.p4", "value.seen = 0;", "value.result = 0;", r"restart: bitmap_t has no field 'result'"),
    ("aggregator.p4", "hdr.lanes_low.d##KK;  ", "hdr.lanes_low.e##KK;  ", r"lanes_h has no field 'e00'"),
    ("forwarder.p4", "ig_md.out_port = CPU_PORT;", "ig_md.out_port = RECIRCULATE_PORT;", r"'RECIRCULATE_PORT' is not known"),
    ("replica.p4", "hdr.udp.dst_port - UDP_PORT", "hdr.ipv6.flow_label - UDP_PORT", r"'-' of bit<20> and bit<16>"),
    ("segment_receiver.p4", "(bit<NEIGHBOR_INDEX_WIDTH>)ig_md.neighbor)", "ig_md.neighbor)", r"bit<16> where bit<10> is wanted"),
    ("next_step.p4", "ig_md.next_pass = PASS_STEERED;", "ig_md.next_pass = 256;", r"256 does not fit into bit<8>"),
    ("segment_receiver.p4", "ig_md.watched = 1;", "hdr.l3dml.seq = 1;", r"'hdr' is only read here"),
    ("next_step.p4", ": reply(SEND_MISSING);", ": reply();", r"reply takes 1 arguments, not 0"),
    ("exponent.p4", "(STAMP_OLDER, OP_UP) : set_exps();", "(STAMP_OLDER, OP_UP, 0) : set_exps();", r"has 3 keys, not 2"),
    ("exponent.p4", "size = 10;", "size = 9;", r"10 entries in a table of 9"),
    ("parsers.p4", "PROTOCOL_UDP: udp;", "PROTOCOL_UDP: udq;", r"there is no state udq"),
    ("egress.p4", "hdr.bridge.setInvalid();", "hdr.bridge.remove();", r"bridge_h has no 'remove'"),
    ("ingress.p4", "ig_dprsr_md.drop_ctl = 1;", "mark_to_drop(ig_dprsr_md);", r"there is no 'mark_to_drop'"),
    ("ingress.p4", "ig_tm_md.mcast_grp_a = ig_md.mgid;", "ig_tm_md.mcast_grp = ig_md.mgid;", r"no field 'mcast_grp'"),
    ("v1model/ingress.p4", "standard_metadata.mcast_grp = ", "standard_metadata.mcast_grp_a = ", r"no field 'mcast_grp_a'"),
    ("forwarder.p4", "hdr.ipv6.hop_limit - 1", "hdr.ipv6.hop_limit * 2", r"expected"),  # the language of p4/ has no multiplication
    # what the chip refuses
    ("segment_sender.p4", "eg_md.seq[15:0] & eg_md.ring_mask", "eg_md.ring_mask << eg_md.in_reach", r"a shift by a variable"),
    ("segment_sender.p4", "eg_md.slot = eg_md.slot & eg_md.slot_mask;", "eg_md.slot = eg_md.slot + eg_md.slot_base;",
     r"mask_slot: arithmetic on 32 bits outside"),
    ("exponent.p4", "ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, read_exp, {",
     "ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, spare, { result = value.exp; })\n"
     "  ACCESS(exps, exps_t, SLOT_INDEX_WIDTH, 8, read_exp, {", r"exps: has 5 accesses"),
    ("exponent.p4", "} else if (value.exp_max < hdr.l3dml.next_exp) {",
     "} else if (value.exp == 0) {\n      value.exp_max = 0;\n    } else if (value.exp_max < hdr.l3dml.next_exp) {",
     r"merge: 3 comparisons"),
    ("slot_state.p4", "    value.bits = ig_md.mask;\n", "    value.bits = ig_md.mask | ig_md.seen_mask | hdr.l3dml.seq;\n",
     r"restart: takes .*a stateful ALU takes 2"),
    ("slot_state.p4", "result = STAMP_OLDER;\n      value", "result = STAMP_EQUAL;\n      result = STAMP_OLDER;\n      value",
     r"start: assigns a result twice"),
    ("slot_state.p4", "stamps.apply();", "stamps.apply();\n    stamps.apply();", r"stamps: is applied twice"),
    ("slot_state.p4", "      count_none;\n", "      count_none;\n      compare_entry;\n", r"stamp: is reached from counts and stamps"),
    ("slot_state.p4", "compare, stamp, bit<32>, 8, SLOT)", "compare, stamp, bit<32>, 8, (bit<SLOT_INDEX_WIDTH>)(ig_md.count + 1))",
     r"the index of a register is worked out"),
    ("segment_sender.p4", "if (eg_md.first[15:0] == 0xffff) {", "if (eg_md.first[15:0] & eg_md.ring_mask == 0xffff) {",
     r"'&' of two fields in a condition"),
    ("admission.p4", ' @name("src_locator")', "", r"the slice hdr.ipv6.src_addr\[79:64\] has no @name"),
    ("egress.p4", "{eg_md.mirror_pass, eg_md.rest_high", "{MIRROR_LOOK_UP, eg_md.rest_high", r"takes fields, not 'MIRROR_LOOK_UP'"),
    ("parsers.p4", "  state nack {\n", "  state nack {\n    ig_md.ours = 1;\n", r"IngressParser.*ours is written again"),
)


class Compiler(unittest.TestCase):
    def test_nothing_to_complain_about(self):
        self.assertEqual(complaints(P4), [])

    def test_every_fault_is_found(self):
        for file, there, planted, said in FAULTS:
            with self.subTest(f"{file}: {planted}"), tempfile.TemporaryDirectory() as copy:
                for source in P4.rglob("*.p4"):
                    target = Path(copy) / source.relative_to(P4)
                    target.parent.mkdir(exist_ok=True)
                    shutil.copy(source, target)
                text = (Path(copy) / file).read_text()
                self.assertIn(there, text)
                (Path(copy) / file).write_text(text.replace(there, planted, 1))
                found = complaints(Path(copy))
                self.assertTrue(any(re.search(said, c) for c in found), found)


class Shape(unittest.TestCase):
    """Facts about the chip that no rule of a compiler holds up."""

    PROGRAM = Program()

    def entries(self, control, table):
        table = self.PROGRAM.controls[control].tables[table]
        for matches, action, arguments in p4_ast.entries(table.const_entries):
            yield dict(zip((key.expression for key in table.keys), matches)), action

    def test_a_stale_packet_reaches_no_state_of_a_slot(self):
        reached = set()
        for control in ("SlotState", "Exponent", "Aggregator"):
            block = self.PROGRAM.controls[control]
            for table in block.tables.values():
                if table.name == "stamps":
                    continue  # what tells that it is stale
                reached |= {block.register_actions[t][0] for a, _ in table.actions if a in block.actions
                            for t in block.actions[a].body if t in block.register_actions}
                for keys, action in self.entries(control, table.name):
                    self.assertIn(keys["ig_md.relation"], (("name", "STAMP_EQUAL"), ("name", "STAMP_OLDER")),
                                  f"{table.name}: {action}")
        self.assertEqual(reached, {"bitmap", "count", "exps", "weight", *(f"lanes{n:02}" for n in range(32))})

    def test_only_a_result_marks_an_entry_done(self):
        for keys, action in self.entries("SlotState", "bitmaps"):
            if action == "finish_entry":
                self.assertEqual(keys["ig_md.role"], ("name", "ROLE_ROOT"))
                self.assertTrue(keys["ig_md.op"][1].startswith("PASS_FINISH"))
        made_done = [state for state, body in self.PROGRAM.controls["FrameParser"].states.items() if "DONE" in body]
        self.assertEqual(made_done, ["down"])

    def test_the_gate_is_closed_for_what_was_not_admitted(self):
        for control, table in (("SegmentReceiver", "segment"), ("SlotState", "stamps")):
            for keys, action in self.entries(control, table):
                if keys["ig_md.op"][1] in ("PASS_REPAIR", "PASS_REPAIR_HIGH"):
                    continue  # addressed to its receiver by now
                gate = [keys[f"ig_md.{name}"] for name in ("ours", "admitted", "disagrees", "steered")]
                self.assertEqual(gate, [("name", n) for n in "1100"], action)

    def test_admission_matches_48_bits_of_the_source(self):
        keys = self.PROGRAM.controls["Admission"].tables["admission"].keys
        self.assertEqual(sum(key.width for key in keys if key.expression.startswith("hdr.ipv6.src_addr")), 48)

    def test_lanes_that_were_not_extracted_are_made_zero_first(self):
        apply = p4_ast.statements(self.PROGRAM.controls["Ingress"].apply)
        filled = next(i for i, s in enumerate(apply) if s[0] == "if" and s[2] == [("do", ("call", ("name", "fill_lanes"), []))])
        block = next(i for i, s in enumerate(apply) if s[0] == "do" and s[1][1][0] == "member" and s[1][1][2] == "apply")
        self.assertLess(filled, block)
        body = p4_ast.statements(self.PROGRAM.controls["Ingress"].actions["fill_lanes"].body)
        for half in ("lanes_low", "lanes_high"):
            values = next(s[2][1] for s in body if s[0] == "assign" and s[1] == ("member", ("name", "hdr"), half))
            self.assertEqual(values, [("name", "0")] * 32)

    def test_lane_tables_have_the_four_accesses_and_keys_of_the_trial(self):
        block = self.PROGRAM.controls["Aggregator"]
        for n in range(32):
            names = {a for a, (register, _, _) in block.register_actions.items() if register == f"lanes{n:02}"}
            self.assertEqual(names, {f"{what}{n:02}" for what in ("set", "add", "low", "high")})
            keys = [key.expression for key in block.tables[f"sum{n:02}"].keys]
            self.assertEqual(keys, ["ig_md.relation", "ig_md.op", "ig_md.seen"])

    def test_unicast_answers_carry_rid_0_and_keep_the_bridged_neighbour(self):
        apply = p4_ast.statements(self.PROGRAM.controls["Replica"].apply)
        by_rid = ("do", ("call", ("name", "by_rid"), []))
        self.assertIn(("if", ("binary", "!=", ("name", "rid"), ("name", "0")), [by_rid], []), apply)

    def test_exponents_are_two_comparisons_and_idempotent(self):
        block = self.PROGRAM.controls["Exponent"]
        self.assertEqual(set(block.register_actions), {"set", "merge", "read_max", "read_exp"})
        self.assertNotIn("ig_md.seen", [key.expression for key in block.tables["exponents"].keys])  # no test for duplicates


if __name__ == "__main__":
    unittest.main(verbosity=1)
