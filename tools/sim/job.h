// One job of a scenario: the coordinator with a planner, the members, the ledger of the running epoch, and
// the carrier of messages between them. Messages to one receiver keep their order; they take as long as the
// scenario says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "control/jobs/coordinator.h"
#include "tools/sim/device_program.h"
#include "tools/sim/ledger.h"
#include "tools/sim/member.h"
#include "tools/sim/random.h"
#include "tools/sim/scenario.h"
#include "tools/sim/workload.h"

namespace l3dml::sim {

class World;

class Job final : public control::Planner {
 public:
  Job(World* world, uint32_t index, const JobSpec& spec, Random random);

  void start();
  void timer();                                               // of the coordinator
  void tell(const control::Report& report, uint32_t sender);  // reaches the coordinator after a while
  void report(const control::Report& report);                 // reaches it now
  void member_dies(uint32_t member, int64_t noticed_after_ns);
  void member_joins(uint32_t joiner);
  void member_silent(uint32_t member, int64_t until_ns);
  std::optional<control::EpochPlan> plan(const std::set<control::MemberId>& members,
                                         const std::set<control::SwitchId>& switches) override;

  bool done() const;
  uint32_t index() const { return index_; }
  const JobSpec& spec() const { return spec_; }
  World& world() { return world_; }
  Workload& workload() { return workload_; }
  Member& member(uint32_t i) { return *members_[i]; }
  const Member& member(uint32_t i) const { return *members_[i]; }
  uint32_t member_count() const { return static_cast<uint32_t>(members_.size()); }
  const control::Coordinator& coordinator() const { return coordinator_; }
  Ledger* ledger(uint8_t epoch) {
    return ledger_ && ledger_->shape().epoch == epoch ? ledger_.get() : nullptr;
  }
  uint32_t scaled_world() const { return static_cast<uint32_t>(spec_.members.size() + spec_.joiners.size()); }

  host::StripeConfig stripe_config(uint32_t member, uint8_t epoch, uint32_t first_number,
                                   uint32_t window) const {
    return stripe_config(member, *member_tree_, epoch, first_number, window);
  }
  int64_t gap(int64_t mean_ns);  // exponentially distributed
  uint64_t epochs() const { return epochs_; }
  bool number_wrapped() const { return wrapped_ || (ledger_ && ledger_->wrapped()); }  // in some epoch
  static constexpr uint32_t kSwitchSender = 1u << 20;  // senders: members, and switches from here on

 private:
  Tree draw_tree(const std::vector<uint32_t>& members, const std::vector<uint32_t>& devices);
  void carry_commands();
  void carry(const control::Command& command);
  void at_switch(const control::RemoveAdmission& command);
  void at_switch(const control::InstallAdmission& command, const std::shared_ptr<const Tree>& tree);
  host::StripeConfig first_config(uint32_t member) const;
  host::StripeConfig stripe_config(uint32_t member, const Tree& tree, uint8_t epoch, uint32_t first_number,
                                   uint32_t window) const;
  int64_t arrival(uint64_t receiver);  // of a message sent now
  void new_ledger(uint8_t epoch, uint32_t first_number);

  World& world_;
  uint32_t index_;
  JobSpec spec_;
  Random random_;
  Workload workload_;
  std::vector<std::unique_ptr<Member>> members_;  // joiners last
  std::vector<uint32_t> member_hosts_;
  std::vector<uint16_t> member_ports_;
  uint8_t first_epoch_number_;
  control::Coordinator coordinator_;
  int64_t timer_ns_ = base::kNever;
  std::map<uint64_t, int64_t> last_arrival_ns_;  // by receiver
  std::map<uint32_t, uint32_t> switch_change_;   // newest change a switch has heard of
  std::shared_ptr<const Tree> tree_;             // of the newest plan
  std::shared_ptr<const Tree> member_tree_;      // of the command that a member is given
  control::EpochPlan plan_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<int64_t> silent_until_ns_;  // by member: no message gets through before
  bool first_epoch_ = true, wrapped_ = false;
  uint64_t epochs_ = 0;
};

}  // namespace l3dml::sim
