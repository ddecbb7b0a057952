// One asynchronous allreduce as PyTorch sees it, and the thread that finishes them.
//
// The job reports results on its I/O thread, which must never wait; futures run callbacks, and those may take
// the interpreter lock. So a Finisher per group completes works, in the order in which their results came.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "tools/torch/residuals.h"

namespace l3dml::pytorch {

class AllreduceWork final : public c10d::Work {
 public:
  // `tensor` gets the sum. `staged` is what the job works on: the tensor itself, or a contiguous copy in host
  // memory.
  AllreduceWork(int rank, at::Tensor tensor, at::Tensor staged, Residuals::Loan residual);

  // Empty: success, and the result is copied back if it was staged.
  void complete(const std::string& error);

  std::vector<at::Tensor> result() override { return {tensor_}; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

  const at::Tensor& staged() const { return staged_; }
  float* residual() const { return residual_ ? residual_->data() : nullptr; }

 private:
  at::Tensor tensor_, staged_;
  Residuals::Loan residual_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

class Finisher {
 public:
  Finisher();
  ~Finisher();  // after all that was posted
  void post(std::function<void()> finish);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> posted_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace l3dml::pytorch
