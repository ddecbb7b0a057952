#include "tools/member/membership.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/random.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace l3dml::member {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstPause{50}, kLongestPause{1'000}, kLookAtDraining{5};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

absl::StatusOr<std::string> read_file(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  return text.str();
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return addresses;
  for (const ifaddrs* at = all; at; at = at->ifa_next) {
    if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET6) continue;
    char text[INET6_ADDRSTRLEN];
    const auto& address = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (inet_ntop(AF_INET6, &address, text, sizeof text)) addresses.emplace_back(text);
  }
  freeifaddrs(all);
  return addresses;
}

std::string random_name() {
  unsigned char bytes[12] = {};
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) std::abort();
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes), sizeof bytes});
}

std::string to_bytes(const std::vector<uint32_t>& lanes) {
  std::string bytes(4 * lanes.size(), '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(lanes[i / 4] >> (24 - i % 4 * 8));
  return bytes;
}

std::vector<uint32_t> to_lanes(const std::string& bytes) {
  std::vector<uint32_t> lanes(bytes.size() / 4);
  for (size_t i = 0; i < 4 * lanes.size(); ++i)
    lanes[i / 4] = lanes[i / 4] << 8 | static_cast<uint8_t>(bytes[i]);
  return lanes;
}

// The configuration of one stripe, as it comes with a new epoch.
absl::StatusOr<host::StripeConfig> stripe_of(const host::JobConfig& job, const std::string& json) {
  auto config =
      host::parse_job_config(absl::StrCat("{\"name\": \"resume\", \"world\": ", job.world,
                                          ", \"rank\": ", job.rank, ", \"stripes\": [", json, "]}"));
  if (!config.ok()) return config.status();
  return config->stripes.front();
}

}  // namespace

MemberOptions options_from_environment() {
  MemberOptions options;
  options.controller = environment("L3DML_CONTROLLER");
  options.job = environment("L3DML_JOB");
  options.token = environment("L3DML_TOKEN");
  options.host = environment("L3DML_HOST");
  options.certificate = environment("L3DML_CERT");
  options.key = environment("L3DML_KEY");
  options.authority = environment("L3DML_AUTHORITY");
  return options;
}

absl::StatusOr<std::unique_ptr<Membership>> Membership::join(const MemberOptions& options) {
  if (options.controller.empty() || options.job.empty())
    return absl::InvalidArgumentError(
        "joining takes the controller's address and the job's name (L3DML_CONTROLLER, L3DML_JOB)");
  std::unique_ptr<Membership> member(new Membership(options));
  member->instance_ = random_name();
  if (absl::Status s = member->connect(); !s.ok()) return s;
  if (absl::Status s = member->call_join(); !s.ok()) return s;
  return member;
}

absl::Status Membership::connect() {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options_.certificate.empty() || !options_.key.empty() || !options_.authority.empty()) {
    grpc::SslCredentialsOptions tls;
    for (const auto& [file, text] : {std::pair{&options_.certificate, &tls.pem_cert_chain},
                                     {&options_.key, &tls.pem_private_key},
                                     {&options_.authority, &tls.pem_root_certs}}) {
      auto read = read_file(*file);
      if (!read.ok()) return read.status();
      *text = *std::move(read);
    }
    credentials = grpc::SslCredentials(tls);
  }
  grpc::ChannelArguments arguments;
  // Not MIN_RECONNECT_BACKOFF: that is how long one attempt may take, and a handshake takes its time on a
  // machine that is busy. A member that gave up each attempt too early lost its lease.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 128 << 20);  // copies of a whole window
  for (const absl::string_view address : absl::StrSplit(options_.controller, ',', absl::SkipEmpty()))
    stubs_.push_back(api::Jobs::NewStub(
        grpc::CreateCustomChannel(std::string(absl::StripAsciiWhitespace(address)), credentials, arguments)));
  if (stubs_.empty())
    return absl::InvalidArgumentError("the controller's address is empty (L3DML_CONTROLLER)");
  return absl::OkStatus();
}

absl::Status Membership::call_join() {
  api::JoinRequest request;
  request.set_job(options_.job);
  request.set_token(options_.token);
  request.set_instance(instance_);
  request.set_host(options_.host);
  request.set_group(options_.group);
  if (options_.rank >= 0) request.set_rank(static_cast<uint32_t>(options_.rank));
  for (const std::string& address : own_addresses()) request.add_addresses(address);
  const auto deadline =
      std::chrono::system_clock::now() + milliseconds(static_cast<int64_t>(1e3 * options_.wait_s));
  api::JoinResponse answer;
  for (;;) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(
        stubs_.size() == 1 ? deadline : std::min(deadline, std::chrono::system_clock::now() + kLongestPause));
    const grpc::Status status = stub().Join(&context, request, &answer);
    if (status.ok()) break;
    // Not yet: the process before us is not given up, or the controller died while it answered (our instance
    // gets the same rank again).
    const bool another = stubs_.size() > 1 && status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    if ((status.error_code() == grpc::StatusCode::UNAVAILABLE || another) &&
        std::chrono::system_clock::now() + kLongestPause < deadline) {
      ++controller_;
      std::this_thread::sleep_for(kLongestPause / 4);
      continue;
    }
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      return absl::UnavailableError(absl::StrCat("no controller answers at ", options_.controller, " within ",
                                                 options_.wait_s, " s (L3DML_CONTROLLER)"));
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::StrCat("the controller refuses: ", status.error_message()));
  }
  auto config = host::parse_job_config(answer.config());
  if (!config.ok()) return config.status();
  config_ = *std::move(config);
  lease_s_ = answer.lease_s();
  joins_running_ = answer.paused();
  for (const host::StripeConfig& stripe : config_.stripes) {
    stripes_.emplace_back();
    stripes_.back().epoch = stripe.epoch;
  }
  return absl::OkStatus();
}

absl::Status Membership::attend(host::Job* job) {
  job_ = job;
  if (joins_running_)
    for (unsigned i = 0; i < stripes_.size(); ++i) {
      job_->pause(i);
      stripes_[i].paused = true;
    }
  reader_ = std::thread([this] { read_loop(); });
  renewer_ = std::thread([this] { renew_loop(); });
  return joins_running_ ? wait_to_begin() : absl::OkStatus();
}

absl::Status Membership::wait_to_begin() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(config_.timeout_ns);
  std::unique_lock lock(mutex_);
  while (std::any_of(stripes_.begin(), stripes_.end(), [](const Stripe& s) { return s.paused; })) {
    lock.unlock();
    if (absl::Status s = job_->status(); !s.ok()) return s;
    if (std::chrono::steady_clock::now() > end)
      return absl::DeadlineExceededError(
          absl::StrCat("job ", options_.job, " runs, but its other ranks have not let us in within ",
                       config_.timeout_ns / 1'000'000'000, " s: do they still train?"));
    lock.lock();
    changed_.wait_for(lock, kFirstPause);
  }
  return absl::OkStatus();
}

Membership::~Membership() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    if (context_) context_->TryCancel();
  }
  changed_.notify_all();
  if (reader_.joinable()) reader_.join();
  if (renewer_.joinable()) renewer_.join();
}

void Membership::leave() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(left_, true)) return;
  }
  api::MemberRequest request;
  request.set_job(options_.job);
  request.set_token(options_.token);
  request.set_rank(config_.rank);
  for (size_t tries = 0; tries < stubs_.size(); ++tries) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + milliseconds(5'000));
    api::LeaveResponse answer;
    if (stub().Leave(&context, request, &answer).error_code() != grpc::StatusCode::UNAVAILABLE) return;
    ++controller_;
  }  // not heard by anybody: our lease runs out instead
}

void Membership::read_loop() {
  milliseconds pause = kFirstPause;
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    if (!attend_once()) return;
    if (std::chrono::steady_clock::now() - begin > kLongestPause) pause = kFirstPause;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, pause, [this] { return stop_ || left_; })) return;
    pause = std::min(2 * pause, kLongestPause);
  }
}

bool Membership::attend_once() {
  std::unique_ptr<Stream> stream;
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return false;
    context_ = std::make_unique<grpc::ClientContext>();
    stream = stub().Attend(context_.get());
    api::MemberMessage message;
    auto* attach = message.mutable_attach();
    attach->set_job(options_.job);
    attach->set_token(options_.token);
    attach->set_instance(instance_);
    attach->set_rank(config_.rank);
    for (const Stripe& stripe : stripes_) {
      attach->add_epochs(stripe.epoch);
      attach->add_changes(stripe.change);
      attach->add_paused(stripe.paused);
    }
    stream->Write(message);
    stream_ = stream.get();
  }
  for (api::ControllerMessage message; stream->Read(&message);) hear(message);
  {
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
  }
  const grpc::Status status = stream->Finish();
  const std::lock_guard lock(mutex_);
  if (stop_ || left_) return false;
  switch (status.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::UNIMPLEMENTED:
      job_->fail(absl::StrCat("the controller refuses: ", status.error_message()));
      return false;
    default:
      ++controller_;
      return true;  // it is away; the job goes on without it
  }
}

void Membership::say(api::MemberMessage message) {
  const std::lock_guard lock(mutex_);
  if (stream_) stream_->Write(message);  // a stream that broke: said again on the next one
}

void Membership::hear(const api::ControllerMessage& message) {
  if (message.has_attached()) return;
  if (message.has_fail()) return job_->fail(message.fail().reason());
  const uint32_t index = message.stripe();
  if (index >= stripes_.size()) return;
  {
    const std::lock_guard lock(mutex_);
    Stripe& stripe = stripes_[index];
    if (message.change() < stripe.change) return;  // a later change has overtaken it
    stripe.change = message.change();
  }
  api::MemberMessage answer;
  answer.set_stripe(index);
  answer.set_change(message.change());
  if (message.has_pause()) {
    job_->pause(index);
    const host::StripeReport report = job_->report(index);
    {
      const std::lock_guard lock(mutex_);
      stripes_[index].paused = true;
      stripes_[index].stop_before.reset();
    }
    auto* paused = answer.mutable_paused();
    paused->set_epoch(report.epoch);
    for (uint32_t position = 0; position < report.held.size(); ++position)
      if (report.held[position]) {
        paused->add_positions(position);
        paused->add_numbers(*report.held[position]);
      }
    paused->set_collectives_begun(report.collectives_begun);
    paused->set_collectives_finished(report.collectives_finished);
    paused->set_chunks_begun(report.chunks_begun);
  } else if (message.has_fetch()) {
    auto* fetched = answer.mutable_fetched();
    for (const uint32_t number : message.fetch().numbers()) {
      const auto copy = job_->copy(index, number);
      if (!copy.ok()) continue;  // the controller sees that it is missing
      api::ResultCopy* out = fetched->add_copies();
      out->set_number(copy->number);
      out->set_exp(copy->exp);
      out->set_next_exp(copy->next_exp);
      out->set_weight(copy->weight);
      out->set_lanes(to_bytes(copy->lanes));
    }
  } else if (message.has_deliver()) {
    for (const api::ResultCopy& copy : message.deliver().copies()) {
      const absl::Status status = job_->install(
          index, {copy.number(), static_cast<uint8_t>(copy.exp()), static_cast<uint8_t>(copy.next_exp()),
                  static_cast<uint16_t>(copy.weight()), to_lanes(copy.lanes())});
      if (!status.ok())
        return job_->fail(absl::StrCat("a result of another rank cannot be taken: ", status.message()));
    }
    answer.mutable_delivered();
  } else if (message.has_resume()) {
    if (const absl::Status status = resume(index, message); !status.ok())
      return job_->fail(absl::StrCat("cannot begin epoch: ", status.message()));
    answer.mutable_resumed();
  } else {
    return;
  }
  say(std::move(answer));
  changed_.notify_all();
}

absl::Status Membership::resume(uint32_t index, const api::ControllerMessage& message) {
  {
    const std::lock_guard lock(mutex_);
    if (stripes_[index].resumed_at == message.change() && !stripes_[index].paused) return absl::OkStatus();
  }
  const auto& command = message.resume();
  auto config = stripe_of(config_, command.stripe());
  if (!config.ok()) return config.status();
  std::optional<host::StartingPoint> start;
  if (command.joiner() && joins_running_)
    start = host::StartingPoint{command.first_collective(), command.first_chunk()};
  if (start) job_->pause(index);  // a controller that came after another may start us once more
  const auto stop = command.has_stop_before() ? std::optional<uint64_t>(command.stop_before()) : std::nullopt;
  job_->set_stop_before(index, stop);
  if (absl::Status s = job_->resume(index, *config, start); !s.ok()) return s;
  const std::lock_guard lock(mutex_);
  Stripe& stripe = stripes_[index];
  stripe.epoch = config->epoch;
  stripe.resumed_at = message.change();
  stripe.paused = false;
  stripe.stop_before = stop;
  if (start) first_collective_ = start->collective;
  return absl::OkStatus();
}

void Membership::renew_loop() {
  // Every message renews; four chances a lease.
  const auto period = milliseconds(static_cast<int64_t>(250 * lease_s_));
  auto next = std::chrono::steady_clock::now() + period;
  for (;;) {
    std::vector<std::pair<uint32_t, uint64_t>> draining;
    {
      std::unique_lock lock(mutex_);
      const auto is_draining = [](const Stripe& stripe) { return stripe.stop_before && !stripe.paused; };
      if (std::none_of(stripes_.begin(), stripes_.end(), is_draining))
        changed_.wait_until(lock, next, [&] {
          return stop_ || left_ || std::any_of(stripes_.begin(), stripes_.end(), is_draining);
        });
      else
        changed_.wait_for(lock, kLookAtDraining, [&] { return stop_ || left_; });
      if (stop_ || left_) return;
      for (uint32_t i = 0; i < stripes_.size(); ++i)
        if (is_draining(stripes_[i])) draining.emplace_back(i, *stripes_[i].stop_before);
    }
    for (const auto& [index, stop] : draining) {
      if (job_->report(index).collectives_finished < stop) continue;
      api::MemberMessage drained;
      drained.set_stripe(index);
      drained.mutable_drained();
      {
        const std::lock_guard lock(mutex_);
        if (stripes_[index].stop_before != stop) continue;
        stripes_[index].stop_before.reset();
        drained.set_change(stripes_[index].change);
      }
      say(std::move(drained));
    }
    if (std::chrono::steady_clock::now() < next) continue;
    next = std::chrono::steady_clock::now() + period;
    const host::WorkerStats stats = job_->stats().total;
    api::MemberMessage renew;
    renew.mutable_renew()->set_round_trip_s(static_cast<double>(stats.segment_rtt_ns) / 1e9);
    renew.mutable_renew()->set_result_s(static_cast<double>(stats.result_time_ns) / 1e9);
    say(std::move(renew));
  }
}

}  // namespace l3dml::member
