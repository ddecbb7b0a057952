#!/usr/bin/python3
"""Who may talk to the switch: anybody on loopback, elsewhere only who shows a certificate of the clients' authority. The
certificates are made here, by openssl."""
import json
import os
import subprocess
import tempfile
import unittest

import harness
import program

from l3dml_bfrt import BfrtError, Client
from l3dml_bfrt.client import tls

SWITCH = os.path.join(harness.BUILD, "dataplane/l3dml-switch")


class Certificates:
    def __init__(self, folder):
        self.folder = folder
        for authority in ("ca", "stranger_ca"):
            self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                      "-subj", "/CN=" + authority, "-keyout", self.key(authority), "-out", self.pem(authority))
        for name, authority in (("switch", "ca"), ("client", "ca"), ("stranger", "stranger_ca")):
            with open(self.path(name + ".ext"), "w") as file:
                file.write("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
            self._run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
                      "-keyout", self.key(name), "-out", self.path(name + ".csr"))
            self._run("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.pem(authority), "-CAkey",
                      self.key(authority), "-CAcreateserial", "-days", "1", "-extfile", self.path(name + ".ext"), "-out",
                      self.pem(name))

    def _run(self, *arguments):
        subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def pem(self, name):
        return self.path(name + ".pem")

    def key(self, name):
        return self.path(name + ".key")


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_tls_")
        cls.addClassCleanup(folder.cleanup)
        cls.files = Certificates(folder.name)
        cls.schema = cls.files.path("bf-rt.json")
        program.one_of_everything(cls.schema)

    def configuration(self, bfrt="0.0.0.0:0", certificate="switch", key="switch"):
        return ("bfrt: %s\nbfrt_tls: {certificate: %s, key: %s, clients: %s}\nstatus: 127.0.0.1:0\ncontrol: 127.0.0.1:0\n"
                "devices: [{name: a}]\n" % (bfrt, self.files.pem(certificate), self.files.key(key), self.files.pem("ca")))

    def write(self, text):
        path = self.files.path("switch.yaml")
        with open(path, "w") as file:
            file.write(text)
        return path

    def refused(self, text):
        """Runs the switch on a configuration that it must refuse; its one line."""
        answer = subprocess.run([SWITCH, "--schema", self.schema, "--schema-only", self.write(text)], timeout=60,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        self.assertIn(answer.returncode, (1, 2))
        lines = [line for line in answer.stderr.splitlines() if line.startswith("l3dml-switch: ")]
        self.assertEqual(len(lines), 1, answer.stderr)
        return lines[0]

    def connect(self, address, **options):
        client = Client(address, timeout=5, **options)
        self.addCleanup(client.close)
        return client

    def test_only_known_certificates_get_in(self):
        server = harness.Process(SWITCH, "--json", "--schema", self.schema, "--schema-only", self.write(self.configuration()))
        self.addCleanup(server.stop)
        address = "localhost:%d" % json.loads(server.line())["bfrt_port"]
        known = tls(self.files.pem("ca"), self.files.pem("client"), self.files.key("client"))
        self.assertEqual(self.connect(address, credentials=known).table("route").entries(), [])
        stranger = tls(self.files.pem("ca"), self.files.pem("stranger"), self.files.key("stranger"))
        for refused in ({"credentials": stranger}, {}):
            with self.assertRaises((BfrtError, TimeoutError)):
                self.connect(address, client_id=2, **refused)
        self.assertEqual(self.connect(address, credentials=known, client_id=3, bind=False).program, "l3dml")

    def test_plaintext_stays_on_loopback(self):
        line = self.refused("bfrt: 0.0.0.0:0\nstatus: 127.0.0.1:0\ncontrol: 127.0.0.1:0\ndevices: [{name: a}]\n")
        self.assertIn("is not loopback: give bfrt_tls {certificate, key, clients} or listen on 127.0.0.1", line)

    def test_bad_files_are_one_line(self):
        self.assertIn("cannot read", self.refused(self.configuration(certificate="missing")))
        self.assertIn("are certificate and key a pair", self.refused(self.configuration(key="client")))
        self.assertIn("bfrt_tls.clients: is missing", self.refused(
            "bfrt_tls: {certificate: a, key: b}\ndevices: [{name: a}]\n"))


if __name__ == "__main__":
    harness.main()
