#!/usr/bin/python3
"""Any program's control plane without a pipeline: l3dml-switch --schema FILE --schema-only, and the schema server, whose
standard input makes digests."""
import json
import os
import subprocess

import harness

TESTDATA = os.path.join(harness.SOURCE, "dataplane/server/testdata")
WIDE = os.path.join(TESTDATA, "wide-bf-rt.json")
SAMPLE = os.path.join(TESTDATA, "sample-bf-rt.json")


class SchemaSwitch(harness.Process):
    def __init__(self, schema):
        super().__init__(os.path.join(harness.BUILD, "dataplane/l3dml-switch"), "--json", "--schema", schema, "--schema-only",
                         "--bfrt", "127.0.0.1:0", "--status", "127.0.0.1:0", "--control", "none")
        line = self.line()
        while not line.startswith("{"):
            line = self.line()
        self.address = "127.0.0.1:%d" % json.loads(line)["bfrt_port"]


class AnyProgram(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.server = SchemaSwitch(SAMPLE)

    def test_the_switch_serves_all_tables_of_a_compiled_program(self):
        client = self.client()
        with open(SAMPLE) as file:
            tables = json.load(file)["tables"]
        self.assertEqual(len(tables), 93)
        for info in tables:
            table = client.table(info["name"])
            table.get({"$REGISTER_INDEX": 0}) if info["table_type"] == "Register" else table.entries()
        stamp = client.table("Ig.stamp")
        stamp.add({"$REGISTER_INDEX": 8191}, data={"Ig.stamp.f1": 7})
        self.assertEqual(stamp.get({"$REGISTER_INDEX": 8191}).data["Ig.stamp.f1"], [7])

    def test_a_wrong_file_is_one_line_that_says_why(self):
        ended = subprocess.run([os.path.join(harness.BUILD, "dataplane/l3dml-switch"), "--schema", os.path.join(
            TESTDATA, "fuzz_corpus/write_insert"), "--schema-only", "--bfrt", "127.0.0.1:0", "--status", "none", "--control", "none"],
            stderr=subprocess.PIPE, text=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("bf-rt.json", ended.stderr)


class Digests(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.SchemaServer(WIDE)

    def test_a_typed_digest_reaches_the_subscriber(self):
        client = self.client(learn=True)
        self.server.process.stdin.write("digest pipe.IngressDeparser.learn 0a0b0c0d0e0f 0005\n")
        self.server.process.stdin.flush()
        digest = client.notification("digest")
        self.assertEqual(digest.digest_id, 0x8e000001)
        self.assertEqual([f.stream for f in digest.data[0].fields], [bytes.fromhex("0a0b0c0d0e0f"), b"\0\5"])


if __name__ == "__main__":
    harness.main()
