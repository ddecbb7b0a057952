// What an emulated link does to packets, one direction of it, and how that changes over time.
// The YAML and JSON spelling of each field is its name without the unit suffix; io/units.h reads the values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace l3dml::io {

// Gilbert-Elliott: before each packet the state moves, then the packet is lost with the state's probability.
// Bernoulli is the case good_to_bad = 0, loss_good = p.
struct LossModel {
  double good_to_bad = 0;  // per packet
  double bad_to_good = 1;  // per packet; mean burst = 1 / bad_to_good packets
  double loss_good = 0;
  double loss_bad = 1;

  static LossModel bernoulli(double p) { return {.loss_good = p}; }
  // Losses in bursts of `burst` packets on average (at least 1), `mean` of all packets.
  static LossModel bursts(double mean, double burst);
  double mean() const;  // long-run share of packets lost
  bool operator==(const LossModel&) const = default;
};

enum class JitterKind : uint8_t { uniform, normal };

struct LinkParameters {
  uint64_t rate_bps = 0;          // of bytes on the wire (frame + overhead); 0: no limit, no queue
  uint32_t overhead_bytes = 24;   // per frame: preamble 8, check sequence 4, gap 12; 0: plain frame bytes
  uint32_t min_frame_bytes = 60;  // shorter frames take as long as this (Ethernet padding)
  int64_t delay_ns = 0;
  int64_t jitter_ns = 0;  // uniform in [-j, j], or the deviation of normal; keeps packets in order
  JitterKind jitter_kind = JitterKind::uniform;
  LossModel loss;
  double duplicate = 0;          // share of packets that arrive twice
  double reorder = 0;            // share of packets held back by reorder_delay, so that others overtake
  int64_t reorder_delay_ns = 0;  // 0: one millisecond
  double corrupt = 0;            // share of frames with a bad check sequence: dropped on arrival, counted
  double bit_error_rate = 0;     // the same, per bit of the frame
  uint64_t queue_bytes =
      0;                   // waiting frames, beyond the one on the wire; 0: rate x 2 x delay, at least 64 KiB
  uint64_t ecn_bytes = 0;  // a packet that finds more waiting is marked CE if it is ECN-capable; 0: off
  bool up = true;          // down: all packets are lost (counted as lost)

  uint64_t queue_limit_bytes() const;  // with the default filled in
  absl::Status validate() const;       // names the field and what would be right
};

// A change of some fields; what is not given stays.
struct LinkPatch {
  std::optional<uint64_t> rate_bps;
  std::optional<uint32_t> overhead_bytes;
  std::optional<int64_t> delay_ns, jitter_ns, reorder_delay_ns;
  std::optional<JitterKind> jitter_kind;
  std::optional<LossModel> loss;
  std::optional<double> duplicate, reorder, corrupt, bit_error_rate;
  std::optional<uint64_t> queue_bytes, ecn_bytes;
  std::optional<bool> up;

  void apply(LinkParameters& parameters) const;
  // Reads one field by its YAML name ("rate" = "100Mbit"); NotFoundError for a name that is none. `loss`
  // takes a ratio here; its Gilbert-Elliott form is a map, read by set_loss().
  absl::Status set(const std::string& name, const std::string& value);
  // {"mean","burst"} or {"good_to_bad","bad_to_good"[,"loss_good","loss_bad"]} as name-value pairs.
  absl::Status set_loss(const std::vector<std::pair<std::string, std::string>>& fields);
};

// A trace: changes at times after the start, repeated from the beginning after `repeat_ns` (0: once).
struct LinkTrace {
  struct Change {
    int64_t at_ns = 0;
    LinkPatch patch;
  };
  std::vector<Change> changes;  // ascending at_ns
  int64_t repeat_ns = 0;
};

}  // namespace l3dml::io
