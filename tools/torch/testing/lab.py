"""A lab that is up (l3dml-lab): switch, controller, a job, a namespace per worker; the test starts, kills and starts again
the workers itself.

    with Lab(on_loss="continue") as lab:
        workers = [lab.start(rank, ["worker.py"]) for rank in range(4)]
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

import bed

FILE = """name: torchlab
sites: {{west: {{workers: 2}}, east: {{workers: 2}}}}
links:
  - {{name: wan, between: [west, east], rate: 200Mbit, delay: 5ms, loss: {loss}}}
job: {{roots: [west, east], timeout: 40, lease: 5, on_loss: {on_loss}}}
"""
WORLD = 4


class Worker:
    """A process in the namespace of its rank; its output is kept as lines and can be waited for."""

    def __init__(self, command, env):
        self.process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines, self.changed = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def wait_for(self, wanted, seconds=120):
        """The first line for which wanted(line) holds; raises if there is none before the end."""
        at = 0

        def found():
            nonlocal at
            while at < len(self.lines):
                line = self.lines[at]
                if line is None or wanted(line):
                    return True
                at += 1
            return False
        with self.changed:
            if not self.changed.wait_for(found, seconds) or self.lines[at] is None:
                raise AssertionError(f"waited for a line in vain:\n{self.output()}")
            return self.lines[at]

    def output(self):
        return "\n".join(line for line in self.lines if line is not None)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self, seconds=120):
        code = self.process.wait(timeout=seconds)
        self.reader.join()
        return code


class Lab:
    def __init__(self, on_loss="end", loss="0.5%"):
        if os.geteuid() != 0:
            raise bed.Skipped("makes network namespaces, needs root")
        self.folder = tempfile.TemporaryDirectory(prefix="l3dml-torch-")
        self.file = os.path.join(self.folder.name, "lab.yaml")
        with open(self.file, "w") as file:
            file.write(FILE.format(on_loss=on_loss, loss=loss))
        self.workers, self.namespaces, self.environment, self.master = [], [], {}, ""

    def __enter__(self):
        self.lab = subprocess.Popen([f"{bed.BUILD}/tools/l3dml-lab", "up", self.file, "--out", self.folder.name + "/up"],
                                    text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = ""
        for line in self.lab.stdout:
            said += line
            words = line.split()
            if line.startswith("ip netns exec"):
                self.namespaces.append(words[3])
                self.master = self.master or words[-1]
            elif line.startswith("export "):
                key, value = words[1].split("=", 1)
                self.environment[key] = value
            elif line.startswith("controller at"):
                return self
        self.lab.wait()
        raise AssertionError(f"the lab does not come up:\n{said}")

    def __exit__(self, *_):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()
        self.lab.send_signal(signal.SIGINT)
        self.lab.communicate(timeout=60)
        self.folder.cleanup()

    def start(self, rank, command, **more):
        env = dict(bed.environment(), RANK=str(rank), LOCAL_RANK="0", WORLD_SIZE=str(WORLD), MASTER_ADDR=self.master,
                   MASTER_PORT="29500", GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1", **self.environment, **more)
        worker = Worker(["ip", "netns", "exec", self.namespaces[rank], sys.executable, *command], env)
        self.workers.append(worker)
        return worker

    def ctl(self, *arguments):
        """What l3dmlctl answers."""
        done = subprocess.run([f"{bed.BUILD}/control/l3dmlctl", "--json", *arguments], env=dict(os.environ, **self.environment),
                              text=True, capture_output=True)
        if done.returncode:
            raise AssertionError(f"l3dmlctl {' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    def create(self, name, hosts):
        """Another job, which workers started from now on join."""
        self.environment.update(L3DML_JOB=name, L3DML_TOKEN=self.ctl("create", name, "--hosts", ",".join(hosts))["token"])

    def job(self):
        """What the controller says of the job that workers join."""
        return self.ctl("explain", self.environment["L3DML_JOB"])
