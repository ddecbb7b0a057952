#!/usr/bin/python3
"""The lab end to end, with real processes: usage: e2e_test.py LAB_BINARY. Needs root; exits 77 (skipped) without.

Sums are exact over a lossy WAN; a worker that is killed ends the run with its name; Ctrl-C and kill -9 leave nothing.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

LAB = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else ""
HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "e2e"
TEXT = """name: {name}
sites: {{west: {{workers: 2}}, east: {{workers: 2}}}}
links:
  - {{name: wan, between: [west, east], rate: 200Mbit, delay: 5ms, loss: {loss}}}
job: {{roots: [{roots}], timeout: 20}}
workload: {{command: [/usr/bin/python3, {here}/allreduce.py, --elements, "{elements}", --steps, "{steps}"]}}
"""


def namespaces():
    lines = subprocess.run(["ip", "netns", "list"], text=True, capture_output=True).stdout.splitlines()
    return [line.split()[0] for line in lines if line.startswith(f"l3dml-{NAME}-")]


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def read(path):
    with open(path) as file:
        return file.read()


class Lab(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        subprocess.run([LAB, "clean"], capture_output=True)
        self.folder.cleanup()

    def file(self, loss="1%", roots="west", elements=200_000, steps=3):
        path = os.path.join(self.folder.name, "lab.yaml")
        with open(path, "w") as file:
            file.write(TEXT.format(name=NAME, here=HERE, loss=loss, roots=roots, elements=elements, steps=steps))
        return path

    def start(self, path):
        return subprocess.Popen([LAB, "run", path, "--out", self.folder.name], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for_workers(self, lab):
        log = os.path.join(self.folder.name, "l3dml", "rank0.log")
        self.assertTrue(wait_for(lambda: lab.poll() is not None or os.path.exists(log) and "progress" in read(log), 120))
        self.assertIsNone(lab.poll(), "the lab ended before its workers began")

    def test_sums_are_exact_on_a_lossy_wan_with_two_stripes(self):
        lab = self.start(self.file(loss="3%", roots="west, east"))
        out, err = lab.communicate(timeout=180)
        self.assertEqual(lab.returncode, 0, err)
        report = json.loads(read(os.path.join(self.folder.name, "report.json")))
        rows = {row["name"]: row["value"] for row in report["rows"] if not {"link", "stripe"} & row["group"].keys()}
        self.assertGreater(rows["lost_packets"], 0)
        self.assertGreater(rows["repaired_packets"], 0)
        stripes = {row["group"]["root"]: row["value"] for row in report["rows"] if "stripe" in row["group"]}
        self.assertEqual(stripes, {"west": 0.5, "east": 0.5})
        repairs = {row["group"]["segment"]: row["value"] for row in report["rows"] if "segment" in row["group"]}
        self.assertGreater(repairs["west to east"], 0, "of the ended job, at 3 % loss")
        for rank in range(4):
            self.assertTrue(json.loads(read(os.path.join(self.folder.name, "l3dml", f"rank{rank}.json")))["exact"])
        self.assertEqual(namespaces(), [])

    def test_a_killed_worker_ends_the_run_with_its_name(self):
        lab = self.start(self.file(steps=100_000))
        self.wait_for_workers(lab)
        pids = subprocess.run(["ip", "netns", "pids", f"l3dml-{NAME}-east1"], text=True, capture_output=True).stdout.split()
        os.kill(int(pids[0]), signal.SIGKILL)
        _, err = lab.communicate(timeout=60)
        self.assertEqual(lab.returncode, 1)
        self.assertIn("worker east1 (rank 3) ended with killed by signal 9", err)
        self.assertEqual(namespaces(), [])

    def test_interrupt_takes_everything_down(self):
        lab = self.start(self.file(steps=100_000))
        self.wait_for_workers(lab)
        lab.send_signal(signal.SIGINT)
        _, err = lab.communicate(timeout=60)
        self.assertEqual(lab.returncode, 1)
        self.assertIn("interrupted", err)
        self.assertEqual(namespaces(), [])

    def test_what_a_killed_lab_left_is_removed(self):
        path = self.file(steps=100_000)
        lab = self.start(path)
        self.wait_for_workers(lab)
        second = subprocess.run([LAB, "run", path, "--out", self.folder.name + "/second"], text=True, capture_output=True)
        self.assertIn("runs already", second.stderr)
        lab.kill()
        lab.communicate()
        self.assertEqual(len(namespaces()), 4)
        self.assertIn(f"lab {NAME}", subprocess.run([LAB, "clean"], text=True, capture_output=True).stdout)
        self.assertEqual(namespaces(), [])


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: makes network namespaces, needs root")
        sys.exit(77)
    unittest.main()
