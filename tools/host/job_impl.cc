#include "tools/host/job_impl.h"

#include <algorithm>

#include "dataplane/wire/address.h"
#include "fmt/format.h"

namespace l3dml::host {
namespace {

constexpr int kReceiveRounds = 8;  // bursts taken in before something is sent
// With so many numbers in flight a result may wait a little for the ones behind it: the window hides it.
constexpr uint32_t kBusyFlight = 64;
constexpr int64_t kQuietNs = 300 * base::kMicrosecond;

const char* type_name(kernels::ElementType type) {
  static constexpr const char* kNames[] = {"float32", "float64", "float16", "bfloat16", "int32"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace

Job::Impl::Impl(const JobConfig& config, std::unique_ptr<Transport> transport)
    : config_(config), transport_(std::move(transport)), split_(config.stripes) {
  for (const StripeConfig& stripe : config_.stripes) {
    cores_.push_back(std::make_unique<WorkerCore>(
        stripe, config_.world, [this](const CollectiveResult& result) { on_result(result); }));
  }
}

Job::Impl::~Impl() { stop(); }

absl::Status Job::Impl::start() {
  if (absl::Status status = transport_->open(config_.stripes); !status.ok()) return status;
  running_ = true;
  thread_ = std::thread([this] { run(); });
  return absl::OkStatus();
}

void Job::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return;
  transport_->wake();
  thread_.join();
}

void Job::Impl::run() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    const int64_t deadline = step();
    bool more;
    {
      const std::lock_guard lock(mutex_);
      more = stopping_ || !inbox_.empty();
    }
    if (!more) transport_->wait(deadline, quiet_ns());
  }
  {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) status_ = absl::CancelledError("the job was closed");
  }
  std::vector<std::function<void()>> last;
  do {  // whoever called before the end gets an answer
    {
      const std::lock_guard lock(mutex_);
      last.swap(inbox_);
      if (last.empty()) running_ = false;
    }
    for (const auto& function : last) function();
    const bool empty = last.empty();
    last.clear();
    if (empty) break;
  } while (true);
  fail_pending();
}

int64_t Job::Impl::step() {
  std::vector<std::function<void()>> inbox;
  {
    const std::lock_guard lock(mutex_);
    inbox.swap(inbox_);
  }
  for (const auto& function : inbox) function();
  received_ = false;
  int64_t now_ns = transport_->now_ns();
  for (int i = 0; i < kReceiveRounds && transport_->receive(*this, now_ns); ++i) {
  }
  now_ns = transport_->now_ns();
  int64_t deadline = base::kNever;
  for (unsigned i = 0; i < cores_.size(); ++i) {
    cores_[i]->poll(now_ns, transport_->sink(i));
    deadline = std::min(deadline, cores_[i]->next_deadline_ns());
  }
  transport_->flush();
  if (!pending_.empty()) {
    check_timeout(now_ns);
    deadline = std::min(deadline, progress_ns_ + config_.timeout_ns);
  }
  return deadline;
}

int64_t Job::Impl::quiet_ns() const {
  if (!received_) return 0;
  for (const auto& core : cores_) {
    if (core->in_flight() >= kBusyFlight) return kQuietNs;
  }
  return 0;
}

void Job::Impl::on_packet(unsigned stripe, const wire::L3dmlHeader& header, const uint8_t* lanes,
                          size_t lane_count, unsigned shard, bool ce, int64_t now_ns) {
  received_ = true;
  cores_[stripe]->on_packet(header, lanes, lane_count, shard, ce, now_ns);
}

void Job::Impl::call(const std::function<void()>& function) {
  std::mutex done_mutex;
  std::condition_variable done_changed;
  bool done = false;
  bool ended;  // the I/O thread: then nobody else touches what is its own
  {
    const std::lock_guard lock(mutex_);
    ended = !running_;
    if (!ended) {
      inbox_.push_back([&] {
        function();
        const std::lock_guard done_lock(done_mutex);
        done = true;
        done_changed.notify_one();
      });
      transport_->wake();
    }
  }
  if (ended) return function();
  std::unique_lock lock(done_mutex);
  done_changed.wait(lock, [&] { return done; });
}

void Job::Impl::submit(const Request& request, Callback callback) {
  absl::Status status;
  if (request.count && (!request.input || !request.output)) {
    status = absl::InvalidArgumentError("allreduce: input and output must not be null");
  } else {
    const std::lock_guard lock(mutex_);
    status = status_;
    if (status.ok()) {
      inbox_.push_back(
          [this, request, callback = std::move(callback)]() mutable { begin(request, std::move(callback)); });
      if (inbox_.size() == 1) transport_->wake();
      return;
    }
  }
  callback(status);
}

void Job::Impl::begin(const Request& request, Callback callback) {
  if (absl::Status failed = status(); !failed.ok()) return callback(failed);
  const uint64_t id = next_id_++;
  const int64_t now_ns = transport_->now_ns();
  if (pending_.empty()) progress_ns_ = now_ns;
  Pending& pending = pending_[id];
  pending.request = request;
  pending.callback = std::move(callback);
  const int64_t abstain = request.abstain_after_ns ? request.abstain_after_ns : config_.abstain_after_ns;
  if (abstain) pending.abstain_after_ns = now_ns + abstain;
  if (absl::Status status = submit_to_cores(id); !status.ok()) {  // on stripe 0, or on none
    const Callback refused = std::move(pending_[id].callback);
    pending_.erase(id);
    refused(status);
  }
}

// The last stripe may end the collective at once, and with it its Pending.
absl::Status Job::Impl::submit_to_cores(uint64_t id) {
  Pending& pending = pending_[id];
  const Request& request = pending.request;
  Collective c;
  c.id = id;
  c.input = request.input;
  c.output = request.output;
  c.count = request.count;
  c.type = request.type;
  c.format = request.type == kernels::ElementType::kInt32 ? kernels::LaneFormat::kFixed32 : request.format;
  c.op = request.op;
  c.key = request.key;
  c.residual = request.residual;
  c.abstain_after_ns = pending.abstain_after_ns;
  pending.stripes_left = static_cast<unsigned>(cores_.size());
  pending.result = {};
  for (unsigned i = 0; i < cores_.size(); ++i) {
    c.layout = split_.layout(i, c.format);
    if (absl::Status status = cores_[i]->submit(c); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Job::Impl::set_shares(const std::vector<double>& shares) {
  if (shares.size() != cores_.size())
    return absl::InvalidArgumentError(
        fmt::format("set_shares: {} shares for {} stripes", shares.size(), cores_.size()));
  std::vector<StripeConfig> stripes = config_.stripes;
  for (size_t i = 0; i < shares.size(); ++i) {
    stripes[i].share = shares[i];
    if (absl::Status status = validate(stripes[i], fmt::format("stripes[{}]", i)); !status.ok())
      return status;
  }
  for (const auto& core : cores_) {
    if (absl::Status status = core->withdraw(); !status.ok()) return status;
  }
  split_ = ChunkSplit(stripes);
  std::vector<uint64_t> ids;
  for (const auto& [id, pending] : pending_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const uint64_t id : ids) {
    if (absl::Status status = submit_to_cores(id); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void Job::Impl::on_result(const CollectiveResult& part) {
  const auto found = pending_.find(part.id);
  if (found == pending_.end()) return;
  CollectiveResult& whole = found->second.result;
  if (!part.finite && (whole.finite || part.ours || (!whole.ours && part.bad_first < whole.bad_first))) {
    whole.bad_first = part.bad_first;
    whole.bad_end = part.bad_end;
  }
  whole.finite &= part.finite;
  whole.agreed &= part.agreed;
  whole.ours |= part.ours;
  whole.abstained_chunks += part.abstained_chunks;
  if (--found->second.stripes_left) return;
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  ++done_collectives_;
  done_bytes_ += pending.request.count * kernels::element_size(pending.request.type);
  pending.callback(outcome(part.id, pending));
}

std::string Job::Impl::describe(uint64_t id, const Request& request) const {
  return fmt::format("{}: allreduce {} ({} {})", config_.name, id, request.count, type_name(request.type));
}

absl::Status Job::Impl::outcome(uint64_t id, const Pending& pending) const {
  const CollectiveResult& r = pending.result;
  if (!r.agreed)
    return absl::FailedPreconditionError(
        describe(id, pending.request) +
        ": ranks submitted different tensors or types; all must make the same calls");
  if (r.finite) return absl::OkStatus();
  if (r.ours)
    return absl::OutOfRangeError(fmt::format("{}: element {} of this rank is not finite, or 2^126 or more",
                                             describe(id, pending.request), r.bad_first));
  return absl::OutOfRangeError(fmt::format(
      "{}: another rank has a value that is not finite, or 2^126 or more, among elements {} to {}",
      describe(id, pending.request), r.bad_first, r.bad_end - 1));
}

std::string Job::Impl::describe_missing(uint64_t id) const {
  std::string text;
  for (const auto& core : cores_) {
    const Missing m = core->missing(id);
    if (m.chunks == 0) continue;
    const std::string place = cores_.size() > 1 ? fmt::format(" of stripe {}", core->config().job) : "";
    text += fmt::format("; {} of {} chunks{} are missing", m.chunks, m.of, place);
    if (m.sent == 0) {
      text += ", none of them sent yet";
      continue;
    }
    const std::string aggregator = wire::format_address(core->config().aggregator);
    text += fmt::format(", the oldest is number {} (element {}): ", m.first_number, m.first_element);
    switch (m.why) {
      case Missing::Why::others_missing:
        text += "the aggregator has ours and waits for other ranks";
        break;
      case Missing::Why::own_missing:
        text += "our packets do not reach aggregator " + aggregator;
        break;
      default:
        text += "aggregator " + aggregator + " does not answer";
    }
  }
  return text;
}

void Job::Impl::note_progress() { progress_ns_ = transport_->now_ns(); }

void Job::Impl::check_timeout(int64_t now_ns) {
  uint64_t progress = 0;
  for (const auto& core : cores_) progress += core->stats().downs;
  if (progress != progress_) {
    progress_ = progress;
    progress_ns_ = now_ns;
  }
  if (now_ns - progress_ns_ < config_.timeout_ns) return;
  const auto oldest = std::min_element(pending_.begin(), pending_.end(),
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
  fail(absl::DeadlineExceededError(
      fmt::format("{}: nothing moved for {:.1f} s{}", describe(oldest->first, oldest->second.request),
                  static_cast<double>(config_.timeout_ns) / base::kSecond, describe_missing(oldest->first))));
  fail_pending();
}

void Job::Impl::fail(const absl::Status& reason) {
  const std::lock_guard lock(mutex_);
  if (!status_.ok()) return;
  status_ = reason;
  inbox_.push_back([this] { fail_pending(); });
  transport_->wake();
}

// Tensors are left alone from here on: the caller may free them in its callback.
void Job::Impl::fail_pending() {
  const absl::Status failed = status();
  if (failed.ok()) return;
  for (const auto& core : cores_) core->abandon();
  std::vector<std::pair<uint64_t, Callback>> callbacks;
  for (auto& [id, pending] : pending_) callbacks.emplace_back(id, std::move(pending.callback));
  pending_.clear();
  std::sort(callbacks.begin(), callbacks.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [id, callback] : callbacks) callback(failed);
}

absl::Status Job::Impl::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

JobStats Job::Impl::stats() {
  JobStats s;
  for (const auto& core : cores_) {
    s.stripes.push_back(core->stats());
    s.total.add(core->stats());
  }
  s.collectives = done_collectives_;
  s.bytes = done_bytes_;
  return s;
}

}  // namespace l3dml::host
