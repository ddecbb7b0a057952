#include "tools/sim/world.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "tools/sim/addresses.h"

namespace l3dml::sim {

World::World(const Scenario& scenario, PacketTrace* trace)
    : scenario_(scenario),
      random_(Random(scenario.seed).fork(1)),
      trace_(trace),
      network_(scenario_, random_.fork(2), this),
      forger_(&random_, &network_.pool()),
      switches_(scenario.devices),
      ports_(scenario.hosts.size()) {
  share_out();
  for (uint32_t device = 0; device < scenario_.devices; ++device) build(device);
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    jobs_.push_back(std::make_unique<Job>(this, j, scenario_.jobs[j], random_.fork(100 + j)));
  }
}

World::~World() = default;

// Every device sets the same aside for every job, in another order each, so that no two have the same bases.
void World::share_out() {
  device_config_.pipes = scenario_.pipes;
  device_config_.shards_per_pipe = scenario_.shards_per_pipe;
  device_config_.sync_idle_ns = scenario_.sync_idle_ns;
  device_config_.lanes = 64;
  uint32_t slots = 0, neighbors = 1, seq_entries = 0;
  for (Switch& device : switches_) {
    device.resources.resize(scenario_.jobs.size());
    device.installed.resize(scenario_.jobs.size());
    std::vector<uint32_t> order(scenario_.jobs.size());
    for (uint32_t j = 0; j < order.size(); ++j) order[j] = j;
    random_.shuffle(order);
    // Larger rings first keeps every base aligned to its ring.
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return scenario_.jobs[a].ring > scenario_.jobs[b].ring; });
    uint32_t slot = 0, neighbor = 1 + random_.below(4), seq = 0;
    uint16_t index = 1;
    for (uint32_t j : order) {
      const JobSpec& job = scenario_.jobs[j];
      JobResources& r = device.resources[j];
      r.slot_base = slot;
      r.ring = job.ring;
      r.shards = job.shards;
      r.lanes = job.lanes;
      r.neighbor_base = neighbor;
      r.seq_base = seq;
      r.seq_ring = job.seq_ring;
      r.job_index = index;
      r.mgid = index++;
      slot += job.ring;
      neighbor += kNeighborsPerJob;
      seq += kNeighborsPerJob * job.shards * job.seq_ring;
      device_config_.lanes = std::max(device_config_.lanes, job.lanes);
    }
    slots = std::max(slots, slot);
    neighbors = std::max(neighbors, neighbor);
    seq_entries = std::max(seq_entries, seq);
  }
  device_config_.slots = std::bit_ceil(std::max(slots, 1u));
  device_config_.neighbors = neighbors;
  device_config_.ring_entries = std::bit_ceil(std::max(seq_entries, 64u));
}

std::vector<JobResources> World::resources(uint32_t job) const {
  std::vector<JobResources> result;
  for (const Switch& device : switches_) result.push_back(device.resources[job]);
  return result;
}

void World::build(uint32_t index) {
  Switch& device = switches_[index];
  pipeline::DeviceConfig config = device_config_;
  config.mac = device_mac(index);
  const std::vector<base::PacketPool*> pools(config.pipes, &network_.pool());
  device.program.reset();
  device.device = pipeline::Device::create(config, pools, &executor_);
  device.program = std::make_unique<DeviceProgram>(device.device.get(), index, &network_);
  device.program->start_up();
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j)
    device.program->add_ways(j, scenario_.jobs[j].fixed_tree);
  device.installed.assign(scenario_.jobs.size(), {});
}

void World::add_port(uint32_t host, uint16_t port, Member* member) {
  ports_[host].emplace_back(port, member);
}

void World::note(const std::string& text) {
  if (trace_) trace_->note(now_ns(), text);
}

void World::violate(Violation violation) {
  note(fmt::format("VIOLATION {}: {}", violation.name, violation.text));
  if (!violation_) violation_ = std::move(violation);
}

std::string World::drops() const {
  std::string text;
  for (uint32_t d = 0; d < scenario_.devices; ++d) {
    text += fmt::format("device {} drops:", d);
    for (size_t r = 1; r < base::kDropReasons; ++r) {
      const auto reason = static_cast<base::DropReason>(r);
      if (const uint64_t count = switches_[d].device->drops(reason))
        text += fmt::format(" {} {}", base::drop_reason_name(reason), count);
    }
    text += "\n";
  }
  return text;
}

void World::check_done() {
  done_ = std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->done(); });
}

Outcome World::run() {
  // Where numbers stand at the start: stamps alike, as an earlier epoch would have left them.
  for (uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    if (scenario_.jobs[j].newest_number == 0) continue;
    for (Switch& device : switches_)
      device.program->write_stamps(device.resources[j], scenario_.jobs[j].newest_number);
  }
  int64_t longest_ns = scenario_.control_max_ns;
  for (const LinkSpec& link : scenario_.links)
    longest_ns +=
        2 * (link.parameters.delay_ns + link.parameters.jitter_ns + link.parameters.reorder_delay_ns);
  for (const JobSpec& job : scenario_.jobs) {
    for (const MemberSpec& member : job.members) longest_ns = std::max(longest_ns, 4 * member.gap_ns);
  }
  for (const Fault& fault : scenario_.faults) longest_ns = std::max(longest_ns, fault.time_ns + fault.aux_ns);
  patience_ns_ = 300 * longest_ns + 1000 * base::kSecond;
  for (auto& job : jobs_) {
    if (job->spec().start_ns == 0) {
      job->start();
    } else {
      network_.call_at(job->spec().start_ns, [&job] { job->start(); });
    }
  }
  for (const Fault& fault : scenario_.faults) {
    network_.call_at(fault.time_ns, [this, fault] { happen(fault); });
  }
  network_.call_at(patience_ns_ / 8, [this] { watch(); });
  network_.run(base::kNever, [this] {
    return done_ || violation_.has_value() || network_.packets() > scenario_.most_packets ||
           network_.events() / 8 > scenario_.most_packets;
  });
  if (!violation_ && !done_)
    violate(
        {"progress", fmt::format("{} packets were not enough: {}", network_.packets(), what_is_missing())});
  Outcome result = outcome();
  if (const size_t held = network_.drain(); held && !result.violation)
    result.violation =
        Violation{"bounded_memory", fmt::format("{} packets were neither delivered nor given back", held)};
  return result;
}

// Nothing may stand still for long: if no chunk is finished for many times the longest way, it never will be.
void World::watch() {
  uint64_t work = 0;
  for (const auto& job : jobs_) {
    work += job->epochs() + job->coordinator().change();
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      if (member.core()) work += member.core()->stats().chunks + member.core()->stats().repeats;
      work += member.finished();
    }
  }
  if (work != work_done_) {
    work_done_ = work;
    last_progress_ns_ = now_ns();
  } else if (now_ns() - last_progress_ns_ > patience_ns_ || network_.queued() == 0) {
    return violate({"progress", fmt::format("nothing was finished for {:.3f} s: {}",
                                            static_cast<double>(now_ns() - last_progress_ns_) * 1e-9,
                                            what_is_missing())});
  }
  network_.call_at(now_ns() + patience_ns_ / 8, [this] { watch(); });
}

std::string World::what_is_missing() const {
  static constexpr const char* kWhy[] = {"not sent", "unanswered", "own is missing at the switch",
                                         "others are missing at the switch"};
  std::string text;
  for (const auto& job : jobs_) {
    if (job->done()) continue;
    const auto phase = job->coordinator().phase();
    if (phase != control::Coordinator::Phase::running && phase != control::Coordinator::Phase::ended)
      text += fmt::format("job {} is in step {} of a change; ", job->index() + 1, static_cast<int>(phase));
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      if (!member.started() || !member.core()) continue;
      const uint64_t collective = member.first() + member.finished();
      const host::Missing missing = member.core()->missing(collective);
      text += fmt::format(
          "job {} member {}{} collective {} of {}: {} of {} chunks missing, {} of them sent, oldest number "
          "{} ({}); ",
          job->index() + 1, m,
          member.failed()           ? " (cut off)"
          : member.core()->paused() ? " (paused)"
                                    : "",
          collective, job->spec().collectives.size(), missing.chunks, missing.of, missing.sent,
          missing.first_number, kWhy[static_cast<int>(missing.why)]);
    }
  }
  return text;
}

Outcome World::outcome() const {
  Outcome outcome;
  outcome.violation = violation_;
  outcome.virtual_ns = now_ns();
  outcome.packets = network_.packets();
  outcome.events = network_.events();
  outcome.seen = seen_;
  for (const Switch& device : switches_) {
    for (size_t r = 0; r < base::kDropReasons; ++r)
      outcome.drops[r] += device.device->drops(static_cast<base::DropReason>(r));
  }
  for (const auto& job : jobs_) {
    outcome.epochs += job->epochs();
    outcome.seen.numbers_wrapped += job->number_wrapped();
    for (uint32_t m = 0; m < job->member_count(); ++m) {
      const Member& member = job->member(m);
      outcome.collectives += member.finished();
      outcome.failed_members += member.failed();
      if (!member.core()) continue;
      outcome.chunks += member.core()->stats().chunks;
      outcome.repeats += member.core()->stats().repeats;
      outcome.asked += member.core()->stats().asked;
      outcome.abstained += member.core()->stats().abstained;
      outcome.retransmitted += member.core()->stats().retransmitted;
    }
  }
  return outcome;
}

}  // namespace l3dml::sim
