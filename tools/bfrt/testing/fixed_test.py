#!/usr/bin/python3
"""The tables that every device has, beside ports: mirror sessions, packet generator, device, traffic manager, replication. The
traffic manager's are asked of a switch, whose links they shape."""
import os
import tempfile

import harness
import program

from bfrt_grpc import bfruntime_pb2 as pb


class Shadow(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_fixed_")
        cls.addClassCleanup(folder.cleanup)
        schema = os.path.join(folder.name, "bf-rt.json")
        program.one_of_everything(schema)
        cls.server = harness.SchemaServer(schema, "--pipes", "2")

    def setUp(self):
        self.c = self.client()
        self.c.reload()

    def test_mirror_sessions(self):
        mirror = self.c.table("$mirror.cfg")
        session = {"$direction": "INGRESS", "$session_enable": True, "$ucast_egress_port": 3, "$ucast_egress_port_valid": True}
        mirror.add({"$sid": 5}, "$normal", data=session)
        self.assertEqual(mirror.get({"$sid": 5}).data["$ucast_egress_port"], 3)
        self.fails("INVALID_ARGUMENT", mirror.add, {"$sid": 5}, "$normal", data=session)
        self.fails("INVALID_ARGUMENT", mirror.modify, {"$sid": 6}, "$normal", data=session)
        mirror.modify({"$sid": 5}, "$normal", data={"$max_pkt_len": 64})
        data = mirror.get({"$sid": 5}).data
        self.assertEqual((data["$max_pkt_len"], data["$session_enable"]), (64, True))
        for sid, action, more in ((0, "$normal", {}), (1024, "$normal", {}), (1016, "$normal", {}), (7, "$coalescing", {}),
                                  (7, "$normal", {"$ucast_egress_port": 100}), (7, "$normal", {"$direction": "UP"})):
            self.fails("INVALID_ARGUMENT", mirror.add, {"$sid": sid}, action, data={**session, **more})
        mirror.add({"$sid": 1016}, "$coalescing", data={"$timeout_usec": 10, **session})
        self.assertEqual(mirror.usage(), 2)
        mirror.delete({"$sid": 5})
        self.assertEqual([e.key["$sid"] for e in mirror.entries()], [1016])
        mirror.clear()
        self.assertEqual(mirror.usage(), 0)

    def test_packet_generator(self):
        port, app, buffer = (self.c.table("pktgen." + n) for n in ("port_cfg", "app_cfg", "pkt_buffer"))
        port.modify({"dev_port": 68}, data={"pktgen_enable": True})
        port.add({"dev_port": 196}, data={"recirculation_enable": True})
        self.assertTrue(port.get({"dev_port": 68}, from_hw=False).data["pktgen_enable"])
        self.assertEqual(sum(e.data["pktgen_enable"] for e in port.entries(from_hw=False)), 1)
        self.fails("UNIMPLEMENTED", port.get, {"dev_port": 68}, from_hw=True)
        self.fails("INVALID_ARGUMENT", port.modify, {"dev_port": 4}, data={"pktgen_enable": True})
        self.fails("INVALID_ARGUMENT", port.modify, {"dev_port": 300}, data={"recirculation_enable": True})
        buffer.modify({"pkt_buffer_offset": 144, "pkt_buffer_size": 4}, data={"buffer": [1, 2, 3, 4]})
        self.assertEqual(buffer.get({"pkt_buffer_offset": 144, "pkt_buffer_size": 2}, from_hw=False).data["buffer"], [1, 2])
        update = buffer.insert({"pkt_buffer_offset": 0, "pkt_buffer_size": 3})
        update.entity.table_entry.data.fields.add(field_id=1, stream=b"abc")  # as other clients write it
        self.c.write([update])
        self.assertEqual(buffer.get({"pkt_buffer_offset": 0, "pkt_buffer_size": 3}, from_hw=False).data["buffer"], list(b"abc"))
        for offset, size in ((8, 4), (16384, 16), (16368, 17), (0, 0)):
            self.fails("INVALID_ARGUMENT", buffer.modify, {"pkt_buffer_offset": offset, "pkt_buffer_size": size},
                       data={"buffer": [0] * size})
        app.modify({"app_id": 1}, "trigger_timer_periodic", data={"timer_nanosec": 1000, "pkt_len": 100, "pkt_buffer_offset": 144})
        app.modify({"app_id": 1}, "trigger_timer_periodic", data={"app_enable": True})
        entry = app.get({"app_id": 1})
        self.assertEqual((entry.action, entry.data["timer_nanosec"], entry.data["pkt_len"], entry.data["app_enable"]),
                         ("trigger_timer_periodic", 1000, 100, True))
        self.assertEqual(len(app.entries()), 8)
        for wrong in ({"pkt_buffer_offset": 7}, {"pkt_len": 16384, "pkt_buffer_offset": 16}, {"pipe_local_source_port": 72}):
            self.fails("INVALID_ARGUMENT", app.modify, {"app_id": 2}, "trigger_port_down", data=wrong)
        self.fails("INVALID_ARGUMENT", app.modify, {"app_id": 3}, data={"app_enable": True})
        self.fails("INVALID_ARGUMENT", app.modify, {"app_id": 8}, "trigger_port_down")
        app.clear()
        self.assertFalse(app.get({"app_id": 1}).data["app_enable"])

    def test_device_configuration(self):
        device = self.c.table("device_configuration")
        data = device.default().data
        self.assertEqual((data["num_pipes"], data["num_stages"], data["num_max_ports"]), (2, 12, 144))
        self.assertEqual(data["recirc_port_list"], [68, 69, 70, 71, 196, 197, 198, 199])
        device.set_default(data={"flow_learn_timeout_usec": 900})
        self.assertEqual(device.default().data["flow_learn_timeout_usec"], 900)
        self.fails("INVALID_ARGUMENT", device.set_default, data={"num_pipes": 4})
        device.reset_default()
        self.assertEqual(device.default().data["flow_learn_timeout_usec"], 500)

    def test_traffic_manager_keeps_what_the_switch_does_not_have(self):
        for name, key, value in (("tm.queue.buffer", {"pg_id": 3, "pg_queue": 9}, {"guaranteed_cells": 20}),
                                 ("tm.pool.cfg", {"pool": "EG_APP_POOL_1"}, {"size_cells": 1000}),
                                 ("tm.port.buffer", {"dev_port": 5}, {"ig_limit_cells": 50}),
                                 ("tm.queue.sched_cfg", {"pg_id": 0, "pg_queue": 1}, {"dwrr_weight": 7})):
            table = self.c.table(name)
            table.modify(key, data=value)
            got = table.get(key).data
            self.assertEqual({k: got[k] for k in value}, value)
        self.c.target.pipe_id = 1
        queue = self.c.table("tm.queue.sched_cfg")
        queue.modify({"pg_id": 0, "pg_queue": 1}, data={"dwrr_weight": 9})
        self.assertEqual(self.c.table("tm.queue.map").get({"pg_id": 1, "pg_queue": 9}).data["dev_port"], 128 + 5)
        self.c.target.pipe_id = 0
        self.assertEqual(queue.get({"pg_id": 0, "pg_queue": 1}).data["dwrr_weight"], 7)
        self.fails("INVALID_ARGUMENT", queue.get, {"pg_id": 18, "pg_queue": 1})
        self.assertEqual(self.c.table("tm.port.cfg").get({"dev_port": 5}).data["pg_id"], 1)
        self.assertEqual(self.c.table("tm.cfg").default().data["cell_size_bytes"], 80)

    def test_replication_engine(self):
        ports, lag = self.c.table("$pre.port"), self.c.table("$pre.lag")
        self.assertEqual(ports.get({"$DEV_PORT": 9}).data["$MULTICAST_BACKUP_PORT"], 9)
        self.assertTrue(ports.get({"$DEV_PORT": 9}).data["$MULTICAST_FORWARD_STATE"])
        ports.modify({"$DEV_PORT": 9}, data={"$MULTICAST_BACKUP_PORT": 0, "$MULTICAST_FORWARD_STATE": False})
        self.assertEqual(ports.get({"$DEV_PORT": 9}).data["$MULTICAST_BACKUP_PORT"], 0)
        self.fails("INVALID_ARGUMENT", ports.modify, {"$DEV_PORT": 9}, data={"$MULTICAST_BACKUP_PORT": 511})
        lag.modify({"$MULTICAST_LAG_ID": 3}, data={"$DEV_PORT": [1, 2], "$MULTICAST_LAG_REMOTE_MSB_COUNT": 2})
        self.assertEqual(lag.get({"$MULTICAST_LAG_ID": 3}).data["$DEV_PORT"], [1, 2])
        node, ecmp = self.c.table("$pre.node"), self.c.table("$pre.ecmp")
        node.add({"$MULTICAST_NODE_ID": 1}, data={"$MULTICAST_RID": 1, "$MULTICAST_LAG_ID": [3], "$DEV_PORT": []})
        ecmp.add({"$MULTICAST_ECMP_ID": 1}, data={"$MULTICAST_NODE_ID": [1]})
        self.fails("NOT_FOUND", ecmp.add_members, {"$MULTICAST_ECMP_ID": 1}, {"$MULTICAST_NODE_ID": [2]})
        ecmp.remove_members({"$MULTICAST_ECMP_ID": 1}, {"$MULTICAST_NODE_ID": [1]})
        self.assertEqual(ecmp.get({"$MULTICAST_ECMP_ID": 1}).data["$MULTICAST_NODE_ID"], [])
        self.c.table("$pre.mgid").set_attribute(pre_device_config=pb.PreDeviceConfig(
            pre_fast_failover=pb.PreFastFailover(enable=True)))
        self.assertTrue(self.c.table("$pre.mgid").get_attribute("pre_device_config").pre_fast_failover.enable)


CONFIGURATION = """\
devices: [{name: a, slots: 64}, {name: b, slots: 64, id: 7}]
links: [{name: wan, ends: [a:4, b:4], rate: 100Mbit}]
"""


class Shaping(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Switch(CONFIGURATION)

    def test_rates_shape_the_link(self):
        a, b = self.client(client_id=1), self.client(client_id=2, device=7)
        config, rate = a.table("tm.port.sched_cfg"), a.table("tm.port.sched_shaping")
        queue_config, queue_rate = a.table("tm.queue.sched_cfg"), a.table("tm.queue.sched_shaping")
        def now():
            return self.server.ask(op="stats")["links"][0]["forward"]["rate_in_force_bps"]
        rate.modify({"dev_port": 4}, data={"unit": "BPS", "max_rate": 20000, "max_burst_size": 100})
        self.assertEqual(now(), 100_000_000)  # not enabled yet
        config.modify({"dev_port": 4}, data={"max_rate_enable": True})
        self.assertEqual(now(), 20_000_000)
        queue_rate.modify({"pg_id": 1, "pg_queue": 0}, data={"unit": "BPS", "max_rate": 5000})
        queue_config.modify({"pg_id": 1, "pg_queue": 0}, data={"max_rate_enable": True})
        self.assertEqual(now(), 5_000_000)
        queue_config.modify({"pg_id": 1, "pg_queue": 0}, data={"max_rate_enable": False})
        rate.modify({"dev_port": 4}, data={"max_rate": 900000})
        self.assertEqual(now(), 100_000_000)  # no faster than the line
        self.fails("INVALID_ARGUMENT", rate.modify, {"dev_port": 4}, data={"unit": "PPS", "max_rate": 10})
        config.clear()
        self.assertEqual(self.server.ask(op="stats")["links"][0]["backward"]["rate_in_force_bps"], 100_000_000)
        counter = b.table("tm.counter.eg_port")
        self.assertEqual(counter.get({"dev_port": 4}).data, {"drop_count_packets": 0, "usage_cells": 0, "watermark_cells": 0})
        counter.modify({"dev_port": 4}, data={"drop_count_packets": 5})
        self.assertEqual(counter.get({"dev_port": 4}).data["drop_count_packets"], 5)
        counter.clear()
        self.assertEqual(counter.get({"dev_port": 4}).data["drop_count_packets"], 0)


if __name__ == "__main__":
    harness.main()
