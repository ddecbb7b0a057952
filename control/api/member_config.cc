#include "control/api/member_config.h"

#include <nlohmann/json.hpp>

#include "control/jobs/compiler.h"

namespace l3dml::control {
namespace {

nlohmann::ordered_json stripe_json(const Topology& topology, const JobPlan& plan, const StripePlan& stripe,
                                   int rank, uint32_t mtu) {
  // The plan counts what a packet takes on the wire; the host paces frames.
  const double wire_bits = packet_bits(plan.lanes), frame_share = (wire_bits - 8.0 * kWireBytes) / wire_bits;
  // A rank that comes back has no place yet: it waits for one, paused; until then any valid one will do.
  MemberPlace place = stripe.members[rank];
  if (place.aggregator < 0) place = {0, 0};
  const Site& site = topology.sites()[stripe.tree.aggregators[place.aggregator].site];
  return {
      {"job", stripe.job},
      {"epoch", stripe.epoch},
      {"child", place.child},
      {"lanes", plan.lanes},
      {"window", stripe.window},
      {"look_ahead", plan.look_ahead},
      {"shards", stripe.shards},
      {"first_number", stripe.first_number},
      {"slot_base", stripe.aggregators[place.aggregator].slot_base},
      {"ring", stripe.ring},
      {"aggregator", text(aggregation_address(site.prefix, site.locator, 0, stripe.job,
                                              static_cast<uint16_t>(place.child)))},
      {"result_source", text(aggregation_address(site.prefix, site.locator, 0, stripe.job, kChildSwitch))},
      {"local_address", text(topology.address(plan.members[rank]))},
      {"local_port", plan.udp_ports[rank]},
      {"rate_bps", static_cast<uint64_t>(stripe.rate_bps * frame_share)},
      {"share", stripe.share},
      {"mtu", mtu}};
}

}  // namespace

std::string member_config(const Topology& topology, const JobPlan& plan, int rank, double timeout_s,
                          uint32_t mtu) {
  nlohmann::ordered_json config{
      {"name", plan.name},     {"world", plan.members.size()},
      {"rank", rank},          {"timeout_ns", static_cast<int64_t>(timeout_s * 1e9)},
      {"abstain_after_ns", 0}, {"stripes", nlohmann::ordered_json::array()}};
  for (const StripePlan& stripe : plan.stripes)
    config["stripes"].push_back(stripe_json(topology, plan, stripe, rank, mtu));
  return config.dump();
}

std::string stripe_config(const Topology& topology, const JobPlan& plan, const StripePlan& stripe, int rank,
                          uint32_t mtu) {
  return stripe_json(topology, plan, stripe, rank, mtu).dump();
}

}  // namespace l3dml::control
