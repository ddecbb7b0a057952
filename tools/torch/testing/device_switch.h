// The real device (dataplane/pipeline) behind UDP sockets on loopback, as root of one job: what the backend
// is tested against, in one namespace and without privilege. It loses packets both ways from a seed; links,
// ports and other switches are not its business (the lab has those).
#pragma once

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <netinet/in.h>

#include "dataplane/pipeline/testing/rig.h"
#include "tools/host/job_config.h"

namespace l3dml::pytorch::testing {

class DeviceSwitch {
 public:
  DeviceSwitch(unsigned world, double loss, uint64_t seed);
  ~DeviceSwitch();

  host::StripeConfig stripe(unsigned rank) const;
  // Adds the addresses of the job to loopback and begins to serve; throws if that is not possible.
  void start();

 private:
  void run();
  void receive(const uint8_t* payload, size_t size);
  void send(const std::vector<pipeline::testing::Sent>& sent);
  bool lost() { return std::uniform_real_distribution<double>(0, 1)(random_) < loss_; }

  const unsigned world_;
  const double loss_;
  std::mt19937_64 random_;
  pipeline::testing::Rig rig_;
  int receiver_ = -1, sender_ = -1;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace l3dml::pytorch::testing
