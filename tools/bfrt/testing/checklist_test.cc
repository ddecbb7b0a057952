// The seventeen points that scripts written for a Tofino rely on, from C++ over a real socket, one test each;
// checklist_test.py asks the same from Python. The programs are those of program.py.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "dataplane/server/testing/fake_twin.h"
#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::Update;
using Config = bfrt_proto::SetForwardingPipelineConfigRequest;
using grpc::StatusCode;

class Checklist : public Served {
 protected:
  void SetUp() override {
    for (const char* name : {"pipe.Ingress.fwd", "pipe.Ingress.aging"}) twin_.tables[name];
    serve(file_text(L3DML_EVERYTHING), 1, &twin_);
    client_ = bound();
  }
  Client& c() { return *client_; }
  bfrt_proto::TableEntry route(uint64_t address, uint64_t length, const std::string& action = "drop",
                               std::vector<DataPart> data = {}) {
    return c().entry("route", {{"hdr.ipv4.dst_addr", address, length}}, action, data);
  }
  bfrt_proto::TableEntry fwd(uint64_t mac, const std::string& action = "drop",
                             std::vector<DataPart> data = {}) {
    return c().entry("fwd",
                     {{"hdr.ethernet.dst_addr", mac},
                      {"hdr.ipv4.protocol", 17, 0xff},
                      {"hdr.udp.dst_port", 1, 9},
                      {"$MATCH_PRIORITY", 3}},
                     action, data);
  }
  bfrt_proto::TableEntry pool(uint64_t index, uint64_t first, uint64_t second) {
    return c().entry("Ingress.pool", {{"$REGISTER_INDEX", index}}, "",
                     {{"pool.first", first}, {"pool.second", second}});
  }
  grpc::Status set_config(Config::Action action, const std::string& json) {
    Config request;
    request.set_action(action);
    request.add_config()->set_p4_name("prog");
    request.mutable_config(0)->set_bfruntime_info(json);
    bfrt_proto::SetForwardingPipelineConfigResponse response;
    grpc::ClientContext context;
    return c().stub().SetForwardingPipelineConfig(&context, request, &response);
  }

  FakeTwin twin_;
  std::unique_ptr<Client> client_;
};

TEST_F(Checklist, point_01_a_client_id_belongs_to_one_stream) {
  auto second = connect(0);
  EXPECT_EQ(second->subscribe().error_code(), StatusCode::INVALID_ARGUMENT);
  c().hang_up();
  auto third = connect(0);
  EXPECT_TRUE(third->subscribe().ok());
  EXPECT_TRUE(third->bind("prog").ok());
}

TEST_F(Checklist, point_02_bind_names_a_program_that_nobody_owns) {
  auto other = connect(2);
  ASSERT_TRUE(other->subscribe().ok());
  EXPECT_EQ(other->bind("nothing").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(other->bind("prog").error_code(), StatusCode::ALREADY_EXISTS);
}

TEST_F(Checklist, point_03_the_schema_has_what_clients_index) {
  bfrt_proto::GetForwardingPipelineConfigRequest request;
  bfrt_proto::GetForwardingPipelineConfigResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(c().stub().GetForwardingPipelineConfig(&context, request, &response).ok());
  EXPECT_EQ(response.config(0).bfruntime_info(), file_text(L3DML_EVERYTHING));
  const auto fixed = nlohmann::json::parse(response.non_p4_config().bfruntime_info());
  EXPECT_GE(fixed.at("tables").size(), 40u);
  for (const auto& table : fixed.at("tables")) {
    for (const char* member : {"size", "attributes", "supported_operations", "key", "data"})
      EXPECT_TRUE(table.contains(member)) << table.at("name");
    for (const auto& data : table.at("data"))
      EXPECT_TRUE(data.contains("mandatory") && data.contains("read_only") &&
                  (!data.contains("singleton") || data.at("singleton").contains("repeated")))
          << table.at("name");
  }
}

TEST_F(Checklist, point_04_key_fields_come_in_any_order_and_may_be_missing) {
  auto entry = fwd(1, "set_port", {{"port", uint64_t{5}}});
  auto& fields = *entry.mutable_key()->mutable_fields();
  for (int i = 0; i < fields.size() / 2; ++i) fields.SwapElements(i, fields.size() - 1 - i);
  ASSERT_TRUE(c().insert(entry).ok());
  EXPECT_EQ(c().number(c().read(fwd(1, "")).entries.at(0), "port"), 5u);
  const auto sparse = c().entry("fwd", {{"hdr.ethernet.dst_addr", 2}}, "drop");
  ASSERT_TRUE(c().insert(sparse).ok());
  EXPECT_EQ(c().insert(sparse).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c().insert(c().entry("fwd", {{"hdr.ipv4.protocol", 1, 1}}, "drop")).code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(Checklist, point_05_values_have_exactly_their_bytes) {
  for (const std::string& wrong : {std::string("\5"), std::string("\0\0\5", 3), std::string()}) {
    auto entry = fwd(1, "set_port", {{"port", uint64_t{5}}});
    entry.mutable_data()->mutable_fields(0)->set_stream(wrong);
    EXPECT_EQ(c().insert(entry).code(), StatusCode::INVALID_ARGUMENT);
    entry = fwd(1);
    entry.mutable_key()->mutable_fields(0)->mutable_exact()->set_value(wrong);
    EXPECT_EQ(c().insert(entry).code(), StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_EQ(c().usage("fwd"), 0u);
  ASSERT_TRUE(c().insert(fwd(1, "set_port", {{"port", uint64_t{0x1ff}}})).ok());
  EXPECT_EQ(c().find(c().read(fwd(1, "")).entries.at(0), "port")->stream(), "\x01\xff");
}

TEST_F(Checklist, point_06_every_table_can_be_cleared_and_its_default_reset) {
  ASSERT_TRUE(c().insert(fwd(1)).ok());
  ASSERT_TRUE(c().insert(pool(1, 5, 6)).ok());
  for (const TableInfo& info : server_.driver(0)->program().tables()) {
    EXPECT_TRUE(c().remove(c().entry(info.name)).ok()) << info.name;
    auto fallback = c().entry(info.name);
    fallback.set_is_default_entry(true);
    EXPECT_TRUE(c().remove(fallback).ok()) << info.name;
  }
  EXPECT_EQ(c().usage("fwd"), 0u);
  EXPECT_TRUE(twin_.tables.at("pipe.Ingress.fwd").entries.empty());
  const Result cell = c().read(c().entry("Ingress.pool", {{"$REGISTER_INDEX", 1}}));
  EXPECT_EQ(c().number(cell.entries.at(0), "pool.first"), 0u);
}

TEST_F(Checklist, point_07_no_updates_and_no_data_are_fine) {
  EXPECT_TRUE(c().write(std::vector<Update>{}).ok());
  EXPECT_TRUE(c().insert(c().entry("mgid", {{"$MGID", 1}})).ok());
}

TEST_F(Checklist, point_08_reading_all_gives_entries_then_the_default_and_registers_per_pipe) {
  for (uint64_t mac : {1, 2, 3}) ASSERT_TRUE(c().insert(fwd(mac)).ok());
  auto fallback = c().entry("fwd", {}, "set_port", {{"port", uint64_t{9}}});
  fallback.set_is_default_entry(true);
  ASSERT_TRUE(c().modify(fallback).ok());
  const Result all = c().read_all("fwd");
  ASSERT_EQ(all.entries.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(all.entries[i].is_default_entry(), i == 3);
  ASSERT_TRUE(c().insert(pool(3, 1, 2)).ok());
  const Result cell = c().read(c().entry("Ingress.pool", {{"$REGISTER_INDEX", 3}}));
  std::vector<uint32_t> ids;
  for (const auto& field : cell.entries.at(0).data().fields()) ids.push_back(field.field_id());
  EXPECT_EQ(ids, (std::vector<uint32_t>{1, 1, 2, 2})) << "two pipes, field by field";
  EXPECT_EQ(c().read_all("hits").entries.size(), 64u);
}

TEST_F(Checklist, point_09_failures_are_unknown_with_padded_details) {
  ASSERT_TRUE(c().insert(route(10u << 24, 8)).ok());
  const Result result = c().write({c().update(Update::INSERT, route(11u << 24, 8)),
                                   c().update(Update::INSERT, route(10u << 24, 8)),
                                   c().update(Update::INSERT, route(12u << 24, 8))});
  EXPECT_EQ(result.status.error_code(), StatusCode::UNKNOWN);
  ASSERT_EQ(result.errors.size(), 2u);
  EXPECT_EQ(result.code(0), StatusCode::OK);
  EXPECT_EQ(result.code(1), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c().usage("route"), 3u);
}

TEST_F(Checklist, point_10_insert_and_modify_by_kind_of_table) {
  EXPECT_TRUE(c().insert(pool(0, 1, 0)).ok());
  EXPECT_TRUE(c().insert(pool(0, 2, 0)).ok());
  EXPECT_TRUE(
      c().insert(c().entry("hits", {{"$COUNTER_INDEX", 1}}, "", {{"$COUNTER_SPEC_PKTS", uint64_t{4}}})).ok());
  EXPECT_EQ(c().modify(route(10u << 24, 8)).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(c().remove(route(10u << 24, 8)).code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(c().insert(route(10u << 24, 8)).ok());
  EXPECT_EQ(c().insert(route(10u << 24, 8)).code(), StatusCode::ALREADY_EXISTS);
}

TEST_F(Checklist, point_11_groups_grow_and_shrink_by_single_members) {
  const auto members = [&](std::vector<uint32_t> nodes) {
    const size_t count = nodes.size();
    return c().entry("mgid", {{"$MGID", 0}}, "",
                     {{"$MULTICAST_NODE_ID", std::move(nodes)},
                      {"$MULTICAST_NODE_L1_XID_VALID", std::vector<bool>(count)},
                      {"$MULTICAST_NODE_L1_XID", std::vector<uint32_t>(count)}});
  };
  const auto change = [&](uint32_t node, bool remove) {
    auto entry = members({node});
    entry.mutable_table_flags()->set_mod_del(remove);
    return c().write({c().update(Update::MODIFY_INC, entry)});
  };
  const auto nodes = [&] {
    return c()
        .find(c().read(c().entry("mgid", {{"$MGID", 0}})).entries.at(0), "$MULTICAST_NODE_ID")
        ->int_arr_val()
        .val_size();
  };
  for (uint64_t node : {1, 2})  // no LAG given
    ASSERT_TRUE(c().insert(c().entry("$pre.node", {{"$MULTICAST_NODE_ID", node}}, "",
                                     {{"$MULTICAST_RID", node}, {"$DEV_PORT", std::vector<uint32_t>{1, 2}}}))
                    .ok());
  ASSERT_TRUE(c().insert(c().entry("mgid", {{"$MGID", 0}})).ok());
  EXPECT_TRUE(change(1, false).ok());
  EXPECT_TRUE(change(2, false).ok());
  EXPECT_EQ(nodes(), 2);
  EXPECT_TRUE(change(1, true).ok());
  EXPECT_EQ(nodes(), 1);
  EXPECT_EQ(change(77, false).code(), StatusCode::NOT_FOUND);
}

TEST_F(Checklist, point_12_operations_answer_when_values_are_current) {
  EXPECT_TRUE(c().write({c().operation("fwd", "SyncCounters")}).ok());
  EXPECT_TRUE(c().write({c().operation("Ingress.pool", "Sync")}).ok());
  EXPECT_TRUE(c().write({c().operation("hits", "Sync")}).ok());
  EXPECT_EQ(c().write({c().operation("route", "Dance")}).code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(Checklist, point_13_ports_come_tell_count_and_go) {
  bfrt_proto::TableAttribute notify;
  notify.mutable_port_status_notify()->set_enable(true);
  ASSERT_TRUE(c().write({c().attribute("$PORT", notify)}).ok());
  const auto port = [&](std::vector<DataPart> data = {}) {
    return c().entry("$PORT", {{"$DEV_PORT", 4}}, "", data);
  };
  EXPECT_EQ(c().insert(port({{"$SPEED", std::string("BF_SPEED_100G")}})).code(),
            StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(c().insert(port({{"$SPEED", std::string("BF_SPEED_100G")},
                               {"$FEC", std::string("BF_FEC_TYP_NONE")},
                               {"$PORT_ENABLE", true}}))
                  .ok());
  EXPECT_TRUE(c().next().port_status_change_notification().port_up());
  EXPECT_TRUE(c().find(c().read(port()).entries.at(0), "$PORT_UP")->bool_val());
  bfrt_proto::TableEntry handle = c().entry("$PORT_HDL_INFO", {{"$CONN_ID", 2}, {"$CHNL_ID", 0}});
  EXPECT_EQ(c().number(c().read(handle).entries.at(0), "$DEV_PORT"), 4u);
  handle = c().entry("$PORT_STR_INFO", {{.field = "$PORT_NAME", .text = "2/0"}});
  EXPECT_EQ(c().number(c().read(handle).entries.at(0), "$DEV_PORT"), 4u);
  const auto count = c().entry("$PORT_STAT", {{"$DEV_PORT", 4}}, "", {{"$FramesReceivedOK", uint64_t{0}}});
  EXPECT_TRUE(c().modify(count).ok());
  EXPECT_EQ(
      c().number(c().read(c().entry("$PORT_STAT", {{"$DEV_PORT", 4}})).entries.at(0), "$FramesReceivedOK"),
      0u);
  ASSERT_TRUE(c().remove(port()).ok());
  EXPECT_EQ(c().read(port()).code(), StatusCode::NOT_FOUND);
}

TEST_F(Checklist, point_14_digests_and_idle_entries_are_told) {
  twin_.digests = {{"pipe.IngressDeparser.learn", {from_uint(0xa, 6), from_uint(1, 2)}}};
  tick();
  const auto digest = c().next().digest();
  ASSERT_EQ(digest.data_size(), 1);
  EXPECT_EQ(to_uint(digest.data(0).fields(0).stream()), 0xau);
  bfrt_proto::TableAttribute idle;
  idle.mutable_idle_table()->set_enable(true);
  idle.mutable_idle_table()->set_idle_table_mode(bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE);
  ASSERT_TRUE(c().write({c().attribute("aging", idle)}).ok());
  ASSERT_TRUE(c().insert(c().entry("aging", {{"hdr.ethernet.src_addr", 7}}, "set_port",
                                   {{"port", uint64_t{1}}, {"$ENTRY_TTL", uint64_t{100}}}))
                  .ok());
  clock_.advance(101 * base::kMillisecond);
  tick();
  const auto told = c().next().idle_timeout_notification();
  EXPECT_EQ(told.type(), bfrt_proto::IdleTimeoutNotification::ENTRY_IDLE);
  EXPECT_EQ(to_uint(told.table_entry().key().fields(0).exact().value()), 7u);
}

TEST_F(Checklist, point_15_reloading_wipes_and_tells_every_stream) {
  auto watcher = connect(3);
  ASSERT_TRUE(watcher->subscribe().ok());
  ASSERT_TRUE(c().insert(route(10u << 24, 8)).ok());
  ASSERT_TRUE(set_config(Config::VERIFY_AND_WARM_INIT_BEGIN_AND_END, file_text(L3DML_EVERYTHING)).ok());
  for (Client* client : {client_.get(), watcher.get()})
    for (const auto expected : {bfrt_proto::WARM_INIT_STARTED, bfrt_proto::WARM_INIT_FINISHED})
      EXPECT_EQ(client->next()
                    .set_forwarding_pipeline_config_response()
                    .set_forwarding_pipeline_config_response_type(),
                expected);
  EXPECT_EQ(c().usage("route"), 0u);
}

TEST_F(Checklist, point_16_large_requests_and_many_streams) {
  bfrt_proto::WriteRequest request;
  for (uint64_t i = 0; i < 60'000; ++i)
    *request.add_updates() =
        c().update(Update::INSERT, c().entry("big", {{"k", i}}, "set_port", {{"port", i % 512}}));
  EXPECT_TRUE(c().write(request).ok());
  EXPECT_EQ(c().read_all("big").entries.size(), 60'000u);
  std::vector<std::unique_ptr<Client>> many;
  for (uint32_t id = 100; id < 140; ++id) {
    many.push_back(connect(id));
    ASSERT_TRUE(many.back()->subscribe().ok());
  }
  for (auto& client : many) client->vanish();
  EXPECT_EQ(c().usage("big"), 60'000u);
}

// What SwitchML's controller does at its start, on a program with the names of its tables.
class SwitchMl : public Served {};

TEST_F(SwitchMl, point_17_its_controller_starts) {
  serve(file_text(L3DML_SWITCHML));
  auto client = bound(0);
  Client& c = *client;
  for (uint64_t port : {0, 4})
    ASSERT_TRUE(c.insert(c.entry("$PORT", {{"$DEV_PORT", port}}, "",
                                 {{"$SPEED", std::string("BF_SPEED_100G")},
                                  {"$FEC", std::string("BF_FEC_TYP_NONE")},
                                  {"$AUTO_NEGOTIATION", std::string("PM_AN_DEFAULT")},
                                  {"$PORT_ENABLE", true}}))
                    .ok());
  for (const char* name : {"$pre.ecmp", "$pre.lag", "$pre.prune", "$pre.port", "tf1.pktgen.port_cfg"})
    EXPECT_EQ(c.info(name).name, name);
  for (const TableInfo& info : server_.driver(0)->program().tables()) {
    EXPECT_TRUE(c.remove(c.entry(info.name)).ok()) << info.name;
    auto fallback = c.entry(info.name);
    fallback.set_is_default_entry(true);
    EXPECT_TRUE(c.remove(fallback).ok()) << info.name;
  }
  std::vector<Update> metadata;
  for (uint64_t port = 0; port < 288; ++port)
    metadata.push_back(c.update(
        Update::INSERT,
        c.entry("$PORT_METADATA", {{"ig_intr_md.ingress_port", port}}, "",
                {{"ingress_drop_probability", uint64_t{0}}, {"egress_drop_probability", uint64_t{0}}})));
  EXPECT_TRUE(c.write(metadata).ok());
  EXPECT_TRUE(c.insert(c.entry("mgid", {{"$MGID", 0}})).ok());
  EXPECT_TRUE(
      c.insert(c.entry("$pre.node", {{"$MULTICAST_NODE_ID", 1}}, "",
                       {{"$MULTICAST_RID", uint64_t{0x8000}}, {"$DEV_PORT", std::vector<uint32_t>{0}}}))
          .ok());
  auto member = c.entry("mgid", {{"$MGID", 0}}, "",
                        {{"$MULTICAST_NODE_ID", std::vector<uint32_t>{1}},
                         {"$MULTICAST_NODE_L1_XID_VALID", std::vector<bool>{true}},
                         {"$MULTICAST_NODE_L1_XID", std::vector<uint32_t>{0x8000}}});
  EXPECT_TRUE(c.write({c.update(Update::MODIFY_INC, member)}).ok());
  const std::vector<KeyPart> key = {{"k", 1}, {"t", 0xbee0, 0xfff0}, {"$MATCH_PRIORITY", 10}};
  EXPECT_TRUE(c.insert(c.entry("receive_udp", key, "udp_receiver.set", {{"value", uint64_t{4}}})).ok());
  EXPECT_TRUE(c.write({c.operation("receive_udp", "SyncCounters")}).ok());
  EXPECT_TRUE(c.write({c.operation("value31.values", "Sync")}).ok());
  const Result values = c.read(c.entry("value31.values", {{"$REGISTER_INDEX", 7}}));
  EXPECT_EQ(c.number(values.entries.at(0), "values.first"), 0u);
  EXPECT_EQ(c.read(c.entry("receive_udp", {{"k", 2}})).code(), StatusCode::NOT_FOUND);
  auto sender =
      c.entry("rdma_sender.switch_mac_and_ip", {}, "set", {{"mac", uint64_t{2}}, {"ip", uint64_t{1}}});
  sender.set_is_default_entry(true);
  EXPECT_TRUE(c.modify(sender).ok());
}

}  // namespace
}  // namespace l3dml::server::testing
