#!/usr/bin/python3
"""What scripts written for a Tofino rely on, point by point, against the driver of a program without a pipeline."""
import json
import os
import signal
import subprocess
import sys
import tempfile

import harness
import program

from bfrt_grpc import bfruntime_pb2 as pb
from google.rpc import code_pb2, status_pb2
from l3dml_bfrt import BfrtError, Client
import grpc

FWD = {"hdr.ethernet.dst_addr": "00:00:00:00:00:01", "hdr.ipv4.protocol": (17, 0xff), "hdr.udp.dst_port": (1, 9)}


class Checklist(harness.ServerCase):
    PIPES, DEVICES = 2, 2

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_checklist_")
        cls.addClassCleanup(folder.cleanup)
        schema = os.path.join(folder.name, "bf-rt.json")
        program.one_of_everything(schema)
        cls.server = harness.SchemaServer(schema, "--program", "everything", "--pipes", str(cls.PIPES), "--devices",
                                          str(cls.DEVICES))

    def setUp(self):
        self.c = self.client()
        self.c.reload()

    def entry(self, update):
        return update.entity.table_entry

    # --- 1, 2: sessions ---
    def test_01_a_client_id_and_a_program_belong_to_one_stream(self):
        self.fails("INVALID_ARGUMENT", Client, self.server.address)  # id 0 is taken
        self.fails("ALREADY_EXISTS", Client, self.server.address, client_id=7)
        self.c.close()
        again = self.client()
        self.assertEqual(again.program, "everything")

    def test_02_bind_names_a_program_that_is_there(self):
        request = pb.SetForwardingPipelineConfigRequest(client_id=0)
        for names, code in ((["other"], "NOT_FOUND"), ([], "INVALID_ARGUMENT"), (["everything", "x"], "INVALID_ARGUMENT")):
            del request.config[:]
            for name in names:
                request.config.add().p4_name = name
            with self.assertRaises(grpc.RpcError) as caught:
                self.c.stub.SetForwardingPipelineConfig(request)
            self.assertEqual(caught.exception.code().name, code)

    def test_02_reads_and_writes_need_a_bound_client_or_a_program_name(self):
        other = self.client(client_id=5, bind=False)
        self.fails("FAILED_PRECONDITION", other.table("route").entries)
        stranger = pb.ReadRequest(target=self.c.target, client_id=99)
        stranger.entities.add().table_entry.table_id = self.c.table("route").id
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.c.stub.Read(stranger))
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        stranger.p4_name = "everything"
        self.assertEqual(len([e for r in self.c.stub.Read(stranger) for e in r.entities]), 0)

    # --- 3: schema ---
    def test_03_schema_has_what_clients_index(self):
        for text in (self.c.config.bfruntime_info, self.c.fixed_info):
            for table in json.loads(text)["tables"]:
                for member in ("name", "id", "table_type", "size", "attributes", "supported_operations", "key", "data"):
                    self.assertIn(member, table, table["name"])
                for item in table["data"]:
                    self.assertTrue({"mandatory", "read_only"} <= set(item), table["name"])
                    for field in item.get("oneof", [item.get("singleton")]):
                        self.assertIn("repeated", field)
        names = {t["name"] for t in json.loads(self.c.fixed_info)["tables"]}
        self.assertTrue({"$PORT", "$PORT_STAT", "$pre.mgid", "$pre.node", "$pre.ecmp", "$pre.lag", "$pre.prune", "$pre.port",
                         "$mirror.cfg", "tf1.pktgen.app_cfg", "tf1.dev.device_configuration",
                         "tf1.tm.port.sched_shaping"} <= names)

    # --- 4, 5: keys and values ---
    def test_04_key_fields_come_in_any_order_and_may_be_missing(self):
        fwd = self.c.table("fwd")
        update = fwd.insert({**FWD, "$MATCH_PRIORITY": 3}, "set_port", port=5)
        fields = list(self.entry(update).key.fields)
        del self.entry(update).key.fields[:]
        self.entry(update).key.fields.extend(reversed(fields))
        self.c.write([update])
        self.assertEqual(fwd.get({**FWD, "$MATCH_PRIORITY": 3}).data["port"], 5)
        fwd.add({"hdr.ethernet.dst_addr": 2}, "drop")
        got = fwd.get({"hdr.ethernet.dst_addr": 2})
        self.assertEqual(got.key, {"hdr.ethernet.dst_addr": 2, "hdr.ipv4.protocol": (0, 0), "hdr.udp.dst_port": (0, 65535),
                                   "$MATCH_PRIORITY": 0})
        # Bits outside of the mask do not make another entry.
        fwd.add({"hdr.ethernet.dst_addr": 3, "hdr.ipv4.protocol": (0xf1, 0xf0)}, "drop")
        self.fails("ALREADY_EXISTS", fwd.add, {"hdr.ethernet.dst_addr": 3, "hdr.ipv4.protocol": (0xf2, 0xf0)}, "drop")
        self.fails("INVALID_ARGUMENT", fwd.add, {"hdr.ipv4.protocol": (1, 1)}, "drop")  # the exact field is missing

    def test_05_values_have_exactly_their_bytes(self):
        fwd = self.c.table("fwd")
        for wrong in (b"\x05", b"\0\0\x05", b"", b"\xff\xff"):
            update = fwd.insert(FWD, "set_port", port=5)
            self.entry(update).data.fields[0].stream = wrong
            self.fails("INVALID_ARGUMENT", self.c.write, [update])
        for wrong in (b"\x01" * 5, b"\x01" * 7, b""):
            update = fwd.insert(FWD, "set_port", port=5)
            self.entry(update).key.fields[0].exact.value = wrong
            self.fails("INVALID_ARGUMENT", self.c.write, [update])
        self.assertEqual(fwd.entries(), [])
        fwd.add(FWD, "set_port", port=0x1ff)
        read = self.c.read([self._wildcard(fwd)])[0].table_entry
        self.assertEqual([f.stream for f in read.data.fields if f.field_id == 1], [b"\x01\xff"])

    def _wildcard(self, table):
        entity = pb.Entity()
        entity.table_entry.table_id = table.id
        return entity

    # --- 6, 7: what clients do at start ---
    def test_06_every_table_can_be_cleared_and_its_default_reset(self):
        fwd, pool, hits = self.c.table("fwd"), self.c.table("Ingress.pool"), self.c.table("hits")
        fwd.add(FWD, "drop")
        fwd.set_default("set_port", port=9)
        pool.add({"$REGISTER_INDEX": 1}, data={"first": 5, "second": 6})
        hits.add({"$COUNTER_INDEX": 2}, data={"$COUNTER_SPEC_PKTS": 4})
        for info in self.c.info["tables"]:
            self.c.table(info["name"]).clear()
            self.c.table(info["name"]).reset_default()
        self.assertEqual(fwd.entries(), [])
        self.assertNotEqual((fwd.default() or fwd).__dict__.get("data", {}).get("port"), 9)
        self.assertEqual(pool.get({"$REGISTER_INDEX": 1}).data, {"Ingress.pool.first": [0, 0], "Ingress.pool.second": [0, 0]})
        self.assertEqual(hits.get({"$COUNTER_INDEX": 2}).data["$COUNTER_SPEC_PKTS"], 0)

    def test_07_no_updates_and_no_data_are_fine(self):
        self.c.write([])
        self.c.table("$pre.mgid").add({"$MGID": 1})
        self.assertEqual(self.c.table("$pre.mgid").get({"$MGID": 1}).data["$MULTICAST_NODE_ID"], [])

    # --- 8: reads ---
    def test_08_reading_all_gives_entries_then_the_default(self):
        fwd = self.c.table("fwd")
        for i in range(3):
            fwd.add({**FWD, "hdr.ethernet.dst_addr": i}, "set_port", port=i)
        fwd.set_default("set_port", port=100)
        rows = fwd._read(None)
        self.assertEqual([r.is_default for r in rows], [False, False, False, True])
        self.assertEqual(rows[3].data["port"], 100)
        self.assertEqual([r.action for r in fwd.entries(action="drop")], [])
        keys = fwd.entries(key_only=True)
        self.assertEqual([k.data for k in keys], [{}, {}, {}])
        self.assertEqual(fwd.usage(), 3)
        self.assertEqual(self.c.table("route").entries(), [])

    def test_08_registers_have_a_value_per_pipe_and_counters_one(self):
        pool = self.c.table("Ingress.pool")
        pool.add({"$REGISTER_INDEX": 3}, data={"first": 1, "second": 2})
        raw = self.c.read([self._keyed(pool, {"$REGISTER_INDEX": 3})])[0].table_entry
        self.assertEqual([(f.field_id, f.stream) for f in raw.data.fields],
                         [(1, b"\0\0\0\1")] * self.PIPES + [(2, b"\0\0\0\2")] * self.PIPES)
        self.assertEqual(len(pool.entries()), 1024)
        self.c.target.pipe_id = 1
        pool.modify({"$REGISTER_INDEX": 3}, data={"first": 7, "second": 8})
        self.assertEqual(pool.get({"$REGISTER_INDEX": 3}).data, {"Ingress.pool.first": [7], "Ingress.pool.second": [8]})
        self.c.target.pipe_id = 0xffff
        self.assertEqual(pool.get({"$REGISTER_INDEX": 3}).data["Ingress.pool.first"], [1, 7])
        hits = self.c.table("hits")
        hits.add({"$COUNTER_INDEX": 5}, data={"$COUNTER_SPEC_PKTS": 11, "$COUNTER_SPEC_BYTES": 1100})
        self.assertEqual(hits.get({"$COUNTER_INDEX": 5}).data, {"$COUNTER_SPEC_BYTES": 1100, "$COUNTER_SPEC_PKTS": 11})
        self.assertEqual(len(hits.entries()), 64)
        self.fails("INVALID_ARGUMENT", pool.get, {"$REGISTER_INDEX": 1024})

    def test_08_handles_and_ids_by_name(self):
        route = self.c.table("route")
        route.add({"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "set_port", port=4)
        entity = self._wildcard(route)
        entity.table_entry.handle_id = route.handle({"hdr.ipv4.dst_addr": "10.0.0.0/8"})
        self.assertEqual(route.decode(self.c.read([entity])[0].table_entry).data["port"], 4)
        wanted = pb.Entity()
        wanted.object_id.table_object.table_name = "Ingress.route"
        self.assertEqual(self.c.read([wanted])[0].object_id.id, route.id)
        wanted.object_id.table_object.action_name.action = "Ingress.drop"
        self.assertEqual(self.c.read([wanted])[0].object_id.id, route.info["action_specs"][1]["id"])
        self.fails("NOT_FOUND", route.handle, {"hdr.ipv4.dst_addr": "11.0.0.0/8"})

    def _keyed(self, table, key):
        entity = self._wildcard(table)
        table._fill_key(entity.table_entry.key, key)
        return entity

    # --- 9: errors ---
    def test_09_failures_are_unknown_with_padded_details(self):
        route = self.c.table("route")
        route.add({"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "drop")
        request = pb.WriteRequest(target=self.c.target, updates=[
            route.insert({"hdr.ipv4.dst_addr": "11.0.0.0/8"}, "drop"), route.insert({"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "drop"),
            route.insert({"hdr.ipv4.dst_addr": "12.0.0.0/8"}, "drop")])
        with self.assertRaises(grpc.RpcError) as caught:
            self.c.stub.Write(request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNKNOWN)
        details = dict(caught.exception.trailing_metadata())["grpc-status-details-bin"]
        status = status_pb2.Status.FromString(details)
        errors = [pb.Error.FromString(d.value) for d in status.details]
        self.assertEqual(status.code, code_pb2.UNKNOWN)
        self.assertEqual([e.canonical_code for e in errors], [0, code_pb2.ALREADY_EXISTS])
        self.assertEqual(len(route.entries()), 3)  # the others were carried out
        error = self.fails("NOT_FOUND", self.c.read, [self._wildcard(route), self._keyed(
            route, {"hdr.ipv4.dst_addr": "99.0.0.0/8"})])
        self.assertEqual([(u.index, u.code) for u in error.updates], [(1, "NOT_FOUND")])

    def test_09_rollback_leaves_nothing_behind(self):
        route = self.c.table("route")
        updates = [route.insert({"hdr.ipv4.dst_addr": "%d.0.0.0/8" % n}, "drop") for n in (1, 2, 1)]
        self.fails("ALREADY_EXISTS", self.c.write, updates, atomicity=pb.WriteRequest.ROLLBACK_ON_ERROR)
        self.assertEqual(route.entries(), [])

    # --- 10, 12: kinds of table ---
    def test_10_insert_and_modify_by_kind_of_table(self):
        route, pool = self.c.table("route"), self.c.table("Ingress.pool")
        for first in (1, 2):
            pool.add({"$REGISTER_INDEX": 0}, data={"first": first, "second": 0})
        self.assertEqual(pool.get({"$REGISTER_INDEX": 0}).data["Ingress.pool.first"], [2, 2])
        key = {"hdr.ipv4.dst_addr": "10.0.0.0/8"}
        self.fails("NOT_FOUND", route.modify, key, "drop")
        self.fails("NOT_FOUND", route.delete, key)
        route.add(key, "drop")
        self.fails("ALREADY_EXISTS", route.add, key, "drop")
        route.add_or_modify(key, "set_port", port=3)
        self.assertEqual(route.get(key).data["port"], 3)
        for n in range(1, 16):
            route.add({"hdr.ipv4.dst_addr": (n << 24, 8 if n != 10 else 9)}, "drop")
        self.fails("RESOURCE_EXHAUSTED", route.add, {"hdr.ipv4.dst_addr": "200.0.0.0/8"}, "drop")
        self.fails("INVALID_ARGUMENT", self.c.table("fixed").set_default, "drop")
        self.fails("UNIMPLEMENTED", pool.delete, {"$REGISTER_INDEX": 0})

    def test_12_operations_answer_when_values_are_current(self):
        self.c.table("fwd").operation("SyncCounters")
        self.c.table("Ingress.pool").operation("Sync")
        self.c.table("hits").operation("Sync")
        self.fails("UNIMPLEMENTED", self.c.table("route").operation, "Dance")

    # --- 11: replication ---
    def test_11_groups_grow_and_shrink_by_single_members(self):
        node, group = self.c.table("$pre.node"), self.c.table("$pre.mgid")
        for n in (1, 2):
            node.add({"$MULTICAST_NODE_ID": n}, data={"$MULTICAST_RID": n, "$DEV_PORT": [n, n + 1]})  # no LAG given
        group.add({"$MGID": 0})
        member = {"$MULTICAST_NODE_L1_XID_VALID": [False], "$MULTICAST_NODE_L1_XID": [0]}
        for n in (1, 2):
            group.add_members({"$MGID": 0}, {"$MULTICAST_NODE_ID": [n], **member})
        self.assertEqual(group.get({"$MGID": 0}).data["$MULTICAST_NODE_ID"], [1, 2])
        self.fails("ALREADY_EXISTS", node.delete, {"$MULTICAST_NODE_ID": 1})
        group.remove_members({"$MGID": 0}, {"$MULTICAST_NODE_ID": [1], **member})
        self.assertEqual(group.get({"$MGID": 0}).data["$MULTICAST_NODE_ID"], [2])
        node.delete({"$MULTICAST_NODE_ID": 1})
        self.fails("NOT_FOUND", group.add_members, {"$MGID": 0}, {"$MULTICAST_NODE_ID": [77], **member})
        self.fails("INVALID_ARGUMENT", group.modify, {"$MGID": 0},
                   data={"$MULTICAST_NODE_ID": [2], "$MULTICAST_NODE_L1_XID_VALID": [False, True]})
        self.assertEqual(len(self.c.table("$pre.lag").entries()), 255)
        self.assertEqual(len(self.c.table("$pre.prune").entries()), 288)

    # --- 15, 16: life ---
    def test_15_reload_wipes_and_tells_every_stream(self):
        other = self.client(client_id=3, bind=False)
        self.c.table("route").add({"hdr.ipv4.dst_addr": "10.0.0.0/8"}, "drop")
        self.c.reload()
        for kind in (pb.WARM_INIT_STARTED, pb.WARM_INIT_FINISHED):
            told = other.notification("set_forwarding_pipeline_config_response")
            self.assertEqual(told.set_forwarding_pipeline_config_response_type, kind)
        self.assertEqual(self.c.table("route").entries(), [])

    def test_16_large_requests_and_many_streams(self):
        big = self.c.table("big")
        self.c.timeout = 120
        self.c.write([big.insert({"k": n}, "set_port", port=n % 512) for n in range(60000)])  # more than gRPC's own 4 MiB
        self.assertEqual(big.usage(), 60000)
        self.assertEqual(len(big.entries()), 60000)
        clients = [self.client(client_id=100 + n, bind=False) for n in range(40)]
        self.assertEqual(self.c.table("route").usage(), 0)
        for client in clients[:20]:
            client.channel.close()  # gone without a word
        self.assertEqual(self.c.table("route").usage(), 0)

    # --- several devices ---
    def test_devices_are_apart(self):
        second = self.client(device=1, client_id=9)
        key = {"hdr.ipv4.dst_addr": "10.0.0.0/8"}
        second.table("route").add(key, "drop")
        self.assertEqual(self.c.table("route").entries(), [])
        self.assertEqual(len(second.table("route").entries()), 1)
        self.fails("NOT_FOUND", Client, self.server.address, device=2, client_id=10)


class Vanishing(harness.ServerCase):
    """Clients are asked after a second whether they live, and have half of one to answer."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_vanishing_")
        cls.addClassCleanup(folder.cleanup)
        schema = os.path.join(folder.name, "bf-rt.json")
        program.one_of_everything(schema)
        cls.server = harness.SchemaServer(schema, "--keepalive-ms", "1000")

    def test_16_a_client_that_vanishes_gives_back_its_claims(self):
        hanging = subprocess.Popen([sys.executable, "-c", "import sys, l3dml_bfrt; c = l3dml_bfrt.Client(sys.argv[1], client_id=50);"
                                    "print('up', flush=True); sys.stdin.read()", self.server.address], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
        try:
            self.assertEqual(hanging.stdout.readline(), "up\n")
            hanging.send_signal(signal.SIGSTOP)  # its connection stays open, nobody answers
            for _ in range(2000):
                try:
                    return self.client(client_id=51).close()
                except BfrtError as error:
                    self.assertEqual(error.code, "ALREADY_EXISTS")
            self.fail("the program was never given back")
        finally:
            hanging.kill()
            hanging.communicate()


class Notifications(harness.ServerCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_notifications_")
        cls.addClassCleanup(folder.cleanup)
        schema = os.path.join(folder.name, "bf-rt.json")
        program.one_of_everything(schema)
        cls.server = harness.SchemaServer(schema)

    def test_14_digests_reach_who_asked(self):
        asked, other = self.client(learn=True), self.client(client_id=1, bind=False)
        self.server.process.stdin.write("digest pipe.IngressDeparser.learn 020000000001 0005\n")  # as a packet would cause it
        self.server.process.stdin.flush()
        digest = asked.notification("digest")
        self.assertEqual(digest.digest_id, 0x8E000001)
        self.assertEqual([[(f.field_id, f.stream) for f in record.fields] for record in digest.data],
                         [[(1, bytes.fromhex("020000000001")), (2, b"\0\5")]])
        self.assertRaises(TimeoutError, other.notification, "digest", timeout=0.1)

    def test_14_idle_entries_are_told(self):
        c = self.client(idletimeout=True)
        aging = c.table("aging")
        idle = pb.IdleTable(enable=True, idle_table_mode=pb.IdleTable.IDLE_TABLE_NOTIFY_MODE, ttl_query_interval=10,
                            max_ttl=1000, min_ttl=10)
        silent = self.client(client_id=1, bind=False)
        aging.set_attribute(idle_table=idle)
        aging.add({"hdr.ethernet.src_addr": 7}, "set_port", data={"$ENTRY_TTL": 50, "port": 1})
        told = c.notification("idle_timeout_notification")
        self.assertEqual(told.type, pb.IdleTimeoutNotification.ENTRY_IDLE)
        self.assertEqual(aging.decode(told.table_entry).key, {"hdr.ethernet.src_addr": 7})
        self.assertRaises(TimeoutError, silent.notification, "idle_timeout_notification", timeout=0.1)

    def test_14_nobody_is_told_who_did_not_ask(self):
        idle = pb.IdleTable(enable=True, idle_table_mode=pb.IdleTable.IDLE_TABLE_NOTIFY_MODE)
        self.fails("INVALID_ARGUMENT", self.client().table("aging").set_attribute, idle_table=idle)


class SwitchMl(harness.ServerCase):
    """17: the start-up of SwitchML's controller, call by call, on a program with its tables."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="l3dml_switchml_")
        cls.addClassCleanup(folder.cleanup)
        schema = os.path.join(folder.name, "bf-rt.json")
        program.switchml(schema)
        cls.server = harness.SchemaServer(schema, "--program", "SwitchML")

    def test_17_controller_starts(self):
        c = self.client()
        ports = c.table("$PORT")
        for port in (0, 4):
            ports.add({"$DEV_PORT": port}, data={"$SPEED": "BF_SPEED_100G", "$FEC": "BF_FEC_TYP_NONE",
                                                 "$AUTO_NEGOTIATION": "PM_AN_DEFAULT", "$PORT_ENABLE": True})
        self.assertEqual(c.table("$PORT_HDL_INFO").get({"$CONN_ID": 2, "$CHNL_ID": 0}, from_hw=False).data["$DEV_PORT"], 4)
        self.assertTrue(all(p.data["$PORT_UP"] for p in ports.entries(from_hw=False)))
        c.table("$PORT_STAT").modify({"$DEV_PORT": 0}, data={"$FramesReceivedOK": 0})
        for name in ("$pre.ecmp", "$pre.lag", "$pre.prune", "$pre.port", "pktgen.port_cfg"):
            c.table(name)
        for info in c.info["tables"]:
            table = c.table(info["name"])
            table.clear()
            if info["table_type"].startswith("MatchAction"):
                table.reset_default()
        metadata = c.table("$PORT_METADATA")
        c.write([metadata.insert({"ig_intr_md.ingress_port": p}, data={"ingress_drop_probability": 0,
                                                                       "egress_drop_probability": 0}) for p in range(288)])
        self.assertEqual(metadata.usage(), 288)
        group, node = c.table("$pre.mgid"), c.table("$pre.node")
        group.add({"$MGID": 0})
        node.add({"$MULTICAST_NODE_ID": 1}, data={"$MULTICAST_RID": 0x8000, "$DEV_PORT": [0]})
        group.add_members({"$MGID": 0}, {"$MULTICAST_NODE_ID": [1], "$MULTICAST_NODE_L1_XID_VALID": [True],
                                         "$MULTICAST_NODE_L1_XID": [0x8000]})
        udp = c.table("udp_receiver.receive_udp")
        udp.add({"k": 1, "t": (0xbee0, 0xfff0), "$MATCH_PRIORITY": 10}, "udp_receiver.set", value=4)
        udp.operation("SyncCounters")
        udp.modify({"k": 1, "t": (0xbee0, 0xfff0), "$MATCH_PRIORITY": 10}, "udp_receiver.set",
                   data={"$COUNTER_SPEC_BYTES": 0, "$COUNTER_SPEC_PKTS": 0, "value": 4})
        values = c.table("value31.values")
        values.operation("Sync")
        self.assertEqual(values.get({"$REGISTER_INDEX": 7}, from_hw=False).data["Ingress.value31.values.first"], [0] * 4)
        self.fails("NOT_FOUND", udp.get, {"k": 2})
        c.table("rdma_sender.switch_mac_and_ip").set_default("set", mac="02:00:00:00:00:01", ip="10.0.0.1")


if __name__ == "__main__":
    harness.main()
