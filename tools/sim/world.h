// A whole scenario under way: devices, hosts, jobs, and what watches over them. run() ends when every member
// is done, when an invariant is violated, or when nothing moves any more (which violates one).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/pipeline/device.h"
#include "tools/sim/device_program.h"
#include "tools/sim/forger.h"
#include "tools/sim/job.h"
#include "tools/sim/network.h"
#include "tools/sim/observer.h"
#include "tools/sim/outcome.h"
#include "tools/sim/packet_trace.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

class World final : public Network::Handler {
 public:
  World(const Scenario& scenario, PacketTrace* trace);
  ~World() override;

  Outcome run();
  void observe(Observer* observer) { observer_ = observer; }  // before run(); outlives it
  std::string drops() const;                                  // counters of every device, a line each

  // ---- for jobs and members ----
  struct Installed {  // of a job on a device
    bool admitted = false;
    bool left_out = false;  // did not hear that it should be removed: may go on with an old epoch
    uint8_t epoch = 0;
    uint32_t aggregator = 0;
  };
  struct Switch {
    std::unique_ptr<pipeline::Device> device;
    std::unique_ptr<DeviceProgram> program;
    std::vector<JobResources> resources;  // by job
    std::vector<Installed> installed;     // by job
    bool silent = false;                  // to the coordinator
  };
  Network& network() { return network_; }
  Observer* observer() { return observer_; }
  const Scenario& scenario() const { return scenario_; }
  Switch& at(uint32_t device) { return switches_[device]; }
  std::vector<JobResources> resources(uint32_t job) const;  // by device
  int64_t now_ns() const { return network_.now_ns(); }
  void violate(Violation violation);
  void from_member(const Member& member, Job& job, uint32_t index, base::Packet* packet);  // takes it
  void check_done();
  Seen& seen() { return seen_; }
  void wake(const Member& member);
  Job& job(uint32_t index) { return *jobs_[index]; }
  uint32_t job_count() const { return static_cast<uint32_t>(jobs_.size()); }
  void note(const std::string& text);  // into the trace
  void add_port(uint32_t host, uint16_t port, Member* member);

  // ---- Network::Handler ----
  void at_device(uint32_t device, std::span<base::Packet* const> packets) override;
  void at_host(uint32_t host, base::Packet* packet) override;
  void device_timer(uint32_t device, unsigned pipe) override;
  void host_timer(uint32_t host) override;

 private:
  // world.cc
  void share_out();  // slots, neighbours, seq rings
  void build(uint32_t device);
  void watch();
  std::string what_is_missing() const;
  Outcome outcome() const;

  // world_packets.cc
  bool withheld(const base::Packet& packet, bool at_host) const;
  void process(uint32_t device, unsigned pipe, std::span<base::Packet* const> burst);
  void process_nack(uint32_t device, unsigned pipe, base::Packet* packet);
  bool is_late(uint32_t device, const wire::L3dmlHeader& header);
  void process_late(uint32_t device, unsigned pipe, base::Packet* packet);
  void send_out(uint32_t device);
  void check_sent(uint32_t device, const base::Packet& packet);
  void check_hole(uint64_t receiver, const wire::L3dmlHeader& header, const char* what, uint32_t index);
  void check_ration(uint64_t segment, bool repair, const base::Packet& packet);

  // world_faults.cc
  void happen(const Fault& fault);
  void restart(uint32_t device, int64_t noticed_after_ns);
  void lose_device(uint32_t device, int64_t noticed_after_ns);

  Scenario scenario_;
  Random random_;
  PacketTrace* trace_;
  Observer* observer_ = nullptr;
  Network network_;
  Forger forger_;
  pipeline::InlineExecutor executor_;
  pipeline::DeviceConfig device_config_;
  std::vector<Switch> switches_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::vector<std::pair<uint16_t, Member*>>> ports_;  // by host: UDP port -> member
  pipeline::Outbox outbox_;
  bool repairing_ = false;  // what leaves a device now answers a NACK
  struct Ration {
    uint64_t firsts = 0, repairs = 0;  // packets with lanes on a segment in an epoch
  };
  absl::flat_hash_map<uint64_t, Ration> rations_;      // by segment
  absl::flat_hash_map<uint64_t, uint32_t> asked_for_;  // by segment: end of the newest range NACKed
  std::optional<Violation> violation_;
  Seen seen_;
  uint64_t work_done_ = 0;  // chunks and results, for watch()
  int64_t last_progress_ns_ = 0;
  int64_t patience_ns_ = 0;
  bool done_ = false;
};

}  // namespace l3dml::sim
