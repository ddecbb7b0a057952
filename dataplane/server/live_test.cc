// What reaches a pipeline and what comes from it, over a socket: atomicity, live counters, idle time-outs,
// digests. Time is the test's own; nothing waits.
#include "dataplane/server/testing/fake_twin.h"
#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::IdleTimeoutNotification;
using bfrt_proto::Update;
using bfrt_proto::WriteRequest;
using grpc::StatusCode;

class Live : public Served {
 protected:
  void SetUp() override {
    for (const char* name : {"exact", "counted", "learned"})
      twin_.tables[std::string("pipe.Ingress.") + name];
    serve(wide_json(), 1, &twin_);
    client_ = bound();
  }
  FakeTable& table(const std::string& name) { return twin_.tables.at("pipe.Ingress." + name); }
  bfrt_proto::TableEntry exact(uint64_t address, const std::string& action = "forward") {
    const std::vector<KeyPart> key = {{"hdr.eth.dst", address}, {"hdr.vlan.$valid", 0}};
    return client_->entry(
        "exact", key, action,
        action == "forward" ? std::vector<DataPart>{{"port", address & 0x1ff}} : std::vector<DataPart>{});
  }
  bfrt_proto::TableEntry learned(uint64_t address, uint64_t ttl_ms) {
    return client_->entry("learned", {{"hdr.eth.src", address}}, "forward",
                          {{"port", uint64_t{1}}, {"$ENTRY_TTL", ttl_ms}});
  }
  bfrt_proto::TableEntry entry_of(uint64_t address) {
    return client_->entry("learned", {{"hdr.eth.src", address}});
  }
  Result age(bfrt_proto::IdleTable::IdleTableMode mode, uint32_t query_ms = 0) {
    bfrt_proto::TableAttribute attribute;
    auto* const idle = attribute.mutable_idle_table();
    idle->set_enable(true);
    idle->set_idle_table_mode(mode);
    idle->set_ttl_query_interval(query_ms);
    idle->set_max_ttl(60'000);
    return client_->write({client_->attribute("learned", attribute)});
  }
  void pass(int64_t milliseconds) {
    clock_.advance(milliseconds * base::kMillisecond);
    tick();
  }
  FakeTwin twin_;
  std::unique_ptr<Client> client_;
};

TEST_F(Live, a_request_reaches_the_pipeline_at_once_or_not_at_all) {
  Client& c = *client_;
  ASSERT_TRUE(c.insert(exact(1)).ok());
  table("exact").refused_action = "Ingress.drop";
  for (const auto atomicity : {WriteRequest::ROLLBACK_ON_ERROR, WriteRequest::DATAPLANE_ATOMIC}) {
    const int before = twin_.runs;
    const Result failed =
        c.write({c.update(Update::INSERT, exact(2)), c.update(Update::MODIFY, exact(1, "count")),
                 c.update(Update::DELETE, exact(1)), c.update(Update::INSERT, exact(3, "drop")),
                 c.update(Update::INSERT, exact(4))},
                atomicity);
    EXPECT_FALSE(failed.ok());
    EXPECT_EQ(twin_.runs, before);
    EXPECT_EQ(table("exact").entries.size(), 1u);
    EXPECT_EQ(c.usage("exact"), 1u);
  }
  const int before = twin_.runs;
  std::vector<bfrt_proto::Update> updates;
  for (uint64_t i = 10; i < 2010; ++i) updates.push_back(c.update(Update::INSERT, exact(i)));
  ASSERT_TRUE(c.write(updates, WriteRequest::ROLLBACK_ON_ERROR).ok());
  EXPECT_EQ(twin_.runs, before + 1);
  EXPECT_EQ(table("exact").entries.size(), 2001u);
}

TEST_F(Live, rollback_tells_what_failed_and_restores_every_value) {
  Client& c = *client_;
  ASSERT_TRUE(c.insert(exact(1)).ok());
  table("exact").refused_action = "Ingress.drop";
  bfrt_proto::TableEntry other = exact(1);
  other.mutable_data()->mutable_fields(0)->set_stream(from_uint(99, 2));
  bfrt_proto::TableEntry fallback = c.entry("exact", {}, "NoAction");
  fallback.set_is_default_entry(true);
  const Result failed =
      c.write({c.update(Update::MODIFY, other), c.update(Update::DELETE, c.entry("exact")),
               c.update(Update::MODIFY, fallback), c.update(Update::INSERT, exact(3, "drop"))},
              WriteRequest::ROLLBACK_ON_ERROR);
  ASSERT_EQ(failed.errors.size(), 4u);
  EXPECT_EQ(failed.code(0), StatusCode::OK);
  EXPECT_EQ(failed.code(3), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(
      c.number(c.read(c.entry("exact", {{"hdr.eth.dst", 1}, {"hdr.vlan.$valid", 0}})).entries.at(0), "port"),
      1u);
  EXPECT_TRUE(table("exact").default_entry.action.empty());
}

TEST_F(Live, continue_on_error_keeps_what_worked) {
  Client& c = *client_;
  table("exact").refused_action = "Ingress.drop";
  const Result partly =
      c.write({c.update(Update::INSERT, exact(1)), c.update(Update::INSERT, exact(2, "drop")),
               c.update(Update::INSERT, exact(3))});
  EXPECT_EQ(partly.status.error_code(), StatusCode::UNKNOWN);
  ASSERT_EQ(partly.errors.size(), 2u);  // trailing successes have none
  EXPECT_EQ(partly.code(1), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(table("exact").entries.size(), 2u);
}

TEST_F(Live, counters_are_read_from_the_pipeline) {
  Client& c = *client_;
  auto entry = [&](uint64_t port) {
    return c.entry("counted", {{"port", port}}, "forward", {{"port", uint64_t{1}}});
  };
  auto counted = [&](uint64_t port) { return c.entry("counted", {{"port", port}}); };
  ASSERT_TRUE(c.insert(entry(1)).ok());
  ASSERT_TRUE(c.insert(entry(2)).ok());
  for (auto& [handle, value] : table("counted").counters) value = {100 + handle, handle};
  const Result read = c.read_all("counted");
  EXPECT_EQ(c.number(read.entries.at(0), "$COUNTER_SPEC_PKTS"), 1u);
  EXPECT_EQ(c.number(read.entries.at(1), "$COUNTER_SPEC_BYTES"), 102u);
  ASSERT_TRUE(c.modify(entry(1)).ok());  // keeps
  EXPECT_EQ(c.number(c.read(counted(1)).entries.at(0), "$COUNTER_SPEC_PKTS"), 1u);
  bfrt_proto::TableEntry reset = entry(1);
  reset.mutable_table_flags()->set_reset_stats(true);
  ASSERT_TRUE(c.modify(reset).ok());
  EXPECT_EQ(c.number(c.read(counted(1)).entries.at(0), "$COUNTER_SPEC_PKTS"), 0u);
  EXPECT_EQ(c.number(c.read(counted(2)).entries.at(0), "$COUNTER_SPEC_PKTS"), 2u);
}

TEST_F(Live, idle_entries_are_told_once_and_again_after_a_hit) {
  Client& c = *client_;
  ASSERT_TRUE(age(bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE).ok());
  EXPECT_EQ(c.insert(learned(1, 60'001)).code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(c.insert(learned(1, 100)).ok());
  ASSERT_TRUE(c.insert(learned(2, 0)).ok());  // never ages
  const tna::Handle handle = table("learned").entries.begin()->first;
  pass(60);
  table("learned").hits[handle] = true;
  pass(60);  // hit: starts again
  EXPECT_EQ(c.number(c.read(entry_of(1)).entries.at(0), "$ENTRY_TTL"), 100u);
  pass(99);
  EXPECT_FALSE(c.pending());
  pass(1);
  const IdleTimeoutNotification idle = c.next().idle_timeout_notification();
  EXPECT_EQ(idle.type(), IdleTimeoutNotification::ENTRY_IDLE);
  EXPECT_EQ(idle.table_entry().table_id(), c.info("learned").id);
  EXPECT_EQ(to_uint(idle.table_entry().key().fields(0).exact().value()), 1u);
  EXPECT_EQ(c.number(c.read(entry_of(1)).entries.at(0), "$ENTRY_TTL"), 0u);
  pass(500);
  table("learned").hits[handle] = true;
  pass(1);
  EXPECT_EQ(c.next().idle_timeout_notification().type(), IdleTimeoutNotification::ENTRY_ACTIVE);
  pass(100);
  EXPECT_EQ(c.next().idle_timeout_notification().type(), IdleTimeoutNotification::ENTRY_IDLE);
  ASSERT_TRUE(c.remove(entry_of(1)).ok());
  pass(500);
  EXPECT_FALSE(c.pending());
}

TEST_F(Live, modify_restarts_the_timer_only_when_asked) {
  Client& c = *client_;
  ASSERT_TRUE(age(bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE).ok());
  ASSERT_TRUE(c.insert(learned(1, 100)).ok());
  pass(90);
  ASSERT_TRUE(c.modify(learned(1, 100)).ok());
  EXPECT_EQ(c.number(c.read(entry_of(1)).entries.at(0), "$ENTRY_TTL"), 10u);
  bfrt_proto::TableEntry again = learned(1, 200);
  again.mutable_table_flags()->set_reset_ttl(true);
  ASSERT_TRUE(c.modify(again).ok());
  EXPECT_EQ(c.number(c.read(entry_of(1)).entries.at(0), "$ENTRY_TTL"), 200u);
}

TEST_F(Live, polled_hit_states_change_when_asked_for) {
  Client& c = *client_;
  ASSERT_TRUE(age(bfrt_proto::IdleTable::IDLE_TABLE_POLL_MODE).ok());
  ASSERT_TRUE(c.insert(learned(1, 0)).ok());
  auto state = [&] { return c.find(c.read(entry_of(1)).entries.at(0), "$ENTRY_HIT_STATE")->str_val(); };
  EXPECT_EQ(state(), "ENTRY_ACTIVE");
  ASSERT_TRUE(c.write({c.operation("learned", "UpdateHitState")}).ok());
  EXPECT_EQ(state(), "ENTRY_IDLE");
  table("learned").hits[table("learned").entries.begin()->first] = true;
  EXPECT_EQ(state(), "ENTRY_IDLE");
  ASSERT_TRUE(c.write({c.operation("learned", "UpdateHitState")}).ok());
  EXPECT_EQ(state(), "ENTRY_ACTIVE");
}

TEST_F(Live, notify_mode_needs_a_subscriber) {
  auto deaf = connect(7);
  ASSERT_TRUE(deaf->subscribe({}).ok());
  client_->hang_up();
  ASSERT_TRUE(deaf->bind("prog").ok());
  client_ = std::move(deaf);
  EXPECT_EQ(age(bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(age(bfrt_proto::IdleTable::IDLE_TABLE_POLL_MODE).ok());
}

tna::Digest digest(uint64_t source, uint64_t port) {
  return {"pipe.IngressDeparser.learn", {from_uint(source, 6), from_uint(port, 2)}};
}

TEST_F(Live, digests_come_in_lists) {
  Client& c = *client_;
  twin_.digests = {
      digest(0xa, 1), digest(0xb, 2), {"pipe.Nobody", {}}, {"pipe.IngressDeparser.learn", {"x"}}};
  tick();
  const bfrt_proto::DigestList list = c.next().digest();
  EXPECT_EQ(list.digest_id(), 0x8e000001u);
  ASSERT_EQ(list.data_size(), 2);
  EXPECT_EQ(to_uint(list.data(0).fields(0).stream()), 0xau);
  EXPECT_EQ(list.data(1).fields(1).field_id(), 2u);
  EXPECT_EQ(server_.driver(0)->digest_counters().refused, 2u);
  EXPECT_TRUE(absl::IsNotFound(server_.driver(0)->learn({"pipe.Nobody", {}})));
}

TEST_F(Live, who_acknowledges_gets_unacknowledged_lists_again) {
  Client& c = *client_;
  twin_.digests = {digest(1, 1)};
  tick();
  EXPECT_EQ(c.next().digest().list_id(), 1u);
  pass(5000);
  EXPECT_FALSE(c.pending());  // it never acknowledged anything: sent once, as a Tofino's driver does
  bfrt_proto::StreamMessageRequest other;
  other.mutable_digest_ack()->set_digest_id(0x8e000001u);
  other.mutable_digest_ack()->set_list_id(99);
  ASSERT_TRUE(c.send(other));
  // The acknowledgement is on its way: time passes until it has arrived.
  for (int i = 0; i < 1'000'000 && !c.pending(); ++i) {
    pass(1001);
    std::this_thread::yield();
  }
  EXPECT_EQ(c.next().digest().list_id(), 1u);
}

TEST(DigestLedger, forgets_what_is_acknowledged_and_gives_up_in_the_end) {
  bfrt_proto::StreamMessageResponse list;
  list.mutable_digest()->set_digest_id(5);
  DigestLedger ledger;
  EXPECT_EQ(ledger.send(list, 0)->digest().list_id(), 1u);
  EXPECT_EQ(ledger.send(list, 0)->digest().list_id(), 2u);
  EXPECT_TRUE(ledger.overdue(DigestLedger::kTimeoutNs).empty());
  EXPECT_FALSE(ledger.acknowledge(6, 1));
  EXPECT_TRUE(ledger.acknowledge(5, 1));
  EXPECT_FALSE(ledger.acknowledge(5, 1));
  EXPECT_TRUE(ledger.overdue(DigestLedger::kTimeoutNs - 1).empty());
  int64_t now = 0;
  for (int tries = 1; tries < DigestLedger::kTries; ++tries) {
    const auto again = ledger.overdue(now += DigestLedger::kTimeoutNs);
    ASSERT_EQ(again.size(), 1u);
    EXPECT_EQ(again[0]->digest().list_id(), 2u);
  }
  EXPECT_TRUE(ledger.overdue(now += DigestLedger::kTimeoutNs).empty());
  EXPECT_FALSE(ledger.acknowledge(5, 2));
}

}  // namespace
}  // namespace l3dml::server::testing
