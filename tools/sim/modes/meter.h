// What flows over a network of a measuring mode get in each tenth of a second: chunks of the jobs, bytes of a
// TCP flow.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/sim/modes/tcp_flow.h"
#include "tools/sim/modes/two_sites.h"
#include "tools/sim/observer.h"
#include "tools/sim/world.h"

namespace l3dml::sim {

class Meter final : public Observer {
 public:
  static constexpr int64_t kBinNs = 100 * base::kMillisecond;

  explicit Meter(size_t jobs) : bits_(jobs + 1) {}
  void attach(TcpFlow* flow) { flow_ = flow; }

  void held(uint32_t job, uint32_t member, uint32_t, int64_t now_ns) override {
    if (member == 0) add(job, now_ns, 32.0 * kModeLanes);
  }
  void ordinary(uint32_t host, const base::Packet& packet, int64_t now_ns) override {
    if (!flow_) return;
    const uint64_t before = flow_->delivered_bytes();
    flow_->arrived(host, packet);
    add(bits_.size() - 1, now_ns, 8.0 * static_cast<double>(flow_->delivered_bytes() - before));
  }

  // Bits per second of a job (the TCP flow: index jobs) in whole tenths within [from, to).
  double rate_bps(size_t flow, int64_t from_ns, int64_t to_ns) const {
    double sum = 0;
    const auto first = static_cast<size_t>(from_ns / kBinNs), end = static_cast<size_t>(to_ns / kBinNs);
    for (size_t bin = first; bin < end && bin < bits_[flow].size(); ++bin) sum += bits_[flow][bin];
    return sum * base::kSecond / static_cast<double>(static_cast<int64_t>(end - first) * kBinNs);
  }
  // First and last time a job got something.
  std::pair<int64_t, int64_t> span_ns(size_t flow) const {
    int64_t first = -1, last = 0;
    for (size_t bin = 0; bin < bits_[flow].size(); ++bin) {
      if (bits_[flow][bin] == 0) continue;
      if (first < 0) first = static_cast<int64_t>(bin) * kBinNs;
      last = static_cast<int64_t>(bin) * kBinNs;
    }
    return {first, last};
  }

 private:
  void add(size_t flow, int64_t now_ns, double bits) {
    const auto bin = static_cast<size_t>(now_ns / kBinNs);
    if (bits_[flow].size() <= bin) bits_[flow].resize(bin + 1);
    bits_[flow][bin] += bits;
  }
  std::vector<std::vector<double>> bits_;  // by flow and tenth
  TcpFlow* flow_ = nullptr;
};

}  // namespace l3dml::sim
