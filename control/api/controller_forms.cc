// The stripes of a running job, looked at again when the network has changed. Number and shares stay for the
// life of a job (its members deal chunks by them); roots and rates follow the network, by an epoch change of
// the stripes concerned.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/api/controller_state.h"
#include "control/api/job_request.h"
#include "control/jobs/form.h"

namespace l3dml::control {
namespace {

// The chosen roots for stripes that run: what has a root of them keeps it, the others take what is left.
std::vector<StripeRequest> moved_to(const std::vector<StripeRequest>& running,
                                    const std::vector<StripeRequest>& chosen) {
  std::vector<SiteId> free;
  for (const StripeRequest& stripe : chosen) free.push_back(stripe.root);
  std::vector<StripeRequest> moved = running;
  std::vector<StripeRequest*> homeless;
  for (StripeRequest& stripe : moved) {
    if (const auto found = std::find(free.begin(), free.end(), stripe.root); found != free.end())
      free.erase(found);
    else
      homeless.push_back(&stripe);
  }
  for (size_t i = 0; i < homeless.size(); ++i)
    homeless[i]->root = i < free.size() ? free[i] : chosen[i % chosen.size()].root;
  return moved;
}

}  // namespace

Topology Controller::usable_topology() const {
  Topology usable_now = topology_;
  for (size_t site = 0; site < sites_.size(); ++site)
    if (!usable(static_cast<SiteId>(site))) usable_now.set_aggregates(static_cast<SiteId>(site), false);
  return usable_now;
}

double Controller::rate_of(const Job& job, const Topology& topology, const std::vector<HostId>& members,
                           const std::vector<StripeRequest>& stripes) const {
  SizingOptions sizing;
  sizing.lanes = job.plan.lanes;
  // What a collective of very many bytes takes is its bytes over the rate.
  constexpr double kVeryMany = 1e15;
  return 8 * kVeryMany / form_time_s(topology, members, stripes, sizing, kVeryMany);
}

std::vector<StripeRequest> Controller::running_form(const Job& job) {
  std::vector<StripeRequest> running;
  for (size_t i = 0; i < job.plan.stripes.size(); ++i) {
    const StripePlan& plan = job.stripes[i].next ? *job.stripes[i].next : job.plan.stripes[i];
    running.push_back({plan.tree.aggregators.front().site, plan.share, {job.record.specification.inner, 2}});
  }
  return running;
}

std::vector<HostId> Controller::present_members(const Job& job) {
  std::vector<HostId> members;
  for (size_t rank = 0; rank < job.record.members.size(); ++rank)
    if (!job.record.members[rank].left && !job.record.members[rank].lost)
      members.push_back(job.plan.members[rank]);
  return members;
}

// A switch that is away may be back at once: what it means for jobs is known when it is back, or lost.
bool Controller::all_settled() const {
  for (size_t site = 0; site < sites_.size(); ++site) {
    const Device& device = *devices_[site];
    if (!topology_.sites()[site].aggregates || sites_[site].removed || device.lost) continue;
    if (!usable(static_cast<SiteId>(site)) || device.stale) return false;
  }
  return true;
}

void Controller::revise_one_job() {
  if (!all_settled()) return;
  for (const auto& [name, job] : jobs_) {
    if (!job->live() || !job->revise || job->in_change()) continue;
    job->revise = false;
    if (job->record.attended) return revise(*job);
  }
}

void Controller::revise(Job& job) {
  const JobSpecification& specification = job.record.specification;
  const std::vector<HostId> members = present_members(job);
  const std::vector<StripeRequest> running = running_form(job);
  const Topology topology = usable_topology();
  SizingOptions sizing;
  sizing.lanes = job.plan.lanes;
  ChosenForm form{running, 0, "owner", "the roots were given"};
  if (!specification.roots.empty()) {
    for (size_t i = 0; i < running.size() && i < specification.roots.size(); ++i)
      if (const SiteId site = topology.find_site(specification.roots[i].first);
          site >= 0 && topology.sites()[site].aggregates)
        form.stripes[i].root = site;
  } else {
    const FormOptions options = form_options(specification);
    auto chosen = options_.forms->choose(topology, members, sizing, options);
    if (!chosen.ok()) return;  // nothing better; what runs goes on as long as it can
    form = *std::move(chosen);
    form.stripes = moved_to(running, form.stripes);
    form.time_s = form_time_s(topology, members, form.stripes, sizing, options.bytes);
    form = keep_unless_clearly_faster(topology, members, sizing, options.bytes, std::move(form), running,
                                      options_.form_hysteresis);
  }
  bool moves = false;
  for (size_t i = 0; i < running.size(); ++i) {
    job.stripes[i].wanted_root = form.stripes[i].root;
    moves |= form.stripes[i].root != running[i].root;
  }
  const double rate_bps = rate_of(job, topology, members, form.stripes);
  if (!(rate_bps > 0)) return;  // no tree there: whoever is lost is changed for by its loss
  const bool paces = std::abs(rate_bps - job.sized_bps) > options_.form_hysteresis * job.sized_bps;
  if (!moves && !paces) return;
  job.sized_bps = rate_bps;
  if (moves) {
    job.record.form_source = form.source;
    job.record.form_why = form.why;
  }
  event("job_revised", specification.name,
        moves ? form.why : absl::StrFormat("%.3g Mb/s are possible now", rate_bps / 1e6));
  for (size_t i = 0; i < running.size() && job.live(); ++i)
    if (paces || form.stripes[i].root != running[i].root)
      job.stripes[i].coordinator->handle(ChangeWanted{}, options_.now_ns());
  if (job.live()) carry(job);
}

}  // namespace l3dml::control
