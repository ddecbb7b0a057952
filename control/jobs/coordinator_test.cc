#include "control/jobs/coordinator.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace l3dml::control {
namespace {

constexpr uint32_t kWindow = 4;

// Plans everybody and every switch that is there.
class EveryonePlanner final : public Planner {
 public:
  std::optional<EpochPlan> plan(const std::set<MemberId>& members,
                                const std::set<SwitchId>& switches) override {
    if (switches.empty()) return std::nullopt;
    EpochPlan plan;
    plan.members.assign(members.begin(), members.end());
    plan.switches.assign(switches.begin(), switches.end());
    plan.window = kWindow;
    plan.ring = 8;
    return plan;
  }
};

// A job whose members and switches answer at once, unless they are told to be silent.
class CoordinatorTest : public testing::Test {
 protected:
  struct Member {
    uint8_t epoch = 0;
    std::vector<std::optional<uint32_t>> held;
    uint64_t begun = 0, finished = 0;
    std::optional<uint64_t> stop_before;
    uint64_t first_collective = 0;
    bool running = false;
    std::string error;
  };

  void make(std::set<MemberId> members, std::set<SwitchId> switches, CoordinatorConfig config = {}) {
    config.answer_time_ns = 100;
    for (MemberId id : members) members_[id];
    coordinator_ = std::make_unique<Coordinator>(config, &planner_, members, switches);
  }

  void run() {  // until nobody has anything to say
    for (bool busy = true; busy;) {
      busy = false;
      for (const Command& command : coordinator_->take_commands()) {
        busy = true;
        std::visit([this](const auto& c) { obey(c); }, command);
      }
    }
  }
  void say(const Report& report) {
    coordinator_->handle(report, now_ns_);
    run();
  }
  void time_out() {
    now_ns_ = coordinator_->next_deadline_ns();
    coordinator_->tick(now_ns_);
    run();
  }

  void obey(const PauseMember& c) {
    Member& m = members_[c.member];
    m.running = false;
    if (!silent_members_.contains(c.member))
      coordinator_->handle(
          MemberPaused{c.change, c.member, m.epoch, m.held, m.begun, m.finished, m.begun * 10}, now_ns_);
  }
  void obey(const RemoveAdmission& c) {
    if (silent_switches_.contains(c.to)) return;
    admitted_[c.to] = 0;
    coordinator_->handle(SwitchDone{c.change, c.to}, now_ns_);
  }
  void obey(const InstallAdmission& c) {
    for (const auto& [id, epoch] : admitted_) {
      if (silent_switches_.contains(id) || id == c.to) continue;
      EXPECT_TRUE(epoch == 0 || epoch == c.epoch);
    }
    installs_.push_back(c);
    if (silent_switches_.contains(c.to)) return;
    admitted_[c.to] = c.epoch;
    coordinator_->handle(SwitchDone{c.change, c.to}, now_ns_);
  }
  void obey(const FetchCopies& c) {
    ++fetches_;
    if (silent_members_.contains(c.holder)) return;
    CopiesFetched answer{c.change, c.holder, {}};
    for (uint32_t number : c.numbers) answer.copies.push_back({number, 0, 0, 1, {number}});
    coordinator_->handle(answer, now_ns_);
  }
  void obey(const DeliverCopies& c) {
    for (const ResultCopy& copy : c.copies) {
      delivered_[c.member].push_back(copy.number);
      members_[c.member].held[copy.number % kWindow] = copy.number;
    }
    coordinator_->handle(CopiesDelivered{c.change, c.member}, now_ns_);
  }
  void obey(const ResumeMember& c) {
    if (silent_members_.contains(c.member)) return;
    Member& m = members_[c.member];
    m.epoch = c.epoch;
    m.held.assign(c.window, std::nullopt);
    m.stop_before = c.stop_before;
    m.first_collective = c.first_collective;
    m.running = true;
    coordinator_->handle(MemberResumed{c.change, c.member}, now_ns_);
  }
  void obey(const FailMember& c) { members_[c.member].error = c.reason; }

  bool all_running(std::set<MemberId> ids) {
    return std::all_of(ids.begin(), ids.end(), [&](MemberId id) {
      return members_[id].running && members_[id].epoch == coordinator_->epoch();
    });
  }
  void hold(MemberId id, uint32_t position, int times) {
    members_[id].held[position] =
        coordinator_->first_number() + position + static_cast<uint32_t>(times - 1) * kWindow;
  }

  EveryonePlanner planner_;
  std::unique_ptr<Coordinator> coordinator_;
  int64_t now_ns_ = 0;
  std::map<MemberId, Member> members_;
  std::map<SwitchId, int> admitted_;
  std::set<MemberId> silent_members_;
  std::set<SwitchId> silent_switches_;
  std::vector<InstallAdmission> installs_;
  std::map<MemberId, std::vector<uint32_t>> delivered_;
  int fetches_ = 0;
};

TEST_F(CoordinatorTest, brings_a_job_up) {
  make({1, 2}, {7, 8});
  coordinator_->start(0);
  run();
  EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::running);
  EXPECT_TRUE(all_running({1, 2}));
  EXPECT_EQ(coordinator_->first_number(), 8u);
  EXPECT_EQ(admitted_[7], 1);
}

TEST_F(CoordinatorTest, hands_a_final_result_to_the_member_that_lacks_it) {
  make({1, 2}, {7});
  coordinator_->start(0);
  run();
  hold(1, 0, 2), hold(2, 0, 1);
  hold(1, 3, 1), hold(2, 3, 1);
  say(ChangeWanted{});
  EXPECT_EQ(delivered_[2], (std::vector<uint32_t>{12}));
  EXPECT_TRUE(delivered_[1].empty());
  EXPECT_TRUE(all_running({1, 2}));
}

TEST_F(CoordinatorTest, goes_on_without_a_member_that_does_not_answer) {
  make({1, 2, 3}, {7});
  coordinator_->start(0);
  run();
  silent_members_ = {3};
  say(ChangeWanted{});
  EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::pausing);
  time_out();
  EXPECT_TRUE(all_running({1, 2}));
  EXPECT_FALSE(members_[3].error.empty());
}

TEST_F(CoordinatorTest, starts_over_when_a_holder_is_lost_before_all_have_its_result) {
  make({1, 2, 3}, {7});
  coordinator_->start(0);
  run();
  hold(1, 0, 1);
  coordinator_->handle(ChangeWanted{}, 0);
  // All report, then the holder falls silent.
  auto commands = coordinator_->take_commands();
  for (const Command& c : commands) std::visit([this](const auto& x) { obey(x); }, c);
  silent_members_ = {1};
  run();
  ASSERT_EQ(coordinator_->phase(), Coordinator::Phase::fetching);
  time_out();
  EXPECT_TRUE(all_running({2, 3}));
  EXPECT_TRUE(delivered_.empty());  // what it held is final no more: nobody else has it
}

TEST_F(CoordinatorTest, leaves_out_a_switch_that_does_not_confirm) {
  make({1}, {7, 8});
  coordinator_->start(0);
  run();
  silent_switches_ = {8};
  say(ChangeWanted{});
  EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::removing);
  time_out();
  EXPECT_TRUE(all_running({1}));
  EXPECT_EQ(coordinator_->plan().switches, (std::vector<SwitchId>{7}));
}

TEST_F(CoordinatorTest, takes_a_new_epoch_when_an_install_is_not_confirmed) {
  make({1}, {7, 8});
  silent_switches_ = {8};
  coordinator_->start(0);
  run();
  EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::installing);
  time_out();
  EXPECT_TRUE(all_running({1}));
  EXPECT_EQ(coordinator_->epoch(), 2);
}

TEST_F(CoordinatorTest, counts_a_restarted_switch_as_stamp_zero_and_overwrites_it_where_zero_is_too_far) {
  CoordinatorConfig config;
  config.newest_number = 0xfffffff0u;
  config.stamps = {true, 0xfffffff0u, 0xfffffff0u};
  make({1}, {7}, config);
  coordinator_->start(0);
  run();
  EXPECT_EQ(coordinator_->first_number(), 0xfffffff8u);
  EXPECT_FALSE(installs_.back().overwrite_stamps);
  say(SwitchReturned{7, true});
  EXPECT_EQ(coordinator_->first_number(), 8u);  // past the wrap, never 0, and newer than the cleared stamps
  EXPECT_FALSE(installs_.back().overwrite_stamps);
  config.newest_number = 0x70000000u;
  config.stamps = {true, 0x70000000u, 0x70000000u};
  make({1}, {7}, config);
  coordinator_->start(0);
  run();
  say(SwitchReturned{7, true});
  EXPECT_TRUE(installs_.back().overwrite_stamps);
}

TEST_F(CoordinatorTest, lets_a_joiner_start_with_the_first_collective_nobody_has_begun) {
  make({1, 2}, {7});
  coordinator_->start(0);
  run();
  members_[1].begun = 3, members_[1].finished = 2;
  members_[2].begun = 2, members_[2].finished = 2;
  say(MemberJoins{9});
  EXPECT_TRUE(all_running({1, 2}));
  EXPECT_FALSE(members_[9].running);
  EXPECT_EQ(members_[2].stop_before, 3u);
  for (MemberId id : {1, 2}) members_[id].begun = members_[id].finished = 3;
  const uint32_t change = coordinator_->change();
  say(MemberDrained{change, 1});
  EXPECT_FALSE(members_[9].running);
  say(MemberDrained{change, 2});
  EXPECT_TRUE(all_running({1, 2, 9}));
  EXPECT_EQ(members_[9].first_collective, 3u);
}

TEST_F(CoordinatorTest, ends_every_call_when_no_tree_is_possible) {
  make({1, 2}, {7});
  coordinator_->start(0);
  run();
  silent_switches_ = {7};
  say(SwitchLost{7});
  EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::ended);
  EXPECT_NE(members_[1].error.find("no aggregation tree"), std::string::npos);
  members_[9];
  say(MemberJoins{9});  // too late: told so, not left waiting
  EXPECT_NE(members_[9].error.find("no aggregation tree"), std::string::npos);
}

}  // namespace
}  // namespace l3dml::control
