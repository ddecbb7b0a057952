#include "tools/lab/job_files.h"

#include "absl/strings/str_cat.h"
#include "control/jobs/compiler.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

// The plan counts what a packet takes on the wire; the host paces frames.
double frame_rate_bps(double wire_rate_bps, uint32_t lanes) {
  const double wire_bits = control::packet_bits(lanes);
  return wire_rate_bps * (wire_bits - 8.0 * control::kWireBytes) / wire_bits;
}

}  // namespace

host::JobConfig job_config(const control::Topology& topology, const control::JobPlan& plan, int rank,
                           const JobFileOptions& options) {
  host::JobConfig config;
  config.name = plan.name;
  config.world = static_cast<uint32_t>(plan.members.size());
  config.rank = static_cast<uint32_t>(rank);
  config.timeout_ns = static_cast<int64_t>(options.timeout_s * 1e9);
  for (const control::StripePlan& stripe : plan.stripes) {
    const control::MemberPlace& place = stripe.members[rank];
    const control::Site& site = topology.sites()[stripe.tree.aggregators[place.aggregator].site];
    host::StripeConfig s;
    s.job = stripe.job;
    s.epoch = stripe.epoch;
    s.child = static_cast<uint8_t>(place.child);
    s.lanes = plan.lanes;
    s.window = stripe.window;
    s.look_ahead = plan.look_ahead;
    s.shards = stripe.shards;
    s.first_number = stripe.first_number;
    s.slot_base = stripe.aggregators[place.aggregator].slot_base;
    s.ring = stripe.ring;
    s.aggregator = control::member_destination(topology, stripe, rank);
    s.result_source =
        control::aggregation_address(site.prefix, site.locator, 0, stripe.job, control::kChildSwitch);
    s.local_address = topology.address(plan.members[rank]);
    s.local_port = plan.udp_ports[rank];
    s.rate_bps = static_cast<uint64_t>(frame_rate_bps(stripe.rate_bps, plan.lanes));
    s.share = stripe.share;
    s.mtu = options.mtu;
    config.stripes.push_back(s);
  }
  return config;
}

absl::Status write_job_files(const control::Topology& topology, const control::JobPlan& plan,
                             const JobFileOptions& options, const std::string& folder) {
  for (size_t rank = 0; rank < plan.members.size(); ++rank) {
    const host::JobConfig config = job_config(topology, plan, static_cast<int>(rank), options);
    L3DML_RETURN_IF_ERROR(host::validate(config));
    L3DML_RETURN_IF_ERROR(host::save_job_config(config, absl::StrCat(folder, "/rank", rank, ".json")));
  }
  return absl::OkStatus();
}

}  // namespace l3dml::lab
