// The fake behaves like a switch where controllers rely on it; batches resolve names.
#include "control/target/fake_target.h"

#include <gtest/gtest.h>

namespace l3dml::control::target {
namespace {

constexpr const char* kJson = R"({"tables": [
  {"name": "pipe.Ingress.forwarder.host", "id": 1, "table_type": "MatchAction_Direct", "size": 2,
   "key": [{"id": 1, "name": "hdr.ipv6.dst_addr", "type": {"type": "bytes", "width": 128}}],
   "action_specs": [{"id": 7, "name": "Ingress.forwarder.forward", "data": [
     {"id": 1, "name": "port", "type": {"type": "bytes", "width": 9}}]}]},
  {"name": "pipe.Ingress.stamp", "id": 2, "table_type": "Register", "size": 4,
   "key": [{"id": 65557, "name": "$REGISTER_INDEX", "type": {"type": "uint32"}}],
   "data": [{"mandatory": true, "singleton": {"id": 1, "name": "Ingress.stamp.f1", "type": {"type": "bytes", "width": 32}}}]}
]})";

class FakeTargetTest : public testing::Test {
 protected:
  void SetUp() override { target_ = *FakeTarget::create("test", kJson, 2); }
  Key address(char last) { return Key{}.exact("dst_addr", std::string(15, '\0') + last); }
  Action forward(uint32_t port) { return Action{"forward"}.param("port", port); }
  std::unique_ptr<FakeTarget> target_;
};

TEST_F(FakeTargetTest, resolves_suffixes_and_reads_back) {
  ASSERT_TRUE(target_->write(Batch{}.insert("forwarder.host", address(1), forward(9))).ok());
  const auto row = target_->read("pipe.Ingress.forwarder.host", address(1));
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->action.name(), "Ingress.forwarder.forward");
  EXPECT_EQ(row->action.get("port").number(), 9u);
  EXPECT_EQ(row->key.fields()[0].name, "hdr.ipv6.dst_addr");
}

TEST_F(FakeTargetTest, failed_batch_changes_nothing) {
  const absl::Status status =
      target_->write(Batch{}.insert("host", address(1), forward(9)).insert("host", address(1), forward(8)));
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(target_->usage("host").value(), 0u);
  EXPECT_EQ(target_->write_count(), 0u);
}

TEST_F(FakeTargetTest, refuses_what_a_switch_would) {
  EXPECT_EQ(target_->write(Batch{}.insert("nothing", address(1), forward(9))).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(target_->write(Batch{}.insert("host", address(1), forward(512))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(target_->write(Batch{}.insert("host", Key{}.exact("dst_addr", "short"), forward(1))).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(target_->write(Batch{}.remove("host", address(1))).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(
      target_->write(Batch{}.insert("host", address(1), forward(1)).insert("host", address(2), forward(1)))
          .ok());
  EXPECT_EQ(target_->write(Batch{}.insert("host", address(3), forward(1))).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(FakeTargetTest, registers_have_a_value_per_pipe) {
  ASSERT_TRUE(
      target_->write(Batch{}.write_register("stamp", 3, 7).write_register("stamp", 3, 8).on_pipe(1)).ok());
  EXPECT_EQ(target_->read_register("stamp", 3, 0)->first, 7u);
  EXPECT_EQ(target_->read_register("stamp", 3, 1)->first, 8u);
  EXPECT_FALSE(target_->write(Batch{}.write_register("stamp", 4, 1)).ok());
}

TEST_F(FakeTargetTest, groups_gain_and_lose_members) {
  ASSERT_TRUE(target_
                  ->write(Batch{}.add_group(
                      5, {{.id = 1, .rid = 10, .ports = {4}}, {.id = 2, .rid = 11, .ports = {8}}}))
                  .ok());
  const Key group = Key{}.exact("$MGID", 5);
  EXPECT_EQ(target_->read("$pre.mgid", group)->action.get("$MULTICAST_NODE_ID").numbers(),
            (std::vector<uint32_t>{1, 2}));
  ASSERT_TRUE(target_
                  ->write(Batch{}.remove_members(
                      "$pre.mgid", group, Data{}.param("$MULTICAST_NODE_ID", std::vector<uint32_t>{1})))
                  .ok());
  EXPECT_EQ(target_->read("$pre.mgid", group)->action.get("$MULTICAST_NODE_ID").numbers(),
            (std::vector<uint32_t>{2}));
}

TEST_F(FakeTargetTest, lost_connection_is_told_and_heals) {
  int told = 0;
  target_->on_event([&](const Event& event) { told += event.kind == Event::Kind::disconnected; });
  target_->restart();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(target_->write(Batch{}).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(target_->reconnect().ok());
  EXPECT_TRUE(target_->write(Batch{}).ok());
}

}  // namespace
}  // namespace l3dml::control::target
