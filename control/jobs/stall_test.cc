// How long an epoch change holds a member up, in virtual time: the coordinator's messages take half a control
// round trip each way, members and switches answer at once. From the pause to the resume it may take three
// control round trips and 100 ms; what comes on top is the data round trip of the first result.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>

#include <gtest/gtest.h>

#include "control/jobs/coordinator.h"

namespace l3dml::control {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kWindow = 4;

class Everyone final : public Planner {
 public:
  std::optional<EpochPlan> plan(const std::set<MemberId>& members,
                                const std::set<SwitchId>& switches) override {
    EpochPlan plan;
    plan.members.assign(members.begin(), members.end());
    plan.switches.assign(switches.begin(), switches.end());
    plan.window = kWindow;
    plan.ring = 2 * kWindow;
    return plan;
  }
};

class Network {
 public:
  Network(int64_t member_rtt_ns, int64_t switch_rtt_ns)
      : member_ns_(member_rtt_ns), switch_ns_(switch_rtt_ns) {
    CoordinatorConfig config;
    config.answer_time_ns = 10'000 * kMs;
    coordinator_ = std::make_unique<Coordinator>(config, &planner_, std::set<MemberId>{1, 2, 3},
                                                 std::set<SwitchId>{7, 8});
    coordinator_->start(0);
    run();
    longest_ns_ = 0;
  }

  // `lacks`: member 2 misses a result that 1 and 3 hold, so copies are fetched and delivered.
  int64_t change(bool lacks) {
    for (const MemberId id : {1u, 3u}) members_[id].held[0] = coordinator_->first_number();
    if (!lacks) members_[2].held[0] = coordinator_->first_number();
    coordinator_->handle(ChangeWanted{}, now_ns_);
    run();
    EXPECT_EQ(coordinator_->phase(), Coordinator::Phase::running);
    return longest_ns_;
  }
  bool copied() const { return copied_; }

 private:
  struct Member {
    uint8_t epoch = 0;
    std::vector<std::optional<uint32_t>> held;
    int64_t paused_ns = -1;
  };
  struct Event {
    int64_t at_ns;
    uint64_t order;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return std::pair(at_ns, order) > std::pair(other.at_ns, other.order);
    }
  };
  void after(int64_t delay_ns, std::function<void()> what) {
    events_.push({now_ns_ + delay_ns, order_++, std::move(what)});
  }
  void run() {
    send();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ns_ = event.at_ns;
      event.what();
      send();
    }
  }
  void send() {
    for (const Command& command : coordinator_->take_commands())
      std::visit([this](const auto& c) { carry(c); }, command);
  }
  template <typename Answer>
  void reply(int64_t rtt_ns, Answer answer) {
    after(rtt_ns / 2, [this, answer] { coordinator_->handle(answer, now_ns_); });
  }
  void carry(const PauseMember& c) {
    after(member_ns_ / 2, [this, c] {
      Member& m = members_[c.member];
      m.paused_ns = now_ns_;
      reply(member_ns_, MemberPaused{c.change, c.member, m.epoch, m.held, 1, 0, 1});
    });
  }
  void carry(const FetchCopies& c) {
    after(member_ns_ / 2, [this, c] {
      CopiesFetched answer{c.change, c.holder, {}};
      for (const uint32_t number : c.numbers) answer.copies.push_back({number, 0, 0, 1, {number}});
      reply(member_ns_, answer);
    });
  }
  void carry(const DeliverCopies& c) {
    copied_ = true;
    after(member_ns_ / 2, [this, c] { reply(member_ns_, CopiesDelivered{c.change, c.member}); });
  }
  void carry(const ResumeMember& c) {
    after(member_ns_ / 2, [this, c] {
      Member& m = members_[c.member];
      m.epoch = c.epoch;
      m.held.assign(c.window, std::nullopt);
      longest_ns_ = std::max(longest_ns_, now_ns_ - m.paused_ns);
      reply(member_ns_, MemberResumed{c.change, c.member});
    });
  }
  void carry(const RemoveAdmission& c) {
    after(switch_ns_ / 2, [this, c] { reply(switch_ns_, SwitchDone{c.change, c.to}); });
  }
  void carry(const InstallAdmission& c) {
    after(switch_ns_ / 2, [this, c] { reply(switch_ns_, SwitchDone{c.change, c.to}); });
  }
  void carry(const FailMember& c) { ADD_FAILURE() << c.member << ": " << c.reason; }

  const int64_t member_ns_, switch_ns_;
  Everyone planner_;
  std::unique_ptr<Coordinator> coordinator_;
  std::map<MemberId, Member> members_;
  std::priority_queue<Event> events_;
  uint64_t order_ = 0;
  int64_t now_ns_ = 0, longest_ns_ = 0;
  bool copied_ = false;
};

TEST(Stall, is_at_most_three_control_round_trips_and_100_ms) {
  for (const int64_t rtt_ms : {0, 1, 10, 50, 200, 1000}) {
    Network network(rtt_ms * kMs, rtt_ms * kMs);
    const int64_t stall_ns = network.change(false);
    EXPECT_FALSE(network.copied());
    EXPECT_EQ(stall_ns, 3 * rtt_ms * kMs) << "pause, remove, install and resume";
  }
}

// Copies of results take two more; so the bound holds while switches answer their controller within 50 ms.
TEST(Stall, stays_within_that_when_results_are_copied_and_switches_are_near) {
  for (const int64_t member_ms : {1, 50, 300})
    for (const int64_t switch_ms : {0, 1, 50}) {
      Network network(member_ms * kMs, switch_ms * kMs);
      const int64_t stall_ns = network.change(true);
      EXPECT_TRUE(network.copied());
      EXPECT_EQ(stall_ns, (3 * member_ms + 2 * switch_ms) * kMs);
      EXPECT_LE(stall_ns, (3 * std::max(member_ms, switch_ms) + 100) * kMs);
    }
}

}  // namespace
}  // namespace l3dml::control
