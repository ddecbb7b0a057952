#!/usr/bin/python3
"""Failures with real processes: switch, controller, four workers in network namespaces that joined by the controller.

usage: e2e_test.py CONTROLLER CTL SWITCH LIBRARY. Needs root; exits 77 (skipped) without. Whatever dies: the sums of all
survivors are equal bit by bit and made of the right ranks, or every call ends with an error that names who is gone.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROLLER, CTL, SWITCH, LIBRARY = (os.path.abspath(a) for a in sys.argv[1:5])
del sys.argv[1:5]
PREFIX = "l3mem%d" % (os.getpid() % 10000)
WORKERS = ["w0", "w1", "e0", "e1"]
SITES = {"west": 0, "east": 1}
PORTS = {"w0": 1, "w1": 2, "e0": 1, "e1": 2}
ALL, STEPS = 0b1111, 400


def sh(*command):
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def site_of(worker):
    return "west" if worker[0] == "w" else "east"


class Bed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="l3dml-member-")
        self.processes = []
        self.switch = self.controller = None
        self.bfrt = self.free_port()
        self.socket = "unix:" + self.path("controller.sock")
        for worker in WORKERS:  # the taps outlive the switch
            sh("ip", "netns", "add", PREFIX + worker)
            sh("ip", "-n", PREFIX + worker, "tuntap", "add", "dev", "eth0", "mode", "tap", "vnet_hdr")
        self.start_switch()
        self.start_controller()
        hosts = {h["name"]: h for h in json.loads(self.ctl("--json", "topology"))["hosts"]}
        for worker in WORKERS:
            self.set_up(worker, hosts[worker]["ipv6"])

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        for worker in WORKERS:
            subprocess.run(["ip", "netns", "del", PREFIX + worker], capture_output=True)
        self.folder.cleanup()

    def set_up(self, worker, address):
        ns = PREFIX + worker
        sh("ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=0", "net.ipv6.conf.eth0.accept_ra=0")
        for line in (f"addr add {address}/128 dev eth0 nodad", "link set lo up", "link set eth0 up",
                     "-6 route add default via fe80::1 dev eth0"):
            sh("ip", "-n", ns, *line.split())

    @staticmethod
    def free_port():
        import socket
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            return s.getsockname()[1]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, name, command, **more):
        with open(self.path(name + ".log"), "a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, **more)
        self.processes.append(process)
        return process

    def ready(self, name, command, **more):
        process = self.start(name, command, **more)
        line = process.stdout.readline()
        self.assertTrue(line, f"{name}: {self.said(name)}")
        return process

    def start_switch(self):
        lines = ["log_level: warning", f"bfrt: 127.0.0.1:{self.bfrt}", 'status: ""', f'control: "unix:{self.path("switch.sock")}"', "devices:"]
        for site, device in SITES.items():
            lines += [f'  - {{name: {site}, id: {device}, mac: "02:4c:33:00:01:0{device + 1}", ports: [']
            for number, worker in enumerate(w for w in WORKERS if site_of(w) == site):
                lines.append(f'      {{port: {PORTS[worker]}, name: {worker}, tap: eth0, netns: {PREFIX}{worker}, '
                             f'mac: "02:4c:33:0{number + 1}:01:0{device + 1}"}},')
            lines.append("      ]}")
        lines += ["links:", '  - {name: wan, ends: ["west:10", "east:10"], rate: 100Mbit, delay: 5ms, loss: 0.5%}',
                  '  - {name: spare, ends: ["west:11", "east:11"], rate: 100Mbit, delay: 10ms}']
        with open(self.path("switch.yaml"), "w") as file:
            file.write("\n".join(lines) + "\n")
        self.switch = self.ready("switch", [SWITCH, self.path("switch.yaml"), "--json"])

    def start_controller(self, die_at=""):
        """`die_at`: the step at which it kills itself (control/api/fault.h)."""
        lines = [f'listen: ["{self.socket}"]', f"store: sqlite:{self.path('c.db')}", "sites:"]
        lines += [f'  - {{name: {site}, switch: "127.0.0.1:{self.bfrt}", device: {device}}}' for site, device in SITES.items()]
        lines += ["hosts:"] + [f"  - {{name: {w}, site: {site_of(w)}, port: {PORTS[w]}}}" for w in WORKERS]
        lines += ["links:", "  - {name: wan, between: [west, east], rate: 100Mbit, delay: 5ms, loss: 0.5%, ports: [10, 10]}",
                  "  - {name: spare, between: [west, east], rate: 100Mbit, delay: 10ms, ports: [11, 11]}"]
        with open(self.path("controller.yaml"), "w") as file:
            file.write("\n".join(lines) + "\n")
        self.controller = self.ready("controller", [CONTROLLER, self.path("controller.yaml"), "--json"],
                                     env=dict(os.environ, L3DML_DIE_AT=die_at))

    def restart_controller(self, die_at=""):
        self.controller.kill()
        self.controller.wait()
        self.start_controller(die_at)

    def said(self, name):
        with open(self.path(name + ".log")) as log:
            return log.read()

    def ctl(self, *args):
        return sh(CTL, "--controller", self.socket, *args)

    def ctl_fails(self, *args):
        """The controller dies while it does this."""
        done = subprocess.run([CTL, "--controller", self.socket, *args], text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.controller.wait(timeout=20)

    def job(self):
        return json.loads(self.ctl("--json", "explain", "train"))

    def all_attend(self):
        return all(m["state"] == "attending" for m in self.job()["members"])

    def create(self, *more):
        self.token = json.loads(self.ctl("--json", "create", "train", "--hosts", ",".join(WORKERS), "--roots", "west,east",
                                         "--lease", "5", *more))["token"]

    def stop_workers(self):
        open(self.path("stop"), "w").close()

    def start_workers(self, steps=STEPS, more=()):
        self.workers = {}
        for worker in WORKERS:
            self.start_worker(worker, ["--steps", str(steps), *more])

    def start_worker(self, worker, arguments):
        # Address of the controller, name of the job, its token: nothing else.
        env = dict(os.environ, L3DML_CONTROLLER=self.socket, L3DML_JOB="train", L3DML_TOKEN=self.token, L3DML_LIBRARY=LIBRARY)
        self.workers[worker] = self.start(worker, ["ip", "netns", "exec", PREFIX + worker, "/usr/bin/python3", HERE + "/worker.py",
                                                   *arguments, "--out", self.path(worker + ".json"), "--until", self.path("stop")], env=env)

    def wait_for_step(self, worker, step):
        for line in self.workers[worker].stdout:
            if line.startswith("step ") and int(line.split()[1]) >= step:
                return
        self.fail(f"{worker} ended: {self.said(worker)}")

    def finish(self, workers):
        """Steps of each, once all have ended well."""
        results = {}
        for worker in workers:
            process = self.workers[worker]
            process.stdout.read()
            code = process.wait(timeout=120)
            self.assertEqual(code, 0, f"{worker}: {self.said(worker)}")
            with open(self.path(worker + ".json")) as file:
                results[worker] = json.load(file)
        first = results[workers[0]]
        for worker in workers[1:]:
            self.assertEqual(results[worker], first, f"{worker} and {workers[0]} have applied different sums")
        return first

    def events(self, kind):
        return [e for e in map(json.loads, self.ctl("--json", "events").splitlines()) if e["kind"] == kind]

    def wait_until(self, what, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)


# Steps at which a controller may die in the middle of a change, with the how-manieth visit.
STEPS_OF_A_CHANGE = ["pause.told:1", "pause.told:6", "remove.written:3", "remove.written:1", "fetch.told:1", "deliver.told:1",
                     "install.stored:1", "install.zeroed:1", "install.written:2", "install.written:3", "resume.stored:1",
                     "resume.told:1", "resume.told:3", "resume.stored:2"]


class Failures(Bed):
    def test_a_worker_dies_and_the_job_goes_on_without_it(self):
        self.create("--continue")
        self.start_workers()
        self.wait_for_step("w0", 20)
        self.workers["e1"].kill()
        steps = self.finish(["w0", "w1", "e0"])
        self.assertEqual(steps[0]["sums"], [ALL])
        self.assertEqual(steps[-1]["sums"], [0b0111], "the last step is the survivors' sum")
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL, 0b0111})
        job = self.job()
        self.assertEqual((job["state"], job["members"][3]["state"]), ("ended", "lost"))
        self.assertIn("rank 3 on host e1 is gone", self.events("member_lost")[0]["text"])

    def test_a_worker_dies_and_the_job_ends_with_its_name(self):
        self.create()
        self.start_workers(100_000)
        self.wait_for_step("w0", 20)
        self.workers["e1"].kill()
        for worker in ("w0", "w1", "e0"):
            self.workers[worker].stdout.read()
            self.assertEqual(self.workers[worker].wait(timeout=60), 1)
            self.assertIn("rank 3 on host e1 is gone", self.said(worker))
        self.assertEqual(self.job()["state"], "ended")

    def test_a_worker_that_died_is_started_again_and_joins_the_running_job(self):
        self.create("--continue")
        self.start_workers(more=["--until-all", "4"])
        self.wait_for_step("w0", 20)
        self.workers["e1"].kill()
        self.workers["e1"].wait()
        self.start_worker("e1", ["--until-all", "4", "--came-back"])  # at once: it waits until the one before is given up
        steps = self.finish(["w0", "w1", "e0"])
        self.assertIn(0b0111, {s for step in steps for s in step["sums"]}, "for a while it was not there")
        back = self.finish(["e1"])
        self.assertEqual(len(back), 20)
        self.assertEqual(back, steps[-20:], "it has begun with one collective on both stripes, and has what all have")
        self.assertEqual([m["state"] for m in self.job()["members"]], ["left"] * 4)

    def test_the_switches_restart_empty_and_the_job_goes_on(self):
        self.create()
        self.start_workers()
        self.wait_for_step("w0", 20)
        self.switch.kill()
        self.switch.wait()
        self.start_switch()
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})
        self.assertGreaterEqual(self.job()["changes"], 1)

    def test_the_controller_is_killed_and_nobody_notices(self):
        self.create()
        self.start_workers()
        self.wait_for_step("w0", 20)
        self.controller.kill()
        self.controller.wait()
        self.wait_for_step("w0", 40)  # nobody controls, all go on
        self.start_controller()
        self.wait_until("all attend again", lambda: all(m["state"] in ("attending", "left") for m in self.job()["members"]))
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})
        job = self.job()
        self.assertEqual((job["state"], job["reason"], job["changes"]), ("ended", "all ranks have left", 0))

    def test_the_controller_is_killed_in_the_middle_of_a_change(self):
        self.create("--continue")
        self.start_workers()
        self.wait_for_step("w0", 20)
        os.kill(self.workers["e0"].pid, signal.SIGSTOP)  # it answers nothing, so the change waits for it
        self.workers["e1"].kill()
        self.wait_until("a change begins", lambda: self.job()["state"] == "changing")
        self.controller.kill()
        self.controller.wait()
        os.kill(self.workers["e0"].pid, signal.SIGCONT)
        self.start_controller()
        steps = self.finish(["w0", "w1", "e0"])
        self.assertEqual(steps[-1]["sums"], [0b0111])

    def test_the_controller_dies_at_every_step_of_a_change(self):
        self.create()
        self.start_workers(1_000_000)
        drained = False
        for step in STEPS_OF_A_CHANGE:
            self.restart_controller(step)
            self.wait_until("all attend", self.all_attend)
            drained = self.change_until_dead(step, not drained)
            self.start_controller()
            self.wait_until(f"{step}: the change is over", lambda: self.has_changed(drained))
        self.stop_workers()
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})
        self.assertEqual(self.job()["reason"], "all ranks have left")

    def change_until_dead(self, step, drain):
        """Drains or undrains east, back and forth, until that killed the controller; True: it was drained last."""
        for _ in range(10):  # copies are fetched only if somebody happens to lack a result
            for on in (drain, not drain):
                said = subprocess.run([CTL, "--controller", self.socket, "drain" if on else "undrain", "east"],
                                      capture_output=True, timeout=60)
                self.wait_until(f"{step}: dead, or the change is over",
                                lambda: self.controller.poll() is not None or self.has_changed(on))
                if self.controller.poll() is not None:
                    return on
                self.assertEqual(said.returncode, 0, said.stderr)
        self.fail(f"{step} was never come to")

    def has_changed(self, drained):
        done = subprocess.run([CTL, "--controller", self.socket, "--json", "explain", "train"], text=True, capture_output=True)
        if done.returncode:
            return False
        job = json.loads(done.stdout)
        self.assertNotEqual(job["state"], "ended", job["reason"])
        return (job["state"] == "running" and all(m["state"] == "attending" for m in job["members"]) and
                {a["site"] for s in job["stripes"] for a in s["aggregators"]} == ({"west"} if drained else {"west", "east"}))

    def test_the_controller_dies_while_a_job_begins_and_ends(self):
        for step in ("create.stored", "create.written"):
            self.restart_controller(step)
            self.ctl_fails("create", "train", "--hosts", ",".join(WORKERS), "--roots", "west,east", "--lease", "5", "--continue")
            self.start_controller()
            self.create("--continue")  # asked again: the same job, or the first of its name
            if step == "create.stored":
                self.ctl("end", "train")  # so that the next one is made, not found
        self.restart_controller("join.stored:2")
        self.start_workers(1_000_000)
        self.controller.wait(timeout=60)
        self.start_controller("loss.stored")
        self.wait_for_step("w0", 5)
        self.wait_until("all attend", self.all_attend)
        self.workers["e1"].kill()
        self.controller.wait(timeout=60)
        self.start_controller()
        self.wait_until("the job goes on without it", lambda: self.job()["state"] == "running" and self.job()["changes"] == 1)
        self.restart_controller("end.stored")
        self.ctl_fails("end", "train")
        self.start_controller()
        for worker in ("w0", "w1", "e0"):
            self.workers[worker].stdout.read()
            self.assertEqual(self.workers[worker].wait(timeout=60), 1)
            self.assertIn("ended by its owner", self.said(worker))
        self.assertEqual(json.loads(self.ctl("--json", "slots"))["jobs"][0]["state"], "ended")

    def test_a_second_controller_is_refused_and_the_job_goes_on(self):
        self.create()
        self.start_workers()
        self.wait_for_step("w0", 20)
        with open(self.path("controller.yaml")) as file:
            other = file.read().replace("controller.sock", "other.sock")
        for store, says in ((self.path("c.db"), "another controller uses this store"), (self.path("other.db"), "")):
            with open(self.path("other.yaml"), "w") as file:
                file.write(other.replace(self.path("c.db"), store))
            if says:
                done = subprocess.run([CONTROLLER, self.path("other.yaml")], text=True, capture_output=True, timeout=60)
                self.assertEqual((done.returncode, says in done.stderr), (1, True), done.stderr)
                continue
            self.ready("other", [CONTROLLER, self.path("other.yaml"), "--json"])
            devices = json.loads(sh(CTL, "--controller", "unix:" + self.path("other.sock"), "--json", "devices"))["devices"]
            self.assertEqual([d["connected"] for d in devices], [False, False], "the switches are another's")
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})
        self.assertEqual(self.job()["changes"], 0)

    def test_a_link_dies_and_its_traffic_takes_the_other(self):
        self.create()
        self.start_workers()
        self.wait_for_step("w0", 20)
        sh(SWITCH, "--ask", json.dumps({"op": "link", "name": "wan", "direction": "both", "set": {"up": "false"}}),
           self.path("switch.yaml"))
        self.ctl("link", "wan", "down")
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})

    def test_a_switch_is_drained_and_the_job_leaves_it(self):
        self.create()
        self.start_workers()
        self.wait_for_step("w0", 20)
        self.ctl("drain", "east")
        self.wait_until("the job has changed", lambda: self.job()["changes"] >= 1 and self.job()["state"] == "running")
        self.assertEqual({a["site"] for s in self.job()["stripes"] for a in s["aggregators"]}, {"west"})
        steps = self.finish(WORKERS)
        self.assertEqual({s for step in steps for s in step["sums"]}, {ALL})


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: makes network namespaces, needs root")
        sys.exit(77)
    unittest.main()
