// Arrays, profiles, selectors, value sets and keyless tables over a socket.
#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::Update;
using bfrt_proto::WriteRequest;
using grpc::StatusCode;

class ArrayTables : public Served {
 protected:
  void SetUp() override {
    serve(wide_json());
    client_ = bound();
  }
  bfrt_proto::TableEntry member(uint64_t id, uint64_t port) {
    return client_->entry("hops", {{"$ACTION_MEMBER_ID", id}}, "forward", {{"port", port}});
  }
  bfrt_proto::TableEntry group(uint64_t id, std::vector<uint32_t> members, std::vector<DataPart> more = {}) {
    more.push_back({"$ACTION_MEMBER_ID", std::move(members)});
    return client_->entry("hops_sel", {{"$SELECTOR_GROUP_ID", id}}, "", more);
  }
  bfrt_proto::TableEntry to(uint64_t destination, const std::string& field, uint64_t id) {
    return client_->entry("ecmp", {{"hdr.ip.dst", destination}}, "", {{field, id}});
  }
  std::unique_ptr<Client> client_;
};

TEST_F(ArrayTables, registers_per_pipe_and_all_indices) {
  Client& c = *client_;
  const uint64_t one = 1, two = 2, nine = 9;
  auto cell = [&](uint64_t index) { return c.entry("pool", {{"$REGISTER_INDEX", index}}); };
  ASSERT_TRUE(
      c.insert(c.entry("pool", {{"$REGISTER_INDEX", 3}}, "", {{"first", one}, {"second", two}})).ok());
  c.pipe = 1;
  ASSERT_TRUE(c.insert(c.entry("pool", {{"$REGISTER_INDEX", 3}}, "", {{"second", nine}})).ok());
  c.pipe = kAllPipes;
  const auto entry = c.read(cell(3)).entries.at(0);
  ASSERT_EQ(entry.data().fields_size(), 8);  // all pipes of the first field, then of the second
  EXPECT_EQ(entry.data().fields(3).field_id(), 1u);
  EXPECT_EQ(entry.data().fields(4).field_id(), 2u);
  EXPECT_EQ(c.number(entry, "first", 1), 1u);
  EXPECT_EQ(c.number(entry, "second", 0), 2u);
  EXPECT_EQ(c.number(entry, "second", 1), 9u);
  EXPECT_EQ(c.read_all("pool").entries.size(), 512u);
  EXPECT_EQ(c.read(cell(512)).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.remove(cell(3)).code(), StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(c.write({c.operation("pool", "Sync")}).ok());
  ASSERT_TRUE(c.write({c.update(Update::RESET, cell(3))}).ok());
  EXPECT_EQ(c.number(c.read(cell(3)).entries.at(0), "first"), 0u);
  ASSERT_TRUE(c.insert(c.entry("pool", {{"$REGISTER_INDEX", 3}}, "", {{"first", one}})).ok());
  ASSERT_TRUE(c.remove(c.entry("pool")).ok());  // clears
  EXPECT_EQ(c.number(c.read(cell(3)).entries.at(0), "first"), 0u);
  EXPECT_EQ(c.insert(c.entry("flag", {{"$REGISTER_INDEX", 0}}, "", {{"f1", two}})).code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ArrayTables, counters_add_up_over_pipes) {
  Client& c = *client_;
  auto write = [&](uint32_t pipe, uint64_t packets) {
    c.pipe = pipe;
    return c.modify(c.entry("bytes", {{"$COUNTER_INDEX", 5}}, "", {{"$COUNTER_SPEC_PKTS", packets}}));
  };
  auto packets = [&](uint32_t pipe) {
    c.pipe = pipe;
    return c.number(c.read(c.entry("bytes", {{"$COUNTER_INDEX", 5}})).entries.at(0), "$COUNTER_SPEC_PKTS");
  };
  ASSERT_TRUE(write(kAllPipes, 10).ok());
  EXPECT_EQ(packets(kAllPipes), 10u);
  ASSERT_TRUE(write(2, 5).ok());
  EXPECT_EQ(packets(2), 5u);
  EXPECT_EQ(packets(kAllPipes), 15u);
  c.pipe = kAllPipes;
  EXPECT_EQ(c.read_all("bytes").entries.size(), 1024u);
  ASSERT_TRUE(c.remove(c.entry("bytes")).ok());
  EXPECT_EQ(packets(kAllPipes), 0u);
  EXPECT_EQ(c.usage("bytes"), UINT32_MAX);  // an array has no usage
}

TEST_F(ArrayTables, meter_lpf_and_wred_specifications) {
  Client& c = *client_;
  const uint64_t low = 10, high = 20;
  auto meter = [&](uint64_t cir, uint64_t pir) {
    return c.entry("rate", {{"$METER_INDEX", 1}}, "",
                   {{"$METER_SPEC_CIR_KBPS", cir}, {"$METER_SPEC_PIR_KBPS", pir}});
  };
  ASSERT_TRUE(c.insert(meter(low, high)).ok());
  EXPECT_EQ(c.insert(meter(high, low)).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.number(c.read(c.entry("rate", {{"$METER_INDEX", 1}})).entries.at(0), "$METER_SPEC_CIR_KBPS"),
            low);
  EXPECT_EQ(c.number(c.read(c.entry("rate", {{"$METER_INDEX", 2}})).entries.at(0), "$METER_SPEC_CIR_KBPS"),
            UINT64_MAX);
  EXPECT_TRUE(
      c.insert(c.entry("packet_rate", {{"$METER_INDEX", 127}}, "", {{"$METER_SPEC_CIR_PPS", low}})).ok());
  EXPECT_TRUE(
      c.insert(c.entry("smooth", {{"$LPF_INDEX", 0}}, "", {{"$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", low}})).ok());
  EXPECT_EQ(c.insert(c.entry("smooth", {{"$LPF_INDEX", 0}}, "", {{"$LPF_SPEC_GAIN_TIME_CONSTANT_NS", -1.0f}}))
                .code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(c.entry("early", {{"$WRED_INDEX", 0}}, "",
                             {{"$WRED_SPEC_MIN_THRESH_CELLS", high}, {"$WRED_SPEC_MAX_THRESH_CELLS", low}}))
                .code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(ArrayTables, what_is_referred_to_cannot_go) {
  Client& c = *client_;
  EXPECT_EQ(c.insert(group(1, {1})).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(c.insert(to(1, "$ACTION_MEMBER_ID", 1)).code(), StatusCode::NOT_FOUND);
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(c.insert(member(id, id)).ok());
  ASSERT_TRUE(c.insert(group(1, {1, 2})).ok());
  ASSERT_TRUE(c.insert(to(1, "$SELECTOR_GROUP_ID", 1)).ok());
  ASSERT_TRUE(c.insert(to(2, "$ACTION_MEMBER_ID", 3)).ok());
  EXPECT_EQ(c.remove(c.entry("hops", {{"$ACTION_MEMBER_ID", 1}})).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.remove(c.entry("hops", {{"$ACTION_MEMBER_ID", 3}})).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.remove(c.entry("hops_sel", {{"$SELECTOR_GROUP_ID", 1}})).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.remove(c.entry("hops")).code(), StatusCode::ALREADY_EXISTS);  // nor all of them
  EXPECT_EQ(c.usage("hops"), 5u);
  EXPECT_TRUE(c.modify(member(1, 77)).ok());  // but changed it can be
  // The entry lets go when it points elsewhere, the group when it does.
  ASSERT_TRUE(c.modify(to(2, "$SELECTOR_GROUP_ID", 1)).ok());
  EXPECT_TRUE(c.remove(c.entry("hops", {{"$ACTION_MEMBER_ID", 3}})).ok());
  ASSERT_TRUE(c.modify(group(1, {4})).ok());
  EXPECT_TRUE(c.remove(c.entry("hops", {{"$ACTION_MEMBER_ID", 1}})).ok());
  ASSERT_TRUE(c.remove(c.entry("ecmp")).ok());
  EXPECT_TRUE(c.remove(c.entry("hops_sel")).ok());
  EXPECT_TRUE(c.remove(c.entry("hops")).ok());
  EXPECT_EQ(c.insert(c.entry("ecmp", {{"hdr.ip.dst", 9}})).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ArrayTables, a_request_rolled_back_lets_go_of_everything) {
  Client& c = *client_;
  ASSERT_TRUE(c.insert(member(1, 1)).ok());
  const Result failed = c.write(
      {c.update(Update::INSERT, group(1, {1})), c.update(Update::INSERT, to(1, "$SELECTOR_GROUP_ID", 1)),
       c.update(Update::INSERT, group(2, {9}))},
      WriteRequest::ROLLBACK_ON_ERROR);
  EXPECT_EQ(failed.code(0), StatusCode::OK);
  EXPECT_EQ(failed.code(2), StatusCode::NOT_FOUND);
  EXPECT_EQ(c.usage("hops_sel"), 0u);
  EXPECT_EQ(c.usage("ecmp"), 0u);
  EXPECT_TRUE(c.remove(c.entry("hops", {{"$ACTION_MEMBER_ID", 1}})).ok());
}

TEST_F(ArrayTables, groups_and_their_limits) {
  Client& c = *client_;
  for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(c.insert(member(id, id)).ok());
  EXPECT_EQ(c.insert(group(1, {1, 2, 3, 4, 5})).code(), StatusCode::INVALID_ARGUMENT);  // compiled for four
  EXPECT_EQ(c.insert(group(1, {1}, {{"$MAX_GROUP_SIZE", uint64_t{5}}})).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(group(1, {1, 1})).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(group(1, {1, 2}, {{"$ACTION_MEMBER_STATUS", std::vector<bool>{true}}})).code(),
            StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(c.insert(group(1, {1, 2},
                             {{"$ACTION_MEMBER_STATUS", std::vector<bool>{true, false}},
                              {"$MAX_GROUP_SIZE", uint64_t{3}}}))
                  .ok());
  ASSERT_TRUE(c.write({c.update(Update::MODIFY_INC, group(1, {3}))}).ok());
  EXPECT_EQ(c.write({c.update(Update::MODIFY_INC, group(1, {3}))}).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.write({c.update(Update::MODIFY_INC, group(1, {4}))}).code(),
            StatusCode::INVALID_ARGUMENT);  // full
  const auto entry = c.read(c.entry("hops_sel", {{"$SELECTOR_GROUP_ID", 1}})).entries.at(0);
  EXPECT_EQ(c.find(entry, "$ACTION_MEMBER_ID")->int_arr_val().val_size(), 3);
  EXPECT_FALSE(c.find(entry, "$ACTION_MEMBER_STATUS")->bool_arr_val().val(1));
  // A hash picks among members in service: 1 and 3.
  auto picked = [&](uint64_t hash) {
    const Result read =
        c.read(c.entry("hops_sel_get_member", {{"$SELECTOR_GROUP_ID", 1}, {"hash_value", hash}}));
    return read.entries.empty() ? 0 : c.number(read.entries[0], "$ACTION_MEMBER_ID");
  };
  EXPECT_EQ(picked(0), 1u);
  EXPECT_EQ(picked(1), 3u);
  EXPECT_EQ(picked(2), 1u);
  bfrt_proto::TableEntry less = group(1, {1});
  less.mutable_table_flags()->set_mod_del(true);
  ASSERT_TRUE(c.write({c.update(Update::MODIFY_INC, less)}).ok());
  EXPECT_EQ(picked(0), 3u);
}

TEST_F(ArrayTables, changes_of_a_group_are_told_to_who_asked) {
  Client& c = *client_;
  for (uint64_t id = 1; id <= 2; ++id) ASSERT_TRUE(c.insert(member(id, id)).ok());
  ASSERT_TRUE(c.insert(group(7, {1})).ok());
  EXPECT_FALSE(c.pending());
  bfrt_proto::TableAttribute wanted;
  wanted.mutable_selector_update_notify()->set_enable(true);
  ASSERT_TRUE(c.write({c.attribute("hops_sel", wanted)}).ok());
  ASSERT_TRUE(c.modify(group(7, {2})).ok());
  auto message = c.next().selector_update_change_notification();
  EXPECT_EQ(message.sel_group_id(), 7u);
  EXPECT_EQ(message.act_member_id(), 1u);
  EXPECT_FALSE(message.is_add());
  message = c.next().selector_update_change_notification();
  EXPECT_EQ(message.act_member_id(), 2u);
  EXPECT_TRUE(message.is_add());
}

TEST_F(ArrayTables, value_sets_hold_keys_alone) {
  Client& c = *client_;
  auto entry = [&](uint64_t value) { return c.entry("tunnels", {{"f1", value, 0xffff}}); };
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(c.insert(entry(i)).ok());
  EXPECT_EQ(c.insert(entry(0)).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.insert(entry(9)).code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(c.modify(entry(0)).code(), StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(c.remove(entry(0)).ok());
  EXPECT_EQ(c.usage("tunnels"), 3u);
  EXPECT_EQ(c.read_all("tunnels").entries.size(), 3u);
}

TEST_F(ArrayTables, keyless_tables_and_port_metadata) {
  Client& c = *client_;
  auto limit = [&] {
    bfrt_proto::TableEntry entry = c.entry("limit");
    entry.set_is_default_entry(true);
    return entry;
  };
  EXPECT_EQ(c.number(c.read(limit()).entries.at(0), "value"), 7u);
  bfrt_proto::TableEntry set = c.entry("limit", {}, "", {{"value", uint64_t{12}}});
  set.set_is_default_entry(true);
  ASSERT_TRUE(c.modify(set).ok());
  EXPECT_EQ(c.number(c.read(limit()).entries.at(0), "value"), 12u);
  ASSERT_TRUE(c.remove(limit()).ok());
  EXPECT_EQ(c.number(c.read(limit()).entries.at(0), "value"), 7u);
  for (uint64_t port = 0; port < 288; ++port) {
    ASSERT_TRUE(c.insert(c.entry("IngressParser.$PORT_METADATA", {{"ig_intr_md.ingress_port", port}}, "",
                                 {{"ingress_drop", port}}))
                    .ok());
  }
  EXPECT_EQ(c.usage("IngressParser.$PORT_METADATA"), 288u);
  EXPECT_TRUE(c.remove(c.entry("IngressParser.$PORT_METADATA")).ok());
}

}  // namespace
}  // namespace l3dml::server::testing
