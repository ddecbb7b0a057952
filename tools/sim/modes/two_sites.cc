#include "tools/sim/modes/two_sites.h"

#include <bit>

namespace l3dml::sim {

uint32_t add_host(Scenario* s, uint32_t site) {
  const auto host = static_cast<uint32_t>(s->hosts.size());
  s->hosts.push_back(site);
  LinkSpec link{true, site, host, {}};
  link.parameters.delay_ns = 10 * base::kMicrosecond;
  link.parameters.rate_bps = 10 * kWanBps;
  s->links.push_back(link);
  return host;
}

Scenario two_sites(uint32_t jobs, uint32_t collectives, uint32_t chunks, double share,
                   const io::LossModel& loss) {
  Scenario s;
  s.seed = 1;
  s.devices = 2;
  s.control_min_ns = s.control_max_ns = base::kMillisecond;
  s.most_packets = 400'000'000;
  LinkSpec wan{false, 0, 1, {}};
  wan.parameters.rate_bps = kWanBps;
  wan.parameters.delay_ns = kWanDelayNs;
  wan.parameters.loss = loss;
  wan.parameters.ecn_bytes = 150'000;
  s.links.push_back(wan);
  const double packets_flying =
      static_cast<double>(kWanBps) / 8 / kWireBytes * 2 * kWanDelayNs / base::kSecond;
  const uint32_t window = std::bit_ceil(static_cast<uint32_t>(1.5 * packets_flying));
  for (uint32_t j = 0; j < jobs; ++j) {
    JobSpec job;
    job.lanes = kModeLanes;
    job.window = window;
    job.ring = 2 * window;
    job.seq_ring = std::bit_ceil(static_cast<uint32_t>(2 * packets_flying));
    job.rate_bps = static_cast<uint64_t>(share * static_cast<double>(kWanBps) * kFrameBytes / kWireBytes);
    Tree tree;
    tree.aggregators = {{1, -1, 0, {{false, 1}}}, {0, 0, 0, {}}};
    for (uint32_t member = 0; member < 4; ++member) {
      const uint32_t site = member / 2, at = site == 0 ? 1 : 0;
      const uint32_t host = add_host(&s, site);
      job.members.push_back({host, 0, 2});
      std::vector<TreeChild>& children = tree.aggregators[at].children;
      tree.places.push_back({at, static_cast<uint8_t>(children.size())});
      children.push_back({true, member});
    }
    job.fixed_tree = tree;
    CollectiveSpec collective;
    collective.type = kernels::ElementType::kInt32;
    collective.in_place = true;
    collective.count = size_t{chunks} * kModeLanes;
    job.collectives.assign(collectives, collective);
    s.jobs.push_back(job);
  }
  return s;
}

}  // namespace l3dml::sim
