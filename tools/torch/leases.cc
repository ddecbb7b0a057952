#include "tools/torch/leases.h"

#include <fmt/format.h>

namespace l3dml::pytorch {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

int64_t now_ns() { return steady_clock::now().time_since_epoch() / nanoseconds(1); }
std::string key(int rank) { return fmt::format("lease/{}", rank); }
// The first line only: what c10d throws ends in a stack trace.
std::string first_line(const char* what) {
  const std::string text = what;
  return text.substr(0, text.find('\n'));
}

}  // namespace

Leases::Leases(c10::intrusive_ptr<c10d::Store> store, int rank, int size, milliseconds expiry, Lost lost)
    : store_(std::move(store)),
      rank_(rank),
      size_(size),
      expiry_(expiry),
      lost_(std::move(lost)),
      book_(rank, size, expiry / nanoseconds(1), now_ns()),
      store_worked_(steady_clock::now()) {
  renew();
  thread_ = std::thread([this] { run(); });
}

Leases::~Leases() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    state_ = LeaseState::left;
  }
  changed_.notify_all();
  thread_.join();
  try {
    renew();
  } catch (const std::exception&) {  // the store has gone before us: nobody is left to tell
  }
}

bool Leases::close(milliseconds timeout) {
  std::unique_lock lock(mutex_);
  state_ = LeaseState::closing;
  changed_.notify_all();
  changed_.wait_for(lock, timeout, [this] { return all_closing_ || told_; });
  return all_closing_;
}

void Leases::renew() {
  LeaseState state;
  {
    const std::lock_guard lock(mutex_);
    state = state_;
  }
  const std::string lease = format_lease(state, ++counter_);
  store_->set(key(rank_), std::vector<uint8_t>(lease.begin(), lease.end()));
}

void Leases::look() {
  for (int r = 0; r < size_; ++r) {
    if (r == rank_ || !store_->check({key(r)})) continue;
    const std::vector<uint8_t> lease = store_->get(key(r));
    book_.observe(r, {reinterpret_cast<const char*>(lease.data()), lease.size()}, now_ns());
  }
}

void Leases::run() {
  const milliseconds period = expiry_ / 5;
  steady_clock::time_point last = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const LeaseState state = state_;
    lock.unlock();
    const steady_clock::time_point begin = steady_clock::now();
    if (begin - last > expiry_ / 2) book_.forgive(now_ns());
    last = begin;
    std::optional<std::string> lost;
    bool failed = false;
    try {
      renew();
      look();
      store_worked_ = begin;
      lost = book_.lost(now_ns());
    } catch (const std::exception& error) {
      failed = true;
      store_error_ = first_line(error.what());
      if (begin - store_worked_ > expiry_)
        lost =
            fmt::format("the c10d store is gone, and with it the process that serves it, usually rank 0: {}",
                        store_error_);
    }
    lock.lock();
    all_closing_ = lost_ ? book_.all_closing() : book_.all_closing_or_lost(now_ns());
    // A store that vanishes while we close was closed by its owner after everybody had arrived.
    if (failed && state == LeaseState::closing) all_closing_ = true;
    if (lost && lost_ && !told_ && !all_closing_) {
      told_ = true;
      lock.unlock();
      lost_(*lost);
      lock.lock();
    }
    if (all_closing_ || told_) changed_.notify_all();
    // While closing, look often: the others wait for us as we wait for them.
    const milliseconds pause = state_ == LeaseState::closing ? std::min(period, milliseconds(20)) : period;
    changed_.wait_for(lock, pause, [&] { return stop_ || state_ != state; });
  }
}

}  // namespace l3dml::pytorch
