// A greedy TCP flow between two hosts of a world, to see how the job's packets and it share a link. A model
// of the sender and receiver, not of their code: CUBIC (RFC 9438) with slow start that ends by delay (RFC
// 9406), selective acknowledgement of every segment, losses told by the order of transmissions (RFC 8985,
// three packets of reordering), ECN as RFC 3168 where wanted, retransmission timer of RFC 6298 with Linux's
// least 200 ms. Its frames are real: switches forward them by their ordinary tables, and they wait in the
// links' queues among the job's. One thread; outlives the world's run.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/packet.h"

namespace l3dml::sim {

class World;

class TcpFlow {
 public:
  static constexpr uint32_t kPayload = 1428, kHeaders = 14 + 40 + 32;

  TcpFlow(World* world, uint32_t from, uint32_t to, bool ecn)
      : world_(*world), from_(from), to_(to), ecn_(ecn) {}

  void start_at(int64_t at_ns);
  void arrived(uint32_t host, const base::Packet& packet);            // an ordinary packet, at any host
  uint64_t delivered_bytes() const { return delivered_ * kPayload; }  // in order, at the receiver
  uint64_t lost_packets() const { return lost_; }                     // as the sender found
  uint64_t timeouts() const { return timeouts_; }
  double window() const { return cwnd_; }  // segments

 private:
  struct Segment {
    uint32_t transmission = 0;  // its newest
    int64_t sent_ns = 0;
    bool sacked = false, in_flight = false;
  };
  struct Header {  // in place of TCP's: what the model needs to know
    uint32_t ports, seq, ack, transmission, flags;
  };
  static constexpr uint32_t kCongestion = 1, kAck = 2;  // flags

  void acknowledge(const Header& header);
  void lose(uint32_t seq);
  void react(uint32_t seq, bool timeout);  // once per window
  void grow(uint32_t acked, int64_t rtt_ns);
  void send_what_fits();
  void send(uint32_t seq);
  void transmit(uint32_t host, const Header& header, uint32_t payload);
  void arm();
  int64_t timeout_ns() const;
  Segment& segment(uint32_t seq) { return segments_[seq - first_]; }

  World& world_;
  uint32_t from_, to_;
  bool ecn_;

  // sender
  std::deque<Segment> segments_;  // [first_, next_)
  uint32_t first_ = 0, next_ = 0;
  uint32_t transmissions_ = 0, newest_acked_ = 0;
  std::deque<std::pair<uint32_t, uint32_t>> order_;  // transmission, seq
  std::deque<uint32_t> again_;                       // lost, to be sent again
  uint32_t in_flight_ = 0;
  double cwnd_ = 10, threshold_ = 1e9;
  uint32_t recover_ = 0;  // losses below it are of a window that has been reacted to
  double most_ = 0;       // window before the last fall
  int64_t epoch_ns_ = 0;  // of the cubic curve; 0: begins with the next acknowledgement
  double epoch_from_ = 0, reno_ = 0;
  int64_t smoothed_ns_ = 0, variation_ns_ = 0, least_ns_ = base::kNever, round_least_ns_ = base::kNever;
  uint32_t round_end_ = 0;
  int64_t deadline_ns_ = base::kNever;
  unsigned backoff_ = 0;
  bool armed_ = false;
  uint64_t lost_ = 0, timeouts_ = 0;

  // receiver
  std::vector<bool> received_;
  uint64_t delivered_ = 0;  // segments in order
};

}  // namespace l3dml::sim
