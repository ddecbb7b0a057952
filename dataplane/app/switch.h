// The assembled process: devices, their ports and links, and the workers that run them. Built once from a
// configuration; start() sets it going, stop() (or the destructor) brings it to rest in the right order.
//
// Threads: build, start and stop from one; the rest from any (it lets the workers stand where it must).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "dataplane/app/config.h"
#include "dataplane/app/trace_file.h"
#include "dataplane/io/capture_file.h"
#include "dataplane/io/crossing.h"
#include "dataplane/io/link.h"
#include "dataplane/io/mac_port.h"
#include "dataplane/io/mbuf_pool.h"
#include "dataplane/pipeline/worker_group.h"

namespace l3dml::app {

// A link of the process, both directions, with the worker that each belongs to.
struct NamedLink {
  std::string name;
  std::string ends[2];                // 0 is where direction 0 begins
  std::unique_ptr<io::Link> ways[2];  // 0 = from the first end to the second
};

// A port of a device: what it is attached to, and who polls it.
struct AttachedPort {
  uint16_t device_port = 0;
  std::string name;
  std::string kind;  // tap, dpdk, link
  std::unique_ptr<io::MacPort> port;
  size_t rx_worker = 0;    // receives, and sends unless
  size_t tx_worker = 0;    // this is another: links belong to their receiver
  size_t group = 0;        // ports of one NIC share it
  bool from_start = true;  // in $PORT and enabled when the switch starts
  bool checksum = false;
  bool enabled = true;  // by $PORT
  bool plugged = true;  // false: the control endpoint pulled the cable
  io::MacSettings mac;  // of an enabled port
  std::unique_ptr<io::Capture> capture;

  bool up() const { return enabled && plugged; }
};

struct Member {  // a device of the process
  std::string name;
  uint32_t id = 0;
  std::unique_ptr<pipeline::Device> device;
  std::vector<AttachedPort> ports;
  std::unique_ptr<TraceFile> trace;
  const void* traced_by = nullptr;  // the trace file or capture that the pipeline talks to
};

// Makes pipeline and MAC follow what the port is set to. While the workers stand.
void settle(Member& member, AttachedPort& port);

class Switch {
 public:
  static absl::StatusOr<std::unique_ptr<Switch>> build(const SwitchConfig& config);
  ~Switch();

  void start();
  void stop();

  std::vector<Member>& members() { return members_; }
  pipeline::WorkerGroup& workers() { return workers_; }

  // All figures at one moment (README.md lists them).
  nlohmann::json stats();

  // --- changes while packets flow; errors name what does not exist ---
  // `way`: 0, 1, or 2 for both.
  absl::Status change_link(const std::string& link, int way, const io::LinkPatch& patch);
  // Plugs the cable in or pulls it. A port that $PORT never enabled is enabled with it.
  absl::Status set_port_up(const std::string& device, uint16_t port, bool up);
  // With `trace`, each received frame has its packet trace as comment.
  absl::Status start_capture(const std::string& device, uint16_t port, const std::string& path,
                             bool trace = false);
  absl::Status stop_capture(const std::string& device, uint16_t port);
  absl::Status start_trace(const std::string& device, const std::string& path, TraceFile::Format format,
                           std::function<bool(const base::Packet&)> filter);
  absl::Status stop_trace(const std::string& device);

 private:
  explicit Switch(const SwitchConfig& config);

  absl::Status make_pool();
  absl::Status make_ports(size_t member);
  absl::Status make_tap(const PortConfig& config, size_t member);
  absl::Status make_ethdev(const PortConfig& config, size_t member);
  void make_links();
  NamedLink& make_link(const LinkConfig& config, const std::string& from, const std::string& to);
  std::unique_ptr<io::MacPort> front(const PortConfig& config, std::unique_ptr<io::Port> port, size_t worker);
  void wire(size_t member);
  io::Port* way_out(size_t member, size_t worker, AttachedPort& port);
  io::Port* way_to_pipe(size_t worker, size_t to_worker, const std::string& name);

  size_t worker_of(size_t member, unsigned pipe) const;
  absl::StatusOr<Member*> find(const std::string& device);
  absl::StatusOr<AttachedPort*> find(const std::string& device, uint16_t port);

  SwitchConfig config_;
  base::MonotonicClock clock_;
  int64_t start_ns_ = 0;
  std::unique_ptr<io::MbufPool> pool_;  // declared first: everything below gives its packets back to it
  std::vector<std::unique_ptr<NamedLink>> links_;
  pipeline::WorkerGroup workers_;
  std::vector<Member> members_;
  std::vector<std::unique_ptr<io::Port>> inner_ports_;           // crossings and queues between pipes
  std::map<std::pair<size_t, io::Port*>, io::Port*> crossings_;  // (from worker, port) -> way there
  size_t groups_ = 0;
  uint64_t seeds_ = 0;  // links made
  bool running_ = false;
};

}  // namespace l3dml::app
