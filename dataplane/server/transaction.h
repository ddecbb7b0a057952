// One WriteRequest in the making. Tables change their shadow at once and leave two things here: how to undo
// it, and what the pipeline has to be told. The pipeline hears of it only when the whole request is settled,
// in one Executor::run, so a request that is rolled back never touched a packet and one that holds is seen as
// a whole. Used by one thread, under the driver's lock.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "dataplane/tna/twin.h"

namespace l3dml::server {

class Transaction {
 public:
  explicit Transaction(bool undoable) : undoable_(undoable) {}

  void on_undo(std::function<void()> action) {
    if (undoable_) undo_.push_back(std::move(action));
  }
  void on_commit(std::function<void()> action) { commit_.push_back(std::move(action)); }
  // Runs after the pipeline knows, outside Executor::run: notifications.
  void on_done(std::function<void()> action) { done_.push_back(std::move(action)); }

  void roll_back() {
    for (size_t i = undo_.size(); i-- > 0;) undo_[i]();
    undo_.clear();
    commit_.clear();
    done_.clear();
  }

  // executor null: there is no pipeline.
  void commit(tna::Executor* executor) {
    auto apply = [this] {
      for (auto& action : commit_) action();
    };
    if (!commit_.empty()) {
      if (executor != nullptr) {
        executor->run(apply);
      } else {
        apply();
      }
    }
    for (auto& action : done_) action();
    undo_.clear();
    commit_.clear();
    done_.clear();
  }

  size_t commit_count() const { return commit_.size(); }

 private:
  bool undoable_;
  std::vector<std::function<void()>> undo_;
  std::vector<std::function<void()>> commit_;
  std::vector<std::function<void()>> done_;
};

}  // namespace l3dml::server
