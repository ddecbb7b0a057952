// Writes tables, registers and multicast groups of one device, through the same twins that its driver would
// use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/pipeline/device.h"
#include "tools/sim/network.h"
#include "tools/sim/scenario.h"
#include "tools/sim/tree.h"

namespace l3dml::sim {

// What a device sets aside for a job: for the life of the job and the same on every device that may sum for
// it, but for the bases.
struct JobResources {
  uint32_t slot_base = 0, ring = 0;  // entries per shard
  uint32_t shards = 1, lanes = 64;
  uint32_t neighbor_base = 0;            // children take neighbor_base + child, the parent neighbor_base + 31
  uint32_t seq_base = 0, seq_ring = 64;  // per segment and shard
  uint16_t job_index = 0, mgid = 0;
};
constexpr uint32_t kNeighborsPerJob = 32;

// The part of an epoch that one device plays.
struct AggregatorPart {
  uint32_t job = 0;
  uint8_t epoch = 0;
  uint32_t aggregator = 0;  // index into the tree
  const Tree* tree = nullptr;
  const std::vector<uint32_t>* member_hosts = nullptr;  // by member
  const std::vector<uint16_t>* member_ports = nullptr;  // UDP, by member
  const JobResources* own = nullptr;
  const std::vector<JobResources>* resources = nullptr;  // by device
};

class DeviceProgram {
 public:
  DeviceProgram(pipeline::Device* device, uint32_t index, const Network* network)
      : device_(*device), index_(index), network_(*network) {}

  void start_up();  // ports, routes to everything
  void routes_changed();
  // Host routes for segments of a tree that take ways of their own across this device.
  void add_ways(uint32_t job, const Tree& tree);
  void install(const AggregatorPart& part);
  void remove(uint32_t job);  // the job's admission, groups and replicas
  // `expected` and `tx_seq` of the segments to neighbours neighbor_base + [first, first + count).
  void write_sequences(const JobResources& resources, uint32_t first, uint32_t count, uint32_t seq);
  void write_stamps(const JobResources& resources, uint32_t stamp);

 private:
  using Handles = std::vector<std::pair<std::string, tna::Handle>>;
  struct Sender {
    uint16_t locator;
    uint32_t host;
    int port;  // -1: any
    uint8_t child;
    uint16_t neighbor_port;  // that leads there
  };
  // Towards a neighbour in a tree; nothing if it is here.
  std::optional<Network::Hop> towards(uint32_t device, const std::vector<uint32_t>& way, bool up) const;
  void add(const std::string& table, tna::Entry entry, Handles* handles);
  void admit(const AggregatorPart& part, const Sender& sender, bool from_child, Handles* handles);
  void replicate(const AggregatorPart& part, uint32_t neighbor, bool to_member, uint32_t target,
                 Handles* handles, uint16_t* port);

  pipeline::Device& device_;
  uint32_t index_;
  const Network& network_;
  tna::Handle next_handle_ = 1;
  Handles routes_;
  std::vector<Handles> jobs_;     // installed entries, by job
  std::vector<uint16_t> groups_;  // by job
};

}  // namespace l3dml::sim
