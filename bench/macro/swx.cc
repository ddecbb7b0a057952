// The same aggregation on DPDK's own software pipeline (librte_pipeline, SWX): bench/macro/aggregate.spec,
// fed with the same packets from memory ports. Its instructions per packet go into the row.
#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>

#include "bench/macro/dpdk.h"
#include "bench/macro/load.h"
#include "bench/macro/swx_spec.h"

namespace l3dml::bench {
namespace {

constexpr unsigned kPerHeader = 32;  // lanes

struct Source {  // a port in memory: frames of a Load, each once
  Load* load = nullptr;
  size_t next = 0;
};
struct Sink {
  size_t packets = 0;
  uint32_t last_lane = 0;  // of the packet before
};

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("SWX: ") + what + " failed");
}

// The template with its lines per lane written out. Two instructions a lane keep a slot's lanes side by side;
// one register array per lane would take one, and a cache line for each.
std::string specification(uint16_t lanes) {
  std::ifstream file(L3DML_SWX_SPEC);
  check(file.good(), "reading " L3DML_SWX_SPEC);
  std::ostringstream out;
  std::vector<std::string> group;  // lines to be repeated together
  const auto put = [&](std::string line, const char* name, unsigned number) {
    if (const size_t at = line.find(name); at != std::string::npos)
      line.replace(at, 1, std::to_string(number));
    return line;
  };
  const auto flush = [&] {
    const char kind = group.empty() ? '#' : group[0][0];
    for (unsigned i = 0; i < (kind == '@' ? lanes : kind == '&' ? lanes / kPerHeader : kPerHeader); ++i)
      for (const std::string& line : group)
        out << put(put(line.substr(1), "%", i % kPerHeader), "$", kind == '&' ? i : i / kPerHeader) << '\n';
    group.clear();
  };
  const std::pair<const char*, size_t> names[] = {
      {"LANE_CELLS", size_t{kLoadRing} * lanes},
      {"LANE_SHIFT", static_cast<size_t>(std::countr_zero(lanes))},
      {"SLOTS", kLoadRing}};
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && std::strchr("@&#", line[0])) {
      group.push_back(line);
      continue;
    }
    flush();
    for (const auto& [name, value] : names)
      if (const size_t at = line.find(name); at != std::string::npos)
        line.replace(at, std::string(name).size(), std::to_string(value));
    out << line << '\n';
  }
  return out.str();
}

void* create(void* args) { return args; }
void release_port(void*) {}
int receive(void* port, rte_swx_pkt* packet) {
  auto& source = *static_cast<Source*>(port);
  if (source.next == source.load->frame_count()) return 0;
  packet->handle = packet->pkt = source.load->frame(source.next++);
  packet->offset = 0;
  packet->length = source.load->frame_size();
  return 1;
}
void in_stats(void*, rte_swx_port_in_stats* stats) { *stats = {}; }
void transmit(void* port, rte_swx_pkt* packet) {
  auto& sink = *static_cast<Sink*>(port);
  ++sink.packets;
  base::be32_t lane;
  std::memcpy(&lane, packet->pkt + packet->offset + packet->length - 4, 4);
  sink.last_lane = lane.load();
}
void clone(void*, rte_swx_pkt*) {}
void clone_cut(void*, rte_swx_pkt*, uint32_t) {}
void flush_port(void*) {}
void out_stats(void*, rte_swx_port_out_stats* stats) { *stats = {}; }

class Swx {
 public:
  explicit Swx(uint16_t lanes) : load_({4, lanes, 1}) {
    source_.load = &load_;
    check(rte_swx_pipeline_config(&pipeline_, "aggregate", 0) == 0, "pipeline_config");
    rte_swx_port_in_ops in = {};
    in.create = create, in.free = release_port, in.pkt_rx = receive, in.stats_read = in_stats;
    rte_swx_port_out_ops out = {};
    out.create = create, out.free = release_port, out.pkt_tx = transmit, out.pkt_fast_clone_tx = clone;
    out.pkt_clone_tx = clone_cut, out.flush = flush_port, out.stats_read = out_stats;
    check(rte_swx_pipeline_port_in_type_register(pipeline_, "memory", &in) == 0, "port_in_type_register");
    check(rte_swx_pipeline_port_out_type_register(pipeline_, "memory", &out) == 0, "port_out_type_register");
    check(rte_swx_pipeline_port_in_config(pipeline_, 0, "memory", &source_) == 0, "port_in_config");
    for (uint32_t port : {0u, 1u})
      check(rte_swx_pipeline_port_out_config(pipeline_, port, "memory", &sinks_[port]) == 0,
            "port_out_config");
    build_from_spec(pipeline_, specification(lanes));
    rte_swx_ctl_pipeline* control = rte_swx_ctl_pipeline_create(pipeline_);
    check(control != nullptr, "ctl_pipeline_create");
    for (unsigned child = 0; child < 4; ++child) {
      const std::string entry = "match 0x11 0 7 3 " + std::to_string(child) + " action admit mask " +
                                std::to_string(1u << child) + " children 4";
      int blank = 0;
      rte_swx_table_entry* read =
          rte_swx_ctl_pipeline_table_entry_read(control, "admission", entry.c_str(), &blank);
      check(read && rte_swx_ctl_pipeline_table_entry_add(control, "admission", read) == 0, "table_entry_add");
    }
    check(rte_swx_ctl_pipeline_commit(control, 1) == 0, "ctl_pipeline_commit");
  }

  double packet_seconds() {
    double spent = 0;
    size_t packets = 0;
    for (uint32_t done = 0; done < kLoadRing; done += load_.batch_numbers()) {
      load_.make_ready();
      source_.next = 0;
      const size_t until = sinks_[0].packets + sinks_[1].packets + load_.frame_count();
      const size_t results = sinks_[0].packets;
      spent += seconds([&] {
        while (sinks_[0].packets + sinks_[1].packets < until) rte_swx_pipeline_run(pipeline_, 100'000);
      });
      packets += load_.frame_count();
      check(sinks_[0].packets - results == load_.batch_numbers(), "summing every number");
      // Later on, the frames of the last child carry what was summed into them before.
      check(checked_ || sinks_[0].last_lane == 1 + 2 + 3 + 4, "adding four children");
      checked_ = true;
    }
    return spent / static_cast<double>(packets);
  }

 private:
  Load load_;
  Source source_;
  Sink sinks_[2];
  bool checked_ = false;
  rte_swx_pipeline* pipeline_ = nullptr;
};

}  // namespace

std::vector<report::Row> swx_rows(const Options& options) {
  if (const absl::Status status = start_dpdk(); !status.ok())
    throw std::runtime_error(std::string(status.message()));
  constexpr uint16_t kLanes = 256;
  Load load({4, kLanes, 1});
  static Swx swx(kLanes);
  // Of the spec: 7 up to the lanes, their headers, table with its action 4, then 9; restart 7, addition 12;
  // finish 1; result 10 with as many headers, otherwise 2.
  constexpr unsigned kHeaders = kLanes / kPerHeader;
  const double per_packet =
      20 + kHeaders + 0.25 * 7 + 0.75 * (12 + 2) + 2 * kLanes + 1 + 0.25 * (10 + kHeaders + 2 * kLanes);
  return {ratio(
      "pipeline_256_lanes_vs_swx", 10, options, [&] { return 1 / load.pipeline_packet_seconds(); },
      [&] { return 1 / swx.packet_seconds(); },
      {{"children", "4"}, {"peer_instructions_per_packet", std::to_string(static_cast<int>(per_packet))}})};
}

}  // namespace l3dml::bench
