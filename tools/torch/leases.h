// Liveness of a process group from leases in its c10d store: a thread that renews ours, reads the others' and
// says once when somebody is gone. It works without the interpreter lock, so a busy Python does not lose its
// lease. The store must not be one that another thread may block for long (TCPStore locks its connection
// while it waits).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "tools/torch/lease_book.h"

namespace l3dml::pytorch {

class Leases {
 public:
  // `lost` is called once, on the thread of the leases, with one line that names the rank. Null: liveness is
  // somebody else's business, and a rank whose lease ran out keeps nobody from closing.
  using Lost = std::function<void(const std::string& reason)>;

  // Renews five times per `expiry`. The first lease is written before the constructor returns; a store that
  // cannot be written throws.
  Leases(c10::intrusive_ptr<c10d::Store> store, int rank, int size, std::chrono::milliseconds expiry,
         Lost lost);
  ~Leases();  // writes that we have left
  Leases(const Leases&) = delete;

  // Says that we make no further call, and waits until nobody does. False: somebody was lost, or `timeout` is
  // over.
  bool close(std::chrono::milliseconds timeout);

 private:
  void run();
  void renew();
  void look();

  c10::intrusive_ptr<c10d::Store> store_;
  const int rank_, size_;
  const std::chrono::milliseconds expiry_;
  const Lost lost_;

  std::mutex mutex_;
  std::condition_variable changed_;
  LeaseState state_ = LeaseState::alive;
  bool stop_ = false;
  bool told_ = false;         // lost_ has been called
  bool all_closing_ = false;  // as of the last look

  LeaseBook book_;  // the thread's own, as are these
  uint64_t counter_ = 0;
  std::string store_error_;
  std::chrono::steady_clock::time_point store_worked_;
  std::thread thread_;
};

}  // namespace l3dml::pytorch
