// One lab file: sites, workers, links, a job, a workload, a backend. README.md has the format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "control/topology/topology.h"

namespace l3dml::lab {

// A link's parameters as they are written: checked here, read again by the switch, in its own spelling.
struct LinkSpec {
  std::vector<std::pair<std::string, std::string>> scalars;  // rate, delay, ...
  std::vector<std::pair<std::string, std::string>> loss;     // the map form (bursts); empty: scalar or none
  struct Change {
    std::string at;
    std::vector<std::pair<std::string, std::string>> scalars;
  };
  std::vector<Change> trace;
  std::string repeat;  // duration; empty: once

  bool empty() const { return scalars.empty() && loss.empty() && trace.empty(); }
};

struct JobSpec {
  uint32_t lanes = 256;
  std::string format = "fixed32";
  std::vector<std::pair<control::SiteId, double>> roots;  // one stripe each, with its share; empty: chosen
  int64_t stripes = 0;                                    // how many to choose; 0: that too
  bool inner = true;                                      // switches on the way sum as well
  double timeout_s = 60;  // a collective in which nothing moves for so long fails
  double lease_s = 10;    // a worker that is silent for so long is lost
  bool go_on = false;     // without a worker that is lost; else the job ends
};

struct Workload {
  std::vector<std::string> command;            // empty: the training script
  std::map<std::string, std::string> options;  // of the training script: --key value
  std::map<std::string, std::string> environment;
};

enum class Backend : uint8_t { l3dml, gloo, ps };  // ps: a parameter server on the first worker, over TCP

struct Scenario {
  std::string name, file;
  uint64_t seed = 1;
  control::Topology topology;
  std::vector<LinkSpec> links;   // as topology.links()
  std::vector<LinkSpec> access;  // as topology.hosts()
  JobSpec job;
  Workload workload;
  Backend backend = Backend::l3dml;
  std::string tcp = "cubic";  // congestion control in the workers' namespaces
  uint32_t mtu = 1500;
};

absl::StatusOr<Scenario> load_scenario(const std::string& file);
absl::StatusOr<Scenario> parse_scenario(const std::string& text,
                                        const std::string& file);  // `file`: for messages

const char* name(Backend backend);
absl::StatusOr<Backend> parse_backend(const std::string& text);
absl::Status check_tcp(const std::string& congestion_control);  // does this kernel have it?

}  // namespace l3dml::lab
