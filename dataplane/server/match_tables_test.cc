// Match tables over a socket: keys of every kind, capacity, defaults, direct resources, scopes, attributes.
#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::Update;
using bfrt_proto::WriteRequest;
using grpc::StatusCode;

class MatchTables : public Served {
 protected:
  void SetUp() override {
    serve(wide_json());
    client_ = bound();
  }
  bfrt_proto::TableEntry port_entry(const std::string& table, uint64_t port, uint64_t out,
                                    std::vector<DataPart> more = {}) {
    more.insert(more.begin(), {"port", out});
    return client_->entry(table, {{"port", port}}, "forward", more);
  }
  std::unique_ptr<Client> client_;
};

TEST_F(MatchTables, insert_modify_remove_and_their_errors) {
  Client& c = *client_;
  const std::vector<KeyPart> key = {{"hdr.vlan.$valid", 1}, {"hdr.eth.dst", 0x0a0b0c0d0e0f}};
  const auto forward = [&](uint64_t port) { return c.entry("exact", key, "forward", {{"port", port}}); };
  EXPECT_EQ(c.modify(forward(1)).code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(c.remove(c.entry("exact", key)).code(), StatusCode::NOT_FOUND);
  ASSERT_TRUE(c.insert(forward(257)).ok());
  EXPECT_EQ(c.insert(forward(2)).code(), StatusCode::ALREADY_EXISTS);
  Result read = c.read(c.entry("exact", key));
  ASSERT_EQ(read.entries.size(), 1u);
  EXPECT_EQ(c.number(read.entries[0], "port"), 257u);
  EXPECT_EQ(read.entries[0].key().fields_size(), 2);
  ASSERT_TRUE(c.modify(c.entry("exact", key, "drop")).ok());
  read = c.read(c.entry("exact", key));
  EXPECT_EQ(c.action(read.entries[0]), "Ingress.drop");
  EXPECT_EQ(read.entries[0].data().fields_size(), 0);
  ASSERT_TRUE(c.remove(c.entry("exact", key)).ok());
  EXPECT_EQ(c.read(c.entry("exact", key)).code(), StatusCode::NOT_FOUND);
  // Upsert: inserts, then modifies and says so.
  EXPECT_EQ(c.write({c.update(Update::INSERT_OR_MODIFY, forward(3))}).response.status_size(), 0);
  const Result again = c.write({c.update(Update::INSERT_OR_MODIFY, forward(4))});
  ASSERT_TRUE(again.ok());
  ASSERT_EQ(again.response.status_size(), 1);
  EXPECT_EQ(again.response.status(0).code(), 6);
  EXPECT_EQ(again.response.status(0).canonical_code(), 0);
}

TEST_F(MatchTables, ternary_range_optional_and_priority_make_the_key) {
  Client& c = *client_;
  auto rule = [&](uint64_t priority, uint64_t value, uint64_t mask) {
    return c.entry(
        "acl", {{"$MATCH_PRIORITY", priority}, {"hdr.ip.src", value, mask}, {"hdr.ip.proto", 6, 17}}, "drop");
  };
  ASSERT_TRUE(c.insert(rule(1, 0x0a000000, 0xff000000)).ok());
  // Bits outside the mask mean nothing, so this is the same key.
  EXPECT_EQ(c.insert(rule(1, 0x0a0000ff, 0xff000000)).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(c.insert(rule(2, 0x0a000000, 0xff000000)).ok());
  // All fields absent: matches everything, at priority 0.
  bfrt_proto::TableEntry any = c.entry("acl", {}, "drop");
  any.mutable_key();
  ASSERT_TRUE(c.insert(any).ok());
  const Result read = c.read(any);
  ASSERT_EQ(read.entries.size(), 1u);
  EXPECT_EQ(read.entries[0].key().fields_size(), 4);
  bfrt_proto::TableEntry backwards = c.entry("acl", {{"hdr.ip.proto", 9, 3}}, "drop");
  EXPECT_EQ(c.insert(backwards).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(MatchTables, prefixes_are_canonical) {
  Client& c = *client_;
  auto route = [&](uint64_t address, uint64_t length) {
    return c.entry("route", {{"hdr.ip6.dst", address, length}, {"vrf", 7}}, "forward",
                   {{"port", uint64_t{1}}});
  };
  ASSERT_TRUE(c.insert(route(0xffff, 120)).ok());
  EXPECT_EQ(c.insert(route(0xff00, 120)).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(c.insert(route(0xff00, 121)).ok());
  EXPECT_EQ(c.insert(route(0, 129)).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(MatchTables, capacity_and_usage) {
  Client& c = *client_;
  for (uint64_t i = 0; i < 8; ++i)
    ASSERT_TRUE(c.insert(c.entry("acl", {{"$MATCH_PRIORITY", i}}, "drop")).ok());
  EXPECT_EQ(c.usage("acl"), 8u);
  EXPECT_EQ(c.insert(c.entry("acl", {{"$MATCH_PRIORITY", 9}}, "drop")).code(),
            StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(c.remove(c.entry("acl")).ok());  // without a key: all
  EXPECT_EQ(c.usage("acl"), 0u);
}

TEST_F(MatchTables, wrong_requests_are_named) {
  Client& c = *client_;
  const std::vector<KeyPart> key = {{"hdr.eth.dst", 1}, {"hdr.vlan.$valid", 0}};
  auto code = [&](const bfrt_proto::TableEntry& entry) { return c.insert(entry).code(); };
  EXPECT_EQ(code(c.entry("exact", key)), StatusCode::INVALID_ARGUMENT);              // no action
  EXPECT_EQ(code(c.entry("exact", key, "NoAction")), StatusCode::INVALID_ARGUMENT);  // only a default
  EXPECT_EQ(code(c.entry("exact", key, "forward")), StatusCode::INVALID_ARGUMENT);   // no port
  EXPECT_EQ(code(c.entry("exact", {{"hdr.eth.dst", 1}}, "drop")), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code(c.entry("fixed_steps", {{"meta.step", 1}}, "drop")), StatusCode::INVALID_ARGUMENT);
  bfrt_proto::TableEntry wrong = c.entry("exact", key, "forward", {{"port", uint64_t{1}}});
  wrong.mutable_data()->mutable_fields(0)->set_stream("\1");
  EXPECT_EQ(code(wrong), StatusCode::INVALID_ARGUMENT);
  wrong.mutable_data()->mutable_fields(0)->set_stream(std::string("\4\0", 2));  // ten bits for nine
  EXPECT_EQ(code(wrong), StatusCode::INVALID_ARGUMENT);
  wrong = c.entry("exact", key, "drop");
  wrong.mutable_data()->set_action_id(1);
  EXPECT_EQ(code(wrong), StatusCode::NOT_FOUND);
  wrong = c.entry("exact", key, "drop");
  *wrong.mutable_key()->add_fields() = wrong.key().fields(0);
  EXPECT_EQ(code(wrong), StatusCode::INVALID_ARGUMENT);  // the field is given twice
  wrong.set_table_id(5);
  EXPECT_EQ(code(wrong), StatusCode::NOT_FOUND);
  bfrt_proto::TableEntry both = c.entry("exact", key, "drop");
  both.set_is_default_entry(true);
  EXPECT_EQ(c.modify(both).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(c.entry("exact", {}, "drop")).code(), StatusCode::INVALID_ARGUMENT);  // no key
  EXPECT_EQ(c.write({c.update(Update::UNSPECIFIED, both)}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.usage("exact"), 0u);
}

TEST_F(MatchTables, default_entries) {
  Client& c = *client_;
  auto default_entry = [&](const std::string& table, const std::string& action = "",
                           std::vector<DataPart> data = {}) {
    bfrt_proto::TableEntry entry = c.entry(table, {}, action, data);
    entry.set_is_default_entry(true);
    return entry;
  };
  // What the compiled program starts with, as far as its text tells.
  Result read = c.read(default_entry("exact"));
  ASSERT_EQ(read.entries.size(), 1u);
  EXPECT_EQ(c.action(read.entries[0]), "NoAction");
  EXPECT_EQ(c.action(c.read(default_entry("acl")).entries.at(0)), "Ingress.flood");
  EXPECT_TRUE(c.read(default_entry("route")).entries.empty());
  ASSERT_TRUE(c.modify(default_entry("exact", "forward", {{"port", uint64_t{9}}})).ok());
  read = c.read_all("exact");
  ASSERT_EQ(read.entries.size(), 1u);
  EXPECT_TRUE(read.entries[0].is_default_entry());
  EXPECT_EQ(c.number(read.entries[0], "port"), 9u);
  EXPECT_EQ(c.modify(default_entry("exact", "pin", {{"port", uint64_t{1}}})).code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(default_entry("exact", "drop")).code(), StatusCode::UNIMPLEMENTED);
  ASSERT_TRUE(c.remove(default_entry("exact")).ok());
  EXPECT_EQ(c.action(c.read(default_entry("exact")).entries.at(0)), "NoAction");
  // A constant default refuses a new one; clearing and resetting the table still succeed.
  EXPECT_EQ(c.modify(default_entry("fixed_steps", "drop")).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(c.remove(default_entry("fixed_steps")).ok());
  EXPECT_TRUE(c.remove(c.entry("fixed_steps")).ok());
  EXPECT_EQ(c.insert(default_entry("pool")).code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(MatchTables, direct_counters_are_kept_or_reset_as_asked) {
  Client& c = *client_;
  const uint64_t seven = 7, eleven = 11;
  ASSERT_TRUE(c.insert(port_entry("counted", 1, 2, {{"$COUNTER_SPEC_PKTS", seven}})).ok());
  auto packets = [&] {
    return c.number(c.read(c.entry("counted", {{"port", 1}})).entries.at(0), "$COUNTER_SPEC_PKTS");
  };
  EXPECT_EQ(packets(), 7u);
  ASSERT_TRUE(c.modify(port_entry("counted", 1, 3)).ok());
  EXPECT_EQ(packets(), 7u);
  bfrt_proto::TableEntry reset = port_entry("counted", 1, 3);
  reset.mutable_table_flags()->set_reset_stats(true);
  ASSERT_TRUE(c.modify(reset).ok());
  EXPECT_EQ(packets(), 0u);
  // Only the counter, no parameter: the action stays.
  ASSERT_TRUE(c.modify(c.entry("counted", {{"port", 1}}, "", {{"$COUNTER_SPEC_PKTS", eleven}})).ok());
  EXPECT_EQ(packets(), 11u);
  EXPECT_EQ(c.number(c.read(c.entry("counted", {{"port", 1}})).entries[0], "port"), 3u);
  EXPECT_TRUE(c.write({c.operation("counted", "SyncCounters")}).ok());
  EXPECT_EQ(c.write({c.operation("counted", "SyncRegisters")}).code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(MatchTables, direct_meters_filters_and_wred_are_checked) {
  Client& c = *client_;
  const uint64_t low = 1000, high = 2000;
  ASSERT_TRUE(
      c.insert(port_entry("metered", 1, 2, {{"$METER_SPEC_CIR_KBPS", low}, {"$METER_SPEC_PIR_KBPS", high}}))
          .ok());
  const Result read = c.read(c.entry("metered", {{"port", 1}}));
  EXPECT_EQ(c.number(read.entries.at(0), "$METER_SPEC_CIR_KBPS"), 1000u);
  EXPECT_EQ(c.number(read.entries[0], "$METER_SPEC_CBS_KBITS"), UINT64_MAX);
  EXPECT_EQ(
      c.insert(port_entry("metered", 2, 2, {{"$METER_SPEC_CIR_KBPS", high}, {"$METER_SPEC_PIR_KBPS", low}}))
          .code(),
      StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(c.insert(port_entry("filtered", 1, 2,
                                  {{"$LPF_SPEC_TYPE", std::string("SAMPLE")},
                                   {"$LPF_SPEC_GAIN_TIME_CONSTANT_NS", 100.0f}}))
                  .ok());
  const auto filtered = c.read(c.entry("filtered", {{"port", 1}})).entries.at(0);
  EXPECT_EQ(c.find(filtered, "$LPF_SPEC_TYPE")->str_val(), "SAMPLE");
  EXPECT_EQ(c.find(filtered, "$LPF_SPEC_GAIN_TIME_CONSTANT_NS")->float_val(), 100.0f);
  EXPECT_EQ(c.insert(port_entry("filtered", 2, 2, {{"$LPF_SPEC_TYPE", std::string("FAST")}})).code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(c.insert(port_entry("dropped_early", 1, 2, {{"$WRED_SPEC_MAX_PROBABILITY", 1.5f}})).code(),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(c.insert(port_entry("dropped_early", 1, 2, {{"$WRED_SPEC_MAX_PROBABILITY", 0.5f}})).ok());
}

TEST_F(MatchTables, direct_registers_have_a_value_per_pipe) {
  Client& c = *client_;
  const uint64_t five = 5, six = 6;
  ASSERT_TRUE(c.insert(c.entry("sequenced", {{"qp", 9}}, "forward", {{"port", five}, {"f1", five}})).ok());
  c.pipe = 2;
  ASSERT_TRUE(c.modify(c.entry("sequenced", {{"qp", 9}}, "forward", {{"f1", six}})).ok());
  c.pipe = kAllPipes;
  const auto entry = c.read(c.entry("sequenced", {{"qp", 9}})).entries.at(0);
  EXPECT_EQ(c.number(entry, "f1", 0), 5u);
  EXPECT_EQ(c.number(entry, "f1", 2), 6u);
  EXPECT_EQ(c.number(entry, "f1", 3), 5u);
  EXPECT_EQ(c.find(entry, "f1", 4), nullptr);
  c.pipe = 2;
  const auto one = c.read(c.entry("sequenced", {{"qp", 9}})).entries.at(0);
  EXPECT_EQ(c.number(one, "f1", 0), 6u);
  EXPECT_EQ(c.find(one, "f1", 1), nullptr);
}

TEST_F(MatchTables, pipes_can_have_entries_of_their_own) {
  Client& c = *client_;
  bfrt_proto::TableAttribute scope;
  scope.mutable_entry_scope()->mutable_pipe_scope()->set_predef(bfrt_proto::Mode::SINGLE);
  ASSERT_TRUE(c.write({c.attribute("exact", scope)}).ok());
  const std::vector<KeyPart> key = {{"hdr.eth.dst", 1}, {"hdr.vlan.$valid", 0}};
  auto forward = [&](uint64_t port) { return c.entry("exact", key, "forward", {{"port", port}}); };
  EXPECT_EQ(c.insert(forward(1)).code(), StatusCode::INVALID_ARGUMENT);  // which pipe?
  for (uint32_t pipe = 0; pipe < 4; ++pipe) {
    c.pipe = pipe;
    ASSERT_TRUE(c.insert(forward(pipe + 1)).ok());
  }
  c.pipe = 3;
  EXPECT_EQ(c.number(c.read(c.entry("exact", key)).entries.at(0), "port"), 4u);
  EXPECT_EQ(c.usage("exact"), 1u);
  c.pipe = 4;
  EXPECT_EQ(c.insert(forward(1)).code(), StatusCode::INVALID_ARGUMENT);
  c.pipe = kAllPipes;
  EXPECT_EQ(c.usage("exact"), 4u);
  bfrt_proto::TableEntry all = c.entry("exact");
  all.mutable_entry_tgt()->set_pipe_id(kAllPipes);
  const Result read = c.read(all);
  ASSERT_EQ(read.entries.size(), 5u);  // and the default
  EXPECT_EQ(read.entries[2].entry_tgt().pipe_id(), 2u);
  // Not while there are entries; and a table of one scope again afterwards.
  scope.mutable_entry_scope()->mutable_pipe_scope()->set_predef(bfrt_proto::Mode::ALL);
  EXPECT_EQ(c.write({c.attribute("exact", scope)}).code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(c.remove(c.entry("exact")).ok());
  ASSERT_TRUE(c.write({c.attribute("exact", scope)}).ok());
  EXPECT_TRUE(c.insert(forward(1)).ok());
  // Two scopes of two pipes.
  scope.mutable_entry_scope()->mutable_pipe_scope()->set_user_defined(0x0c03);
  ASSERT_TRUE(c.write({c.attribute("route", scope)}).ok());
  scope.mutable_entry_scope()->mutable_pipe_scope()->set_user_defined(0x0c02);
  EXPECT_EQ(c.write({c.attribute("acl", scope)}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(MatchTables, masked_keys_compare_what_the_mask_leaves) {
  Client& c = *client_;
  bfrt_proto::TableAttribute mask;
  auto* const field = mask.mutable_dyn_key_mask()->add_fields();
  field->set_field_id(1);
  field->set_mask(from_uint(0xffffff00, 4));
  ASSERT_TRUE(c.write({c.attribute("hashed", mask)}).ok());
  auto entry = [&](uint64_t source) {
    return c.entry("hashed", {{"hdr.ip.src", source}, {"hdr.ip.dst", 1}}, "forward", {{"port", uint64_t{1}}});
  };
  ASSERT_TRUE(c.insert(entry(0x0a000001)).ok());
  EXPECT_EQ(c.insert(entry(0x0a000002)).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.write({c.attribute("hashed", mask)}).code(), StatusCode::INVALID_ARGUMENT);
  field->set_field_id(9);
  EXPECT_EQ(c.write({c.attribute("acl", mask)}).code(), StatusCode::UNIMPLEMENTED);
  ASSERT_TRUE(c.remove(c.entry("hashed")).ok());
  EXPECT_EQ(c.write({c.attribute("hashed", mask)}).code(), StatusCode::NOT_FOUND);
}

TEST_F(MatchTables, attributes_read_back) {
  Client& c = *client_;
  bfrt_proto::TableAttribute hashing, adjust;
  hashing.mutable_dyn_hashing()->set_alg(3);
  hashing.mutable_dyn_hashing()->set_seed(77);
  adjust.mutable_byte_count_adj()->set_byte_count_adjust(-4);
  ASSERT_TRUE(c.write({c.attribute("hashed", hashing), c.attribute("metered", adjust)}).ok());
  auto read = [&](const std::string& table, bfrt_proto::TableAttribute wanted) {
    bfrt_proto::Entity entity;
    wanted.set_table_id(c.info(table).id);
    *entity.mutable_table_attribute() = wanted;
    return c.read(std::vector{entity}).entities.at(0).table_attribute();
  };
  hashing.mutable_dyn_hashing()->Clear();
  adjust.mutable_byte_count_adj()->Clear();
  EXPECT_EQ(read("hashed", hashing).dyn_hashing().seed(), 77u);
  EXPECT_EQ(read("metered", adjust).byte_count_adj().byte_count_adjust(), -4);
  EXPECT_EQ(c.write({c.attribute("acl", adjust)}).code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(MatchTables, reads_can_be_narrowed) {
  Client& c = *client_;
  for (uint64_t port = 0; port < 4; ++port) ASSERT_TRUE(c.insert(port_entry("counted", port, 1)).ok());
  ASSERT_TRUE(
      c.insert(c.entry("counted", {{"port", 9}}, "count", {{"port", uint64_t{1}}, {"tag", uint64_t{2}}}))
          .ok());
  EXPECT_EQ(c.read(c.entry("counted", {}, "count")).entries.size(), 1u);
  bfrt_proto::TableEntry keys = c.entry("counted");
  keys.mutable_table_flags()->set_key_only(true);
  for (const auto& entry : c.read(keys).entries) EXPECT_FALSE(entry.has_data());
  bfrt_proto::TableEntry some = c.entry("counted", {{"port", 9}}, "count");
  some.mutable_data()->add_fields()->set_field_id(2);
  EXPECT_EQ(c.read(some).entries.at(0).data().fields_size(), 1);
  // By handle.
  bfrt_proto::Entity wanted;
  wanted.mutable_handle()->set_table_id(c.info("counted").id);
  *wanted.mutable_handle()->mutable_key() = c.key("counted", {{"port", 9}});
  const Result handle = c.read(std::vector{wanted});
  bfrt_proto::TableEntry by_handle = c.entry("counted");
  by_handle.set_handle_id(handle.entities.at(0).handle().handle_id());
  EXPECT_EQ(c.action(c.read(by_handle).entries.at(0)), "Ingress.count");
  ASSERT_TRUE(c.remove(by_handle).ok());
  EXPECT_EQ(c.remove(by_handle).code(), StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace l3dml::server::testing
