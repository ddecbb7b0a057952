#!/usr/bin/env python3
"""The P4 program, its x86 twin and bf-rt.json mean the same: header layouts, constants, drop reasons, block stems, apply
order, keys, action parameters, and every BfRuntime name that C++ uses."""

import json
import re
import sys
import unittest
from pathlib import Path

P4 = Path(__file__).resolve().parent
ROOT = P4.parent
sys.path.insert(0, str(P4 / "tools"))
from p4_source import Program  # noqa: E402

PROGRAM = Program()
BMV2 = Program(P4 / "v1model" / "switch.p4")
BF_RT = {table["name"]: table for table in json.load(open(P4 / "bf-rt.json"))["tables"]}


def cpp(path):
    return (ROOT / path).read_text()


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


class Headers(unittest.TestCase):
    # C++ keeps what shares a word in one field.
    JOINED = {"version_class_flow": ("version", "traffic_class", "flow_label"), "version_type": ("version", "type")}
    BITS = {"uint8_t": 8, "be16_t": 16, "be32_t": 32, "be64_t": 64, "MacAddress": 48, "Ipv6Address": 128}

    def layout_in_p4(self, header):
        return PROGRAM.headers[header]

    def layout_in_cpp(self, struct):
        body = re.search(r"struct " + struct + r" \{(.*?)\n\};", cpp("dataplane/wire/header.h"), re.S).group(1)
        fields = []
        for line in body.splitlines():
            match = re.match(r"\s*(\w+) (\w+);", line)
            if match and match.group(1) in self.BITS:
                fields.append((match.group(2), self.BITS[match.group(1)]))
        return fields

    def check(self, header, struct):
        expected, fields = [], dict(self.layout_in_p4(header))
        order = [name for name, _ in self.layout_in_p4(header)]
        for name, width in self.layout_in_cpp(struct):
            parts = self.JOINED.get(name, (name,))
            for part in parts:
                self.assertIn(part, fields, f"{struct}.{name} has no counterpart in {header}")
            self.assertEqual(sum(fields[part] for part in parts), width, f"width of {struct}.{name}")
            expected += parts
        self.assertEqual(order, expected, f"order of fields in {header} and {struct}")

    def test_fields_widths_and_offsets_agree(self):
        for header, struct in (("ethernet_h", "EthernetHeader"), ("ipv6_h", "Ipv6Header"), ("udp_h", "UdpHeader"),
                               ("l3dml_h", "L3dmlHeader")):
            with self.subTest(header):
                self.check(header, struct)

    def test_headers_are_whole_bytes(self):
        for header, fields in PROGRAM.headers.items():
            self.assertEqual(sum(width for _, width in fields) % 8, 0, header)

    def test_lanes_of_one_pass(self):
        lanes = sum(width for _, width in PROGRAM.headers["lanes_h"]) // 32 * 2
        self.assertEqual(f"{lanes};", re.search(r"kLanesGranularity = (\S+)", cpp("dataplane/base/limits.h")).group(1))
        self.assertEqual(PROGRAM.constants["LENGTH_WITH_LANES"], PROGRAM.constants["LENGTH_WITHOUT_LANES"] + 4 * lanes)


class Constants(unittest.TestCase):
    def number_in_cpp(self, name, *files):
        for file in files:
            match = re.search(r"\b" + name + r" = (0x[0-9a-fA-F]+|\d+)", cpp(file))
            if match:
                return int(match.group(1), 0)
        self.fail(f"{name} is not in {files}")

    def test_values_agree(self):
        header, address, limits = "dataplane/wire/header.h", "dataplane/wire/address.h", "dataplane/base/limits.h"
        for p4, name, file in (
                ("ETHER_TYPE_IPV4", "kEtherTypeIpv4", header), ("ETHER_TYPE_IPV6", "kEtherTypeIpv6", header),
                ("PROTOCOL_UDP", "kProtocolUdp", header), ("UDP_PORT", "kUdpPort", limits),
                ("L3DML_VERSION", "kVersion", header), ("FLAG_RETX", "kFlagRetx", header),
                ("FLAG_DOWN", "kFlagDown", header), ("FLAG_ECE", "kFlagEce", header),
                ("CHILD_PARENT", "kChildParent", address), ("CHILD_SWITCH", "kChildSwitch", address),
                ("FUNCTION_AGGREGATE", "aggregate", address), ("CPU_PORT", "kCpuPort", limits),
                ("RECIRCULATION_PORT", "kRecirculationPort", limits),
                ("MIRROR_SESSION", "kMirrorSession", "dataplane/blocks/context.h"), ("DONE", "kDoneBit", "dataplane/blocks/context.h"),
                ("ROLE_ROOT", "root", "dataplane/blocks/context.h"), ("ROLE_INNER", "inner", "dataplane/blocks/context.h")):
            with self.subTest(p4):
                self.assertEqual(PROGRAM.constants[p4], self.number_in_cpp(name, file))

    def test_types_agree(self):
        names = re.search(r"enum class Type : uint8_t \{(.*?)\}", cpp("dataplane/wire/header.h")).group(1)
        for name, value in re.findall(r"(\w+) = (\d+)", names):
            self.assertEqual(PROGRAM.constants["TYPE_" + name.upper()], int(value), name)

    def test_drop_reasons_agree(self):
        names = re.findall(r"^  X\((\w+),", cpp("dataplane/base/drop_reason.h"), re.M)
        self.assertGreater(len(names), 30)
        p4 = {n[len("REASON_"):].lower(): v for n, v in PROGRAM.constants.items() if n.startswith("REASON_")}
        self.assertEqual(p4, {name: value for value, name in enumerate(names)})
        self.assertLessEqual(len(names), BF_RT["pipe.Ingress.drop_reasons"]["size"])

    def test_every_udp_port_of_a_shard_is_parsed(self):
        state = " ".join(PROGRAM.controls["FrameParser"].states["udp"])
        ports = set()
        for value, mask in re.findall(r"(0x[0-9a-f]+)(?: &&& (0x[0-9a-f]+))? : l3dml", state):
            value, mask = int(value, 16), int(mask or "0xffff", 16)
            ports |= {port for port in range(0x4C00, 0x4D00) if port & mask == value & mask}
        first = PROGRAM.constants["UDP_PORT"]
        self.assertEqual(ports, set(range(first, first + 64)))


class Blocks(unittest.TestCase):
    # The job's constants are looked up inside the x86 admission.
    WITHIN = {"job": "admission"}

    def test_each_block_has_a_twin_of_its_name(self):
        for top in ("Ingress", "Egress"):
            for name, kind in PROGRAM.controls[top].instances.items():
                with self.subTest(name):
                    self.assertEqual(kind, camel(name), "instance and control have one name")
                    self.assertTrue((P4 / f"{name}.p4").exists(), f"{name}.p4")
                    self.assertTrue((ROOT / f"dataplane/blocks/{self.WITHIN.get(name, name)}.h").exists())

    def test_each_twin_has_a_block(self):
        helpers = {"context", "generated"}  # the latter is a table of admission
        blocks = {n for top in ("Ingress", "Egress") for n in PROGRAM.controls[top].instances}
        for header in (ROOT / "dataplane/blocks").glob("*.h"):
            if header.stem not in helpers:
                self.assertIn(header.stem, blocks, f"{header.stem}.h has no P4 block")

    def order_in_cpp(self, calls, *files):
        text = "".join(cpp(f) for f in files)
        found = {name: re.search(call, text) for name, call in calls.items()}
        self.assertNotIn(None, found.values(), found)
        return sorted(found, key=lambda name: found[name].start())

    def test_ingress_applies_in_one_order(self):
        calls = {"forwarder": r"forwarder\.lookup6\(", "admission": r"admission\.apply\(",
                 "segment_receiver": r"segment_receiver\.receive\(", "slot_state": r"slot_state\.apply\(",
                 "exponent": r"Exponent::apply\(", "next_step": r"NextStep::apply\(", "aggregator": r"aggregator\.apply\("}
        twin = self.order_in_cpp(calls, "dataplane/pipeline/pipe.cc", "dataplane/pipeline/ingress.cc",
                                 "dataplane/pipeline/ingress.h")
        p4 = [block for block in PROGRAM.apply_order("Ingress") if block not in self.WITHIN]
        self.assertEqual(p4, twin)

    def test_egress_applies_in_one_order(self):
        twin = self.order_in_cpp({"replica": r"replica\.lookup\(", "segment_sender": r"sender_\.send\("},
                                 "dataplane/pipeline/egress.h")
        self.assertEqual(PROGRAM.apply_order("Egress"), twin)

    def test_bmv2_runs_the_same_blocks(self):
        for top in ("Ingress", "Egress"):
            self.assertEqual(PROGRAM.apply_order(top), BMV2.apply_order(top))
            ours, theirs = dict(PROGRAM.blocks(top)), dict(BMV2.blocks(top))
            self.assertEqual(list(ours), list(theirs))
            for path in list(ours)[1:]:
                self.assertEqual(ours[path].tables, theirs[path].tables, path)
        self.assertEqual(PROGRAM.constants, {n: v for n, v in BMV2.constants.items() if n in PROGRAM.constants})


class GoldenCases(unittest.TestCase):
    def test_the_table_names_every_case(self):
        folder = ROOT / "dataplane/testdata"
        named = set(re.findall(r"`(\w+)`", (folder / "README.md").read_text().split("## What is where")[1]))
        self.assertEqual(named, {config.parent.name for config in folder.glob("*/config.json")})

    def test_each_case_names_its_engines(self):
        count = {"x86": 0, "bmv2": 0, "tna": 0}
        for config in (ROOT / "dataplane/testdata").glob("*/config.json"):
            for engine in json.loads(config.read_text())["engines"]:
                count[engine] += 1
        self.assertGreaterEqual(min(count.values()), 40, count)


class Bindings(unittest.TestCase):
    def keys(self, table):
        return [(k["name"], k["type"]["width"]) for k in BF_RT[table]["key"] if not k["name"].startswith("$")]

    def params(self, table, action):
        spec = next(a for a in BF_RT[table]["action_specs"] if a["name"] == action)
        return [(p["name"], p["type"]["width"]) for p in spec["data"]]

    def test_admission_keys_agree(self):
        source = cpp("dataplane/blocks/admission.cc")
        layout = re.search(r"kLayout = \{(.*?)\};", source, re.S).group(1)
        twin = [(name, int(width)) for width, name in re.findall(r"\{\d+, \d+, (\d+)\},\s*// (\S+)", layout)]
        self.assertEqual(self.keys("pipe.Ingress.admission.admission"), twin)

    def test_admission_parameters_agree(self):
        source = cpp("dataplane/blocks/admission.cc") + cpp("dataplane/blocks/job.cc")
        for table, action, pattern in (
                ("pipe.Ingress.admission.admission", "Ingress.admission.admit", r"admit->(\w+) = .*entry\.params\[(\d)\]"),
                ("pipe.Ingress.job.job", "Ingress.job.set_job", r"job\.(\w+) = .*entry\.params\[(\d)\]")):
            twin = [name for name, _ in sorted(re.findall(pattern, source), key=lambda m: int(m[1])) if name != "reject"]
            self.assertEqual([name for name, _ in self.params(table, action)], twin, action)

    def test_generated_parameters_agree(self):
        rows = re.findall(r"row\.(\w+) = .*entry\.params\[(\w+)\]", cpp("dataplane/blocks/generated.cc"))
        ours = [name for name, _ in self.params("pipe.Ingress.admission.generated", "Ingress.admission.speak_for")]
        self.assertEqual([{"udp_dst_port": "shard"}.get(name, name) for name in ours], [name for name, _ in rows])

    def test_replica_parameters_agree(self):
        names = re.search(r"enum Param \{(.*?)\}", cpp("dataplane/blocks/replica.cc"), re.S).group(1)
        twin = [n.strip() for n in names.split(",") if n.strip() not in ("count", "")]
        self.assertEqual([n for n, _ in self.params("pipe.Egress.replica.replica", "Egress.replica.to_neighbor")], twin)
        self.assertEqual(self.keys("pipe.Egress.replica.replica"), [("neighbor", 16), ("shard", 6)])

    def test_forwarder_tables_agree(self):
        twin = set(re.findall(r'name == "(\w+)"\) return &\w+_;', cpp("dataplane/blocks/forwarder.cc")))
        ours = {n.rsplit(".", 1)[1] for n, t in BF_RT.items()
                if n.startswith("pipe.Ingress.forwarder.") and "ConstTable" not in t["attributes"]}
        self.assertEqual(ours, twin)

    def test_every_name_that_cpp_uses_exists(self):
        actions = {a["name"] for t in BF_RT.values() for a in t.get("action_specs", [])}
        lanes = ("pipe.Ingress.aggregator.lanes%02d", "pipe.Ingress.aggregator.lanes")  # a family
        for folder in ("dataplane/pipeline", "dataplane/blocks", "control"):
            for file in (ROOT / folder).rglob("*.cc"):
                if file.stem.endswith("_test"):
                    continue
                text = file.read_text()
                for name in re.findall(r'"(pipe\.(?:Ingress|Egress)\.[\w.%]*\w)"', text):
                    self.assertTrue(name in BF_RT or name in lanes, f"{file}: {name} is not in bf-rt.json")
                for name in re.findall(r'"((?:Ingress|Egress)\.\w+\.\w+)"', text):
                    known = name in actions or "pipe." + name in BF_RT
                    self.assertTrue(known, f"{file}: {name} is not in bf-rt.json")

    def test_every_table_that_a_controller_fills_has_a_twin(self):
        twins = cpp("dataplane/pipeline/device.cc")
        only_tofino = set(re.findall(r'"(pipe[\w.]+)"', re.search(r"bool is_chip_only.*?\n}", twins, re.S).group(0)))
        for name, table in BF_RT.items():
            if "ConstTable" in table["attributes"] or name in only_tofino:
                continue
            name = re.sub(r"lanes\d\d$", "lanes%02d", name)
            prefix = name.rsplit(".", 1)[0] + "."
            self.assertTrue(f'"{name}"' in twins or f'"{prefix}"' in twins, f"{name} has no twin in the pipeline")


if __name__ == "__main__":
    unittest.main(verbosity=1)
