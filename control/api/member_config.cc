#include "control/api/member_config.h"

#include <nlohmann/json.hpp>

#include "control/jobs/compiler.h"

namespace l3dml::control {

std::string member_config(const Topology& topology, const JobPlan& plan, int rank, double timeout_s,
                          uint32_t mtu) {
  nlohmann::ordered_json config{
      {"name", plan.name},     {"world", plan.members.size()},
      {"rank", rank},          {"timeout_ns", static_cast<int64_t>(timeout_s * 1e9)},
      {"abstain_after_ns", 0}, {"stripes", nlohmann::ordered_json::array()}};
  // The plan counts what a packet takes on the wire; the host paces frames.
  const double wire_bits = packet_bits(plan.lanes), frame_share = (wire_bits - 8.0 * kWireBytes) / wire_bits;
  for (const StripePlan& stripe : plan.stripes) {
    const MemberPlace& place = stripe.members[rank];
    const Site& site = topology.sites()[stripe.tree.aggregators[place.aggregator].site];
    config["stripes"].push_back(
        {{"job", stripe.job},
         {"epoch", stripe.epoch},
         {"child", place.child},
         {"lanes", plan.lanes},
         {"window", stripe.window},
         {"look_ahead", plan.look_ahead},
         {"shards", stripe.shards},
         {"first_number", stripe.first_number},
         {"slot_base", stripe.aggregators[place.aggregator].slot_base},
         {"ring", stripe.ring},
         {"aggregator", text(member_destination(topology, stripe, rank))},
         {"result_source", text(aggregation_address(site.prefix, site.locator, 0, stripe.job, kChildSwitch))},
         {"local_address", text(topology.address(plan.members[rank]))},
         {"local_port", plan.udp_ports[rank]},
         {"rate_bps", static_cast<uint64_t>(stripe.rate_bps * frame_share)},
         {"share", stripe.share},
         {"mtu", mtu}});
  }
  return config.dump();
}

}  // namespace l3dml::control
