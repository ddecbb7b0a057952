// Which jobs any table of this switch knows, for refusing the others cheaply: a flood of gradients of unknown
// jobs costs no look-up in tables that do not fit into caches. One bit per job number, learned from the
// tables when the first packet after a change asks, and forgotten with the flows (flow_cache.h). Where an
// entry could decide about jobs that it does not name, every job counts as known, and the tables are asked.
//
// A stranger still counts for the route that brought it here: the one that all aggregation addresses of a
// site share, remembered from the first of them. One thread.
#pragma once

#include <array>
#include <bitset>
#include <cstring>

#include "dataplane/blocks/admission.h"
#include "dataplane/blocks/forwarder.h"

namespace l3dml::pipeline {

class KnownJobs {
 public:
  KnownJobs() { forget(); }

  bool knows(uint16_t job) const { return known_[job]; }
  void forget() {
    known_.set();
    learned_ = false;
    route_ = nullptr;
  }
  void learn(const blocks::Admission& admission, const blocks::Forwarder& forwarder) {
    if (learned_) return;
    learned_ = true;
    known_.reset();
    const auto add = [this](uint16_t job) { known_.set(job); };
    const bool named = admission.for_each_job(add);  // both calls add
    if (!forwarder.for_each_job(add) || !named) known_.set();
  }

  // The route of aggregation addresses of unknown jobs at `dst`'s site; null: not known yet.
  const blocks::Forwarder::Row6* route(const wire::Ipv6Address& dst) const {
    return route_ && site(dst) == site_ ? route_ : nullptr;
  }
  void set_route(const wire::Ipv6Address& dst, const blocks::Forwarder::Row6* route) {
    site_ = site(dst);
    route_ = route;
  }

 private:
  static uint64_t site(const wire::Ipv6Address& address) {
    uint64_t prefix_and_locator;
    std::memcpy(&prefix_and_locator, address.data(), 8);
    return prefix_and_locator;
  }

  std::bitset<65536> known_;
  bool learned_ = false;
  uint64_t site_ = 0;
  const blocks::Forwarder::Row6* route_ = nullptr;
};

}  // namespace l3dml::pipeline
