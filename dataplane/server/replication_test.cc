// What the packet replication engine is told by the $pre.* tables.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "dataplane/server/driver.h"

namespace l3dml::server {
namespace {

using Node = tna::ReplicationTwin::Node;

class Engine final : public tna::DeviceTwin, tna::Executor, tna::ReplicationTwin {
 public:
  unsigned pipes() const override { return 1; }
  tna::Executor& executor() override { return *this; }
  tna::TableTwin* table(std::string_view) override { return nullptr; }
  tna::RegisterTwin* register_array(std::string_view) override { return nullptr; }
  tna::CounterTwin* counter(std::string_view) override { return nullptr; }
  tna::ReplicationTwin* replication() override { return this; }

  std::map<uint16_t, std::vector<Node>> groups;
  std::map<uint16_t, std::vector<uint16_t>> prune;
  unsigned pauses = 0;

 private:
  void run(const std::function<void()>& function) override {
    ++pauses;
    function();
  }
  void set_group(uint16_t mgid, std::vector<Node> nodes) override { groups[mgid] = std::move(nodes); }
  void remove_group(uint16_t mgid) override { groups.erase(mgid); }
  void set_prune(uint16_t l2_xid, std::vector<uint16_t> ports) override { prune[l2_xid] = std::move(ports); }
};

class ReplicationTest : public testing::Test {
 protected:
  using Ints = std::vector<uint32_t>;
  using Bools = std::vector<bool>;
  struct Field {
    const char* name;
    std::variant<uint32_t, bool, Ints, Bools> value;
  };

  void SetUp() override {
    std::ostringstream text;
    text << std::ifstream(L3DML_TESTDATA "/sample-bf-rt.json").rdbuf();
    auto driver = Driver::create({.program_name = "sample", .program_json = text.str(), .twin = &engine_});
    ASSERT_TRUE(driver.ok()) << driver.status();
    driver_ = *std::move(driver);
  }

  bfrt_proto::Update* add(const char* table, bfrt_proto::Update::Type type, std::optional<uint32_t> key,
                          const std::vector<Field>& fields) {
    const TableInfo& info = *driver_->fixed().table(table);
    request_.mutable_target()->set_pipe_id(kAllPipes);
    bfrt_proto::Update* const update = request_.add_updates();
    update->set_type(type);
    bfrt_proto::TableEntry* const entry = update->mutable_entity()->mutable_table_entry();
    entry->set_table_id(info.id);
    if (key) {
      bfrt_proto::KeyField* const field = entry->mutable_key()->add_fields();
      field->set_field_id(info.key[0].id);
      field->mutable_exact()->set_value(from_uint(*key, info.key[0].byte_count()));
    }
    for (const Field& given : fields) {
      for (const FieldInfo& field : info.data) {
        if (field.name != given.name) continue;
        bfrt_proto::DataField* const out = entry->mutable_data()->add_fields();
        out->set_field_id(field.id);
        if (const auto* number = std::get_if<uint32_t>(&given.value))
          out->set_stream(from_uint(*number, field.byte_count()));
        if (const auto* flag = std::get_if<bool>(&given.value)) out->set_bool_val(*flag);
        if (const auto* list = std::get_if<Ints>(&given.value))
          out->mutable_int_arr_val()->mutable_val()->Add(list->begin(), list->end());
        if (const auto* list = std::get_if<Bools>(&given.value))
          for (const bool item : *list) out->mutable_bool_arr_val()->add_val(item);
      }
    }
    return update;
  }
  // All that was added, in one request.
  void send() {
    for (const Outcome& outcome : driver_->write(request_, {}))
      EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    request_.Clear();
  }
  void add_node(uint32_t id, uint32_t rid, Ints ports, Ints lags = {}) {
    add("$pre.node", bfrt_proto::Update::INSERT, id,
        {{"$MULTICAST_RID", rid}, {"$DEV_PORT", std::move(ports)}, {"$MULTICAST_LAG_ID", std::move(lags)}});
  }
  void add_group(uint32_t group, Ints nodes) {
    const size_t count = nodes.size();
    add("$pre.mgid", bfrt_proto::Update::INSERT, group,
        {{"$MULTICAST_NODE_ID", std::move(nodes)},
         {"$MULTICAST_NODE_L1_XID_VALID", Bools(count, false)},
         {"$MULTICAST_NODE_L1_XID", Ints(count, 0)}});
  }
  std::vector<uint16_t> ports(uint16_t group) {
    std::vector<uint16_t> all;
    for (const Node& node : engine_.groups.at(group))
      all.insert(all.end(), node.ports.begin(), node.ports.end());
    return all;
  }
  void fail_over(bool enable) {
    bfrt_proto::Update* const update = request_.add_updates();
    update->set_type(bfrt_proto::Update::INSERT);
    auto* const attribute = update->mutable_entity()->mutable_table_attribute();
    attribute->set_table_id(driver_->fixed().table("$pre.mgid")->id);
    attribute->mutable_pre_device_config()->mutable_pre_fast_failover()->set_enable(enable);
    send();
  }

  Engine engine_;
  bfrt_proto::WriteRequest request_;
  std::unique_ptr<Driver> driver_;
};

TEST_F(ReplicationTest, a_request_is_one_pause_and_order_does_not_matter_to_the_engine) {
  add_node(1, 7, {4, 8});
  add_node(2, 8, {0});
  add_group(0, {1, 2});
  const unsigned before = engine_.pauses;
  send();
  EXPECT_EQ(engine_.pauses, before + 1);
  ASSERT_EQ(engine_.groups.at(0).size(), 2u);
  EXPECT_EQ(engine_.groups.at(0)[0].rid, 7);
  EXPECT_EQ(ports(0), (std::vector<uint16_t>{4, 8, 0}));
  add("$pre.node", bfrt_proto::Update::MODIFY, 1, {{"$DEV_PORT", Ints{12}}});
  send();
  EXPECT_EQ(ports(0), (std::vector<uint16_t>{12, 0}));
}

TEST_F(ReplicationTest, a_lag_gives_one_member_and_none_if_it_is_remote) {
  const auto lag = [this](Ints members, uint32_t left, uint32_t right) {
    add("$pre.lag", bfrt_proto::Update::MODIFY, 3,
        {{"$DEV_PORT", std::move(members)},
         {"$MULTICAST_LAG_REMOTE_MSB_COUNT", left},
         {"$MULTICAST_LAG_REMOTE_LSB_COUNT", right}});
    send();
  };
  add_node(5, 0, {}, {3});
  add_group(1, {5});
  send();
  EXPECT_TRUE(ports(1).empty());
  lag({4, 8, 12}, 0, 0);
  EXPECT_EQ(ports(1), (std::vector<uint16_t>{12}));  // 5 mod 3
  lag({4, 8, 12}, 0, 3);
  EXPECT_TRUE(ports(1).empty());  // 5 mod 6 lies right of ours
  lag({4, 8, 12}, 3, 0);
  EXPECT_EQ(ports(1), (std::vector<uint16_t>{12}));
}

TEST_F(ReplicationTest, an_ecmp_set_gives_one_node) {
  add_node(1, 1, {4});
  add_node(2, 2, {8});
  add("$pre.ecmp", bfrt_proto::Update::INSERT, 7, {{"$MULTICAST_NODE_ID", Ints{1, 2}}});
  add("$pre.mgid", bfrt_proto::Update::INSERT, 9,
      {{"$MULTICAST_ECMP_ID", Ints{7}},
       {"$MULTICAST_ECMP_L1_XID_VALID", Bools{true}},
       {"$MULTICAST_ECMP_L1_XID", Ints{33}}});
  send();
  EXPECT_EQ(ports(9), (std::vector<uint16_t>{8}));  // 7 mod 2
  EXPECT_TRUE(engine_.groups.at(9)[0].xid_valid);
  EXPECT_EQ(engine_.groups.at(9)[0].xid, 33);
  add("$pre.ecmp", bfrt_proto::Update::MODIFY, 7, {{"$MULTICAST_NODE_ID", Ints{1}}});
  send();
  EXPECT_EQ(ports(9), (std::vector<uint16_t>{4}));
}

TEST_F(ReplicationTest, a_port_that_does_not_forward_is_left_out_or_backed_up) {
  add_node(1, 1, {4, 8});
  add_group(2, {1});
  add("$pre.port", bfrt_proto::Update::MODIFY, 4, {{"$MULTICAST_BACKUP_PORT", 16u}});
  send();
  EXPECT_EQ(ports(2), (std::vector<uint16_t>{4, 8}));
  add("$pre.port", bfrt_proto::Update::MODIFY, 4, {{"$MULTICAST_FORWARD_STATE", false}});
  send();
  EXPECT_EQ(ports(2), (std::vector<uint16_t>{8}));
  fail_over(true);
  EXPECT_EQ(ports(2), (std::vector<uint16_t>{16, 8}));
  fail_over(false);
  EXPECT_EQ(ports(2), (std::vector<uint16_t>{8}));
  add("$pre.port", bfrt_proto::Update::MODIFY, 4, {{"$MULTICAST_FORWARD_STATE", true}});
  send();
  EXPECT_EQ(ports(2), (std::vector<uint16_t>{4, 8}));
}

TEST_F(ReplicationTest, pruning_reaches_the_engine) {
  add("$pre.prune", bfrt_proto::Update::MODIFY, 12, {{"$DEV_PORT", Ints{0, 4}}});
  send();
  EXPECT_EQ(engine_.prune.at(12), (std::vector<uint16_t>{0, 4}));
  driver_->wipe();
  EXPECT_TRUE(engine_.groups.empty());
}

}  // namespace
}  // namespace l3dml::server
