// What goes into the controller and comes out of it: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/jobs/plan.h"

namespace l3dml::control {

struct SiteRecord {
  std::string name, address;  // BfRuntime server of its switch; empty: none of ours
  uint32_t device_id = 0;
  bool router = false;
  bool drained = false, removed = false;
  // How ports are added that the device does not have yet, as BfRuntime says it.
  std::string speed = "BF_SPEED_100G", fec = "BF_FEC_TYP_NONE";
};
struct HostRecord {
  std::string name, site;
  double rate_bps = 0, delay_s = 0;
  int port = -1;
  bool removed = false;
};
struct LinkRecord {
  std::string name, a, b;
  double rate_bps = 0, delay_s = 0, loss = 0;
  int port_a = -1, port_b = -1;
  bool down = false, removed = false;
  // What it gives now, where that is not what it was added with; negative: it is.
  double rate_now_bps = -1, delay_now_s = -1, loss_now = -1;
};
struct LinkChange {
  bool down = false;
  std::optional<double> rate_bps, delay_s, loss;
};
struct NetworkRecords {
  std::vector<SiteRecord> sites;
  std::vector<HostRecord> hosts;
  std::vector<LinkRecord> links;
};

enum class OnLoss : uint8_t { end, go_on };  // a member is lost: the job ends, or goes on without it

struct JobSpecification {
  std::string name;
  std::vector<std::string> hosts;                     // by rank
  std::vector<std::pair<std::string, double>> roots;  // empty: chosen
  uint32_t stripes = 0, lanes = 256;
  double lease_s = 10;
  OnLoss on_loss = OnLoss::end;
  double timeout_s = 60;  // a collective in which nothing moves for so long fails
  uint32_t mtu = 1500;
  bool inner = true;  // switches on the way sum as well
};

struct MemberView {
  std::string host, state;  // awaited, joined, attending, left, lost
};
struct JobView {
  std::string name, state, reason, token;  // waiting, running, changing, ended
  uint32_t world = 0, joined = 0, changes = 0;
  JobPlan plan;
  std::vector<MemberView> members;  // by rank
  std::vector<std::string> phases;  // of changes, by stripe
  OnLoss on_loss = OnLoss::end;
  std::string form_source, form_why;  // who chose the stripes
  uint64_t version = 0;               // grows with every change of the job
};

struct JoinCall {
  std::string job, token, host;             // host empty: whose address is among `addresses`
  std::string instance = "";                // of the process; a repeated call is known by it
  std::vector<std::string> addresses = {};  // IPv6
  int rank = -1;                            // any that the host has
  std::string group = "";                   // of processes that are started together; see l3dml.proto
};
struct MembershipView {
  uint32_t rank = 0, world = 0;
  std::string config, host;
  double lease_s = 0;
  bool paused = false;  // comes to a running job: begins when it is told to
};

struct DeviceView {
  SiteRecord site;
  bool connected = false;
  std::string problem;
  Capability capability;
  uint32_t free_slots = 0;
  size_t entries = 0;  // that it shall hold
};
struct RouteView {
  std::string site, destination, next;
  uint32_t port = 0;
};
struct StatisticsView {
  struct Segment {
    std::string job, site, peer;
    uint32_t stripe = 0;
    uint64_t missing_packets = 0, repaired_packets = 0;
  };
  struct Drop {
    std::string site, reason;
    uint64_t packets = 0;
  };
  struct Port {
    std::string site, name;
    uint32_t port = 0;
    bool up = false;
    uint64_t received_packets = 0, received_bytes = 0, sent_packets = 0, sent_bytes = 0;
  };
  std::vector<Segment> segments;
  std::vector<Drop> drops;
  std::vector<Port> ports;
};

struct EventRecord {
  uint64_t number = 0;
  double unix_time_s = 0;
  std::string kind, subject, text;
};

}  // namespace l3dml::control
