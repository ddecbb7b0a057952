// A pipe's packet generator as the pipe runs it: what the control plane wishes, or what happens to a port,
// waits here for the next tick(), which knows the time. Control at quiescence, all else on the pipe's thread.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "dataplane/tna/packet_generator.h"

namespace l3dml::pipeline {

class Generation {
 public:
  explicit Generation(unsigned pipe) : generator_(pipe) {}

  // ---- control
  void configure(unsigned app, const tna::PacketGeneratorApp& settings) {
    if (settings != (wishes_[app] ? *wishes_[app] : generator_.app(app))) wishes_[app] = settings;
  }
  void enable(bool generate, bool match_patterns) {
    generates_ = generate;
    matches_patterns_ = match_patterns;
  }
  void port_down(uint16_t device_port) {
    if (generates_) ports_down_.push_back(device_port);
  }
  tna::PacketGenerator& generator() { return generator_; }

  // ---- the pipe
  void recirculated(uint32_t first_bits, int64_t now_ns) {
    if (generates_ && matches_patterns_) generator_.recirculated(first_bits, now_ns);
  }
  int64_t next_deadline_ns() const {
    if (!generates_) return base::kNever;
    if (!ports_down_.empty()) return 0;
    for (const auto& wish : wishes_)
      if (wish) return 0;
    return generator_.next_deadline_ns();
  }
  // At most `limit` packets, returns how many; see PacketGenerator::tick.
  template <typename Function>
  unsigned tick(int64_t now_ns, unsigned limit, Function function) {
    if (!generates_) return 0;
    for (unsigned app = 0; app < wishes_.size(); ++app) {
      if (!wishes_[app]) continue;
      (void)generator_.configure(app, *wishes_[app], now_ns);  // the driver has checked it
      wishes_[app].reset();
    }
    for (const uint16_t port : ports_down_) generator_.port_down(port, now_ns);
    ports_down_.clear();
    return generator_.tick(now_ns, limit, function);
  }

 private:
  tna::PacketGenerator generator_;
  std::array<std::optional<tna::PacketGeneratorApp>, tna::PacketGenerator::kApps> wishes_;
  std::vector<uint16_t> ports_down_;
  bool generates_ = false, matches_patterns_ = false;
};

}  // namespace l3dml::pipeline
