#!/usr/bin/python3
"""Fixed tables with the running program behind them: mirror sessions copy its NACKs, the packet generator makes it say what it
sends next. Two devices of one switch, two links; a worker's SYNC comes again and again from a pcap file. No privileges."""
import os
import struct
import sys

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "dataplane/testdata/maker"))
from frames import AGGREGATE, FROM_SWITCH, HOST, SYNC, Packet, address  # noqa: E402

CONFIGURATION = """\
devices:
  - {name: a, slots: 64, ports: [{port: 0, name: in, dpdk: "net_pcap_in,rx_pcap=%s,infinite_rx=1"}]}
  - {name: b, slots: 64}
links:
  - {name: near, ends: [a:4, b:4]}
  - {name: far, ends: [a:8, b:8]}
"""
MAC_A, MAC_B = bytes.fromhex("0213d3000000"), bytes.fromhex("0213d3000001")
WORKER, TREE, US = address(0x0101, HOST, low=100), address(0x0101, AGGREGATE, 7, 0), address(0x0101, AGGREGATE, 7, FROM_SWITCH)
NEIGHBOR, MISSING = 1, 9
RECEIVED = "$FramesReceivedAll"  # whoever they are addressed to


def write_pcap(path):
    frame = Packet(SYNC, 0, 0, 0, WORKER, TREE, seq=MISSING).frame()
    frame = MAC_A + frame[6:]
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for _ in range(4):
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


class Running(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.pcap = os.path.join(os.environ.get("TMPDIR", "/tmp"), "l3dml_running_%d.pcap" % os.getpid())
        cls.addClassCleanup(lambda: os.path.exists(cls.pcap) and os.remove(cls.pcap))
        write_pcap(cls.pcap)
        cls.server = harness.Switch(CONFIGURATION % cls.pcap)

    def setUp(self):
        self.a, self.b = self.client(client_id=1), self.client(client_id=2, device=1)
        table = self.a.table
        for name in ("host6", "job.job", "admission.admission", "admission.generated", "replica.replica", "$mirror.cfg",
                     "tf1.pktgen.app_cfg", "tf1.pktgen.port_cfg"):
            table(name).clear()
        table("host6").add({"hdr.ipv6.dst_addr": TREE}, "aggregate")
        table("job.job").add({"job_index": 1}, "set_job", lanes=64, shard_shift=0, slot_base=0, ring_mask=15)
        table("replica.replica").add(
            {"neighbor": NEIGHBOR, "shard": 0}, "to_neighbor", dmac=MAC_B, smac=MAC_A, dst_addr=WORKER, src_addr=US,
            udp_src_port=49152, udp_dst_port=30000, child=0, slot_base=0, slot_mask=15, shard_shift=0, ring_base=0, ring_mask=63)

    def until(self, what, condition):
        """Asks until it is so: each question is a round trip through the pipeline."""
        for _ in range(20000):
            if condition():
                return
        self.fail("never: " + what)

    def arrived(self, port):
        return self.b.table("$PORT_STAT").get({"$DEV_PORT": port}).data[RECEIVED]

    def show_hole(self):
        """Lets the worker's next SYNC miss something again; returns when it has come."""
        expected = self.a.table("segment_receiver.expected")
        expected.modify({"$REGISTER_INDEX": NEIGHBOR}, data={"f1": 0})
        self.until("the hole is seen", lambda: expected.get({"$REGISTER_INDEX": NEIGHBOR}).data[
            "Ingress.segment_receiver.expected.f1"] == [MISSING])

    def test_a_mirror_session_leads_nacks_elsewhere_doubles_or_stops_them(self):
        self.a.table("admission.admission").add(
            {"hdr.l3dml.type": (SYNC, 15), "hdr.l3dml.job": (7, 0xffff)}, "admit", mask=1, children=1, role=1, neighbor=NEIGHBOR,
            neighbor_port=4, parent=0, parent_port=0, mgid=1, job_index=1)
        session = self.a.table("$mirror.cfg")

        def nacks_at(wanted):
            before = [self.arrived(port) for port in (4, 8)]
            self.show_hole()
            for port, more in zip((4, 8), wanted):
                now = before[port == 8]
                if more:
                    self.until(f"a NACK arrives at b:{port}", lambda: self.arrived(port) > now)
            return [self.arrived(port) - old for port, old in zip((4, 8), before)]

        self.assertEqual(nacks_at((1, 0)), [1, 0])
        session.add({"$sid": 512 + 4}, "$normal", data={"$session_enable": True, "$direction": "INGRESS",
                                                        "$ucast_egress_port": 8, "$ucast_egress_port_valid": True})
        self.assertEqual(nacks_at((0, 1)), [0, 1])
        self.a.table("$pre.node").add({"$MULTICAST_NODE_ID": 1}, data={"$MULTICAST_RID": NEIGHBOR, "$DEV_PORT": [4]})
        self.a.table("$pre.mgid").add({"$MGID": 77}, data={
            "$MULTICAST_NODE_ID": [1], "$MULTICAST_NODE_L1_XID_VALID": [False], "$MULTICAST_NODE_L1_XID": [0]})
        session.modify({"$sid": 512 + 4}, "$normal", data={"$mcast_grp_a": 77, "$mcast_grp_a_valid": True})
        self.assertEqual(nacks_at((1, 1)), [1, 1])
        session.modify({"$sid": 512 + 4}, "$normal", data={"$session_enable": False})
        self.assertEqual(nacks_at((0, 0)), [0, 0])
        session.delete({"$sid": 512 + 4})
        self.assertEqual(nacks_at((1, 0)), [1, 0])

    def test_an_application_of_the_packet_generator_sends_syncs(self):
        self.a.table("admission.generated").add({"hdr.generator.packet": 0}, "speak_for", neighbor=NEIGHBOR, port=8, job=7,
                                                epoch=3, flags=4, udp_dst_port=19507)
        port, app, buffer = (self.a.table("tf1.pktgen." + name) for name in ("port_cfg", "app_cfg", "pkt_buffer"))
        form = Packet(SYNC, 0, 0, 0, US, WORKER).frame()
        buffer.modify({"pkt_buffer_offset": 32, "pkt_buffer_size": len(form)}, data={"buffer": list(form)})
        before = self.arrived(8)
        app.modify({"app_id": 2}, "trigger_timer_periodic", data={
            "timer_nanosec": 200_000, "pkt_len": len(form), "pkt_buffer_offset": 32, "pipe_local_source_port": 68,
            "app_enable": True})
        self.assertEqual(app.get({"app_id": 2}).data["pkt_counter"], 0)  # no port generates
        port.modify({"dev_port": 68}, data={"pktgen_enable": True})
        self.until("SYNCs arrive at b:8", lambda: self.arrived(8) >= before + 5)
        app.modify({"app_id": 2}, "trigger_timer_periodic", data={"app_enable": False})
        data = app.get({"app_id": 2}).data
        self.assertGreaterEqual(data["pkt_counter"], 5)
        self.assertEqual(data["pkt_counter"], data["trigger_counter"])
        self.until("all have arrived", lambda: self.arrived(8) == before + data["pkt_counter"])
        app.modify({"app_id": 2}, "trigger_timer_one_shot", data={"timer_nanosec": 1000, "app_enable": True, "pkt_counter": 0})
        self.until("the shot", lambda: app.get({"app_id": 2}).data["pkt_counter"] == 1)
        self.fails("INVALID_ARGUMENT", app.modify, {"app_id": 3}, "trigger_timer_periodic",
                   data={"timer_nanosec": 0, "pkt_len": 64, "app_enable": True})


if __name__ == "__main__":
    harness.main()
