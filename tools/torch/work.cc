#include "tools/torch/work.h"

#include <ATen/core/ivalue.h>

namespace l3dml::pytorch {
namespace {

std::vector<c10::Device> devices_of(const at::Tensor& tensor) {
  if (tensor.is_cpu()) return {};
  return {tensor.device()};
}

}  // namespace

AllreduceWork::AllreduceWork(int rank, at::Tensor tensor, at::Tensor staged, Residuals::Loan residual)
    : Work(rank, c10d::OpType::ALLREDUCE, "l3dml:all_reduce", std::vector<at::Tensor>{tensor}),
      tensor_(std::move(tensor)),
      staged_(std::move(staged)),
      residual_(std::move(residual)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                       devices_of(tensor_))) {}

void AllreduceWork::complete(const std::string& error) {
  std::exception_ptr failure;
  try {
    if (!error.empty()) throw std::runtime_error("l3dml: " + error);
    // A blocking copy: when the future is done, so are the bytes on the device.
    if (!staged_.is_same(tensor_)) tensor_.copy_(staged_);
  } catch (...) {
    failure = std::current_exception();
  }
  residual_.reset();
  // The work first: who waits for the future may ask the work.
  finish(failure);
  if (failure)
    future_->setError(failure);
  else
    future_->markCompleted(c10::IValue(std::vector<at::Tensor>{tensor_}));
}

Finisher::Finisher() : thread_([this] { run(); }) {}

Finisher::~Finisher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Finisher::post(std::function<void()> finish) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(finish));
  }
  changed_.notify_one();
}

void Finisher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !posted_.empty(); });
    if (posted_.empty()) return;
    const std::function<void()> finish = std::move(posted_.front());
    posted_.pop_front();
    lock.unlock();
    finish();
    lock.lock();
  }
}

}  // namespace l3dml::pytorch
