#include "control/api/testing.h"

namespace l3dml::control {
namespace {

using testing::ControllerTest;

TEST_F(ControllerTest, a_job_is_installed_joined_and_ends_when_all_have_left) {
  const auto created = controller_->create_job(job());
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->state, "waiting");
  EXPECT_EQ(created->plan.lanes, 64u) << "the switches hold no more, whatever was wished for";
  EXPECT_GT(admitted("west"), 0u);
  EXPECT_GT(admitted("east"), 0u);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const auto member =
        controller_->join({"train", created->token, std::vector<std::string>{"w0", "w1", "e0", "e1"}[rank]});
    ASSERT_TRUE(member.ok()) << member.status();
    EXPECT_EQ(member->rank, rank);
    EXPECT_NE(member->config.find("\"aggregator\""), std::string::npos);
  }
  EXPECT_EQ(controller_->job("train")->state, "running");
  for (uint32_t rank = 0; rank < 4; ++rank)
    ASSERT_TRUE(controller_->leave("train", created->token, rank).ok());
  EXPECT_EQ(controller_->job("train")->state, "ended");
  EXPECT_EQ(admitted("west"), 0u);
}

TEST_F(ControllerTest, calls_may_be_repeated_but_not_contradicted) {
  const auto first = controller_->create_job(job());
  const auto again = controller_->create_job(job());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->token, first->token);
  JobSpecification other = job();
  other.lanes = 64;
  EXPECT_EQ(controller_->create_job(other).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(controller_->add_site({"west", "switch:50052", 0, false}).ok());
  EXPECT_EQ(controller_->add_site({"west", "elsewhere:1", 0, false}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(controller_->delete_job("train").ok());
  EXPECT_TRUE(controller_->delete_job("train").ok());
}

TEST_F(ControllerTest, without_the_token_nobody_gets_an_index) {
  ASSERT_TRUE(controller_->create_job(job()).ok());
  EXPECT_EQ(controller_->join({"train", "guess", "w0"}).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(controller_->join({"other", "guess", "w0"}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ControllerTest, a_lease_that_runs_out_ends_the_job_with_the_workers_name) {
  const auto created = controller_->create_job(job());
  join_all(*created);
  pass(9);
  for (const uint32_t rank : {0u, 1u, 3u})
    ASSERT_TRUE(controller_->renew("train", created->token, rank).ok());
  pass(0.5);
  EXPECT_EQ(controller_->job("train")->state, "running");
  pass(2);
  const auto ended = controller_->renew("train", created->token, 0);
  EXPECT_EQ(ended->state, "ended");
  EXPECT_EQ(ended->reason, "rank 2 on host e0 is gone: its lease ran out");
  EXPECT_EQ(admitted("east"), 0u);
}

TEST_F(ControllerTest, leases_stand_still_while_nobody_could_have_been_heard) {
  const auto created = controller_->create_job(job());
  join_all(*created);
  pass(1);
  now_ns_ += 60'000'000'000;  // stopped, starved, or waiting for a switch
  controller_->tick();
  EXPECT_EQ(controller_->job("train")->state, "running");
  pass(8);
  EXPECT_EQ(controller_->job("train")->state, "running");
  pass(2);
  EXPECT_EQ(controller_->job("train")->state, "ended");
}

TEST_F(ControllerTest, a_restarted_controller_writes_nothing_and_remembers_everything) {
  const auto created = controller_->create_job(job());
  join_all(*created);
  const std::string before = controller_->job("train")->plan.limit;
  for (auto& [site, fake] : fakes_) fake->clear_log();
  start();
  EXPECT_EQ(controller_->job("train")->state, "running");
  EXPECT_EQ(controller_->job("train")->plan.limit, before);
  for (auto& [site, fake] : fakes_) EXPECT_TRUE(fake->log().empty()) << site;
  EXPECT_TRUE(controller_->renew("train", created->token, 1).ok());
  const auto second = controller_->create_job(job("second"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(second->plan.stripes[0].job, created->plan.stripes[0].job);
  EXPECT_NE(second->plan.stripes[0].aggregators[0].slot_base,
            created->plan.stripes[0].aggregators[0].slot_base);
}

TEST_F(ControllerTest, a_switch_that_restarts_empty_gets_everything_back) {
  ASSERT_TRUE(controller_->create_job(job()).ok());
  const size_t entries = admitted("east");
  fakes_.at("east")->restart();
  controller_->tick();
  EXPECT_EQ(admitted("east"), entries);
  EXPECT_TRUE(controller_->devices()[1].connected);
}

TEST_F(ControllerTest, a_switch_that_cannot_be_reached_is_tried_again_and_named) {
  fakes_.at("east")->refuse_reconnect(absl::UnavailableError("nobody answers"));
  fakes_.at("east")->lose_connection();
  controller_->tick();
  EXPECT_FALSE(controller_->devices()[1].connected);
  EXPECT_EQ(controller_->create_job(job()).status().message(),
            "the switch of site east cannot be reached: nobody answers");
  fakes_.at("east")->refuse_reconnect(absl::OkStatus());
  now_ns_ += 10'000'000'000;
  controller_->tick();
  EXPECT_TRUE(controller_->devices()[1].connected);
  EXPECT_TRUE(controller_->create_job(job()).ok());
}

TEST_F(ControllerTest, a_new_job_starts_above_the_stamps_that_are_there) {
  for (uint32_t slot = 0; slot < 2048; ++slot)
    fakes_.at("west")->set_cell("pipe.Ingress.slot_state.stamp", slot, 0, {10'000 + slot, 0});
  const auto created = controller_->create_job(job());
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_GT(created->plan.stripes[0].first_number, 12'047u);
}

}  // namespace
}  // namespace l3dml::control
