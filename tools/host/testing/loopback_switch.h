// A fake aggregator behind real UDP sockets, in a network namespace of the test process that has nothing but
// loopback: what UdpTransport and the C interface are tested against. Also the addresses of the workers live
// there.
#pragma once

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tools/host/testing/fake_aggregator.h"

namespace l3dml::host::testing {

// Moves this thread (and those it starts) into a namespace of its own, once per process; false: not
// permitted.
bool enter_private_network();

class LoopbackSwitch {
 public:
  // Adds the addresses that the stripes name, and serves the aggregator of `stripes` (by child, all of one
  // job).
  LoopbackSwitch(const std::vector<StripeConfig>& stripes, double loss, uint64_t seed);
  ~LoopbackSwitch();
  bool ok() const { return ok_; }
  const std::vector<std::string>& complaints() const { return aggregator_->complaints; }  // after stop()
  void stop();

 private:
  void run();
  void send(unsigned child, const Datagram& packet);

  std::vector<StripeConfig> stripes_;
  double loss_;
  std::mt19937_64 random_;
  std::unique_ptr<FakeAggregator> aggregator_;
  std::vector<int> receivers_, senders_;  // by shard
  std::atomic<bool> stopping_{false};
  bool ok_ = true;
  std::thread thread_;
};

}  // namespace l3dml::host::testing
