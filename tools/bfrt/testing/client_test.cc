// The controller's own client against the driver, over a real socket: what the checklist asks of any client.
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>

#include <gtest/gtest.h>

#include "control/target/bfrt_target.h"
#include "dataplane/server/server.h"

namespace l3dml {
namespace {

using control::target::Action;
using control::target::Atomicity;
using control::target::Batch;
using control::target::Data;
using control::target::Event;
using control::target::Key;
using control::target::SwitchTarget;

const char* const kRoutes = "pipe.Ig.route_host";

class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ostringstream text;
    text << std::ifstream(L3DML_SAMPLE).rdbuf();
    for (uint32_t device : {0, 1}) {
      auto driver = server::Driver::create(
          {.device_id = device, .program_name = "sample", .program_json = text.str(), .pipes = 2});
      ASSERT_TRUE(driver.ok()) << driver.status();
      ASSERT_TRUE(server_.add_device(*std::move(driver)).ok());
    }
    ASSERT_TRUE(server_.start("127.0.0.1:0").ok());
  }
  absl::StatusOr<std::unique_ptr<SwitchTarget>> connect(uint32_t client = 1, uint32_t device = 0) {
    return control::target::connect_bfrt(
        {.address = "127.0.0.1:" + std::to_string(server_.port()), .device_id = device, .client_id = client});
  }
  std::unique_ptr<SwitchTarget> target(uint32_t client = 1, uint32_t device = 0) {
    auto connected = connect(client, device);
    EXPECT_TRUE(connected.ok()) << connected.status();
    return connected.ok() ? *std::move(connected) : nullptr;
  }
  static Key route(uint64_t n) { return Key{}.exact("h.ip.dst_hi", n).exact("h.ip.dst_lo", n); }
  static Action next_hop(uint32_t port) {
    return Action{"Ig.set_nh"}.param("port", port).param("dmac", port);
  }

  server::BfrtServer server_;
};

TEST_F(ClientTest, one_owner_per_program_and_device) {
  auto first = target();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->program(), "sample");
  EXPECT_EQ(connect(2).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(connect(1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(connect(2, 1).ok());
  EXPECT_FALSE(connect(3, 2).ok());
  first.reset();
  EXPECT_TRUE(connect(2).ok());
}

TEST_F(ClientTest, entries_defaults_and_usage) {
  auto t = target();
  ASSERT_NE(t, nullptr);
  ASSERT_TRUE(
      t->write(Batch{}.insert(kRoutes, route(1), next_hop(3)).insert(kRoutes, route(2), next_hop(4))).ok());
  EXPECT_EQ(t->read(kRoutes, route(1))->action.get("port").number(), 3u);
  EXPECT_EQ(*t->usage(kRoutes), 2u);
  EXPECT_EQ(t->write(Batch{}.insert(kRoutes, route(1), next_hop(5))).code(),
            absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(
      t->write(Batch{}.modify(kRoutes, route(1), next_hop(6)).upsert(kRoutes, route(3), next_hop(7))).ok());
  EXPECT_EQ(t->read(kRoutes, route(1))->action.get("port").number(), 6u);
  EXPECT_EQ(t->write(Batch{}.remove(kRoutes, route(9))).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(t->read(kRoutes, route(9)).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(t->write(Batch{}.clear(kRoutes)).ok());
  EXPECT_EQ(*t->usage(kRoutes), 0u);
}

TEST_F(ClientTest, a_failed_batch_is_undone_or_carried_on) {
  auto t = target();
  ASSERT_NE(t, nullptr);
  const Batch batch = Batch{}
                          .insert(kRoutes, route(1), next_hop(1))
                          .insert(kRoutes, route(1), next_hop(2))
                          .insert(kRoutes, route(2), next_hop(3));
  EXPECT_EQ(t->write(batch).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*t->usage(kRoutes), 0u);
  EXPECT_EQ(t->write(batch, Atomicity::best_effort).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(*t->usage(kRoutes), 2u);
}

TEST_F(ClientTest, registers_have_a_value_per_pipe) {
  auto t = target();
  ASSERT_NE(t, nullptr);
  ASSERT_TRUE(t->write(Batch{}.write_register("pipe.Ig.bitmap", 5, 7, 8)).ok());
  ASSERT_TRUE(t->write(Batch{}.write_register("pipe.Ig.bitmap", 5, 9, 10).on_pipe(1)).ok());
  const auto cells = t->read_registers("pipe.Ig.bitmap", 4, 2);
  ASSERT_TRUE(cells.ok()) << cells.status();
  ASSERT_EQ(cells->size(), 2u);
  ASSERT_EQ((*cells)[1].size(), 2u);
  EXPECT_EQ((*cells)[0][0].first, 0u);
  EXPECT_EQ((*cells)[1][0].first, 7u);
  EXPECT_EQ((*cells)[1][1].second, 10u);
}

TEST_F(ClientTest, groups_have_nodes) {
  auto t = target();
  ASSERT_NE(t, nullptr);
  ASSERT_TRUE(t->write(Batch{}.add_group(
                           0, {{.id = 1, .rid = 2, .ports = {4, 8}}, {.id = 2, .rid = 3, .ports = {0}}}))
                  .ok());
  EXPECT_EQ(t->read("$pre.mgid", Key{}.exact("$MGID", 0))->action.get("$MULTICAST_NODE_ID").numbers().size(),
            2u);
  ASSERT_TRUE(t->write(Batch{}.remove_group(0, {1, 2})).ok());
  EXPECT_EQ(*t->usage("$pre.node"), 0u);
}

TEST_F(ClientTest, ports_come_go_and_tell) {
  auto t = target();
  ASSERT_NE(t, nullptr);
  std::mutex mutex;
  std::condition_variable heard;
  std::vector<std::pair<uint32_t, bool>> told;
  t->on_event([&](const Event& event) {
    const std::lock_guard lock(mutex);
    if (event.kind == Event::Kind::port_status) told.emplace_back(event.port, event.up);
    heard.notify_all();
  });
  ASSERT_TRUE(t->set_port_events(true).ok());
  ASSERT_TRUE(t->add_port(4).ok());
  EXPECT_EQ(t->add_port(4).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(t->port(4)->name, "2/0");
  EXPECT_TRUE(t->port(4)->up);
  EXPECT_EQ(*t->port_statistic(4, "$FramesReceivedOK"), 0u);
  ASSERT_TRUE(t->enable_port(4, false).ok());
  EXPECT_FALSE(t->port(4)->up);
  std::unique_lock lock(mutex);
  ASSERT_TRUE(heard.wait_for(lock, std::chrono::seconds(30), [&] { return told.size() == 2; }));
  EXPECT_EQ(told, (std::vector<std::pair<uint32_t, bool>>{{4, true}, {4, false}}));
  lock.unlock();
  t->on_event(nullptr);
  ASSERT_TRUE(t->remove_port(4).ok());
  EXPECT_EQ(t->port(4).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace l3dml
