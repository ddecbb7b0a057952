#!/usr/bin/python3
"""Controller, command line and switch as real processes: usage: e2e_test.py CONTROLLER CTL SWITCH.

One switch process with two devices on loopback, without ports of this machine, so it needs no privilege.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import grpc

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROLLER, CTL, SWITCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(3)) if len(sys.argv) > 3 else ("", "", "")
SWITCH_FILE = """
log_level: warning
bfrt: 127.0.0.1:{port}
status: ""
control: ""
devices: [{{name: west, id: 0}}, {{name: east, id: 1}}]
links: [{{name: wan, ends: ["west:10", "east:10"], rate: 100Mbit, delay: 1ms}}]
"""
NETWORK = """
sites: [{{name: west, switch: "127.0.0.1:{port}", device: 0}}, {{name: east, switch: "127.0.0.1:{port}", device: 1}}]
links: [{{name: wan, between: [west, east], rate: 100Mbit, delay: 25ms, ports: [10, 10]}}]
hosts: [{{name: w0, site: west}}, {{name: w1, site: west}}, {{name: e0, site: east}}, {{name: e1, site: east}}]
"""


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"after {seconds} s still not: {what}")


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """One that says when it is ready in a line of JSON."""

    def __init__(self, command, log, wait=True):
        self.log, self.command = log, command
        with open(log, "w") as out:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
        if wait:
            self.wait_ready()

    def wait_ready(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            raise AssertionError(f"{self.command[0]} ended: {self.said()}")
        self.ready = json.loads(line)

    def said(self):
        with open(self.log) as log:
            return log.read()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        self.process.terminate()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        return code


class Bed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.processes = []
        self.start_switch()

    def tearDown(self):
        for process in self.processes:
            if process.process.poll() is None:
                process.kill()
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def file(self, name, text):
        with open(self.path(name), "w") as out:
            out.write(text)
        return self.path(name)

    def start(self, command, log, wait=True):
        process = Process(command, self.path(log), wait)
        self.processes.append(process)
        return process

    def start_switch(self):
        self.switch = self.start([SWITCH, self.file("switch.yaml", SWITCH_FILE.format(port=self.port)), "--json"], "switch.log")

    def controller_file(self, more="", store="c.db", url=""):
        url = url or "sqlite:" + self.path(store)
        return self.file(store + ".yaml", f"listen: 127.0.0.1:0\nmetrics: 127.0.0.1:0\nstore: {url}\n" + NETWORK.format(port=self.port) + more)

    def start_controller(self, more="", store="c.db", url=""):
        self.controller = self.start([CONTROLLER, self.controller_file(more, store, url), "--json"], store + ".log")
        self.address = self.controller.ready["addresses"][0]
        return self.controller

    def ctl_raw(self, *args):
        return subprocess.run([CTL, "--controller", self.address, *args], text=True, capture_output=True, timeout=60)

    def ctl(self, *args):
        done = self.ctl_raw(*args)
        self.assertEqual(done.returncode, 0, f"{args}: {done.stderr}")
        return done.stdout

    def ask(self, *args):
        return json.loads(self.ctl("--json", *args))

    def events(self, kind):
        lines = self.ctl("--json", "events").splitlines()
        return [e for e in map(json.loads, lines) if e["kind"] == kind]

    def create(self, name="train", *more):
        return self.ask("create", name, "--hosts", "w0,w1,e0,e1", "--roots", "west", *more)["token"]


def stubs(folder):
    """l3dml.v1 for Python, made from the .proto as any client would."""
    subprocess.run(["protoc", f"-I{HERE}/../api", f"--python_out={folder}", "l3dml.proto"], check=True)
    sys.path.insert(0, folder)
    import l3dml_pb2
    return l3dml_pb2


_folder = tempfile.TemporaryDirectory()
pb = stubs(_folder.name)


class Members:
    """The calls of workers, by hand."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(address)

    def call(self, method, request, response):
        rpc = self.channel.unary_unary(f"/l3dml.v1.Jobs/{method}", request_serializer=type(request).SerializeToString,
                                       response_deserializer=response.FromString)
        return rpc(request, timeout=20, wait_for_ready=True)

    def join(self, token, host, instance="", job="train", **more):
        return self.call("Join", pb.JoinRequest(job=job, token=token, host=host, instance=instance, **more), pb.JoinResponse)

    def renew(self, token, rank):
        return self.call("Renew", pb.MemberRequest(job="train", token=token, rank=rank), pb.Job)

    def leave(self, token, rank):
        return self.call("Leave", pb.MemberRequest(job="train", token=token, rank=rank), pb.LeaveResponse)


class Controller(Bed):
    def test_a_job_from_its_creation_to_its_end(self):
        self.start_controller()
        self.assertEqual([d["connected"] for d in self.ask("devices")["devices"]], [True, True])
        token = self.create()
        self.assertEqual(self.create(), token, "asking again is fine")
        other = self.ctl_raw("create", "train", "--hosts", "w0,e0")
        self.assertEqual((other.returncode, "runs already" in other.stderr), (1, True), other.stderr)
        members = Members(self.address)
        seen = [members.join(token, host) for host in ("w0", "w1", "e0", "e1")]
        self.assertEqual([m.rank for m in seen], [0, 1, 2, 3])
        self.assertEqual(json.loads(seen[2].config)["stripes"][0]["lanes"], 256)
        job = json.loads(self.ctl("--json", "explain", "train"))
        self.assertEqual((job["state"], job["joined"]), ("running", 4))
        self.assertIn("west sums 3 children", self.ctl("explain", "train"))
        self.assertIn("train", self.ctl("slots"))
        self.assertTrue(any(r["next"] == "east" for r in self.ask("routes", "west")["routes"]))
        for rank in range(4):
            members.leave(token, rank)
        self.assertEqual(self.ask("explain", "train")["reason"], "all ranks have left")
        self.ctl("end", "train", "--forget")
        self.assertEqual(self.ask("jobs"), {"jobs": []})
        self.assertEqual(self.controller.stop(), 0)

    def test_a_member_is_found_by_its_address_and_known_by_its_instance(self):
        self.start_controller()
        token = self.create()
        members = Members(self.address)
        address = next(h["ipv6"] for h in self.ask("topology")["hosts"] if h["name"] == "e0")
        first = members.join(token, "", instance="one", addresses=["::1", address])
        again = members.join(token, "", instance="one", addresses=[address])
        self.assertEqual((first.host, first.rank, again.rank), ("e0", 2, 2))
        with self.assertRaises(grpc.RpcError) as refused:
            members.join(token, "", instance="two", addresses=[address])
        self.assertEqual(refused.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_without_the_token_nobody_gets_an_index(self):
        self.start_controller()
        self.create()
        with self.assertRaises(grpc.RpcError) as refused:
            Members(self.address).join("guess", "w0")
        self.assertEqual(refused.exception.code(), grpc.StatusCode.PERMISSION_DENIED)

    def test_a_silent_member_ends_the_job_with_its_name(self):
        self.start_controller()
        token = self.create("train", "--lease", "1")
        members = Members(self.address)
        for host in ("w0", "w1", "e0", "e1"):
            members.join(token, host)

        def ended():
            for rank in (0, 1, 3):
                job = members.renew(token, rank)
            return job.state == "ended"
        wait_for("the job ends", ended)
        self.assertEqual(self.ask("explain", "train")["reason"], "rank 2 on host e0 is gone: its lease ran out")

    def test_a_switch_that_restarts_empty_gets_everything_back(self):
        self.start_controller()
        self.create()
        before = len(self.events("device_reconciled"))
        self.switch.kill()
        wait_for("the loss is noticed", lambda: not any(d["connected"] for d in self.ask("devices")["devices"]))
        self.start_switch()
        wait_for("both are written again", lambda: len(self.events("device_reconciled")) >= before + 2)
        for event in self.events("device_reconciled")[before:]:
            self.assertGreater(int(event["text"].split()[0]), 10)
        self.assertEqual([d["problem"] for d in self.ask("devices")["devices"]], ["", ""])

    def test_a_controller_that_is_killed_comes_back_and_changes_nothing(self):
        self.start_controller()
        token = self.create()
        before = self.ask("explain", "train")
        self.controller.kill()
        self.start_controller()
        wait_for("both are reached", lambda: all(d["connected"] for d in self.ask("devices")["devices"]))
        self.assertEqual(self.ask("explain", "train"), before)
        self.assertEqual([e["text"] for e in self.events("device_reconciled")], ["0 writes", "0 writes"])
        self.assertEqual(Members(self.address).join(token, "w0").rank, 0)

    def test_a_second_controller_is_refused(self):
        self.start_controller()
        same_store = subprocess.run([CONTROLLER, "--listen", "127.0.0.1:0", "--store", "sqlite:" + self.path("c.db")],
                                    text=True, capture_output=True, timeout=60)
        self.assertEqual(same_store.returncode, 1)
        self.assertIn("another controller uses this store", same_store.stderr)
        first = self.address
        self.start_controller(store="other.db")
        devices = self.ask("devices")["devices"]
        self.assertEqual([d["connected"] for d in devices], [False, False])
        self.assertIn("client", devices[0]["problem"])
        self.assertIn("cannot be reached", self.ctl_raw("create", "x", "--hosts", "w0,e0").stderr)
        self.address = first
        self.create()

    def take_over(self, url):
        more = "store_lease: 2s\n"
        self.start_controller(more, url=url)
        token = self.create()
        first = self.controller
        second = self.start([CONTROLLER, self.controller_file(more, "second", url), "--json", "--standby"], "second.log", wait=False)
        wait_for("the second stands by", lambda: "standing by" in second.said())
        self.assertIn("another controller uses this store", second.said())
        self.assertIsNone(second.process.poll())
        first.kill()
        second.wait_ready()
        self.controller, self.address = second, second.ready["addresses"][0]
        self.assertEqual(self.create(), token, "it knows the job")
        wait_for("both are reached", lambda: all(d["connected"] for d in self.ask("devices")["devices"]))
        wait_for("both are read", lambda: [e["text"] for e in self.events("device_reconciled")] == ["0 writes", "0 writes"])
        self.assertEqual(Members(self.address).join(token, "w0").rank, 0)

    def test_a_stand_by_takes_over(self):
        self.take_over("sqlite:" + self.path("shared.db"))

    def start_etcd(self):
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        with open(self.path("etcd.log"), "w") as log:
            etcd = subprocess.Popen(["etcd", "--data-dir", self.path("etcd"), "--listen-client-urls", client, "--advertise-client-urls",
                                     client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
                                     "default=" + peer], stdout=log, stderr=log)
        self.addCleanup(etcd.wait)
        self.addCleanup(etcd.kill)
        wait_for("etcd answers", lambda: b"ready to serve client requests" in pathlib.Path(self.path("etcd.log")).read_bytes())
        return "etcd://" + client.removeprefix("http://") + "/test"

    @unittest.skipUnless(shutil.which("etcd"), "etcd-server is not installed")
    def test_a_stand_by_takes_over_with_etcd(self):
        self.take_over(self.start_etcd())

    def test_models_that_cannot_be_read_decide_nothing_and_break_nothing(self):
        os.mkdir(self.path("models"))
        self.file("models/general.model", "l3dml-policy 1 0123456789abcdef\n{}\nAAAA\n")
        self.start_controller(f"policy: drl\nmodels: {self.path('models')}\n")
        said = self.controller.said()
        self.assertEqual((said.count("\n"), "general.model" in said), (1, True), said)
        self.ask("create", "train", "--hosts", "w0,w1,e0,e1")
        job = self.ask("explain", "train")
        self.assertTrue(job["form_source"])
        self.assertIn("stripes chosen by " + job["form_source"], self.ctl("explain", "train"))
        wrong = subprocess.run([CONTROLLER, self.controller_file("policy: fastest\n", "wrong.db")], text=True, capture_output=True, timeout=60)
        self.assertEqual((wrong.returncode, wrong.stderr.count("\n"), "there is no rule fastest" in wrong.stderr), (2, 1, True), wrong.stderr)

    def test_telemetry_is_of_what_flows_now(self):
        self.start_controller("telemetry: 100ms\n")
        self.create()
        wait_for("an interval has passed", lambda: self.ask("telemetry")["interval_s"] > 0)
        figures = self.ask("telemetry", "west")
        self.assertEqual({(s["site"], s["peer"], s["packets_per_s"]) for s in figures["segments"]},
                         {("west", "w0", 0), ("west", "w1", 0), ("west", "east", 0)})
        self.assertEqual({l["site"] for l in figures["links"]}, {"west"})
        self.assertIn("wan", self.ctl("telemetry"))

    def test_a_link_that_goes_down_is_left(self):
        self.start_controller("")
        self.ctl("add", "site", "north", "--switch", "")
        self.ctl("add", "link", "west", "north", "--rate", "1Gbit", "--delay", "50ms")
        self.ctl("add", "link", "north", "east", "--rate", "1Gbit", "--delay", "50ms")

        def towards_east():
            return {r["next"] for r in self.ask("routes", "west")["routes"]} & {"east", "north"}
        self.assertIn("east", towards_east())
        self.ctl("link", "wan", "down")
        self.assertEqual(towards_east(), {"north"})
        self.ctl("link", "wan", "up", "--rate", "1Mbit", "--delay", "200ms")
        self.assertEqual(next(l["rate_bps"] for l in self.ask("links")["links"] if l["name"] == "wan"), 1e6)
        self.assertEqual(towards_east(), {"north"}, "a link that became slow is not the shorter way")
        self.ctl("link", "wan", "down")
        self.ctl("remove", "link", "west-north")
        self.assertEqual(towards_east(), set())
        refused = self.ctl_raw("remove", "site", "north")
        self.assertIn("remove it first", refused.stderr)

    def test_metrics_are_those_that_are_documented(self):
        self.start_controller("telemetry: 50ms\n")
        self.create()

        def served_now():
            url = f"http://127.0.0.1:{self.controller.ready['metrics_port']}/metrics"
            text = urllib.request.urlopen(url, timeout=20).read().decode()
            return set(re.findall(r"^# TYPE (l3dml_\w+) ", text, re.M))
        wait_for("telemetry has looked at the job", lambda: "l3dml_segment_loss" in served_now())
        served = served_now()
        with open(os.path.join(HERE, "METRICS.md")) as file:
            documented = set(re.findall(r"`(l3dml_\w+)`", file.read()))
        # Nothing was dropped in this test, no port is there, nobody attends.
        self.assertEqual(documented - served - {n for n in documented if "port_" in n or "dropped" in n or "member_" in n}, set())
        self.assertEqual(served - documented, set())
        with open(os.path.join(HERE, "grafana.json")) as file:
            asked = set(re.findall(r"(l3dml_\w+)", json.dumps(json.load(file)["panels"])))
        self.assertEqual(asked - documented, set())

    def test_shells_take_the_completion(self):
        self.start_controller()
        script = subprocess.run([CTL, "completion", "bash"], text=True, capture_output=True, check=True).stdout
        words = subprocess.run(["bash", "-c", script + '\nCOMP_WORDS=(l3dmlctl ex); COMP_CWORD=1; _l3dmlctl; echo "${COMPREPLY[@]}"'],
                               text=True, capture_output=True, check=True).stdout
        self.assertEqual(words.split(), ["explain"])

    def test_errors_are_one_line_that_says_what_to_do(self):
        self.address = "127.0.0.1:1"
        nobody = self.ctl_raw("devices")
        self.assertEqual(nobody.returncode, 1)
        self.assertEqual(nobody.stderr, "l3dmlctl: no controller answers at 127.0.0.1:1: start l3dml-controller, or name "
                                        "another with --controller\n")
        self.assertEqual(self.ctl_raw("nonsense").returncode, 2)
        bad = subprocess.run([CONTROLLER, self.file("bad.yaml", "sotre: x\n")], text=True, capture_output=True, timeout=60)
        self.assertEqual((bad.returncode, bad.stderr.count("\n"), "line 1" in bad.stderr), (2, 1, True), bad.stderr)
        open_door = subprocess.run([CONTROLLER, "--listen", "0.0.0.0:0", "--store", self.path("x.db")], text=True,
                                   capture_output=True, timeout=60)
        self.assertEqual(open_door.returncode, 2)
        self.assertIn("needs TLS with client certificates", open_door.stderr)


class Tls(Bed):
    def certificate(self, name, issuer=None):
        """NAME.pem and NAME.key; signed by `issuer`, or by itself."""
        key, pem = self.path(name + ".key"), self.path(name + ".pem")
        extension = self.file(name + ".ext", "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        run = lambda *c: subprocess.run(["openssl", *c], check=True, capture_output=True)
        if not issuer:
            run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, "-subj", f"/CN={name}", "-days", "2")
        else:
            run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem + ".csr", "-subj", f"/CN={name}")
            run("x509", "-req", "-in", pem + ".csr", "-CA", self.path(issuer + ".pem"), "-CAkey", self.path(issuer + ".key"),
                "-CAcreateserial", "-days", "2", "-extfile", extension, "-out", pem)

    def as_user(self, name, *args):
        return self.ctl_raw("--cert", self.path(name + ".pem"), "--key", self.path(name + ".key"), "--authority",
                            self.path("ca.pem"), *args)

    def test_clients_show_certificates_and_operators_are_named(self):
        self.certificate("ca")
        for name in ("controller", "alice", "bob"):
            self.certificate(name, "ca")
        self.certificate("mallory")
        tls = "\n".join(f"  {key}: {self.path(file)}" for key, file in
                        (("certificate", "controller.pem"), ("key", "controller.key"), ("authority", "ca.pem")))
        self.start_controller(f"tls:\n{tls}\noperators: [alice]\n")
        created = self.as_user("alice", "create", "train", "--hosts", "w0,e0")
        self.assertEqual(created.returncode, 0, created.stderr)
        self.assertEqual(self.as_user("bob", "jobs").returncode, 0)
        refused = self.as_user("bob", "end", "train")
        self.assertIn("not among the controller's operators", refused.stderr)
        self.assertEqual(self.as_user("mallory", "jobs", "--timeout", "3").returncode, 1)
        self.assertEqual(self.ctl_raw("jobs", "--timeout", "3").returncode, 1)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main()
