// One direction of an emulated link, sans-I/O: packets are offered at a time and taken when they have
// arrived.
//
//   offer -> queue (tail drop, ECN) -> wire (rate; loss, corruption) -> flight (delay, jitter, reordering,
//   duplication) -> take
//
// Everything happens at its exact virtual time, whenever the caller looks: with the same seed and the same
// packets offered at the same times, the same packets come out at the same times, bit by bit. Each random
// choice has a generator of its own, so that a change of, say, the jitter leaves the losses where they were.
//
// One thread. Owns packets from offer() to take(); no allocation once its rings have grown. Times must not go
// back; if they do, the latest one counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/packet.h"
#include "dataplane/io/fifo.h"
#include "dataplane/io/link_parameters.h"
#include "dataplane/io/random.h"

namespace l3dml::io {

struct LinkCounters {
  uint64_t offered_packets = 0, offered_bytes = 0;      // frame bytes throughout
  uint64_t sent_packets = 0, sent_bytes = 0;            // that crossed the wire, lost later or not
  uint64_t delivered_packets = 0, delivered_bytes = 0;  // taken, duplicates included
  uint64_t lost_packets = 0;                            // loss model, or link down
  uint64_t corrupted_packets = 0;                       // bad check sequence, dropped on arrival
  uint64_t queue_drops = 0;                             // found the queue full
  uint64_t marked_packets = 0;                          // CE set here
  uint64_t duplicated_packets = 0;
  uint64_t reordered_packets = 0;  // held back
  uint64_t no_buffer = 0;          // duplicates that found no memory
  uint64_t max_queue_bytes = 0;
};

class Link {
 public:
  Link(const LinkParameters& parameters, uint64_t seed);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void offer(base::Packet* packet, int64_t now_ns);
  // The next packets that have arrived by now, in order of arrival, Packet::time_ns = exact arrival; at most
  // `room`.
  unsigned take(base::Packet** packets, unsigned room, int64_t now_ns);
  // When take() may have more to give (it may turn out to be nothing); base::kNever if nothing is under way.
  int64_t next_deadline() const;

  // From now on. The frame on the wire and what flies keep what they had.
  void change(const LinkParameters& parameters, int64_t now_ns);
  // Changes at start_ns + at. A change() in between stays in force for the fields the trace does not touch.
  void set_trace(LinkTrace trace, int64_t start_ns);
  // A shaper in front of the wire: no faster than this, whatever the parameters say; 0 takes it away.
  void set_ceiling(uint64_t rate_bps, int64_t now_ns);
  void reset_mark() { counters_.max_queue_bytes = waiting_bytes_; }

  const LinkParameters& parameters() const { return parameters_; }
  uint64_t rate_bps() const {  // that is in force; 0: no limit
    const uint64_t own = parameters_.rate_bps;
    return own == 0 || ceiling_bps_ == 0 ? own + ceiling_bps_ : std::min(own, ceiling_bps_);
  }
  const LinkCounters& counters() const { return counters_; }
  uint64_t queue_bytes() const { return waiting_bytes_; }  // waiting, as of the last call
  size_t packets_under_way() const { return waiting_.size() + flight_.size() + held_back_.size(); }

 private:
  struct Waiting {
    base::Packet* packet = nullptr;
    int64_t since_ns = 0;
  };
  struct Flying {
    base::Packet* packet = nullptr;
    int64_t arrival_ns = 0;
    uint64_t order = 0;  // breaks ties
  };
  struct Later {
    bool operator()(const Flying& a, const Flying& b) const {
      return a.arrival_ns != b.arrival_ns ? a.arrival_ns > b.arrival_ns : a.order > b.order;
    }
  };

  void advance(int64_t now_ns);
  void apply_trace(int64_t until_ns);
  int64_t next_change_ns() const;
  void send(base::Packet* packet, int64_t start_ns);
  void fly(base::Packet* packet, int64_t sent_ns);
  int64_t wire_time_ns(uint32_t frame_bytes) const;
  bool draw_loss();
  bool draw_corruption(uint32_t frame_bytes);
  int64_t draw_delay();

  LinkParameters parameters_;
  uint64_t ceiling_bps_ = 0;
  LinkTrace trace_;
  int64_t trace_start_ns_ = 0;
  size_t trace_next_ = 0;     // index of the next change
  int64_t now_ns_ = 0;        // latest time seen
  int64_t wire_free_ns_ = 0;  // when the frame on the wire has left it
  uint64_t waiting_bytes_ = 0;
  int64_t last_arrival_ns_ = 0;  // of packets that keep their order
  uint64_t order_ = 0;
  bool loss_is_bad_ = false;  // state of the loss model
  Fifo<Waiting> waiting_;
  Fifo<Flying> flight_;            // ascending arrival
  std::vector<Flying> held_back_;  // heap: reordered packets
  Random loss_random_, corrupt_random_, jitter_random_, reorder_random_, duplicate_random_;
  LinkCounters counters_;
};

}  // namespace l3dml::io
