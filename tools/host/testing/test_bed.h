// Worker cores around a fake aggregator under a virtual clock, with a network between that loses, doubles,
// delays and reorders from a seed. Everything happens on the caller's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tools/host/testing/fake_aggregator.h"
#include "tools/host/worker_core.h"

namespace l3dml::host::testing {

struct BedOptions {
  unsigned world = 2;
  uint32_t window = 16, look_ahead = 0, shards = 1, lanes = 64,
           ring = 0;          // 0: look_ahead = window, ring = least
  uint32_t first_number = 0;  // 0: one ring
  uint64_t rate_bps = 0;
  double loss = 0, duplication = 0;
  int64_t delay_ns = 1'000'000, jitter_ns = 0;  // one way; jitter reorders
  uint64_t seed = 1;
  uint8_t epoch = 1;
  std::vector<unsigned> members;  // ranks by child; empty: all, in order
};

std::string describe(const BedOptions& options);
StripeConfig make_stripe(const BedOptions& options, unsigned child);

class TestBed {
 public:
  explicit TestBed(const BedOptions& options);

  WorkerCore& worker(unsigned rank) { return *workers_[rank]; }
  FakeAggregator& aggregator() { return *aggregator_; }
  unsigned world() const { return options_.world; }
  int64_t now_ns() const { return now_ns_; }
  // Results so far, in order, per rank.
  const std::vector<CollectiveResult>& results(unsigned rank) const { return results_[rank]; }

  // Runs until every worker is idle or the time is over; true if idle.
  bool run(int64_t limit_ns = 600'000'000'000);
  // Runs until `done` or the time is over.
  bool run_until(const std::function<bool()>& done, int64_t limit_ns);

  // Sees each packet before its fate is decided; returns true to swallow it. `rank`: of the worker at one
  // end.
  std::function<bool(bool up, unsigned rank, Datagram&)> tap;
  std::vector<bool> stopped;  // by rank: neither polled nor delivered to
  // A fresh aggregator for `members`; packets on their way are kept.
  void new_epoch(const BedOptions& options);

 private:
  class Sink;
  struct Event {
    bool up;
    unsigned rank;
    Datagram packet;
  };
  void send(bool up, unsigned rank, Datagram packet);
  void poll(unsigned rank);

  BedOptions options_;
  std::mt19937_64 random_;
  int64_t now_ns_ = 0;
  uint64_t order_ = 0;
  std::map<std::pair<int64_t, uint64_t>, Event> events_;
  int64_t sync_due_ns_ = 0;
  unsigned syncs_left_ = 0;
  std::unique_ptr<FakeAggregator> aggregator_;
  std::vector<std::unique_ptr<WorkerCore>> workers_;
  std::vector<std::vector<CollectiveResult>> results_;
};

}  // namespace l3dml::host::testing
