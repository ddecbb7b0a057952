// Changes the epoch of one stripe (DESIGN section 5, "Changing a running job"): pause, remove, copy, install,
// resume. Sans-I/O: it is handed reports and the time, and leaves commands; who carries them (gRPC, the
// simulator) is not its business. Reports may come late, twice, or never. One thread. Nothing here fails:
// whoever does not answer in time is left out, and when nobody is left, the members' calls end with an error.
//
// Any loss in mid-change goes back to the pause under a new change number and a new epoch, so each step may
// assume that all it heard in this change still holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/jobs/epoch_messages.h"

namespace l3dml::control {

// Chooses the tree. Called between "all have reported" and "install"; the result stays the plan of the epoch.
class Planner {
 public:
  virtual ~Planner() = default;
  // nullopt: no tree is possible; the job ends with an error.
  virtual std::optional<EpochPlan> plan(const std::set<MemberId>& members,
                                        const std::set<SwitchId>& switches) = 0;
  // Where joiners begin. Stripes of one job must say the same, so whoever sees them all answers: `begun`
  // collectives is the furthest of this stripe's members, `done` if all of them are finished. Not agreed:
  // this stripe stops before `collective`; a change is wanted of it when that has moved or all stripes have
  // stopped.
  struct JoinPoint {
    uint64_t collective = 0;
    bool agreed = false;  // for good
  };
  virtual JoinPoint join_point(uint64_t begun, bool done) { return {begun, done}; }
};

struct CoordinatorConfig {
  uint8_t epoch = 0;           // the first change leads to epoch + 1
  uint32_t newest_number = 0;  // no number of the job is newer
  Stamps stamps;               // what the ranges hold at the start
  int64_t answer_time_ns = 0;  // who has not answered after this long is left out
};

class Coordinator {
 public:
  enum class Phase { idle, pausing, removing, fetching, delivering, installing, resuming, running, ended };

  Coordinator(const CoordinatorConfig& config, Planner* planner, const std::set<MemberId>& members,
              const std::set<SwitchId>& switches);

  void start(int64_t now_ns);  // brings the job up: the first change
  // Instead of start(): the job runs already, installed by somebody else or before we came to be. Stamps of
  // the plan's switches are not known. `newest_epoch`: newest that may have been installed anywhere.
  void adopt(const EpochPlan& plan, uint8_t epoch, uint8_t newest_epoch, uint32_t first_number);
  // A member has heard of this change, perhaps from a coordinator before us: the next ones are newer.
  void heard_change(uint32_t change, int64_t now_ns);
  void handle(const Report& report, int64_t now_ns);
  void tick(int64_t now_ns);             // call when next_deadline_ns() has come; earlier is harmless
  int64_t next_deadline_ns() const;      // INT64_MAX when nothing waits
  std::vector<Command> take_commands();  // in order; the caller carries them out

  Phase phase() const { return phase_; }
  uint8_t epoch() const { return epoch_; }
  uint32_t change() const { return change_; }
  uint32_t first_number() const { return first_number_; }
  const EpochPlan& plan() const { return plan_; }
  const std::set<MemberId>& members() const { return members_; }
  const std::string& end_reason() const { return end_reason_; }

 private:
  struct Switch {
    bool reachable = true;
    bool clean = true;           // confirmed that it admits no epoch of this job
    bool follows_epoch = false;  // was given the plan, and has not restarted since
    Stamps stamps;
  };
  struct Start {  // where a joiner begins
    uint64_t collective, chunk;
  };

  void on(const MemberPaused& report);
  void on(const SwitchDone& report);
  void on(const CopiesFetched& report);
  void on(const CopiesDelivered& report);
  void on(const MemberResumed& report);
  void on(const MemberDrained& report);
  void on(const MemberLost& report);
  void on(const MemberJoins& report);
  void on(const SwitchLost& report);
  void on(const SwitchReturned& report);
  void on(const ChangeWanted& report);

  // The steps, in order (coordinator_steps.cc).
  void begin_pause();
  void begin_remove();
  void begin_fetch();
  void begin_deliver();
  void begin_install();
  void begin_resume();
  void begin_running();
  void end(const std::string& reason);

  bool answered(Phase phase, uint32_t change, uint32_t who);  // strikes `who` off; false: not awaited now
  void next_if_all_answered();
  void drop_member(MemberId member, const std::string& reason);
  void drop_switch(SwitchId which);
  bool in_change() const { return phase_ > Phase::idle && phase_ < Phase::running; }
  bool in_plan(SwitchId which) const;
  void unite_reports();   // fills final_ and lacking_
  void account_stamps();  // what the switches of the plan may hold by now
  bool joiners_may_start();

  CoordinatorConfig config_;
  Planner* planner_;
  int64_t now_ns_ = 0, deadline_ns_;
  Phase phase_ = Phase::idle;
  uint32_t change_ = 0;
  std::set<uint32_t> waiting_;  // members or switches whose answer this phase needs
  std::vector<Command> commands_;

  uint8_t epoch_, newest_epoch_;  // that runs or ran last; that was ever installed anywhere
  uint32_t first_number_ = 0;     // of epoch_
  uint32_t newest_number_;        // none newer was ever sent
  EpochPlan plan_, next_plan_;    // of epoch_; of the one being installed
  uint32_t next_first_number_ = 0;
  bool change_wanted_ = false;  // asked for when it was too late for this change

  std::map<SwitchId, Switch> switches_;
  std::set<MemberId> members_, joiners_;  // joiners wait for a change at which all that was begun is done
  std::map<MemberId, Start> starts_;      // of joiners that have not resumed yet
  std::set<MemberId> undrained_;          // busy with collectives before stop_before_
  std::optional<uint64_t> stop_before_;
  bool stopped_ = false;    // all before stop_before_ is done: waits for the other stripes
  uint64_t join_at_ = 0;    // first collective of the joiners of this change
  std::string end_reason_;  // why the job ended
  Start begun_{0, 0};       // the furthest that any member has begun

  std::map<MemberId, MemberPaused> reports_;
  std::vector<std::optional<uint32_t>> final_;  // the union: per position the newest number held by anybody
  std::map<MemberId, std::vector<uint32_t>> lacking_;  // final numbers a member holds no result of
  std::map<uint32_t, ResultCopy> copies_;              // fetched, by number
};

}  // namespace l3dml::control
