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
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/base/drop_reason.h"
#include "dataplane/wire/header.h"
#include "tools/host/collective.h"
#include "tools/host/job_config.h"
#include "tools/host/packet_sink.h"
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

  // Queues a collective. Error: a type or format that the codec cannot carry for this world. A collective
  // without elements (or without chunks on this stripe) ends at once.
  absl::Status submit(const Collective& collective);

  // A packet for this stripe: source address already checked by the caller, `shard` = its UDP source port mod
  // shards, `ce` = congestion experienced. Returns none if it was of use, else why not.
  base::DropReason on_packet(const wire::L3dmlHeader& header, const uint8_t* lanes, size_t lane_count,
                             unsigned shard, bool ce, int64_t now_ns);
  // Sends what window and pacing allow.
  void poll(int64_t now_ns, PacketSink& sink);
  // When poll() has something to do if nothing arrives before: a time <= now means at once.
  int64_t next_deadline_ns() const;

  // ---- epoch change, member side (DESIGN section 5). Inputs of unfinished collectives stay where they are.
  void pause();  // from now on: sends nothing, refuses every packet
  bool paused() const;
  StripeReport report() const;
  // The copy of a held number of the epoch reported; null if it is not held.
  const ResultCopy* copy(uint32_t number) const;
  // While paused: takes another member's copy as the result of a number that is sent here and not held.
  // Already held: ok.
  absl::Status install(const ResultCopy& copy, int64_t now_ns);
  // New epoch, new numbers. W may change, lanes and look-ahead may not. `start` is for joiners only.
  absl::Status resume(const StripeConfig& config, std::optional<StartingPoint> start, int64_t now_ns);
  // Chunks of this collective and later ones are not begun until it is lifted.
  void set_stop_before(std::optional<uint64_t> collective);

  // Forgets every unfinished collective without callbacks: the job has failed.
  void abandon();

  bool idle() const;  // every submitted collective is finished
  Missing missing(uint64_t id) const;
  const StripeConfig& config() const;
  const WorkerStats& stats() const;
  uint64_t rate_bps() const;  // what congestion leaves of the ceiling
};

}  // namespace l3dml::host
