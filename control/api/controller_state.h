// What the controller keeps of a device and of a job beside what is stored. Private to controller*.cc.
#pragma once

#include "control/api/controller.h"
#include "control/api/records.h"
#include "control/jobs/coordinator.h"

namespace l3dml::control {

struct Controller::Device {
  std::shared_ptr<target::SwitchTarget> target;  // null: not reached
  std::string problem;
  bool known = false;    // its capability is that of resources_
  bool stale = true;     // what it holds may not be what it shall
  bool reached = false;  // since we started
  bool lost = false;     // jobs were told
  int64_t next_try_ns = 0;
  int64_t pause_ns = 0;
  int64_t lost_since_ns = 0;
  DeviceEntries routes;              // that were written
  std::vector<uint16_t> ports;       // that it was started with
  std::set<std::string> port_words;  // what was said about them
};

// Asks the controller, which sees the whole job.
class Controller::StripePlanner final : public Planner {
 public:
  StripePlanner(Controller* controller, Job* job, uint32_t stripe)
      : controller_(*controller), job_(*job), stripe_(stripe) {}
  std::optional<EpochPlan> plan(const std::set<MemberId>& members,
                                const std::set<SwitchId>& switches) override {
    return controller_.replan(job_, stripe_, members, switches);
  }
  JoinPoint join_point(uint64_t begun, bool done) override;  // controller_joiners.cc

 private:
  Controller& controller_;
  Job& job_;
  uint32_t stripe_;
};

struct Controller::Job {
  struct Stripe {
    std::unique_ptr<StripePlanner> planner;
    std::unique_ptr<Coordinator> coordinator;
    bool withdrawn = false;   // devices shall hold nothing of it now
    SiteId wanted_root = -1;  // of the next change; -1: as it is
    // What a device that is not reached was asked for; done when it is back (switch_is_back).
    std::map<SiteId, RemoveAdmission> removals;
    std::map<SiteId, InstallAdmission> installs;
    std::optional<StripePlan> next;  // of the epoch being installed; its resources are taken, not the plan's
    std::map<SiteId, std::pair<uint32_t, uint32_t>> ranges;  // slots of the newest plan: base, ring
    std::optional<uint64_t> stopped_at;                      // before this collective, for joiners
    bool change_wanted = false;                              // told to the coordinator by carry()
  };
  struct Attendant {
    uint64_t attendance = 0;  // 0: no stream
    Send send;
    std::map<uint32_t, ToMember> last;  // by stripe; said again if the stream broke
    double round_trip_s = 0, result_s = 0;
  };

  // Ranks that come to the running job begin together, at one collective on all stripes; who comes meanwhile
  // waits for the next time.
  std::set<uint32_t> starting, waiting_to_start;
  Planner::JoinPoint join_point;  // of those that are starting

  JobRecord record;
  JobPlan plan;  // of the running epochs
  std::vector<Stripe> stripes;
  std::vector<Attendant> attendants;        // by rank
  std::vector<int64_t> deadlines_ns;        // by rank; of the lease, by lease_clock_ns_
  std::vector<DeviceEntries> parts;         // by site: what devices shall hold of it,
  std::map<SiteId, DeviceEntries> written;  // and what was written
  bool told_changing = false;               // as of the last word of its coordinators
  bool revise = false;                      // the network has changed: perhaps another form is better now
  double sized_bps = 0;                     // by the arithmetic, when its rates were last chosen
  uint32_t changes = 0;
  uint64_t version = 0;
  std::vector<StatisticsView::Segment> last_segments;  // as they were when it ended
  bool live() const { return record.state != "ended"; }
  bool in_change() const;
};

}  // namespace l3dml::control
