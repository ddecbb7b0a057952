// A scenario from its seed. Most draws spread over orders of magnitude, and each kind of trouble is absent in
// a good part of the scenarios, so that what one kind hides another shows.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "dataplane/base/mutation.h"
#include "dataplane/wire/header.h"
#include "tools/sim/random.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {
namespace {

using base::kMicrosecond;
using base::kMillisecond;
using kernels::ElementType;
using kernels::LaneFormat;

class Generator {
 public:
  // Wide: residuals, ranks that do not agree, silent members; and a third of the scenarios look closer at one
  // thing, which chance alone would rarely bring together.
  Generator(uint64_t seed, bool wide) : random_(Random(seed).fork(7)), wide_(wide) {
    s_.seed = seed;
    if (!wide_) return;
    const double focus = random_.uniform();
    exponents_ = focus < 0.2;
    changes_ = focus >= 0.1 && focus < 0.3;
    late_ = focus >= 0.3 && focus < 0.4;
  }

  Scenario generate() {
    budget_ = random_.log_uniform(3'000, 90'000);
    s_.devices = 1 + random_.below(random_.chance(0.15) ? 12 : 6);
    const uint32_t jobs = random_.chance(0.5)    ? 1
                          : random_.chance(0.75) ? 2 + random_.below(3)
                                                 : 5 + random_.below(12);
    draw_times();
    draw_trouble();
    draw_hosts(jobs);
    draw_links();
    s_.pipes = random_.pick({1u, 1u, 1u, 2u, 4u});
    for (uint32_t j = 0; j < jobs; ++j) draw_job(jobs);
    for (const JobSpec& job : s_.jobs)
      s_.shards_per_pipe = std::max(s_.shards_per_pipe, (job.shards + s_.pipes - 1) / s_.pipes);
    draw_faults();
    s_.detours = random_.chance(0.4);
    return s_;
  }

 private:
  int64_t log_time(int64_t low, int64_t high) {
    return static_cast<int64_t>(random_.log_uniform(static_cast<double>(low), static_cast<double>(high)));
  }

  void draw_times() {
    delay_ns_ = random_.chance(0.1) ? log_time(kMicrosecond, 500 * kMillisecond)
                                    : log_time(kMicrosecond, 50 * kMillisecond);
    s_.sync_idle_ns = log_time(50 * kMicrosecond, 5 * kMillisecond);
    s_.control_min_ns = log_time(kMicrosecond, 100 * kMicrosecond);
    s_.control_max_ns = log_time(100 * kMicrosecond, 100 * kMillisecond);
    if (random_.chance(0.3)) s_.poll_interval_ns = log_time(kMicrosecond, 100 * kMicrosecond);
  }

  void draw_trouble() {
    const double kind = random_.uniform();
    loss_ = kind < 0.25  ? 0
            : kind < 0.5 ? random_.log_uniform(0.0005, 0.01)
            : kind < 0.8 ? random_.log_uniform(0.01, 0.05)
                         : random_.log_uniform(0.05, 0.3);
    bursts_ = random_.chance(0.3);
    duplicate_ = random_.chance(0.3) ? random_.log_uniform(0.001, 0.1) : 0;
    reorder_ = random_.chance(0.4) ? random_.log_uniform(0.001, 0.3) : 0;
    if (late_) {
      duplicate_ = random_.log_uniform(0.01, 0.1);
      reorder_ = random_.log_uniform(0.01, 0.1);
    }
    jitter_ = random_.chance(0.4) ? random_.uniform() : 0;
    corrupt_ = random_.chance(0.2) ? random_.log_uniform(0.0005, 0.02) : 0;
    slow_ = random_.chance(0.5);
    ecn_ = random_.chance(0.5);
    if (random_.chance(0.1)) s_.withheld |= 1u << static_cast<unsigned>(wire::Type::nack);
    if (random_.chance(0.1)) s_.withheld |= 1u << static_cast<unsigned>(wire::Type::sync);
    if (random_.chance(late_ ? 0.5 : 0.12)) s_.forged = random_.log_uniform(0.003, 0.1);
  }

  void draw_hosts(uint32_t jobs) {
    const uint32_t count = 1 + random_.below(random_.chance(0.1) ? 40 : jobs > 4 ? 12 : 8);
    for (uint32_t h = 0; h < count; ++h) s_.hosts.push_back(random_.below(s_.devices));
  }

  io::LinkParameters link(bool wide) {
    io::LinkParameters p;
    p.delay_ns = wide ? std::min<int64_t>(log_time(delay_ns_ / 5 + 1, 5 * delay_ns_ + 1), 500 * kMillisecond)
                      : log_time(kMicrosecond, 100 * kMicrosecond);
    if (slow_ && random_.chance(wide ? 0.8 : 0.3)) {
      p.rate_bps = static_cast<uint64_t>(random_.log_uniform(20e6, 10e9));
      if (ecn_) p.ecn_bytes = static_cast<uint64_t>(random_.log_uniform(4e3, 2e5));
    }
    if (!wide && !random_.chance(0.3)) return p;
    if (random_.chance(0.8) && loss_ > 0)
      p.loss = bursts_ ? io::LossModel::bursts(loss_, random_.log_uniform(2, 16))
                       : io::LossModel::bernoulli(loss_);
    p.duplicate = duplicate_;
    p.reorder = reorder_;
    p.reorder_delay_ns = log_time(kMicrosecond, (late_ ? 100 : 4) * p.delay_ns + kMicrosecond);
    p.jitter_ns = static_cast<int64_t>(jitter_ * static_cast<double>(p.delay_ns));
    p.corrupt = corrupt_;
    return p;
  }

  void draw_links() {
    for (uint32_t d = 1; d < s_.devices; ++d) s_.links.push_back({false, random_.below(d), d, link(true)});
    const uint32_t more = s_.devices > 2 ? random_.below(s_.devices) : 0;
    for (uint32_t i = 0; i < more; ++i) {
      const uint32_t a = random_.below(s_.devices), b = random_.below(s_.devices);
      if (a != b) s_.links.push_back({false, a, b, link(true)});
    }
    for (uint32_t h = 0; h < s_.hosts.size(); ++h) s_.links.push_back({true, s_.hosts[h], h, link(false)});
  }

  MemberSpec member() {
    MemberSpec m;
    m.host = random_.below(static_cast<uint32_t>(s_.hosts.size()));
    m.gap_ns = random_.chance(0.5) ? 0 : log_time(10 * kMicrosecond, 20 * kMillisecond);
    m.queued = 1 + random_.below(3);
    return m;
  }

  void draw_job(uint32_t jobs) {
    JobSpec j;
    const uint32_t most = random_.chance(0.1) ? 40 : 8;
    const uint32_t count = 1 + random_.below(std::min<uint32_t>(most, jobs > 4 ? 6 : most));
    for (uint32_t m = 0; m < count; ++m) j.members.push_back(member());
    j.depth = 1 + random_.below(4);
    j.lanes = random_.pick({64u, 64u, 64u, 64u, 128u, 256u, 320u});
    const double chunks = std::max(4.0, budget_ / (jobs * count * 6.0));
    draw_window(&j, jobs, chunks);
    const double where = random_.uniform();
    const uint32_t entries = j.ring * j.shards;
    if (where < 0.35)
      j.newest_number = 0u - 1 - random_.below(std::max(16u, static_cast<uint32_t>(chunks)) + entries);
    if (where > 0.65) j.newest_number = static_cast<uint32_t>(random_.next());
    if (random_.chance(0.5)) j.first_seq = 0u - random_.below(static_cast<uint32_t>(chunks * count) + 8);
    if (random_.chance(0.3)) j.rate_bps = static_cast<uint64_t>(random_.log_uniform(10e6, 10e9));
    draw_collectives(&j, chunks);
    draw_discord(&j);
    s_.jobs.push_back(j);
  }

  void draw_window(JobSpec* j, uint32_t jobs, double chunks) {
    const int most = jobs > 4 ? 8 : 12;
    int log = static_cast<int>(random_.below(9));
    if (random_.chance(0.15)) log = static_cast<int>(random_.below(13));
    log = std::min(log, most);
    // In most runs the window is gone through several times, so that slots are used again.
    if (random_.chance(0.85))
      log = std::min(log, std::max(0, static_cast<int>(std::bit_width(static_cast<uint32_t>(chunks))) - 2));
    j->window = 1u << log;
    j->shards = std::min(j->window, random_.pick({1u, 1u, 1u, 1u, 2u, 4u, 8u}));
    const uint32_t entries = L3DML_MUTATE(ring_of_one_window) ? j->window : 2 * j->window;
    j->ring = std::max(1u, (entries / j->shards) << (random_.chance(0.3) ? 1 + random_.below(2) : 0));
    j->seq_ring =
        std::clamp(std::bit_floor(static_cast<uint32_t>(random_.log_uniform(8, 8.0 * j->window + 16))), 8u,
                   jobs > 4 ? 512u : 4096u);
    j->window_varies = random_.chance(0.5);
  }

  void draw_collectives(JobSpec* j, double chunks) {
    const uint32_t count = 1 + random_.below(8);
    const bool integers = !exponents_ && random_.chance(0.35),
               jumps = random_.chance(exponents_ ? 0.7 : 0.25), mixed = random_.chance(0.1);
    const bool abstains = random_.chance(0.15);
    const double kind = random_.uniform();
    const LaneFormat format = kind < 0.75  ? LaneFormat::kFixed32
                              : kind < 0.9 ? LaneFormat::kFixed16x2
                                           : LaneFormat::kFixed8x4;
    const ElementType type =
        random_.pick({ElementType::kFloat32, ElementType::kFloat32, ElementType::kFloat64,
                      ElementType::kFloat16, ElementType::kBfloat16});
    const int magnitude = type == ElementType::kFloat16 ? static_cast<int>(random_.below(6))
                                                        : static_cast<int>(random_.below(40)) - 20;
    const uint32_t keys = 1 + random_.below(3);
    for (uint32_t i = 0; i < count; ++i) {
      CollectiveSpec c;
      const bool integer = mixed ? random_.chance(0.5) : integers;
      c.type = integer ? ElementType::kInt32 : type;
      c.format = integer ? LaneFormat::kFixed32 : format;
      const auto world = static_cast<unsigned>(j->members.size() + 2);
      if (!kernels::Codec(c.type, c.format, world).usable()) c.format = LaneFormat::kFixed32;
      const size_t per_chunk = j->lanes * (c.format == LaneFormat::kFixed16x2  ? 2
                                           : c.format == LaneFormat::kFixed8x4 ? 4
                                                                               : 1);
      const double share = random_.chance(0.1) ? 0.05 : 0.2 + 1.6 * random_.uniform();
      c.count = static_cast<size_t>(share * chunks / count * static_cast<double>(per_chunk)) + 1 +
                random_.below(static_cast<uint32_t>(per_chunk));
      // Exponents are predicted from the collective of the same key and size before.
      if (i >= keys && random_.chance(0.6)) c.count = j->collectives[i - keys].count;
      if (random_.chance(0.03)) c.count = random_.below(2);
      c.op = !integer && random_.chance(0.5) ? host::ReduceOp::average : host::ReduceOp::sum;
      c.key = i % keys;
      c.magnitude = jumps && type != ElementType::kFloat16
                        ? magnitude + static_cast<int>(random_.below(30)) - 15
                        : magnitude + static_cast<int>(random_.below(2));
      c.not_finite = c.count > 0 && random_.chance(exponents_ ? 0.3 : 0.03);
      c.in_place = random_.chance(0.5);
      if (abstains)
        c.abstain_ns = random_.chance(0.1)
                           ? 0
                           : log_time(delay_ns_ / 4 + kMicrosecond, 20 * delay_ns_ + 100 * kMicrosecond);
      j->collectives.push_back(c);
    }
  }

  // Residuals, and ranks that do not agree on an exponent. Drawn from a generator of its own.
  void draw_discord(JobSpec* j) {
    if (!wide_) return;
    Random random = Random(s_.seed).fork(0x100 + static_cast<uint32_t>(s_.jobs.size()));
    if (exponents_ && random.chance(0.8)) {
      j->odd_exponents = 0.05 + 0.2 * random.uniform();
    } else if (random.chance(0.06)) {
      j->odd_exponents = random.log_uniform(0.002, 0.1);
    }
    const bool residuals = random.chance(0.4);
    for (CollectiveSpec& c : j->collectives) {
      const bool lossy = c.format != LaneFormat::kFixed32 || c.abstain_ns != base::kNever;
      c.residual = residuals && lossy && c.type != ElementType::kInt32;
    }
  }

  void draw_faults() {
    if (!changes_ && random_.chance(0.4)) return;
    const uint32_t count = changes_ ? 3 + random_.below(8) : 1 + random_.below(5);
    for (uint32_t i = 0; i < count; ++i) {
      Fault f;
      f.job = random_.below(static_cast<uint32_t>(s_.jobs.size()));
      JobSpec& job = s_.jobs[f.job];
      // Somewhere between the first packets and long after them.
      f.time_ns =
          s_.control_max_ns * 4 + log_time(delay_ns_ / 2 + kMicrosecond, 60 * delay_ns_ + 5 * kMillisecond);
      f.aux_ns = log_time(s_.control_max_ns + 1, 10 * s_.control_max_ns + 10 * delay_ns_ + kMillisecond);
      const double kind = random_.uniform();
      f.index = random_.below(s_.devices);
      if (kind < 0.3) {
        f.kind = FaultKind::change_wanted;
        if (changes_ && random_.chance(0.6)) {  // a switch falls silent in the midst of the change
          Fault silent = f;
          silent.kind = FaultKind::device_silent;
          silent.time_ns +=
              static_cast<int64_t>(random_.uniform() * 6 * static_cast<double>(s_.control_max_ns));
          s_.faults.push_back(silent);
        }
      } else if (kind < 0.5) {
        f.kind = FaultKind::device_restart;
      } else if (kind < 0.55) {
        f.kind = FaultKind::device_death;
      } else if (kind < 0.7) {
        f.kind = FaultKind::member_death;
        f.index = random_.below(static_cast<uint32_t>(job.members.size()));
        if (job.joiners.size() < 2 && random_.chance(0.5)) {
          f.kind = FaultKind::member_restart;
          f.joiner = static_cast<uint32_t>(job.joiners.size());
          job.joiners.push_back(member());
          job.joiners.back().host = job.members[f.index].host;
        }
      } else if (kind < 0.8) {
        f.kind = FaultKind::member_join;
        if (job.joiners.size() < 2) job.joiners.push_back(member());
        f.joiner = static_cast<uint32_t>(job.joiners.size() - 1);
      } else if (kind < 0.9) {
        f.kind = FaultKind::link_down;
        f.index = random_.below(static_cast<uint32_t>(s_.links.size()));
      } else if (!wide_ || kind < 0.95) {
        f.kind = FaultKind::device_silent;
        if (changes_ && random_.chance(0.5)) again(FaultKind::change_wanted, f);
      } else {
        f.kind = FaultKind::member_silent;
        f.index = random_.below(static_cast<uint32_t>(job.members.size()));
        f.aux_ns *= 4;  // beyond what the coordinator waits for an answer, in part
        if (random_.chance(0.5)) again(FaultKind::change_wanted, f);
      }
      s_.faults.push_back(f);
    }
  }

  // Another fault of the same job while the first lasts.
  void again(FaultKind kind, const Fault& first) {
    Fault f = first;
    f.kind = kind;
    f.time_ns += static_cast<int64_t>(random_.uniform() * static_cast<double>(first.aux_ns));
    s_.faults.push_back(f);
  }

  Scenario s_;
  Random random_;
  bool wide_;
  double budget_ = 0;  // packets, roughly
  int64_t delay_ns_ = 0;
  double loss_ = 0, duplicate_ = 0, reorder_ = 0, jitter_ = 0, corrupt_ = 0;
  bool exponents_ = false, changes_ = false, late_ = false;
  bool bursts_ = false, slow_ = false, ecn_ = false;
};

}  // namespace

Scenario generate(uint64_t seed, bool wide) { return Generator(seed, wide).generate(); }

std::string Scenario::describe() const {
  double loss = 0;
  int64_t delay_ns = 0;
  for (const LinkSpec& link : links) {
    loss = std::max(loss, link.parameters.loss.mean());
    delay_ns = std::max(delay_ns, link.parameters.delay_ns);
  }
  std::string text =
      fmt::format("seed {}: {} devices, {} hosts, {} pipes, loss up to {:.2g}, delay up to {:.4g} ms", seed,
                  devices, hosts.size(), pipes, loss, static_cast<double>(delay_ns) * 1e-6);
  if (withheld) text += fmt::format(", types withheld {:#x}", withheld);
  if (detours) text += ", detours";
  if (forged > 0) text += fmt::format(", {:.2g} forged", forged);
  for (const JobSpec& j : jobs) {
    size_t elements = 0;
    for (const CollectiveSpec& c : j.collectives) elements += c.count;
    text += fmt::format("; {} members, depth {}, W {}, ring {}x{}, {} lanes, {} collectives of {} elements",
                        j.members.size(), j.depth, j.window, j.ring, j.shards, j.lanes, j.collectives.size(),
                        elements);
  }
  static constexpr const char* kNames[] = {"change",    "restart", "death",         "member death",  "join",
                                           "link down", "silent",  "member silent", "member restart"};
  for (const Fault& f : faults)
    text += fmt::format("; {} at {:.4g} ms", kNames[static_cast<int>(f.kind)],
                        static_cast<double>(f.time_ns) * 1e-6);
  return text;
}

}  // namespace l3dml::sim
