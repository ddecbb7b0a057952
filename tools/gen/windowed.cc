#include "tools/gen/windowed.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace l3dml::gen {
namespace {

constexpr int kReceiveBursts = 8;

// A tensor of whole chunks: its words are those of a pattern with as many lanes.
Pattern tensor(const JobTraffic& traffic, uint32_t chunks, uint64_t seed) {
  const host::StripeConfig& stripe = traffic.members.front().stripe;
  return {static_cast<unsigned>(traffic.members.size()), stripe.lanes * chunks, seed + stripe.job};
}

// Integers are summed in host order.
std::vector<uint32_t> to_host(const uint8_t* big, size_t count) {
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i) {
    base::be32_t word;
    std::memcpy(&word, big + 4 * i, 4);
    words[i] = word.load();
  }
  return words;
}

}  // namespace

struct Windowed::Job {
  JobTraffic traffic;
  Pattern pattern;
  size_t first_worker = 0;
  std::vector<uint32_t> sums;   // of the pattern, with its shifts
  uint64_t most_submitted = 0;  // collectives, of any of its workers
};

struct Windowed::Worker {
  Worker(const Member& of, Job* of_job, unsigned index, const PortSet& ports, Windowed* owner)
      : member(of),
        job(*of_job),
        child(index),
        count(job.pattern.bytes() / 4),
        input(to_host(job.pattern.lanes(index, 0), count + Pattern::kShifts - 1)),
        output(count),
        sent_ns(of.stripe.window, 0),
        sink(of.stripe, of.own, of.next, ports.pool),
        core(of.stripe, static_cast<uint32_t>(job.traffic.members.size()),
             [this, owner](const host::CollectiveResult& result) { owner->on_result(*this, result); }) {}
  const Member& member;
  Job& job;
  unsigned child;
  size_t count;  // elements of the tensor
  std::vector<uint32_t> input, output;
  std::vector<int64_t> sent_ns;  // by position: first sending of the number in flight; 0: sent again
  uint64_t submitted = 0;        // collectives
  host::FrameSink sink;
  host::WorkerCore core;
};

Windowed::Windowed(std::vector<JobTraffic> jobs, PortSet ports, const WindowedOptions& options)
    : job_index_(65536, -1),
      ports_(std::move(ports)),
      options_(options),
      bad_(options.seed),
      floods_sent_(options.floods.size(), 0) {
  for (JobTraffic& traffic : jobs) {
    Pattern pattern = tensor(traffic, options.chunks, options.seed);
    jobs_.push_back(std::unique_ptr<Job>(new Job{std::move(traffic), std::move(pattern)}));
    Job& job = *jobs_.back();
    job_index_[job.traffic.members.front().stripe.job] = static_cast<int>(jobs_.size() - 1);
    job.first_worker = workers_.size();
    job.sums = to_host(job.pattern.sum(0), job.pattern.bytes() / 4 + Pattern::kShifts - 1);
    for (size_t child = 0; child < job.traffic.members.size(); ++child)
      workers_.push_back(std::make_unique<Worker>(job.traffic.members[child], &job,
                                                  static_cast<unsigned>(child), ports_, this));
  }
}

Windowed::~Windowed() = default;

void Windowed::begin(int64_t now_ns) {
  begin_ns_ = progress_ns_ = now_ns_ = now_ns;
  for (auto& worker : workers_) submit(*worker);
}

// The next collective, with other lanes in the same places.
void Windowed::submit(Worker& worker) {
  host::Collective c;
  c.id = worker.submitted++;
  worker.job.most_submitted = std::max(worker.job.most_submitted, worker.submitted);
  c.input = worker.input.data() + c.id % Pattern::kShifts;
  c.output = worker.output.data();
  c.count = worker.count;
  c.type = kernels::ElementType::kInt32;
  if (const absl::Status status = worker.core.submit(c); !status.ok() && result_.wrong++ == 0)
    result_.first_wrong = std::string(status.message());
}

void Windowed::on_result(Worker& worker, const host::CollectiveResult& done) {
  ++result_.collectives;
  const uint32_t* const expected = worker.job.sums.data() + done.id % Pattern::kShifts;
  if (!done.finite || !done.agreed ||
      std::memcmp(worker.output.data(), expected, worker.count * sizeof(uint32_t)) != 0) {
    if (result_.wrong++ == 0)
      result_.first_wrong = absl::StrCat("job ", worker.member.stripe.job, ", worker ", worker.child,
                                         ", collective ", done.id, ": its sums are wrong");
  }
  // All workers of a job do the same number of collectives.
  if (now_ns_ - begin_ns_ < options_.duration_ns || worker.submitted < worker.job.most_submitted)
    submit(worker);
}

bool Windowed::step(int64_t now_ns) {
  now_ns_ = now_ns;
  base::Packet* packets[base::kBurst];
  for (io::Port* port : ports_.ports) {
    for (int burst = 0; burst < kReceiveBursts; ++burst) {
      const unsigned count = port->rx_burst(packets, base::kBurst, now_ns);
      for (unsigned i = 0; i < count; ++i) {
        on_frame(*packets[i], now_ns);
        base::release(packets[i]);
      }
      if (count < base::kBurst) break;
    }
  }
  bool idle = true;
  uint64_t downs = 0;
  for (auto& owned : workers_) {
    Worker& worker = *owned;
    if (worker.core.next_deadline_ns() <= now_ns) worker.core.poll(now_ns, worker.sink);
    for (const base::Packet* packet : worker.sink.frames()) {
      const auto& h = reinterpret_cast<const wire::Head*>(packet->data)->l3dml;
      if (h.type() != wire::Type::up) continue;
      ++ups_;
      worker.sent_ns[h.number.load() & (worker.member.stripe.window - 1)] =
          h.flags & wire::kFlagRetx ? 0 : now_ns;
    }
    ports_.ports[worker.member.port]->tx_burst(worker.sink.frames(), now_ns);
    worker.sink.clear();
    idle &= worker.core.idle();
    downs += worker.core.stats().downs;
  }
  if (!options_.floods.empty()) send_floods(now_ns);
  if (downs != progress_) progress_ = downs, progress_ns_ = now_ns;
  result_.timed_out = now_ns - progress_ns_ >= options_.timeout_ns;
  return !idle && !result_.timed_out;
}

void Windowed::on_frame(const base::Packet& packet, int64_t now_ns) {
  host::ReceivedFrame frame;
  if (!host::read_frame(packet, &frame)) {
    ++result_.strays.foreign;
    return;
  }
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const int index = job_index_[h.job.load()];
  if (index < 0 || h.child >= jobs_[static_cast<size_t>(index)]->traffic.members.size()) {
    ++result_.strays.unwanted;
    return;
  }
  Worker& worker = *workers_[jobs_[static_cast<size_t>(index)]->first_worker + h.child];
  const host::StripeConfig& stripe = worker.member.stripe;
  if (frame.head->ipv6.src_addr != stripe.result_source ||
      frame.head->ipv6.dst_addr != stripe.local_address ||
      frame.head->udp.dst_port.load() != stripe.local_port) {
    ++result_.strays.unwanted;
    return;
  }
  const unsigned shard = frame.head->udp.src_port.load() & (stripe.shards - 1);
  const base::DropReason reason =
      worker.core.on_packet(h, frame.lanes, frame.lane_count, shard, frame.ce, now_ns);
  if (h.type() == wire::Type::nack) ++result_.strays.nacks;
  if (h.type() == wire::Type::sync) ++result_.strays.syncs;
  if (h.type() != wire::Type::down) return;
  if (reason != base::DropReason::none) {
    ++(reason == base::DropReason::down_repeated ? result_.strays.duplicates : result_.strays.unwanted);
    return;
  }
  ++result_.chunks;
  int64_t& sent = worker.sent_ns[h.number.load() & (stripe.window - 1)];
  if (sent) result_.round_trip.record(now_ns - sent);
  sent = 0;
}

void Windowed::send_floods(int64_t now_ns) {
  for (size_t i = 0; i < options_.floods.size(); ++i) {
    const Flood& flood = options_.floods[i];
    const double due = static_cast<double>(ups_) * flood.per_gradient;
    for (; floods_sent_[i] + 1 <= due; ++floods_sent_[i]) {
      base::Packet* packet = ports_.pool->alloc();
      if (packet == nullptr) return;
      const Member& member = workers_[result_.bad_sent++ % workers_.size()]->member;
      bad_.write(flood.kind, member, packet);
      ports_.ports[member.port]->tx_burst({&packet, 1}, now_ns);
    }
  }
}

WindowedResult Windowed::finish(int64_t now_ns) {
  result_.seconds = static_cast<double>(now_ns - begin_ns_) * 1e-9;
  for (auto& worker : workers_) result_.stats.add(worker->core.stats());
  return std::move(result_);
}

}  // namespace l3dml::gen
