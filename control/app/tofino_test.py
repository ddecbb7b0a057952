#!/usr/bin/python3
"""From the software switch to a Tofino: usage: tofino_test.py CONTROLLER CTL SWITCH BFRT_PYTHON BF_RT.

The same network and job, first on a software switch, then on what a chip's driver offers: the program's own bf-rt.json as
compiled (names, ids, widths, 64 lanes, tables that only the chip has), four pipes, no port there before it is added; it
checks every write. Nothing is changed but the address. Afterwards all tables are read back.
"""
import json
import os
import subprocess
import sys

CONTROLLER, CTL, SWITCH, BFRT_PYTHON, BF_RT = (os.path.abspath(a) for a in sys.argv[1:6])
del sys.argv[1:6]
sys.argv[1:1] = [CONTROLLER, CTL, SWITCH]
sys.path[:0] = [BFRT_PYTHON, os.path.dirname(os.path.abspath(__file__))]
import e2e_test as e2e  # takes its three arguments
from l3dml_bfrt import Client

import unittest

NETWORK = """
sites: [{{name: west, switch: "127.0.0.1:{port}", device: 0}}, {{name: east, switch: "127.0.0.1:{port}", device: 1}}]
links: [{{name: wan, between: [west, east], rate: 10Gbit, delay: 25ms, ports: [140, 140]}}]
hosts: [{{name: w0, site: west, port: 0}}, {{name: w1, site: west, port: 4}}, {{name: e0, site: east, port: 0}},
        {{name: e1, site: east, port: 132}}]
"""
PORTS = {"west": {0, 4, 140}, "east": {0, 132, 140}}
JOB = ("train", "--hosts", "w0,w1,e0,e1", "--roots", "west,east")
SOFTWARE = """
log_level: warning
bfrt: 127.0.0.1:{port}
status: ""
control: ""
devices: [{{name: west, id: 0, pipes: 2}}, {{name: east, id: 1, pipes: 2}}]
links: [{{name: wan, ends: ["west:140", "east:140"], rate: 10Gbit, delay: 1ms}}]
"""
CHIP = """
log_level: warning
bfrt: 127.0.0.1:{port}
status: ""
control: ""
program: l3dml
devices: [{{name: west, id: 0, pipes: 4}}, {{name: east, id: 1, pipes: 4}}]
"""
RECIRCULATION = [68, 196, 324, 452]


class Tofino(e2e.Bed):
    def start_switch(self):
        pass

    def serve(self, kind):
        self.port = e2e.free_port()
        text, more = {"software": (SOFTWARE, []), "chip": (CHIP, ["--schema", BF_RT, "--schema-only"])}[kind]
        self.switch = self.start([SWITCH, self.file(kind + ".yaml", text.format(port=self.port)), "--json", *more], kind + ".log")
        self.network = NETWORK.format(port=self.port)
        self.run_controller(kind)

    def run_controller(self, kind):
        text = f"listen: 127.0.0.1:0\nstore: sqlite:{self.path(kind + '.db')}\n" + self.network
        self.controller = self.start([CONTROLLER, self.file(kind + "-controller.yaml", text), "--json"], kind + "-controller.log")
        self.address = self.controller.ready["addresses"][0]

    def tables(self, device):
        """Everything that can be written to and read back: table -> list of (key, action, data)."""
        found = {}
        with Client(f"127.0.0.1:{self.port}", device=device) as switch:
            for name in switch.table_names():
                table = switch.table(name)
                if name.startswith("pipe.") and table.info["table_type"].startswith("MatchAction"):
                    found[name] = [(e.key, e.action, e.data) for e in table.entries() if not e.is_default]
            for name in ("$PORT", "$mirror.cfg", "$pre.mgid", "$pre.node", "tf1.pktgen.app_cfg", "tf1.pktgen.port_cfg"):
                found[name] = [(e.key, e.action, e.data) for e in switch.table(name).entries(from_hw=False) if not e.is_default]
            buffer = switch.table("tf1.pktgen.pkt_buffer")
            found["buffer"] = buffer.get({"pkt_buffer_offset": 0, "pkt_buffer_size": 86}, from_hw=False).data["buffer"]
        return found

    def run_job(self):
        token = json.loads(self.ctl("--json", "create", *JOB))["token"]
        members = e2e.Members(self.address)
        for host in ("w0", "w1", "e0", "e1"):
            members.join(token, host)
        self.assertEqual(self.ask("explain", "train")["state"], "running")
        return token, members

    def test_the_same_job_runs_on_both_with_no_edit_but_the_address(self):
        both, networks = {}, {}
        for kind in ("software", "chip"):
            self.serve(kind)
            networks[kind] = self.network.replace(str(self.port), "PORT")
            token, members = self.run_job()
            job = self.ask("explain", "train")
            self.assertFalse(self.events("device_down"))
            self.controller.stop()  # the tables stay; its session ends, so we may look
            both[kind] = (job, [self.tables(d) for d in (0, 1)])
            self.run_controller(kind)
            e2e.wait_for("both are reached", lambda: all(d["connected"] for d in self.ask("devices")["devices"]))
            self.assertEqual([e["text"] for e in self.events("device_reconciled")], ["0 writes", "0 writes"], "what was read is what was written")
            if kind == "chip":
                self.assertEqual(self.events("device_started"), [], "ports, mirrors and generator are there")
            members = e2e.Members(self.address)
            for rank in range(4):
                members.leave(token, rank)
            self.controller.stop()
            for device in (0, 1):
                left = self.tables(device)
                for table in ("pipe.Ingress.admission.admission", "pipe.Ingress.job.job", "pipe.Egress.replica.replica", "$pre.node"):
                    self.assertEqual(left[table], [], table)
        self.assertEqual(networks["software"], networks["chip"])
        job, devices = both["chip"]
        self.assertEqual((job["lanes"], [s["shards"] for s in job["stripes"]]), (64, [4, 4]), "as the chip's program has it")
        for device, site in enumerate(("west", "east")):
            self.check_start(devices[device], PORTS[site])
            self.check_job(devices[device], site, job)
            self.check_same(devices[device], both["software"][1][device])

    def check_start(self, tables, ports):
        self.assertEqual({key["$DEV_PORT"]: (data["$SPEED"], data["$PORT_ENABLE"]) for key, _, data in tables["$PORT"]},
                         {port: ("BF_SPEED_100G", True) for port in ports})
        sessions = {key["$sid"]: (data["$session_enable"], data["$direction"], data["$ucast_egress_port"], data["$max_pkt_len"])
                    for key, _, data in tables["$mirror.cfg"]}
        wanted = {512 + p: (True, "BOTH", p, 97) for p in ports}
        wanted.update({512 + p: (True, "BOTH", p, 99) for p in RECIRCULATION})
        self.assertEqual(sessions, wanted)
        port_cfg = {key["dev_port"]: data for key, _, data in tables["tf1.pktgen.port_cfg"]}
        self.assertEqual({p for p, data in port_cfg.items() if data["recirculation_enable"]}, set(RECIRCULATION))
        self.assertEqual({p for p, data in port_cfg.items() if data["pktgen_enable"]}, {68})
        app = next((action, data) for key, action, data in tables["tf1.pktgen.app_cfg"] if key["app_id"] == 0)
        self.assertEqual((app[0], app[1]["app_enable"], app[1]["pkt_len"]), ("trigger_timer_periodic", True, 86))
        frame = bytes(tables["buffer"])
        self.assertEqual((frame[12:14], frame[20], frame[56:58], frame[62]), (b"\x86\xdd", 17, (19507).to_bytes(2, "big"), 0x14),
                         "IPv6, UDP to shard 0, version 1 SYNC")

    def check_job(self, tables, site, job):
        children = parents = 0
        for stripe in job["stripes"]:
            for node in stripe["aggregators"]:
                if node["site"] == site:
                    children += len(node["children"])
                    parents += node["parent"] != ""
        segments, stripes = children + parents, len(job["stripes"])
        count = {name: len(rows) for name, rows in tables.items()}
        self.assertGreater(segments, 0)
        self.assertEqual(count["pipe.Egress.replica.replica"], 4 * segments, "a shard each")
        self.assertEqual(count["pipe.Ingress.admission.generated"], 4 * segments, "each is spoken for")
        self.assertEqual(count["pipe.Ingress.admission.owner"], stripes * 4 * 3, "each shard, from each foreign pipe")
        self.assertEqual(count["pipe.Ingress.job.job"], stripes)
        self.assertEqual((count["$pre.mgid"], count["$pre.node"]), (stripes, children))
        for key, _, data in tables["pipe.Ingress.admission.owner"]:
            owner = (int(key["hdr.udp.dst_port"]) - 19507) % 4
            self.assertNotEqual(int(key["pipe"]), owner)
            self.assertEqual(int(data["port"]), owner * 128 + 68)
        neighbors = {int(key["neighbor"]) for key, _, _ in tables["pipe.Egress.replica.replica"]}
        self.assertEqual({int(data["neighbor"]) for _, _, data in tables["pipe.Ingress.admission.generated"]}, neighbors)
        self.assertLessEqual({int(data["port"]) for _, _, data in tables["pipe.Ingress.admission.generated"]}, PORTS[site])

    def check_same(self, chip, software):
        """What does not depend on pipes and lanes is the same on both."""
        for table in ("host6", "prefix6", "local6", "host4", "prefix4", "local4"):
            rows = [sorted(map(repr, t["pipe.Ingress.forwarder." + table])) for t in (chip, software)]
            self.assertEqual(rows[0], rows[1], table)
        self.assertEqual(len(chip["pipe.Ingress.admission.admission"]), len(software["pipe.Ingress.admission.admission"]))


if __name__ == "__main__":
    unittest.main()
