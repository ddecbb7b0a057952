// A switch for controller tests: holds entries, registers and counters in maps, checks names and widths
// against a bf-rt.json like the real one, and can be made to fail, lose its connection, forget everything or
// raise events. Threads: any. Without a schema every name is accepted as it is.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "control/target/switch_target.h"

namespace l3dml::control::target {

class FakeTarget final : public SwitchTarget {
 public:
  // `program_json` empty: no checks. Tables whose name starts with '$' or "tf1." are never checked.
  static absl::StatusOr<std::unique_ptr<FakeTarget>> create(const std::string& program,
                                                            const std::string& program_json,
                                                            unsigned pipes = 1);

  std::shared_ptr<const TargetSchema> schema() const override { return schema_; }
  std::string program() const override { return program_; }
  bool connected() const override;
  absl::Status reconnect() override;
  absl::Status write(const Batch& batch, Atomicity atomicity = Atomicity::all_or_nothing) override;
  absl::StatusOr<std::vector<Row>> read(std::string_view table, const ReadOptions& options = {}) override;
  absl::StatusOr<Row> read(std::string_view table, const Key& key, const ReadOptions& options = {}) override;
  absl::StatusOr<std::optional<Row>> read_default(std::string_view table) override;
  absl::StatusOr<uint32_t> usage(std::string_view table) override;
  absl::StatusOr<std::vector<std::vector<Cell>>> read_registers(std::string_view table, uint32_t first,
                                                                uint32_t count) override;
  absl::StatusOr<Counter> read_counter(std::string_view table, uint32_t index) override;
  absl::Status set_idle_timeout(std::string_view, bool, bool) override { return absl::OkStatus(); }
  absl::Status set_port_events(bool) override { return absl::OkStatus(); }
  void on_event(std::function<void(const Event&)> receiver) override;

  // What a test does to it.
  void fail_next_write(absl::Status status);   // that write changes nothing
  void lose_connection();                      // calls answer UNAVAILABLE until reconnect(); raises the event
  void refuse_reconnect(absl::Status status);  // OK: allow again
  void restart();                              // loses connection and all state
  void raise(const Event& event);
  void set_cell(std::string_view table, uint32_t index, uint32_t pipe, Cell cell);
  void set_counter(std::string_view table, uint32_t index, Counter counter);
  size_t write_count() const;       // accepted writes
  std::vector<Update> log() const;  // updates of accepted writes, in order
  void clear_log();
  void keep_log(bool keep);  // false: a run too long to remember

 private:
  struct State {
    std::map<std::string, std::map<std::string, Row>> rows;  // table, canonical key
    std::map<std::string, Action> defaults;
    std::map<std::string, std::map<std::pair<uint32_t, uint32_t>, Cell>> cells;  // table, (index, pipe)
    std::map<std::string, std::map<uint32_t, Counter>> counters;
  };

  absl::StatusOr<std::string> full_name(std::string_view table) const;
  absl::StatusOr<std::string> canonical(const std::string& table, const Key& key) const;
  Key named(const std::string& table, const Key& key) const;           // with full field names
  Action named(const std::string& table, const Action& action) const;  // with full action and field names
  absl::Status apply(const Update& update);
  absl::Status apply_members(const std::string& table, Row& row, const Update& update);

  std::string program_;
  unsigned pipes_ = 1;
  std::shared_ptr<const TargetSchema> schema_;
  mutable std::mutex mutex_;
  State state_;
  bool connected_ = true;
  absl::Status next_failure_;
  absl::Status reconnect_failure_;
  std::vector<Update> log_;
  bool keeps_log_ = true;
  size_t write_count_ = 0;
  std::mutex event_mutex_;
  std::function<void(const Event&)> receiver_;
};

}  // namespace l3dml::control::target
