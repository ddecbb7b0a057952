// A pipeline that only remembers what its driver told it, for tests of what reaches a live program and when.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dataplane/tna/twin.h"

namespace l3dml::server::testing {

class FakeTable final : public tna::TableTwin {
 public:
  absl::Status check(const tna::Entry& entry) const override {
    return entry.action == refused_action ? absl::ResourceExhaustedError("the pipeline has no room for it")
                                          : absl::OkStatus();
  }
  void insert(tna::Handle handle, const tna::Entry& entry) override { entries[handle] = entry; }
  void modify(tna::Handle handle, const tna::Entry& entry) override { entries[handle] = entry; }
  void remove(tna::Handle handle) override { entries.erase(handle); }
  void set_default(const tna::Entry& entry) override { default_entry = entry; }
  tna::CounterValue counter(tna::Handle handle) const override {
    const auto found = counters.find(handle);
    return found == counters.end() ? tna::CounterValue{} : found->second;
  }
  void set_counter(tna::Handle handle, tna::CounterValue value) override { counters[handle] = value; }
  bool take_hit(tna::Handle handle) override { return std::exchange(hits[handle], false); }

  std::string refused_action;
  std::map<tna::Handle, tna::Entry> entries;
  std::map<tna::Handle, tna::CounterValue> counters;
  std::map<tna::Handle, bool> hits;
  tna::Entry default_entry;
};

class FakeTwin final : public tna::DeviceTwin, public tna::Executor {
 public:
  unsigned pipes() const override { return 2; }
  tna::Executor& executor() override { return *this; }
  void run(const std::function<void()>& function) override {
    ++runs;
    function();
  }
  tna::TableTwin* table(std::string_view name) override {
    const auto found = tables.find(std::string(name));
    return found == tables.end() ? nullptr : &found->second;
  }
  tna::RegisterTwin* register_array(std::string_view) override { return nullptr; }
  tna::CounterTwin* counter(std::string_view) override { return nullptr; }
  tna::ReplicationTwin* replication() override { return nullptr; }
  void take_digests(std::vector<tna::Digest>& out) override { out.swap(digests); }

  std::map<std::string, FakeTable> tables;
  std::vector<tna::Digest> digests;
  int runs = 0;
};

}  // namespace l3dml::server::testing
