#include "tools/sim/member.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "tools/sim/addresses.h"
#include "tools/sim/job.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr size_t kBeforePayload = wire::kEthernetSize + wire::kIpv6Size + wire::kUdpSize;

}  // namespace

Member::Member(Job* job, uint32_t index, const MemberSpec& spec, uint16_t udp_port)
    : job_(*job), index_(index), spec_(spec), udp_port_(udp_port), not_before_ns_(spec.start_ns) {}

void Member::start(const host::StripeConfig& config, uint32_t world) {
  config_ = config;
  core_ = std::make_unique<host::WorkerCore>(
      config, world, [this](const host::CollectiveResult& result) { on_result(result); });
  core_->pause();
  started_ = true;
  times_.resize(job_.spec().collectives.size());
}

bool Member::done() const {
  return !started_ || !core_ || failed_ || (resumed_ && first_ + finished_ >= job_.spec().collectives.size());
}

void Member::die() {
  core_.reset();
  job_.world().check_done();
}

// ---- packets ----

uint8_t* Member::reserve(unsigned shard, size_t) {
  packet_ = job_.world().network().pool().alloc();
  if (!packet_) return nullptr;
  shard_ = shard;
  return packet_->data + kBeforePayload;
}

void Member::commit(size_t size_bytes) {
  base::Packet* packet = std::exchange(packet_, nullptr);
  packet->size = static_cast<uint32_t>(kBeforePayload + size_bytes);
  auto* head = reinterpret_cast<wire::Head*>(packet->data);
  const uint32_t device = job_.world().network().host_device(spec_.host);
  head->ethernet = {device_mac(device), host_mac(spec_.host), wire::be16_t(wire::kEtherTypeIpv6)};
  const wire::be16_t udp_length(static_cast<uint16_t>(wire::kUdpSize + size_bytes));
  constexpr uint32_t kVersionEct0 = 6u << 28 | 2u << 20;
  head->ipv6 = {wire::be32_t(kVersionEct0), udp_length,        wire::kProtocolUdp, 64,
                config_.local_address,      config_.aggregator};
  head->udp = {wire::be16_t(udp_port_), wire::be16_t(static_cast<uint16_t>(base::kUdpPort + shard_)),
               udp_length, wire::be16_t(0)};
  make_exponent_odd(&head->l3dml);
  job_.world().from_member(*this, job_, index_, packet);
}

// Of some numbers one member gets the exponent wrong, the same each time it sends: as if ranks had summed
// different things. The aggregators must notice.
void Member::make_exponent_odd(wire::L3dmlHeader* header) const {
  const double share = job_.spec().odd_exponents;
  const Ledger* ledger = share > 0 ? job_.ledger(header->epoch) : nullptr;
  if (!ledger || header->type() != wire::Type::up || header->exp == 0 || header->exp >= kernels::kExpMax)
    return;
  const std::vector<uint32_t>& members = ledger->shape().members;
  Random random(job_.world().scenario().seed ^ uint64_t{header->number.load()} << 20);
  if (members.size() < 2 || !random.chance(share)) return;
  if (members[random.below(static_cast<uint32_t>(members.size()))] == index_) ++header->exp;
}

void Member::receive(const Frame& frame) {
  if (!core_ || frame.head->ipv6.src_addr != config_.result_source) return;
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const bool was_paused = core_->paused();
  const bool ce = (frame.head->ipv6.version_class_flow.load() >> 20 & 3) == 3;
  const unsigned shard = frame.head->udp.src_port.load() % config_.shards;
  const int64_t now_ns = job_.world().now_ns();
  const base::DropReason reason = core_->on_packet(h, frame.lanes, frame.lane_count, shard, ce, now_ns);
  if (reason == base::DropReason::none && h.type() == wire::Type::down) {
    if (Observer* observer = job_.world().observer())
      observer->held(job_.index(), index_, h.number.load(), now_ns);
    if (was_paused) {
      job_.world().violate({"paused_silence", fmt::format("job {} member {} takes a result while paused",
                                                          job_.index() + 1, index_)});
    } else if (Ledger* ledger = job_.ledger(h.epoch)) {
      if (auto violation = ledger->member_holds(index_, h.number.load())) job_.world().violate(*violation);
    } else if (job_.coordinator().members().contains(index_)) {
      job_.world().violate(
          {"one_epoch", fmt::format("job {} member {} takes a result of epoch {}, which is over",
                                    job_.index() + 1, index_, h.epoch)});
    }
  }
  poll();
}

void Member::timer() {
  if (core_ && core_->next_deadline_ns() <= job_.world().now_ns()) poll();
}

void Member::poll() {
  if (!core_) return;
  core_->poll(job_.world().now_ns(), *this);
  job_.world().wake(*this);
}

// ---- collectives ----

void Member::submit_ready() {
  const auto& collectives = job_.spec().collectives;
  const int64_t now_ns = job_.world().now_ns();
  while (core_ && !failed_ && resumed_ && submitted_ < collectives.size() &&
         submitted_ - first_ - finished_ < spec_.queued) {
    if (now_ns < not_before_ns_) {
      if (std::exchange(waking_, true)) return;
      job_.world().network().call_at(not_before_ns_, [this] {
        waking_ = false;
        submit_ready();
        poll();
      });
      return;
    }
    not_before_ns_ = now_ns + (spec_.gap_ns ? job_.gap(spec_.gap_ns) : 0);
    const uint64_t id = submitted_++;
    const CollectiveSpec& spec = collectives[id];
    Tensors& tensors = tensors_[id];
    tensors.input.resize(job_.workload().size_bytes(id));
    if (!spec.in_place) tensors.output.resize(tensors.input.size(), 0xa5);
    job_.workload().fill(index_, id, tensors.input.data());
    host::Collective collective;
    collective.id = id;
    collective.input = tensors.input.data();
    collective.output = spec.in_place ? tensors.input.data() : tensors.output.data();
    collective.count = spec.count;
    collective.type = spec.type;
    collective.format = spec.format;
    collective.op = spec.op;
    collective.key = spec.key;
    if (spec.residual) {
      tensors.residual.resize(spec.count);
      job_.workload().fill_residual(index_, id, tensors.residual.data());
      collective.residual = tensors.residual.data();
    }
    if (spec.abstain_ns != base::kNever) collective.abstain_after_ns = now_ns + spec.abstain_ns;
    times_[id].first = now_ns;
    const absl::Status status = core_->submit(collective);
    if (!status.ok())
      job_.world().violate({"progress", fmt::format("job {} member {} cannot submit: {}", job_.index() + 1,
                                                    index_, std::string(status.message()))});
  }
}

void Member::on_result(const host::CollectiveResult& result) {
  const auto it = tensors_.find(result.id);
  if (it == tensors_.end())
    return job_.world().violate(
        {"each_contribution_once",
         fmt::format("job {} member {}: collective {} ends twice", job_.index() + 1, index_, result.id)});
  times_[result.id].second = job_.world().now_ns();
  ++finished_;
  job_.world().seen().not_finite += !result.finite;
  if (auto violation =
          job_.workload().check(index_, result.id, it->second.out(), it->second.residual, result))
    job_.world().violate(*violation);
  tensors_.erase(it);
  tell_drained();
  job_.world().check_done();
  if (submitted_ < job_.spec().collectives.size())
    job_.world().network().call_at(job_.world().now_ns(), [this] {
      submit_ready();
      poll();
    });
}

// ---- the coordinator ----

bool Member::stale(uint32_t change) {
  if (change < change_) return true;
  change_ = change;
  return false;
}

void Member::obey(const control::Command& command) {
  if (!core_ || failed_) return;
  std::visit([this](const auto& c) { obey(c); }, command);
}

void Member::obey(const control::PauseMember& command) {
  if (stale(command.change)) return;
  job_.world().seen().changes_in_flight += !core_->paused() && core_->in_flight() > 0;
  core_->pause();
  stop_before_.reset();
  host::StripeReport report = core_->report();
  job_.tell(control::MemberPaused{command.change, index_, report.epoch, std::move(report.held),
                                  report.collectives_begun, report.collectives_finished, report.chunks_begun},
            index_);
}

void Member::obey(const control::FetchCopies& command) {
  if (stale(command.change)) return;
  control::CopiesFetched answer{command.change, index_, {}};
  for (uint32_t number : command.numbers) {
    if (std::optional<host::ResultCopy> copy = core_->copy(number)) {
      answer.copies.push_back(
          {copy->number, copy->exp, copy->next_exp, copy->weight, std::move(copy->lanes)});
    } else {
      job_.world().violate(
          {"same_result", fmt::format("job {} member {} has no copy of number {}, which it reported to hold",
                                      job_.index() + 1, index_, number)});
    }
  }
  job_.tell(answer, index_);
}

void Member::obey(const control::DeliverCopies& command) {
  if (stale(command.change)) return;
  for (const control::ResultCopy& copy : command.copies) {
    Ledger* ledger = job_.ledger(config_.epoch);
    if (ledger && !ledger->holds(index_, copy.number)) {
      if (auto violation = ledger->member_holds(index_, copy.number)) job_.world().violate(*violation);
    }
    const absl::Status status =
        core_->install({copy.number, copy.exp, copy.next_exp, copy.weight, copy.lanes});
    if (!status.ok())
      job_.world().violate(
          {"same_result", fmt::format("job {} member {} cannot take number {}: {}", job_.index() + 1, index_,
                                      copy.number, std::string(status.message()))});
  }
  job_.tell(control::CopiesDelivered{command.change, index_}, index_);
}

void Member::obey(const control::ResumeMember& command) {
  if (stale(command.change)) return;
  config_ = job_.stripe_config(index_, command.epoch, command.first_number, command.window);
  std::optional<host::StartingPoint> start;
  if (!resumed_) {
    start = host::StartingPoint{command.first_collective, command.first_chunk};
    first_ = submitted_ = command.first_collective;
  }
  const absl::Status status = core_->resume(config_, start);
  if (!status.ok())
    return job_.world().violate(
        {"progress", fmt::format("job {} member {} cannot resume: {}", job_.index() + 1, index_,
                                 std::string(status.message()))});
  resumed_ = true;
  stop_before_ = command.stop_before;
  core_->set_stop_before(command.stop_before);
  job_.tell(control::MemberResumed{command.change, index_}, index_);
  tell_drained();
  job_.world().check_done();
  submit_ready();
  poll();
}

void Member::obey(const control::FailMember&) {
  failed_ = true;
  core_->abandon();
  job_.world().check_done();
}

void Member::tell_drained() {
  if (!stop_before_ || !resumed_ || core_->paused() || first_ + finished_ < *stop_before_) return;
  stop_before_.reset();
  job_.tell(control::MemberDrained{change_, index_}, index_);
}

}  // namespace l3dml::sim
