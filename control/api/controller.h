// The controller: topology, devices, jobs, leases; keeps its state in a Store, makes every device hold what
// follows from it. All that the northbound interface does, without gRPC; tests run it on fake targets.
//
// Threads: any; one lock, held while devices are written. Order of a change: plan on a copy, store, then
// write devices, so that a controller that dies in between finds in the store what the devices shall hold,
// and reconciles. Failure: a device that cannot be written is retried by tick() until it holds what it shall.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/jobs/compiler.h"
#include "control/jobs/plan.h"
#include "control/store/store.h"
#include "control/target/switch_target.h"
#include "control/topology/topology.h"

namespace l3dml::control {

struct SiteRecord {
  std::string name, address;  // BfRuntime server of its switch; empty: none of ours
  uint32_t device_id = 0;
  bool router = false;
};
struct HostRecord {
  std::string name, site;
  double rate_bps = 0, delay_s = 0;
  int port = -1;
};
struct LinkRecord {
  std::string name, a, b;
  double rate_bps = 0, delay_s = 0, loss = 0;
  int port_a = -1, port_b = -1;
  bool down = false;
};

struct JobSpecification {
  std::string name;
  std::vector<std::string> hosts;                     // by rank
  std::vector<std::pair<std::string, double>> roots;  // empty: chosen
  uint32_t stripes = 0, lanes = 256;
  double lease_s = 10;
};

struct JobView {
  std::string name, state, reason, token;
  uint32_t world = 0, joined = 0;
  JobPlan plan;
};

struct MembershipView {
  uint32_t rank = 0, world = 0;
  std::string config;
  double lease_s = 0;
};

struct DeviceView {
  SiteRecord site;
  bool connected = false;
  std::string problem;
  uint32_t slots = 0, free_slots = 0, pipes = 0;
};

struct EventRecord {
  uint64_t number = 0;
  double unix_time_s = 0;
  std::string kind, subject, text;
};

class Controller {
 public:
  using Connect = std::function<absl::StatusOr<std::unique_ptr<target::SwitchTarget>>(const SiteRecord&)>;
  struct Options {
    Connect connect;
    std::function<int64_t()> now_ns;  // monotonic
    std::function<double()> unix_time_s;
    std::function<std::string()> new_token;  // unguessable
  };

  // Loads the store, connects, reconciles. Devices that cannot be reached are tried again by tick().
  static absl::StatusOr<std::unique_ptr<Controller>> create(std::unique_ptr<Store> store, Options options);
  ~Controller();

  absl::Status add_site(const SiteRecord& site);
  absl::Status add_host(const HostRecord& host);
  absl::Status add_link(const LinkRecord& link);
  absl::Status set_link(const std::string& name, bool down);

  absl::StatusOr<JobView> create_job(const JobSpecification& specification);
  absl::Status delete_job(const std::string& name);
  absl::StatusOr<JobView> job(const std::string& name) const;
  std::vector<JobView> jobs() const;

  absl::StatusOr<MembershipView> join(const std::string& job, const std::string& token,
                                      const std::string& host);
  absl::StatusOr<JobView> renew(const std::string& job, const std::string& token, uint32_t rank);
  absl::Status leave(const std::string& job, const std::string& token, uint32_t rank);

  std::vector<SiteRecord> sites() const;
  std::vector<HostRecord> hosts() const;  // with the ports they were given
  std::vector<LinkRecord> links() const;
  Topology topology() const;
  std::vector<DeviceView> devices() const;
  std::vector<EventRecord> events(uint64_t after) const;

  // Leases that ran out, devices to be reached or written again. Call a few times a second.
  void tick();

 private:
  struct Device;
  struct Job;
  explicit Controller(std::unique_ptr<Store> store, Options options);

  absl::Status load();
  absl::Status apply(const std::string& kind, const std::string& value);  // one stored record of the topology
  absl::Status remember(const std::string& kind, const std::string& key, const std::string& value);
  absl::Status save_job(const Job& job);
  void connect_device(SiteId site);
  void refresh(SiteId site);  // what it shall hold, into the device
  void refresh_all();
  absl::Status start_numbers(JobPlan* plan);
  void end_job(Job& job, const std::string& reason);
  void event(const std::string& kind, const std::string& subject, const std::string& text);
  absl::StatusOr<Job*> admitted(const std::string& name, const std::string& token);
  JobView view(const Job& job) const;

  mutable std::mutex mutex_;
  std::unique_ptr<Store> store_;
  Options options_;
  Topology topology_;
  std::vector<SiteRecord> sites_;  // as topology_.sites()
  std::vector<HostRecord> hosts_;
  std::vector<LinkRecord> links_;
  std::vector<std::unique_ptr<Device>> devices_;  // as topology_.sites()
  std::vector<DeviceResources> resources_;        // as topology_.sites()
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  uint16_t next_job_ = 1;  // data-plane numbers are not used again until they wrap: old packets are strangers
  std::deque<EventRecord> events_;
  uint64_t event_count_ = 0;
};

}  // namespace l3dml::control
