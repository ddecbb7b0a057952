#include "tools/lab/explain.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/api/convert.h"
#include "control/api/job_request.h"
#include "tools/lab/controller_process.h"

namespace l3dml::lab {
namespace {

void add_node(const Scenario& scenario, const control::StripePlan& stripe, int index, int depth,
              std::string* out) {
  const control::Aggregator& node = stripe.tree.aggregators[index];
  const control::AggregatorPlan& given = stripe.aggregators[index];
  const std::string indent(static_cast<size_t>(4 + 2 * depth), ' ');
  absl::StrAppendFormat(out, "%s%s sums %d children, slots %d to %d\n", indent,
                        scenario.topology.sites()[node.site].name, node.children.size(), given.slot_base,
                        given.slot_base + stripe.ring - 1);
  for (const control::Child& child : node.children) {
    if (child.kind == control::NodeKind::aggregator)
      add_node(scenario, stripe, child.index, depth + 1, out);
    else
      absl::StrAppend(out, indent, "  worker ", scenario.topology.hosts()[child.index].name, "\n");
  }
}

}  // namespace

absl::StatusOr<std::string> explain(const Scenario& scenario) {
  control::Capability capability;
  capability.lanes = scenario.job.lanes;
  std::vector<control::DeviceResources> devices(scenario.topology.sites().size(),
                                                control::DeviceResources(capability));
  const auto request =
      control::request_of(scenario.topology, devices, control::from_proto(job_request(scenario)));
  if (!request.ok()) return request.status();
  const auto plan = control::plan_job(scenario.topology, *request, &devices);
  if (!plan.ok()) return plan.status();
  std::string out = absl::StrFormat(
      "%s: %d workers at %d sites, %d links; %d stripe%s of %d lanes\n  goodput to expect: %.1f Mb/s of "
      "gradients; limited by %s\n",
      scenario.name, scenario.topology.hosts().size(), scenario.topology.sites().size(),
      scenario.topology.links().size(), plan->stripes.size(), plan->stripes.size() == 1 ? "" : "s",
      plan->lanes, plan->goodput_bps / 1e6, plan->limit);
  for (const control::StripePlan& stripe : plan->stripes) {
    absl::StrAppendFormat(
        &out, "  stripe %d: %.0f %% of the chunks, round trip %.1f ms, %.1f Mb/s, window %d, ring %d\n",
        stripe.job, 100 * stripe.share, 1e3 * stripe.rtt_s, stripe.rate_bps / 1e6, stripe.window,
        stripe.ring);
    add_node(scenario, stripe, 0, 0, &out);
  }
  return out;
}

}  // namespace l3dml::lab
