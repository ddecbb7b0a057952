// The packet generator of one pipe: eight applications, each a piece of the packet buffer sent in batches
// after a timer, once or again and again (tf1.pktgen.*). In front of each packet lie six bytes that say which
// application, batch and packet it is; it enters ingress by the application's port. Times are nanoseconds of
// the caller's clock. One thread.
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
  enum class Trigger : uint8_t { one_shot, periodic } trigger = Trigger::periodic;
  bool enabled = false;
  int64_t timer_ns = 0;
  uint16_t pkt_buffer_offset = 0, pkt_len = 0;      // bytes, multiples of 16
  uint16_t packets_per_batch = 0, batch_count = 0;  // both less one, as the chip counts
  int64_t ibg_ns = 0, ipg_ns = 0;                   // from batch to batch, from packet to packet
  uint16_t source_port = 0;                         // within the pipe
  bool increment_source_port = false;
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
    if (app.enabled && app.timer_ns <= 0)
      return absl::InvalidArgumentError("timer_nanosec must be more than 0");
    State& state = apps_[id];
    const bool restart = app.enabled;
    state.app = app;
    state.batch = state.packet = 0;
    state.due_ns = restart ? now_ns + app.timer_ns : base::kNever;
    state.trigger_ns = state.due_ns;
    return absl::OkStatus();
  }
  const PacketGeneratorApp& app(unsigned id) const { return apps_[id].app; }
  Counters& counters(unsigned id) { return apps_[id].counters; }

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
    uint16_t batch = 0, packet = 0;     // of the next packet
    int64_t due_ns = base::kNever;      // of the next packet
    int64_t trigger_ns = base::kNever;  // that it belongs to
    Counters counters;
  };

  // pktgen_timer_header_t: 3 bits 0, 2 pipe, 3 application, 8 bits 0, 16 batch, 16 packet.
  std::string packet_bytes(const State& state, unsigned id) const {
    std::string bytes = {static_cast<char>(pipe_ << 3 | id),   0,
                         static_cast<char>(state.batch >> 8),  static_cast<char>(state.batch),
                         static_cast<char>(state.packet >> 8), static_cast<char>(state.packet)};
    return bytes.append(buffer_.data() + state.app.pkt_buffer_offset, state.app.pkt_len);
  }
  static void advance(State& state) {
    const PacketGeneratorApp& app = state.app;
    if (state.batch == 0 && state.packet == 0) ++state.counters.triggers;
    ++state.counters.packets;
    if (state.packet < app.packets_per_batch) {
      ++state.packet;
      state.due_ns += app.ipg_ns;
      return;
    }
    ++state.counters.batches;
    state.packet = 0;
    if (state.batch < app.batch_count) {
      ++state.batch;
      state.due_ns += app.ibg_ns;
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
};

}  // namespace l3dml::tna
