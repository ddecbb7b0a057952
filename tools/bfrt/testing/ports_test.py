#!/usr/bin/python3
"""$PORT and what belongs to it, on a switch whose ports are ends of emulated links and a capture file: no privileges.
Packets come from a pcap file that repeats for ever, enter a:0, and go where the test routes them."""
import os
import struct

import harness

CONFIGURATION = """\
devices:
  - {name: a, slots: 64, ports: [{port: 0, name: in, dpdk: "net_pcap_in,rx_pcap=%s,infinite_rx=1"}]}
  - {name: b, slots: 64, ports: [{port: 8, up: false, dpdk: net_null_out}]}
links:
  - {name: wan, ends: [a:4, b:4], rate: 100Mbit}
"""
FRAME = (bytes.fromhex("0213d3000000 020000000001 86dd 60000000 0008 3b 40".replace(" ", "")) +
         bytes.fromhex("fd" + "00" * 14 + "01") + bytes.fromhex("fd" + "00" * 14 + "09") + bytes(8))


def write_pcap(path, count):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for _ in range(count):
            file.write(struct.pack("<IIII", 0, 0, len(FRAME), len(FRAME)) + FRAME)


class Ports(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.pcap = os.path.join(os.environ.get("TMPDIR", "/tmp"), "l3dml_ports_%d.pcap" % os.getpid())
        cls.addClassCleanup(lambda: os.path.exists(cls.pcap) and os.remove(cls.pcap))
        write_pcap(cls.pcap, 8)
        cls.server = harness.Switch(CONFIGURATION % cls.pcap)

    def setUp(self):
        self.a = self.client(client_id=1)
        self.b = self.client(client_id=2, device=1, port_status_change=True)
        for client, port in ((self.a, 4), (self.b, 8)):
            client.table("host6").clear()
            client.table("host6").add({"hdr.ipv6.dst_addr": "fd00::9"}, "forward", port=port, dmac="02:13:d3:00:00:01")

    def until(self, what, condition):
        """Asks until it is so: each question is a round trip through the pipeline."""
        for _ in range(20000):
            if condition():
                return
        self.fail("never: " + what)

    def frames(self, client, port, name):
        return client.table("$PORT_STAT").get({"$DEV_PORT": port}).data[name]

    def add(self, client, port, **more):
        client.table("$PORT").add({"$DEV_PORT": port}, data={"$SPEED": "BF_SPEED_10G", "$FEC": "BF_FEC_TYP_NONE", **more})

    def test_ports_of_the_configuration_are_there(self):
        rows = {e.key["$DEV_PORT"]: e.data for e in self.a.table("$PORT").entries()}
        self.assertEqual(sorted(rows), [0, 4])
        self.assertTrue(rows[4]["$PORT_UP"])
        self.assertEqual(rows[4]["$PORT_NAME"], "2/0")
        self.assertEqual((rows[4]["$CONN_ID"], rows[4]["$CHNL_ID"], rows[4]["$IS_VALID"]), (2, 0, True))
        self.fails("NOT_FOUND", self.b.table("$PORT").get, {"$DEV_PORT": 8})
        self.fails("NOT_FOUND", self.b.table("$PORT_STAT").get, {"$DEV_PORT": 8})

    def test_first_insert_takes_over_and_the_second_is_refused(self):
        self.add(self.b, 4, **{"$PORT_ENABLE": True})
        self.assertEqual(self.b.table("$PORT").get({"$DEV_PORT": 4}).data["$SPEED"], "BF_SPEED_10G")
        self.fails("ALREADY_EXISTS", self.add, self.b, 4)

    def test_enable_starts_and_stops_traffic(self):
        port = self.b.table("$PORT")
        self.add(self.b, 8)
        self.assertFalse(port.get({"$DEV_PORT": 8}).data["$PORT_UP"])
        self.assertEqual(self.frames(self.b, 8, "$FramesTransmittedOK"), 0)
        port.modify({"$DEV_PORT": 8}, data={"$PORT_ENABLE": True})
        self.assertTrue(port.get({"$DEV_PORT": 8}).data["$PORT_UP"])
        self.until("frames leave by b:8", lambda: self.frames(self.b, 8, "$FramesTransmittedOK") > 100)
        port.modify({"$DEV_PORT": 8}, data={"$PORT_ENABLE": False})
        stopped = self.frames(self.b, 8, "$FramesTransmittedOK")
        before = self.frames(self.b, 4, "$FramesReceivedOK")
        self.until("frames still arrive at b:4", lambda: self.frames(self.b, 4, "$FramesReceivedOK") > before + 100)
        self.assertEqual(self.frames(self.b, 8, "$FramesTransmittedOK"), stopped)
        port.delete({"$DEV_PORT": 8})
        self.fails("NOT_FOUND", port.get, {"$DEV_PORT": 8})
        self.fails("NOT_FOUND", port.delete, {"$DEV_PORT": 8})

    def test_a_disabled_port_receives_nothing(self):
        port = self.a.table("$PORT")
        port.modify({"$DEV_PORT": 0}, data={"$PORT_ENABLE": False})
        before = self.frames(self.a, 0, "$FramesReceivedOK")
        rows = self.server.ask(op="stats")["devices"][0]["ports"]
        self.until("frames are dropped", lambda: self.server.ask(op="stats")["devices"][0]["ports"][0]["rx_drops"] >
                   rows[0]["rx_drops"])
        self.assertEqual(self.frames(self.a, 0, "$FramesReceivedOK"), before)
        port.modify({"$DEV_PORT": 0}, data={"$PORT_ENABLE": True})
        self.until("frames are back", lambda: self.frames(self.a, 0, "$FramesReceivedOK") > before)

    def test_counters_have_the_names_of_the_chip(self):
        self.until("frames arrive", lambda: self.frames(self.a, 0, "$FramesReceivedOK") > 10)
        self.a.table("$PORT").modify({"$DEV_PORT": 0}, data={"$PORT_ENABLE": False})
        self.addCleanup(self.a.table("$PORT").modify, {"$DEV_PORT": 0}, data={"$PORT_ENABLE": True})
        data = self.a.table("$PORT_STAT").get({"$DEV_PORT": 0}).data
        frames = data["$FramesReceivedOK"]
        self.assertEqual(data["$OctetsReceived"], frames * (len(FRAME) + 4))
        self.assertEqual(data["$FramesReceivedLength_65_127"], frames)
        self.assertEqual(data["$FramesReceivedwithUnicastAddresses"], frames)
        self.assertEqual(data["$FramesReceivedAll"], frames)
        self.a.table("$PORT_STAT").modify({"$DEV_PORT": 0}, data={"$FramesReceivedOK": 0})
        data = self.a.table("$PORT_STAT").get({"$DEV_PORT": 0}).data
        self.assertEqual((data["$FramesReceivedOK"], data["$FramesReceivedAll"]), (0, frames))
        self.a.table("$PORT_STAT").clear()
        self.assertEqual(set(self.a.table("$PORT_STAT").get({"$DEV_PORT": 0}).data.values()), {0})

    def test_rates_are_those_of_the_poll_interval(self):
        from bfrt_grpc import bfruntime_pb2 as pb
        self.assertEqual(self.frames(self.a, 0, "$RX_PPS"), 0)
        self.a.table("$PORT_STAT").set_attribute(intvl_ms=pb.StatePullIntvl(intvl_val=20))
        self.until("a rate is known", lambda: self.frames(self.a, 0, "$RX_PPS") > 0)
        data = self.a.table("$PORT_STAT").get({"$DEV_PORT": 0}).data
        self.assertAlmostEqual(data["$RX_RATE"] / data["$RX_PPS"], 8 * (len(FRAME) + 4), delta=1)
        self.a.table("$PORT_STAT").set_attribute(intvl_ms=pb.StatePullIntvl(intvl_val=0))

    def test_near_loopback_returns_what_is_sent(self):
        self.add(self.b, 8, **{"$PORT_ENABLE": True, "$LOOPBACK_MODE": "BF_LPBK_MAC_NEAR"})
        self.addCleanup(self.b.table("$PORT").delete, {"$DEV_PORT": 8})
        self.until("looped frames arrive", lambda: self.frames(self.b, 8, "$FramesReceivedOK") > 100)

    def test_refuses_what_no_port_can_be(self):
        for wrong in ({"$SPEED": "BF_SPEED_400G"}, {"$FEC": "BF_FEC_TYP_REED_SOLOMON"}, {"$N_LANES": 4}, {"$TX_MTU": 20000},
                      {"$RX_MTU": 10}, {"$SPEED": "fast"}, {"$LOOPBACK_MODE": "BF_LPBK_SIDEWAYS"}):
            self.fails("INVALID_ARGUMENT", self.add, self.b, 12, **wrong)
        self.fails("INVALID_ARGUMENT", self.b.table("$PORT").add, {"$DEV_PORT": 12}, data={"$SPEED": "BF_SPEED_10G"})
        self.fails("INVALID_ARGUMENT", self.add, self.b, 100)
        self.fails("INVALID_ARGUMENT", self.add, self.b, 12, **{"$PORT_UP": True})
        self.fails("NOT_FOUND", self.b.table("$PORT").get, {"$DEV_PORT": 12})

    def test_a_port_without_attachment_may_be_added_and_is_down(self):
        self.add(self.b, 12, **{"$PORT_ENABLE": True})
        self.addCleanup(self.b.table("$PORT").delete, {"$DEV_PORT": 12})
        self.assertFalse(self.b.table("$PORT").get({"$DEV_PORT": 12}).data["$PORT_UP"])

    def test_names_and_connectors_lead_to_ports(self):
        find = self.a.table("$PORT_HDL_INFO").get
        self.assertEqual(find({"$CONN_ID": 3, "$CHNL_ID": 1}, from_hw=False).data["$DEV_PORT"], 9)
        self.fails("UNIMPLEMENTED", find, {"$CONN_ID": 3, "$CHNL_ID": 1}, from_hw=True)
        self.assertEqual(self.a.table("$PORT_STR_INFO").get({"$PORT_NAME": "2/0"}, from_hw=False).data["$DEV_PORT"], 4)
        self.fails("NOT_FOUND", self.a.table("$PORT_STR_INFO").get, {"$PORT_NAME": "99/0"}, from_hw=False)

    def test_tells_of_links_that_come_and_go(self):
        from bfrt_grpc import bfruntime_pb2 as pb
        self.fails("INVALID_ARGUMENT", self.a.table("$PORT").set_attribute,
                   port_status_notify=pb.PortStatusChg(enable=True))  # a did not subscribe to it
        self.b.table("$PORT").set_attribute(port_status_notify=pb.PortStatusChg(enable=True))
        self.assertTrue(self.b.table("$PORT").get_attribute("port_status_notify").enable)
        for up in (False, True):
            self.server.ask(op="link", name="wan", set={"up": up})
            told = self.b.notification("port_status_change_notification")
            self.assertEqual((self.b.table("$PORT").decode(told.table_entry).key, told.port_up), ({"$DEV_PORT": 4}, up))
        self.b.table("$PORT").modify({"$DEV_PORT": 4}, data={"$PORT_ENABLE": False})
        self.assertFalse(self.b.notification("port_status_change_notification").port_up)
        self.b.table("$PORT").modify({"$DEV_PORT": 4}, data={"$PORT_ENABLE": True})
        self.assertTrue(self.b.notification("port_status_change_notification").port_up)


if __name__ == "__main__":
    harness.main()
