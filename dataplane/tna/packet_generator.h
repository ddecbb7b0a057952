// The packet generator of one pipe: eight applications, each a piece of the packet buffer sent in batches
// after a timer, once or again and again, when a port of the pipe goes down, or when a recirculated packet
// begins with a pattern (tf1.pktgen.*). In front of each packet lie six bytes that say which application,
// batch (or port, or pattern) and packet it is; it enters ingress by the application's port. Times are
// nanoseconds of the caller's clock. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/base/clock.h"

namespace l3dml::tna {

struct PacketGeneratorApp {
  enum class Trigger : uint8_t { one_shot, periodic, port_down, recirculation } trigger = Trigger::periodic;
  bool enabled = false;
  int64_t timer_ns = 0;                             // of the timers
  uint32_t pattern_value = 0, pattern_mask = 0;     // of a recirculated packet's first 32 bits
  uint16_t pkt_buffer_offset = 0, pkt_len = 0;      // bytes, multiples of 16
  uint16_t packets_per_batch = 0, batch_count = 0;  // both less one, as the chip counts
  int64_t ibg_ns = 0, ipg_ns = 0;                   // from batch to batch, from packet to packet
  uint32_t ibg_jitter_ns = 0, ipg_jitter_ns = 0;    // less than this is added by chance
  uint16_t source_port = 0;                         // within the pipe
  bool increment_source_port = false;

  bool timed() const { return trigger == Trigger::one_shot || trigger == Trigger::periodic; }
  bool operator==(const PacketGeneratorApp&) const = default;
};

class PacketGenerator {
 public:
  static constexpr unsigned kApps = 8;
  static constexpr size_t kBufferBytes = 16 * 1024, kHeaderBytes = 6;
  struct Counters {
    uint64_t triggers = 0, batches = 0, packets = 0;
  };

  explicit PacketGenerator(unsigned pipe) : pipe_(pipe), buffer_(kBufferBytes) {}

  absl::Status write_buffer(size_t offset, std::string_view bytes) {
    if (offset % 16 != 0 || offset > kBufferBytes || bytes.size() > kBufferBytes - offset)
      return absl::InvalidArgumentError("the packet buffer has 16 KB, written at multiples of 16");
    std::memcpy(buffer_.data() + offset, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  // Enabling an application starts its timer at `now_ns`; disabling it ends what is under way.
  absl::Status configure(unsigned id, const PacketGeneratorApp& app, int64_t now_ns) {
    if (id >= kApps) return absl::InvalidArgumentError("there are 8 packet generator applications, 0 to 7");
    if (app.pkt_buffer_offset % 16 != 0 || size_t{app.pkt_buffer_offset} + app.pkt_len > kBufferBytes)
      return absl::InvalidArgumentError("the packet lies outside of the 16 KB buffer");
    if (app.enabled && app.pkt_len == 0)
      return absl::InvalidArgumentError("pkt_len: the packet has no bytes");
    if (app.enabled && app.timed() && app.timer_ns <= 0)
      return absl::InvalidArgumentError("timer_nanosec must be more than 0");
    State& state = apps_[id];
    state.app = app;
    state.batch = state.packet = 0;
    state.due_ns = app.enabled && app.timed() ? now_ns + app.timer_ns : base::kNever;
    state.trigger_ns = state.due_ns;
    return absl::OkStatus();
  }
  const PacketGeneratorApp& app(unsigned id) const { return apps_[id].app; }
  Counters& counters(unsigned id) { return apps_[id].counters; }

  // What triggers applications besides time. One that is still sending hears nothing.
  void port_down(uint16_t device_port, int64_t now_ns) {
    for (State& state : apps_)
      if (state.app.trigger == PacketGeneratorApp::Trigger::port_down) trigger(state, device_port, now_ns);
  }
  void recirculated(uint32_t first_bits, int64_t now_ns) {
    for (State& state : apps_)
      if (state.app.trigger == PacketGeneratorApp::Trigger::recirculation &&
          ((first_bits ^ state.app.pattern_value) & state.app.pattern_mask) == 0)
        trigger(state, first_bits & 0xffffff, now_ns);
  }

  int64_t next_deadline_ns() const {
    int64_t due = base::kNever;
    for (const State& state : apps_) due = std::min(due, state.due_ns);
    return due;
  }
  // Calls function(device port, header and packet) for each packet that is due, in order of time; at most
  // `limit` of them.
  template <typename Function>
  unsigned tick(int64_t now_ns, unsigned limit, Function function) {
    unsigned sent = 0;
    for (; sent < limit; ++sent) {
      const auto next = std::min_element(apps_.begin(), apps_.end(),
                                         [](const State& a, const State& b) { return a.due_ns < b.due_ns; });
      if (next->due_ns > now_ns) break;
      const auto id = static_cast<unsigned>(next - apps_.begin());
      const uint16_t port = static_cast<uint16_t>(
          pipe_ << 7 |
          ((next->app.source_port + (next->app.increment_source_port ? next->packet : 0)) & 0x7f));
      const std::string bytes = packet_bytes(*next, id);
      advance(*next);
      function(port, std::string_view(bytes));
    }
    return sent;
  }

 private:
  struct State {
    PacketGeneratorApp app;
    uint32_t cause = 0;                 // port or pattern that triggered it, 24 bits
    uint16_t batch = 0, packet = 0;     // of the next packet
    int64_t due_ns = base::kNever;      // of the next packet
    int64_t trigger_ns = base::kNever;  // that it belongs to
    Counters counters;
  };

  static void trigger(State& state, uint32_t cause, int64_t now_ns) {
    if (!state.app.enabled || state.due_ns != base::kNever) return;
    state.cause = cause;
    state.due_ns = now_ns;
  }
  // pktgen_*_header_t: 3 bits 0, 2 pipe, 3 application, 24 that say why (batch, port or pattern), 16 packet.
  std::string packet_bytes(const State& state, unsigned id) const {
    const uint32_t why = state.app.timed() ? state.batch : state.cause;
    std::string bytes = {static_cast<char>(pipe_ << 3 | id),   static_cast<char>(why >> 16),
                         static_cast<char>(why >> 8),          static_cast<char>(why),
                         static_cast<char>(state.packet >> 8), static_cast<char>(state.packet)};
    return bytes.append(buffer_.data() + state.app.pkt_buffer_offset, state.app.pkt_len);
  }
  int64_t by_chance(uint32_t jitter_ns) {
    if (jitter_ns == 0) return 0;
    chance_ ^= chance_ << 13, chance_ ^= chance_ >> 17, chance_ ^= chance_ << 5;  // xorshift32
    return chance_ % jitter_ns;
  }
  void advance(State& state) {
    const PacketGeneratorApp& app = state.app;
    if (state.batch == 0 && state.packet == 0) ++state.counters.triggers;
    ++state.counters.packets;
    if (state.packet < app.packets_per_batch) {
      ++state.packet;
      state.due_ns += app.ipg_ns + by_chance(app.ipg_jitter_ns);
      return;
    }
    ++state.counters.batches;
    state.packet = 0;
    if (state.batch < app.batch_count) {
      ++state.batch;
      state.due_ns += app.ibg_ns + by_chance(app.ibg_jitter_ns);
      return;
    }
    state.batch = 0;
    const bool again = app.trigger == PacketGeneratorApp::Trigger::periodic;
    // A trigger that comes while packets of the last one are still leaving waits for them.
    state.trigger_ns = again ? std::max(state.trigger_ns + app.timer_ns, state.due_ns) : base::kNever;
    state.due_ns = state.trigger_ns;
  }

  unsigned pipe_;
  std::vector<char> buffer_;
  std::array<State, kApps> apps_;
  uint32_t chance_ = 0x6c336d6c;
};

// The generators of a device as a driver sees them; calls are made inside Executor::run(). What is asked for
// has been checked.
class GeneratorTwin {
 public:
  virtual ~GeneratorTwin() = default;
  // An application that stays as it is goes on as it does.
  virtual void configure(unsigned pipe, unsigned app, const PacketGeneratorApp& settings) = 0;
  virtual void write_buffer(unsigned pipe, size_t offset, std::string_view bytes) = 0;
  // Does some port of the pipe generate, does some port look for patterns? While none does, nothing is sent.
  virtual void enable(unsigned pipe, bool generate, bool match_patterns) = 0;
  virtual PacketGenerator::Counters& counters(unsigned pipe, unsigned app) = 0;
};

}  // namespace l3dml::tna
