// One of several connections to a FakeTarget.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/target/fake_target.h"

namespace l3dml::control::target {

// A connection to a fake switch, which outlives it: several may share one.
class FakeConnection final : public SwitchTarget {
 public:
  explicit FakeConnection(FakeTarget* fake) : fake_(*fake) {}
  std::shared_ptr<const TargetSchema> schema() const override { return fake_.schema(); }
  std::string program() const override { return fake_.program(); }
  bool connected() const override { return fake_.connected(); }
  absl::Status reconnect() override { return fake_.reconnect(); }
  absl::Status write(const Batch& b, Atomicity a) override { return fake_.write(b, a); }
  absl::StatusOr<std::vector<Row>> read(std::string_view t, const ReadOptions& o) override {
    return fake_.read(t, o);
  }
  absl::StatusOr<Row> read(std::string_view t, const Key& k, const ReadOptions& o) override {
    return fake_.read(t, k, o);
  }
  absl::StatusOr<std::optional<Row>> read_default(std::string_view t) override {
    return fake_.read_default(t);
  }
  absl::StatusOr<uint32_t> usage(std::string_view t) override { return fake_.usage(t); }
  absl::StatusOr<std::vector<std::vector<Cell>>> read_registers(std::string_view t, uint32_t f,
                                                                uint32_t c) override {
    return fake_.read_registers(t, f, c);
  }
  absl::StatusOr<Counter> read_counter(std::string_view t, uint32_t i) override {
    return fake_.read_counter(t, i);
  }
  absl::Status set_idle_timeout(std::string_view, bool, bool) override { return absl::OkStatus(); }
  absl::Status set_port_events(bool) override { return absl::OkStatus(); }
  void on_event(std::function<void(const Event&)>) override {}

 private:
  FakeTarget& fake_;
};

}  // namespace l3dml::control::target
