"""Starts what the tests talk to and stops it again: the switch, or the schema server."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.environ["L3DML_BUILD"]
SOURCE = os.environ["L3DML_SOURCE"]
sys.path.insert(0, os.path.join(BUILD, "tools", "bfrt", "python"))


class Process:
    """A program with its standard output read line by line; ended by closing its input or by SIGTERM."""

    def __init__(self, *command):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)

    def line(self):
        line = self.process.stdout.readline()
        if not line:
            errors = self.errors()
            self.stop()
            raise RuntimeError("it ended early: " + errors)
        return line

    def errors(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=60)
        self.log.close()
        return self.process.returncode


class SchemaServer(Process):
    def __init__(self, schema, *more):
        super().__init__(os.path.join(BUILD, "dataplane/server/l3dml-bfrt-schema-server"), "--schema", schema, *more)
        self.address = "127.0.0.1:" + self.line().split()[-1]


class Switch(Process):
    """l3dml-switch on this configuration, with a few packet buffers and no hugepages: needs no privilege."""

    def __init__(self, configuration, *more):
        self.folder = tempfile.TemporaryDirectory(prefix="l3dml_bfrt_")
        path = os.path.join(self.folder.name, "switch.yaml")
        with open(path, "w") as file:
            file.write(COMMON % {"control": os.path.join(self.folder.name, "control")} + configuration)
        super().__init__(os.path.join(BUILD, "dataplane/l3dml-switch"), "--json", path, *more)
        line = self.line()
        while not line.startswith("{"):  # DPDK talks first
            line = self.line()
        self.ready = json.loads(line)
        self.address = "127.0.0.1:%d" % self.ready["bfrt_port"]

    def ask(self, **request):
        answer = subprocess.run([os.path.join(BUILD, "dataplane/l3dml-switch"), "--control", self.ready["control"], "--ask",
                                 json.dumps(request)], stdout=subprocess.PIPE, text=True, timeout=60)
        result = json.loads(answer.stdout)
        if not result["ok"]:
            raise AssertionError(result)
        return result

    def stop(self):
        code = super().stop()
        self.folder.cleanup()
        return code


COMMON = """\
bfrt: 127.0.0.1:0
status: 127.0.0.1:0
control: unix:%(control)s
buffers: 2047
eal: [--no-huge, -m, "64", --no-pci]
"""


class ServerCase(unittest.TestCase):
    """One server for all tests of a class; each test's clients are closed after it."""

    server = None

    @classmethod
    def tearDownClass(cls):
        if cls.server is not None:
            cls.server.stop()

    def client(self, **options):
        from l3dml_bfrt import Client
        client = Client(self.server.address, **options)
        self.addCleanup(client.close)
        return client

    def fails(self, code, function, *arguments, **named):
        from l3dml_bfrt import BfrtError
        with self.assertRaises(BfrtError) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class _Tap(unittest.TestResult):
    """One TAP line per test, so that each is counted."""

    count = 0

    def _line(self, word, test, why=""):
        self.count += 1
        for line in why.splitlines():
            print("# " + line)
        print("%s %d - %s" % (word, self.count, test), flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._line("not ok", test, self._exc_info_to_string(error, test))

    addError = addFailure

    def addSkip(self, test, reason):
        self._line("ok", "%s # SKIP %s" % (test, reason))


def main():
    """Runs the tests of the calling script, or those named on the command line; prints TAP."""
    if len(sys.argv) > 1:
        return unittest.main()
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = _Tap()
    tests.run(result)
    print("1..%d" % result.count)
    sys.exit(bool(result.failures))
