#include "tools/sim/coverage.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dataplane/wire/header.h"

namespace l3dml::sim {
namespace {

using base::kMicrosecond;
using base::kMillisecond;

template <typename Predicate>
bool any_job(const Scenario& s, Predicate predicate) {
  return std::any_of(s.jobs.begin(), s.jobs.end(), predicate);
}
template <typename Predicate>
bool any_link(const Scenario& s, Predicate predicate) {
  return std::any_of(s.links.begin(), s.links.end(),
                     [&](const LinkSpec& link) { return predicate(link.parameters); });
}
template <typename Predicate>
bool any_collective(const Scenario& s, Predicate predicate) {
  return any_job(s, [&](const JobSpec& job) {
    return std::any_of(job.collectives.begin(), job.collectives.end(), predicate);
  });
}
bool fault(const Scenario& s, FaultKind kind) {
  return std::any_of(s.faults.begin(), s.faults.end(), [&](const Fault& f) { return f.kind == kind; });
}
double loss(const Scenario& s) {
  double most = 0;
  for (const LinkSpec& link : s.links) most = std::max(most, link.parameters.loss.mean());
  return most;
}
bool lost(const Scenario& s, double from, double below) { return loss(s) >= from && loss(s) < below; }
bool withheld(const Scenario& s, wire::Type type) { return s.withheld >> static_cast<unsigned>(type) & 1; }
// Members that compute for unlike times, or queue unlike many collectives.
bool out_of_step(const JobSpec& job) {
  return std::any_of(job.members.begin(), job.members.end(), [&](const MemberSpec& m) {
    return m.gap_ns != job.members[0].gap_ns || m.queued != job.members[0].queued;
  });
}

struct Property {
  const char* name;
  bool (*has)(const Scenario&, const Outcome&);
};
#define L3DML_HAS(expression) \
  [](const Scenario& s, const Outcome& o) -> bool { return (void)s, (void)o, (expression); }

constexpr Property kProperties[] = {
    {"1 job", L3DML_HAS(s.jobs.size() == 1)},
    {"2-15 jobs", L3DML_HAS(s.jobs.size() > 1 && s.jobs.size() < 16)},
    {"16 jobs", L3DML_HAS(s.jobs.size() >= 16)},
    {"tree of depth 1", L3DML_HAS(o.seen.depths >> 1 & 1)},
    {"depth 2", L3DML_HAS(o.seen.depths >> 2 & 1)},
    {"depth 3", L3DML_HAS(o.seen.depths >> 3 & 1)},
    {"depth 4", L3DML_HAS(o.seen.depths >> 4 & 1)},
    {"no loss", L3DML_HAS(loss(s) == 0)},
    {"loss below 1 %", L3DML_HAS(loss(s) > 0 && loss(s) < 0.01)},
    {"loss 1-5 %", L3DML_HAS(lost(s, 0.01, 0.05))},
    {"loss 5-15 %", L3DML_HAS(lost(s, 0.05, 0.15))},
    {"loss 15-30 %", L3DML_HAS(lost(s, 0.15, 1))},
    {"loss in bursts", L3DML_HAS(any_link(s, [](const auto& p) { return p.loss.good_to_bad > 0; }))},
    {"duplication", L3DML_HAS(any_link(s, [](const auto& p) { return p.duplicate > 0; }))},
    {"reordering", L3DML_HAS(any_link(s, [](const auto& p) { return p.reorder > 0; }))},
    {"jitter", L3DML_HAS(any_link(s, [](const auto& p) { return p.jitter_ns > 0; }))},
    {"corruption", L3DML_HAS(any_link(s, [](const auto& p) { return p.corrupt > 0; }))},
    {"delay below 10 us",
     L3DML_HAS(any_link(s, [](const auto& p) { return p.delay_ns < 10 * kMicrosecond; }))},
    {"delay above 50 ms",
     L3DML_HAS(any_link(s, [](const auto& p) { return p.delay_ns > 50 * kMillisecond; }))},
    {"delay above 250 ms",
     L3DML_HAS(any_link(s, [](const auto& p) { return p.delay_ns > 250 * kMillisecond; }))},
    {"queues", L3DML_HAS(any_link(s, [](const auto& p) { return p.rate_bps > 0; }))},
    {"congestion marks", L3DML_HAS(any_link(s, [](const auto& p) { return p.ecn_bytes > 0; }))},
    {"bursts at switches", L3DML_HAS(s.poll_interval_ns > 0)},
    {"detours", L3DML_HAS(s.detours)},
    {"several pipes", L3DML_HAS(s.pipes > 1)},
    {"several shards", L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.shards > 1; }))},
    {"switch restart", L3DML_HAS(fault(s, FaultKind::device_restart))},
    {"switch death", L3DML_HAS(fault(s, FaultKind::device_death))},
    {"silent switch", L3DML_HAS(fault(s, FaultKind::device_silent))},
    {"worker death", L3DML_HAS(fault(s, FaultKind::member_death))},
    {"worker restart", L3DML_HAS(fault(s, FaultKind::member_restart))},
    {"worker joins", L3DML_HAS(fault(s, FaultKind::member_join))},
    {"link down", L3DML_HAS(fault(s, FaultKind::link_down))},
    {"epoch change in flight", L3DML_HAS(o.seen.changes_in_flight > 0)},
    {"window changes", L3DML_HAS(o.seen.windows_changed > 0)},
    {"member cut off", L3DML_HAS(o.failed_members > 0)},
    {"number wraps", L3DML_HAS(o.seen.numbers_wrapped > 0)},
    {"seq wraps", L3DML_HAS(o.seen.seqs_wrapped > 0)},
    {"stamps overwritten", L3DML_HAS(o.seen.stamps_overwritten > 0)},
    {"W 1", L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.window == 1; }))},
    {"W 2-16", L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.window > 1 && j.window <= 16; }))},
    {"W 32-512", L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.window > 16 && j.window <= 512; }))},
    {"W 1024-2048",
     L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.window > 512 && j.window < 4096; }))},
    {"W 4096", L3DML_HAS(any_job(s, [](const JobSpec& j) { return j.window == 4096; }))},
    {"queued at different times", L3DML_HAS(any_job(s, out_of_step))},
    {"lanes that do not fit", L3DML_HAS(o.repeats > o.asked)},
    {"not finite", L3DML_HAS(o.seen.not_finite > 0)},
    {"abstention", L3DML_HAS(o.abstained > 0)},
    {"half lanes",
     L3DML_HAS(any_collective(
         s, [](const CollectiveSpec& c) { return c.format != kernels::LaneFormat::kFixed32; }))},
    {"no NACK ever", L3DML_HAS(withheld(s, wire::Type::nack) && !withheld(s, wire::Type::sync))},
    {"no SYNC ever", L3DML_HAS(withheld(s, wire::Type::sync) && !withheld(s, wire::Type::nack))},
    {"neither", L3DML_HAS(withheld(s, wire::Type::sync) && withheld(s, wire::Type::nack))},
    {"forged packets", L3DML_HAS(s.forged > 0)},
    {"NACK of nothing", L3DML_HAS(o.drops[static_cast<size_t>(base::DropReason::nack_empty)] > 0)},
    {"rationed NACK", L3DML_HAS(o.drops[static_cast<size_t>(base::DropReason::nack_limited)] > 0)},
    {"stale packet", L3DML_HAS(o.drops[static_cast<size_t>(base::DropReason::stale)] > 0)},
};
#undef L3DML_HAS

}  // namespace

Coverage::Coverage() {
  for (const Property& property : kProperties) counts_.push_back({property.name, 0});
}

void Coverage::add(const Scenario& scenario, const Outcome& outcome) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i].scenarios += kProperties[i].has(scenario, outcome);
}

void Coverage::add(const Coverage& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i].scenarios += other.counts_[i].scenarios;
}

std::string Coverage::format() const {
  constexpr size_t kWidth = 110;
  std::string text = "scenarios with", line;
  for (const Count& count : counts_) {
    const std::string one = fmt::format(" {} {},", count.property, count.scenarios);
    if (line.size() + one.size() > kWidth) text += std::exchange(line, "") + "\n ";
    line += one;
  }
  text += line;
  text.back() = '\n';
  return text;
}

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> result;
  for (const Count& count : counts_) {
    if (count.scenarios == 0) result.emplace_back(count.property);
  }
  return result;
}

}  // namespace l3dml::sim
