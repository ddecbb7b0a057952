#include "control/jobs/plan.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "control/jobs/form.h"
#include "control/jobs/stamps.h"

namespace l3dml::control {
namespace {

constexpr uint32_t kMinSeqRing = 256;

absl::Status short_of(const std::string& what, const Topology& topology, SiteId site) {
  return absl::ResourceExhaustedError(
      absl::StrCat("switch of site ", topology.sites()[site].name, " has no ", what,
                   " left for this job: end another job, or aggregate elsewhere"));
}

// Takes what one aggregator needs. False with `status` set: something other than slots ran out.
absl::Status take(const Topology& topology, const Aggregator& aggregator, const StripePlan& stripe,
                  const std::vector<double>& child_rtts_s, double parent_rtt_s, uint32_t lanes,
                  DeviceResources* device, AggregatorPlan* plan) {
  const auto slots = device->slots.allocate(stripe.ring);
  if (!slots) return short_of(absl::StrCat("ring of ", stripe.ring, " slots"), topology, aggregator.site);
  plan->slot_base = *slots;

  const auto job_index = device->jobs.take();
  if (!job_index) return short_of("job entry", topology, aggregator.site);
  plan->job_index = *job_index;
  const auto mgid = device->groups.take();
  if (!mgid) return short_of("multicast group", topology, aggregator.site);
  plan->mgid = *mgid;

  const auto neighbor = [&](double rtt_s, uint16_t* index, AggregatorPlan::SeqRing* ring) -> absl::Status {
    const auto taken = device->neighbors.take();
    if (!taken) return short_of("neighbour entry", topology, aggregator.site);
    *index = *taken;
    // At least twice what is under way on the segment; never more than twice what can be in flight at all.
    const double under_way = stripe.rate_bps * rtt_s / packet_bits(lanes) / stripe.shards;
    ring->length = std::max(kMinSeqRing, std::min(power_of_two_above(2 * under_way), 2 * stripe.window));
    const auto base = device->seq_entries.allocate(ring->length);
    if (!base) return short_of("seq ring", topology, aggregator.site);
    ring->base = *base;
    return absl::OkStatus();
  };
  plan->neighbors.resize(aggregator.children.size());
  plan->seq_rings.resize(aggregator.children.size());
  for (size_t c = 0; c < aggregator.children.size(); ++c)
    if (absl::Status s = neighbor(child_rtts_s[c], &plan->neighbors[c], &plan->seq_rings[c]); !s.ok())
      return s;
  if (aggregator.parent >= 0) return neighbor(parent_rtt_s, &plan->parent_neighbor, &plan->parent_seq_ring);
  return absl::OkStatus();
}

absl::Status place_stripe(const Topology& topology, const StripeSize& size, uint32_t lanes,
                          std::vector<DeviceResources>* devices, StripePlan* stripe) {
  const std::vector<Segment> segments = segments_of(topology, stripe->tree);
  std::vector<std::vector<double>> child_rtts(stripe->tree.aggregators.size());
  std::vector<double> parent_rtts(stripe->tree.aggregators.size(), 0.0);
  for (size_t i = 0; i < segments.size(); ++i) {
    child_rtts[segments[i].aggregator].push_back(size.segment_rtts_s[i]);
    const Child& child = stripe->tree.aggregators[segments[i].aggregator].children[segments[i].child];
    if (child.kind == NodeKind::aggregator) parent_rtts[child.index] = size.segment_rtts_s[i];
  }
  stripe->aggregators.assign(stripe->tree.aggregators.size(), {});
  for (size_t a = 0; a < stripe->tree.aggregators.size(); ++a) {
    const Aggregator& aggregator = stripe->tree.aggregators[a];
    if (absl::Status s = take(topology, aggregator, *stripe, child_rtts[a], parent_rtts[a], lanes,
                              &(*devices)[aggregator.site], &stripe->aggregators[a]);
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status check_devices(const Topology& topology, const StripePlan& stripe, uint32_t lanes,
                           const std::vector<DeviceResources>& devices, uint32_t* shards) {
  for (const Aggregator& a : stripe.tree.aggregators) {
    const Capability& c = devices[a.site].capability;
    if (lanes > c.lanes)
      return absl::FailedPreconditionError(absl::StrCat("the job wants ", lanes, " lanes, switch of site ",
                                                        topology.sites()[a.site].name, " keeps ", c.lanes,
                                                        " a slot: lower lanes to ", c.lanes));
    *shards = std::max(*shards, c.pipes);  // every device must tell shards apart in the same way
  }
  return absl::OkStatus();
}

std::vector<MemberPlace> places(const Tree& tree, const std::vector<HostId>& members) {
  // Ranks of one host are separate children, listed in order of rank.
  std::map<HostId, std::vector<MemberPlace>> by_host;
  for (size_t a = 0; a < tree.aggregators.size(); ++a)
    for (size_t c = 0; c < tree.aggregators[a].children.size(); ++c)
      if (const Child& child = tree.aggregators[a].children[c]; child.kind == NodeKind::worker)
        by_host[child.index].push_back({static_cast<int>(a), static_cast<int>(c)});
  std::map<HostId, size_t> used;
  std::vector<MemberPlace> result;
  for (const HostId h : members) result.push_back(by_host[h][used[h]++]);
  return result;
}

}  // namespace

absl::StatusOr<JobPlan> plan_job(const Topology& topology, const JobRequest& request,
                                 std::vector<DeviceResources>* devices) {
  const uint32_t lanes = request.sizing.lanes;
  if (lanes == 0 || lanes % 64 != 0 || lanes > 320)
    return absl::InvalidArgumentError(
        absl::StrCat("lanes is ", lanes, ", it must be 64, 128, 192, 256 or 320"));
  if (request.stripes.empty()) return absl::InvalidArgumentError("a job needs at least one stripe");
  double shares = 0;
  for (const StripeRequest& s : request.stripes) shares += s.share;
  if (!(shares > 0))
    return absl::InvalidArgumentError("the shares of a job's stripes must add up to more than 0");

  JobPlan plan;
  plan.name = request.name;
  plan.members = request.members;
  plan.lanes = lanes;
  std::map<HostId, uint16_t> ranks_on_host;
  for (const HostId h : request.members)
    plan.udp_ports.push_back(static_cast<uint16_t>(kFirstMemberPort + ranks_on_host[h]++));

  std::vector<StripeShape> shapes;
  uint32_t shards = 1;
  for (size_t i = 0; i < request.stripes.size(); ++i) {
    StripePlan stripe;
    stripe.job = static_cast<uint16_t>(request.first_job + i);
    stripe.share = request.stripes[i].share / shares;
    auto tree =
        build_tree(topology, request.members, request.stripes[i].root, by_delay, request.stripes[i].tree);
    if (!tree.ok()) return tree.status();
    stripe.tree = *std::move(tree);
    if (absl::Status s = check_devices(topology, stripe, lanes, *devices, &shards); !s.ok()) return s;
    stripe.members = places(stripe.tree, request.members);
    plan.stripes.push_back(std::move(stripe));
  }
  for (const StripePlan& stripe : plan.stripes) shapes.push_back({&stripe.tree, stripe.share});
  const JobSize wanted = size_job(topology, shapes, request.sizing);

  // Halve all windows together until the rings fit; the first failure names the switch that is short.
  absl::Status first_failure;
  for (uint32_t shrink = 1;; shrink *= 2) {
    JobSize size = wanted;
    std::vector<uint32_t> windows;
    bool smaller = false;
    for (const StripeSize& s : wanted.stripes) {
      windows.push_back(std::max(std::min(s.window, std::max(kMinWindow, shards)), s.window / shrink));
      smaller |= windows.back() > std::max(kMinWindow, shards);
    }
    if (shrink > 1) apply_windows(&size, windows, lanes, std::string(first_failure.message()));
    std::vector<DeviceResources> trial = *devices;
    absl::Status status;
    for (size_t i = 0; i < plan.stripes.size() && status.ok(); ++i) {
      StripePlan& stripe = plan.stripes[i];
      stripe.window = windows[i];
      stripe.shards = shards;
      stripe.ring = std::max(2 * stripe.window / shards, 1u);
      stripe.rate_bps = size.stripes[i].rate_bps;
      stripe.rtt_s = size.stripes[i].rtt_s;
      status = place_stripe(topology, size.stripes[i], lanes, &trial, &stripe);
    }
    if (status.ok()) {
      *devices = std::move(trial);
      plan.rate_bps = size.rate_bps;
      plan.goodput_bps = size.goodput_bps;
      plan.limit = size.limit;
      break;
    }
    if (first_failure.ok()) first_failure = status;
    if (!smaller) return first_failure;
  }
  for (StripePlan& stripe : plan.stripes) {
    plan.look_ahead = std::max(plan.look_ahead, stripe.window);
    stripe.first_number = choose_first_number({}, stripe.ring * stripe.shards, 0).number;
  }
  return plan;
}

absl::StatusOr<StripePlan> replan_stripe(const Topology& topology, const JobPlan& plan, size_t index,
                                         const std::vector<SiteId>& roots, const std::vector<int>& ranks,
                                         const SizingOptions& sizing, const TreeOptions& tree_options,
                                         std::vector<DeviceResources>* devices) {
  const StripePlan& old = plan.stripes[index];
  std::vector<HostId> members;
  for (const int rank : ranks) members.push_back(plan.members[rank]);

  StripePlan stripe;
  stripe.job = old.job;
  stripe.share = old.share;
  stripe.shards = old.shards;
  auto tree = build_tree(topology, members, roots[index], by_delay, tree_options);
  if (!tree.ok()) {
    auto form = choose_form(topology, members, sizing, {.stripes = 1, .inner = tree_options.inner});
    if (!form.ok()) return form.status();
    tree = build_tree(topology, members, form->front().root, by_delay, tree_options);
    if (!tree.ok()) return tree.status();
  }
  stripe.tree = *std::move(tree);
  uint32_t shards = 1;
  if (absl::Status s = check_devices(topology, stripe, plan.lanes, *devices, &shards); !s.ok()) return s;
  if (shards > stripe.shards)
    return absl::FailedPreconditionError(
        absl::StrCat("the job's ", stripe.shards, " shards cannot be spread over switches of ", shards,
                     " pipes: aggregate at switches with as many pipes as before"));
  const std::vector<MemberPlace> found = places(stripe.tree, members);
  stripe.members.assign(plan.members.size(), {-1, 0});
  for (size_t i = 0; i < ranks.size(); ++i) stripe.members[ranks[i]] = found[i];

  // The other stripes load the same links; where one of them cannot be built it loads nothing.
  std::vector<Tree> trees;
  trees.reserve(plan.stripes.size());
  std::vector<StripeShape> shapes;
  size_t ours = 0;
  for (size_t i = 0; i < plan.stripes.size(); ++i) {
    auto other = i == index ? absl::StatusOr<Tree>(stripe.tree)
                            : build_tree(topology, members, roots[i], by_delay, tree_options);
    if (!other.ok()) continue;
    if (i == index) ours = shapes.size();
    trees.push_back(*std::move(other));
    shapes.push_back({&trees.back(), plan.stripes[i].share});
  }
  JobSize size = size_job(topology, shapes, sizing);
  absl::Status first_failure;
  for (uint32_t window = std::min(size.stripes[ours].window, plan.look_ahead);; window /= 2) {
    const uint32_t least = std::max(kMinWindow, stripe.shards);
    std::vector<uint32_t> windows;
    for (size_t i = 0; i < shapes.size(); ++i)
      windows.push_back(i == ours ? std::max(window, least) : size.stripes[i].window);
    JobSize fitting = size;
    if (windows[ours] != size.stripes[ours].window)
      apply_windows(&fitting, windows, plan.lanes, std::string(first_failure.message()));
    stripe.window = windows[ours];
    stripe.ring = std::max(2 * stripe.window / stripe.shards, 1u);
    stripe.rate_bps = fitting.stripes[ours].rate_bps;
    stripe.rtt_s = fitting.stripes[ours].rtt_s;
    std::vector<DeviceResources> trial = *devices;
    const absl::Status status = place_stripe(topology, fitting.stripes[ours], plan.lanes, &trial, &stripe);
    if (status.ok()) {
      *devices = std::move(trial);
      return stripe;
    }
    if (first_failure.ok()) first_failure = status;
    if (window <= least) return first_failure;
  }
}

bool reserve_stripe(const StripePlan& stripe, std::vector<DeviceResources>* devices) {
  for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
    DeviceResources& device = (*devices)[stripe.tree.aggregators[a].site];
    const AggregatorPlan& given = stripe.aggregators[a];
    bool free = device.slots.reserve(given.slot_base, stripe.ring) && device.jobs.reserve(given.job_index) &&
                device.groups.reserve(given.mgid);
    for (size_t c = 0; c < given.neighbors.size() && free; ++c)
      free = device.neighbors.reserve(given.neighbors[c]) &&
             device.seq_entries.reserve(given.seq_rings[c].base, given.seq_rings[c].length);
    if (given.parent_neighbor != 0 && free)
      free = device.neighbors.reserve(given.parent_neighbor) &&
             device.seq_entries.reserve(given.parent_seq_ring.base, given.parent_seq_ring.length);
    if (!free) return false;
  }
  return true;
}

void release_stripe(const StripePlan& stripe, std::vector<DeviceResources>* devices) {
  for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
    DeviceResources& device = (*devices)[stripe.tree.aggregators[a].site];
    const AggregatorPlan& given = stripe.aggregators[a];
    device.slots.release(given.slot_base, stripe.ring);
    device.jobs.give_back(given.job_index);
    device.groups.give_back(given.mgid);
    for (size_t c = 0; c < given.neighbors.size(); ++c) {
      device.neighbors.give_back(given.neighbors[c]);
      device.seq_entries.release(given.seq_rings[c].base, given.seq_rings[c].length);
    }
    if (given.parent_neighbor == 0) continue;
    device.neighbors.give_back(given.parent_neighbor);
    device.seq_entries.release(given.parent_seq_ring.base, given.parent_seq_ring.length);
  }
}

bool reserve_job(const JobPlan& plan, std::vector<DeviceResources>* devices) {
  return std::all_of(plan.stripes.begin(), plan.stripes.end(),
                     [&](const StripePlan& stripe) { return reserve_stripe(stripe, devices); });
}

void release_job(const JobPlan& plan, std::vector<DeviceResources>* devices) {
  for (const StripePlan& stripe : plan.stripes) release_stripe(stripe, devices);
}

}  // namespace l3dml::control
