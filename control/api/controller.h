// The controller: topology, devices, jobs, leases, epoch changes; keeps its state in a Store, makes every
// device hold what follows from it. All that the northbound interface does, without gRPC; tests run it on
// fake targets.
//
// Threads: any; one lock, held while devices are written. Order of a change: plan on a copy, store, then
// write devices, so that a controller that dies in between finds in the store what the devices shall hold,
// and reconciles. Failure: a device that cannot be written is retried by tick() until it holds what it shall.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/api/views.h"
#include "control/jobs/compiler.h"
#include "control/jobs/epoch_messages.h"
#include "control/jobs/form.h"
#include "control/jobs/plan.h"
#include "control/store/store.h"
#include "control/target/switch_target.h"
#include "control/topology/topology.h"

namespace l3dml::control {

class Controller {
 public:
  using Connect = std::function<absl::StatusOr<std::unique_ptr<target::SwitchTarget>>(const SiteRecord&)>;
  struct Options {
    Connect connect;
    std::function<int64_t()> now_ns;  // monotonic
    std::function<double()> unix_time_s;
    std::function<std::string()> new_token;  // unguessable
    double detach_grace_s = 1;               // a member whose stream broke has so long to come back
    double switch_grace_s = 5;               // a switch that is not reached has so long before jobs leave it
    std::shared_ptr<const FormChooser> forms;  // for jobs whose owner gives no roots; null: the arithmetic
    double form_hysteresis = 0.1;  // a running job changes for a form that is shorter by more than this part
  };

  // Loads the store, connects, reconciles. Devices that cannot be reached are tried again by tick().
  static absl::StatusOr<std::unique_ptr<Controller>> create(std::unique_ptr<Store> store, Options options);
  ~Controller();

  // ---- topology (controller_topology.cc). What is there already is fine if it is the same.
  absl::Status add_site(const SiteRecord& site);
  absl::Status add_host(const HostRecord& host);
  absl::Status add_link(const LinkRecord& link);
  absl::Status add_network(const NetworkRecords& network);  // all of it, then devices once
  absl::Status set_link(const std::string& name, const LinkChange& change);
  absl::Status drain(const std::string& site, bool drained);  // jobs leave its switch, new ones stay away
  // What is removed keeps its addresses and ports until it is added again. Error: still in use.
  absl::Status remove_site(const std::string& name);
  absl::Status remove_host(const std::string& name);
  absl::Status remove_link(const std::string& name);

  // ---- jobs (controller_jobs.cc)
  absl::StatusOr<JobView> create_job(const JobSpecification& specification);
  absl::Status end_job(const std::string& name, bool forget);  // of what has ended or never was: fine
  absl::Status delete_job(const std::string& name) { return end_job(name, true); }
  absl::StatusOr<JobView> job(const std::string& name) const;
  std::vector<JobView> jobs() const;

  absl::StatusOr<MembershipView> join(const JoinCall& call);
  absl::StatusOr<JobView> renew(const std::string& job, const std::string& token, uint32_t rank);
  absl::Status leave(const std::string& job, const std::string& token, uint32_t rank);

  // ---- members that take part in epoch changes (controller_changes.cc). `send` must neither block nor call
  // back. The number returned names the attendance; calls with an older one are ignored.
  struct ToMember {
    uint32_t stripe = 0, change = 0;
    Command command;     // PauseMember, FetchCopies, DeliverCopies, ResumeMember or FailMember
    std::string config;  // of a resume: the stripe's part of the job file
    bool joiner = false;
  };
  using Send = std::function<void(const ToMember&)>;
  struct Standing {  // of a member, by stripe
    uint8_t epoch = 0;
    uint32_t change = 0;
    bool paused = false;
  };
  absl::StatusOr<uint64_t> attach(const std::string& job, const std::string& token, uint32_t rank,
                                  const std::vector<Standing>& standings, Send send);
  void report(const std::string& job, uint32_t rank, uint64_t attendance, uint32_t stripe,
              const Report& report);
  void renew_attended(const std::string& job, uint32_t rank, uint64_t attendance, double round_trip_s = 0,
                      double result_s = 0);
  void detach(const std::string& job, uint32_t rank, uint64_t attendance);

  // ---- what there is (controller_views.cc)
  std::vector<SiteRecord> sites() const;
  std::vector<HostRecord> hosts() const;  // with the ports they were given
  std::vector<LinkRecord> links() const;
  Topology topology() const;
  std::vector<DeviceView> devices() const;
  std::vector<RouteView> routes(const std::string& site) const;  // empty: of all
  StatisticsView statistics(const std::string& site) const;      // reads the devices; of ended jobs: the last
  std::vector<EventRecord> events(uint64_t after) const;
  // What telemetry looks at, by switch that is reached. The target may be read from any thread.
  struct Watched {
    struct Port {
      uint32_t port = 0;
      std::string name;     // of the link or host behind it
      double rate_bps = 0;  // 0: not limited
    };
    struct Child {
      uint16_t neighbor = 0;
      std::string name;
    };
    struct Aggregator {
      std::string job;
      uint32_t stripe = 0, slot_base = 0, ring = 0;
      std::vector<Child> children;
    };
    std::string site;
    std::shared_ptr<target::SwitchTarget> target;
    std::vector<Port> ports;
    std::vector<Aggregator> aggregators;
  };
  std::vector<Watched> watched() const;
  struct MemberFigures {  // as a member told when it renewed
    std::string job, host;
    uint32_t rank = 0;
    double round_trip_s = 0, result_s = 0;
  };
  std::vector<MemberFigures> member_figures() const;
  // Waits until something is newer than `version` or the time is over; returns the version there is.
  uint64_t wait_change(uint64_t version, int64_t timeout_ms) const;

  // False: another controller may have taken over; whoever sees that must stop at once.
  bool holds_store() const { return store_->held(); }

  // Leases that ran out, devices to be reached or written again, changes that wait. Call often.
  void tick();

 private:
  struct Device;
  struct Job;
  class StripePlanner;
  explicit Controller(std::unique_ptr<Store> store, Options options);

  absl::Status load();
  absl::Status load_job(const Store::Record& stored);
  bool was_to_change(const Job& job, size_t stripe) const;
  absl::Status apply(const std::string& kind, const std::string& value);  // one stored record of the topology
  absl::Status remember(const std::string& kind, const std::string& key, const std::string& value);
  absl::StatusOr<bool> learn_site(const SiteRecord& site);  // true: it is new
  absl::StatusOr<bool> learn_host(const HostRecord& host);
  absl::StatusOr<bool> learn_link(const LinkRecord& link);
  void take_figures(const LinkRecord& link, LinkId id);  // of the record, into the topology
  void topology_changed();
  bool usable(SiteId site) const;  // may sum for jobs now
  absl::Status save_job(Job& job);

  void connect_device(SiteId site);
  void take_target(SiteId site, absl::StatusOr<std::unique_ptr<target::SwitchTarget>> target);
  void reach_devices();                        // takes the lock itself
  absl::Status start_ports(SiteId site);       // and what else a device needs before entries
  std::set<std::string> refresh(SiteId site);  // all it shall hold; returns the jobs it held nothing of
  absl::Status write(SiteId site, const DeviceEntries& before, const DeviceEntries& after);
  void failed(SiteId site, const absl::Status& why);
  void compile(Job& job);                          // into job.parts
  absl::Status write_part(Job& job, SiteId site);  // of job.parts, to the device
  void write_job(Job& job);
  absl::Status start_numbers(JobPlan* plan);

  absl::StatusOr<Job*> begin_job(const JobSpecification& wanted, const std::string& token,
                                 const std::vector<std::string>& groups);
  absl::StatusOr<Job*> with_group(Job& job, const std::string& group);  // begun anew if it is another
  void finish_job(Job& job, const std::string& reason, bool by_loss = false);
  static std::vector<StripeRequest> running_form(const Job& job);
  static std::vector<HostId> present_members(const Job& job);
  Topology usable_topology() const;  // sites whose switches cannot be used now aggregate nothing
  double rate_of(const Job& job, const Topology& topology, const std::vector<HostId>& members,
                 const std::vector<StripeRequest>& stripes) const;
  bool all_settled() const;
  void revise_one_job();  // that the network has changed under
  void revise(Job& job);

  void renew_lease(Job& job, uint32_t rank) const;
  void count_leases(int64_t now_ns);
  void switch_is_back(Job& job, SiteId site, bool restarted);
  void end_if_all_left(Job& job);
  void lose_member(Job& job, uint32_t rank, const std::string& reason);
  void make_coordinators(Job& job);
  void tell_coordinators(Job& job, const Report& report);
  void carry(Job& job);  // what the coordinators say, until they say nothing more
  bool carry_joiners(Job& job);
  void obey(Job& job, uint32_t stripe, const Command& command);
  std::optional<EpochPlan> replan(Job& job, uint32_t stripe, const std::set<MemberId>& members,
                                  const std::set<SwitchId>& switches);
  absl::Status install_stripe(Job& job, uint32_t stripe, const InstallAdmission& command);
  void to_member(Job& job, uint32_t rank, ToMember message);

  void event(const std::string& kind, const std::string& subject, const std::string& text);
  absl::StatusOr<Job*> admitted(const std::string& name, const std::string& token);
  JobView view(const Job& job) const;
  std::vector<StatisticsView::Segment> segments_of(const Job& job, SiteId site) const;  // reads the device

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  uint64_t version_ = 1;
  std::unique_ptr<Store> store_;
  Options options_;
  Topology topology_;
  std::vector<SiteRecord> sites_;  // as topology_.sites()
  std::vector<HostRecord> hosts_;
  std::vector<LinkRecord> links_;
  std::vector<std::unique_ptr<Device>> devices_;  // as topology_.sites()
  std::vector<DeviceResources> resources_;        // as topology_.sites()
  std::vector<DeviceEntries> routes_;             // as topology_.sites()
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  std::deque<EventRecord> events_;
  uint64_t event_count_ = 0, attendance_count_ = 0;
  // Leases run by this clock, which stands still while we could not have heard a renewal.
  int64_t lease_clock_ns_ = 0, last_tick_ns_ = -1;
  uint16_t next_job_ = 1;
};

}  // namespace l3dml::control
