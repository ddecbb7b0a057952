// A table of the program as the driver sees it: before an entry changes or its counters are read, the pipes
// write back and forget what they remember of it (flow_cache.h). All calls but check() come at quiescence
// (tna/twin.h).
#pragma once

#include <functional>
#include <utility>

#include "dataplane/tna/twin.h"

namespace l3dml::pipeline {

class WatchedTable final : public tna::TableTwin {
 public:
  WatchedTable(tna::TableTwin* table, std::function<void()> flush)
      : table_(*table), flush_(std::move(flush)) {}

  absl::Status check(const tna::Entry& entry) const override { return table_.check(entry); }
  void insert(tna::Handle handle, const tna::Entry& entry) override {
    flush_(), table_.insert(handle, entry);
  }
  void modify(tna::Handle handle, const tna::Entry& entry) override {
    flush_(), table_.modify(handle, entry);
  }
  void remove(tna::Handle handle) override { flush_(), table_.remove(handle); }
  void set_default(const tna::Entry& entry) override { flush_(), table_.set_default(entry); }
  tna::CounterValue counter(tna::Handle handle) const override { return flush_(), table_.counter(handle); }
  void set_counter(tna::Handle handle, tna::CounterValue value) override {
    flush_(), table_.set_counter(handle, value);
  }
  bool take_hit(tna::Handle handle) override { return flush_(), table_.take_hit(handle); }

 private:
  tna::TableTwin& table_;
  std::function<void()> flush_;
};

}  // namespace l3dml::pipeline
