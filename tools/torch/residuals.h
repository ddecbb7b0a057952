// What lossy lanes left out, kept per recurring collective until its next turn (error feedback). Thread-safe.
// A residual is lent to one collective at a time; two at once under one key: the second goes without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace l3dml::pytorch {

class Residuals {
 public:
  using Loan = std::shared_ptr<std::vector<float>>;  // give back by letting go of it

  // `count` floats, zero at first; null if lent already.
  Loan lend(uint64_t key, size_t count) {
    const std::lock_guard lock(mutex_);
    if (kept_.size() >= kMost && !kept_.contains(key))
      std::erase_if(kept_, [](const auto& entry) { return entry.second.use_count() == 1; });
    Loan& loan = kept_[key];
    if (!loan || loan->size() != count) {
      if (loan && loan.use_count() > 1) return nullptr;
      loan = std::make_shared<std::vector<float>>(count);
      return loan;
    }
    return loan.use_count() == 1 ? loan : nullptr;
  }

 private:
  // Sizes that never come back must not fill the memory. More recurring collectives than this have no
  // feedback.
  static constexpr size_t kMost = 1024;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Loan> kept_;
};

}  // namespace l3dml::pytorch
