// The worker of one stripe, sans-I/O (DESIGN sections 5-7): the socket transport, the traffic generator and
// the simulator all run this very class. It is handed packets and the time, and leaves packets in a
// PacketSink.
//
// One thread. The core owns its window and copies of results; tensors stay the caller's until the result
// callback. Memory is taken in submit() and resume(), never per packet. Deterministic: same calls, same
// packets.
//
//   core.submit(collective);
//   loop: core.on_packet(...) for each arrival; core.poll(now, sink); sleep until core.next_deadline_ns();
//
// Chunks of all collectives form one sequence; chunk i waits in position i mod W. Each position is a queue of
// its own: its next number, the last one + W, is sent only when the result of the last one is held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/base/drop_reason.h"
#include "dataplane/wire/header.h"
#include "tools/host/collective.h"
#include "tools/host/exponent_history.h"
#include "tools/host/job_config.h"
#include "tools/host/pacer.h"
#include "tools/host/packet_sink.h"
#include "tools/host/probe_cookies.h"
#include "tools/host/round_trip.h"
#include "tools/host/segment.h"
#include "tools/host/window.h"
#include "tools/host/worker_stats.h"

namespace l3dml::host {

// A result as it came, kept for members that lack it until the epoch in which it was final is over for all.
struct ResultCopy {
  uint32_t number = 0;
  uint8_t exp = 0, next_exp = 0;
  uint16_t weight = 0;
  std::vector<uint32_t> lanes;  // host order
};

// What a paused member tells the coordinator.
struct StripeReport {
  uint8_t epoch = 0;  // of the numbers below: the last one resumed in
  std::vector<std::optional<uint32_t>>
      held;                           // per position: newest number held, results to be repeated included
  uint64_t collectives_begun = 0;     // some chunk was sent, in any epoch; counts in order of submission
  uint64_t collectives_finished = 0;  // all before this one are finished
  uint64_t chunks_begun = 0;          // chunks of all collectives begun
};

// What resume() and the constructor need beside the StripeConfig.
struct StartingPoint {
  uint64_t collective =
      0;  // index of the first collective that will be submitted; joiners: given by the coordinator
  uint64_t chunk = 0;  // and the place of its first chunk in the stripe's sequence
};

// For error messages: what a collective still waits for.
struct Missing {
  uint64_t chunks = 0, of = 0;
  uint64_t sent = 0;          // of the missing ones: sent, not held
  uint32_t first_number = 0;  // oldest of these
  size_t first_element = 0;   // where its chunk begins
  enum class Why {
    not_sent,
    unanswered,
    own_missing,
    others_missing
  } why = Why::not_sent;  // by its newest PROBE
};

class WorkerCore {
 public:
  using ResultCallback =
      std::function<void(const CollectiveResult&)>;  // may submit(); must not destroy the core

  // `config` must be valid (validate()); `world` scales the lanes.
  WorkerCore(const StripeConfig& config, uint32_t world, ResultCallback on_result, StartingPoint start = {});
  ~WorkerCore();
  WorkerCore(const WorkerCore&) = delete;
  WorkerCore& operator=(const WorkerCore&) = delete;

  // Queues a collective. Error: a format that cannot carry so many workers. A collective without elements (or
  // without chunks on this stripe) ends at once, within the call.
  absl::Status submit(const Collective& collective);

  // A packet for this stripe: source address already checked by the caller, `shard` = its UDP source port mod
  // shards, `ce` = congestion experienced. Returns none if it was of use, else why not.
  base::DropReason on_packet(const wire::L3dmlHeader& header, const uint8_t* lanes, size_t lane_count,
                             unsigned shard, bool ce, int64_t now_ns);
  // Sends what window and pacing allow.
  void poll(int64_t now_ns, PacketSink& sink);
  // When poll() has something to do if nothing arrives before; the past means at once.
  int64_t next_deadline_ns() const;

  // ---- epoch change, member side (DESIGN section 5). Inputs of unfinished collectives stay where they are.
  void pause();  // from now on: sends nothing, refuses every packet
  bool paused() const { return paused_; }
  StripeReport report() const;
  // The result of a held number of the epoch reported; null if it is not (or no longer) held.
  std::optional<ResultCopy> copy(uint32_t number) const;
  // While paused: takes another member's copy as the result of a number that was sent and is not held. Held:
  // ok.
  absl::Status install(const ResultCopy& copy);
  // New epoch, new numbers. W may change, lanes and look-ahead may not. `start` is for joiners, before any
  // submit().
  absl::Status resume(const StripeConfig& config, std::optional<StartingPoint> start = std::nullopt);
  // Chunks of this collective and later ones are not begun until it is lifted.
  void set_stop_before(std::optional<uint64_t> collective);

  // While paused, and with nothing begun that is not finished: forgets what was submitted, so that it can be
  // submitted anew with another layout (shares of stripes changed). Error: something is begun.
  absl::Status withdraw();
  // Forgets every unfinished collective without callbacks: the job has failed.
  void abandon();

  uint32_t in_flight() const;                  // numbers sent and not held
  bool idle() const { return open_.empty(); }  // every submitted collective is finished
  Missing missing(uint64_t id) const;
  const StripeConfig& config() const { return config_; }
  const WorkerStats& stats() const;
  uint64_t rate_bps() const { return pacer_.rate_bps(); }  // what congestion leaves of the ceiling

 private:
  enum class Sent { yes, no, full };
  struct PendingNack {
    unsigned shard;
    Hole hole;
  };

  // worker_core.cc: the sequence of chunks
  void take_chunk(uint32_t position);  // the position's present place, or the next one not held
  OpenCollective* collective_at(uint64_t place);
  void make_ready(uint32_t position);
  void wake(std::vector<uint32_t>* waiters);
  void finish_collectives();
  void start_epoch();  // everything that begins anew with first_number

  // worker_send.cc
  Sent send_next(int64_t now_ns, PacketSink& sink);
  Sent send_first(uint32_t position, int64_t now_ns, PacketSink& sink);
  Sent send_again(uint32_t position, int64_t now_ns, PacketSink& sink);
  bool choose_exponent(uint32_t position);  // false: it waits for another chunk's result
  void fill_fields(Position& p, uint8_t* lanes);
  void commit_up(uint32_t position, bool again, uint8_t* packet, int64_t now_ns, PacketSink& sink);
  bool send_control(wire::Type type, uint8_t flags, unsigned shard, uint32_t number, uint32_t seq,
                    uint16_t tag, PacketSink& sink);
  void send_nacks(PacketSink& sink);
  void send_probes(int64_t now_ns, PacketSink& sink);
  void send_timing_probe(int64_t now_ns, PacketSink& sink);
  void send_syncs(int64_t now_ns, PacketSink& sink);
  int64_t probe_time_ns() const;  // silence after which a number is asked about,
  int64_t silence_ns() const;     // and the same with back-off
  bool overtaken(const Position& p) const { return p.sent_ns < newest_answered_ns_; }
  Flight& flight_of(const Position& p) { return p.confirmed ? confirmed_ : flight_; }
  void touch(uint32_t position, bool confirmed, int64_t now_ns);  // to the end of the order of asking
  uint32_t next_to_ask(int64_t now_ns) const;                     // kNone: nothing is overdue
  int64_t overdue_ns(const Position& p) const;                    // when it is to be asked about
  int64_t probe_pause_ns() const;                                 // between rounds of asking
  uint32_t slot_of(uint32_t number) const;
  uint8_t* write_header(uint8_t* packet, wire::Type type, uint8_t flags, uint32_t number) const;

  // worker_receive.cc
  base::DropReason check(const wire::L3dmlHeader& header, size_t lane_count, unsigned shard) const;
  void on_hole(unsigned shard, Hole hole);
  base::DropReason on_down(const wire::L3dmlHeader& header, const uint8_t* lanes, unsigned shard, bool ce,
                           int64_t now_ns);
  base::DropReason on_nack(const wire::L3dmlHeader& header, unsigned shard);
  base::DropReason on_answer(const wire::L3dmlHeader& header, int64_t now_ns);
  void hold(uint32_t position, uint8_t exp, uint8_t next_exp, uint16_t weight, const uint8_t* lanes);
  void finish_chunk(uint32_t position);
  void repeat(uint32_t position, Stage::Kind kind, uint8_t exp);
  void queue_resend(uint32_t position);

  uint32_t position_of(uint32_t number) const { return number & (config_.window - 1); }
  unsigned shard_of(uint32_t number) const { return number & (config_.shards - 1); }

  StripeConfig config_;
  uint32_t world_;
  ResultCallback on_result_;
  bool paused_ = false;

  // The sequence of chunks.
  std::deque<std::unique_ptr<OpenCollective>>
      open_;                              // in order of submission; finished ones leave from anywhere
  uint64_t next_collective_, end_place_;  // of what was submitted
  uint64_t begun_collectives_, begun_chunks_;
  std::optional<uint64_t> stop_before_;
  ExponentHistory history_;
  std::map<uint64_t, Stage>
      stages_;  // by place: of chunks begun in an earlier epoch, until their position takes them
  bool any_finished_ = false;

  // The window.
  std::vector<Position> positions_;
  PositionQueue urgent_, ready_;                       // resends and repeats; new chunks
  Flight flight_{positions_}, confirmed_{positions_};  // in flight; and known to be at the aggregator
  ResultStore results_;
  std::vector<uint32_t> flying_;  // numbers in flight, per shard

  // The segment.
  std::vector<UpSegment> up_;
  std::vector<DownSegment> down_;
  std::vector<PendingNack> nacks_;
  int64_t next_sync_ns_ = base::kNever;  // no SYNC is due before
  Pacer pacer_;
  RoundTrip segment_rtt_;
  LeastTime result_time_;
  ProbeCookies cookies_;
  bool control_pending_ = false;  // the sink was full

  // Asking about silent numbers: in rounds, each with a credit.
  uint32_t probe_credit_ = 0;
  uint32_t round_probes_ = 0;
  bool round_heard_ = false, round_progress_ = false;
  unsigned quiet_rounds_ =
      0;                     // rounds in which all that was heard is "waiting for others": doubles the pause
  unsigned unanswered_ = 0;  // rounds without any answer: doubles all times (RFC 6298 back-off)
  int64_t round_end_ns_ = 0;
  int64_t last_result_ns_ = 0,
          newest_answered_ns_ = 0;  // newest sending time of a number held that was sent in turn
  int64_t timing_due_ns_ = 0;       // when the round trip is measured next
  uint32_t timing_number_ = 0;      // asked about for it; see send_timing_probe
  Missing::Why last_answer_ = Missing::Why::unanswered;

  mutable WorkerStats stats_;
};

}  // namespace l3dml::host
