// The controller's only way to a switch, software or Tofino. Abstract, so that controllers are tested against
// FakeTarget and run against BfrtTarget; they differ by an address, not by code.
// Threads: every method from any thread. Events arrive on a thread of the target's and must not call back
// into it with anything that blocks. Errors: absl::Status with the switch's own code and text; UNAVAILABLE
// when it cannot be reached.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/target/batch.h"
#include "control/target/schema.h"

namespace l3dml::control::target {

enum class Atomicity : uint8_t {
  all_or_nothing,  // a failed update undoes the batch, and packets see all of it at once
  best_effort,     // every update is tried; the error names the first that failed
};

struct Counter {
  uint64_t bytes = 0;
  uint64_t packets = 0;
};

struct Cell {  // one register entry in one pipe
  uint64_t first = 0;
  uint64_t second = 0;
};

struct PortConfig {
  std::string speed = "BF_SPEED_100G";
  std::string fec = "BF_FEC_TYP_NONE";
  bool enabled = true;
};

struct PortState {
  uint32_t port = 0;  // device port
  std::string name;   // "1/0"
  bool enabled = false;
  bool up = false;
};

struct Event {
  enum class Kind : uint8_t { digest, idle_timeout, port_status, program_changed, disconnected };
  Kind kind = Kind::disconnected;
  std::string name;           // digest: its learn filter; idle_timeout: the table
  std::vector<Data> records;  // digest
  Key key;                    // idle_timeout
  bool active = false;        // idle_timeout: hit again, not idle
  uint32_t port = 0;          // port_status
  bool up = false;            // port_status
  absl::Status status;        // disconnected: why
};

struct ReadOptions {
  std::optional<uint32_t> pipe;     // absent: all
  std::string action;               // only entries with this action
  std::vector<std::string> fields;  // only these data fields
  bool key_only = false;
  bool from_hardware = true;
};

class SwitchTarget {
 public:
  virtual ~SwitchTarget() = default;

  // What the switch runs; valid as long as the target is, replaced by a reconnect.
  virtual std::shared_ptr<const TargetSchema> schema() const = 0;
  virtual std::string program() const = 0;
  virtual bool connected() const = 0;
  // Subscribes and binds again after the connection was lost (the switch may have lost its state).
  virtual absl::Status reconnect() = 0;

  virtual absl::Status write(const Batch& batch, Atomicity atomicity = Atomicity::all_or_nothing) = 0;
  // All entries, the default entry last; or the one with this key (NOT_FOUND).
  virtual absl::StatusOr<std::vector<Row>> read(std::string_view table, const ReadOptions& options = {}) = 0;
  virtual absl::StatusOr<Row> read(std::string_view table, const Key& key,
                                   const ReadOptions& options = {}) = 0;
  virtual absl::StatusOr<std::optional<Row>> read_default(std::string_view table) = 0;
  virtual absl::StatusOr<uint32_t> usage(std::string_view table) = 0;
  // [index - first][pipe]
  virtual absl::StatusOr<std::vector<std::vector<Cell>>> read_registers(std::string_view table,
                                                                        uint32_t first, uint32_t count) = 0;
  virtual absl::StatusOr<Counter> read_counter(std::string_view table, uint32_t index) = 0;
  // Idle time-outs as events (true) or polled by reading $ENTRY_HIT_STATE.
  virtual absl::Status set_idle_timeout(std::string_view table, bool enable, bool notify) = 0;
  virtual absl::Status set_port_events(bool enable) = 0;
  // Replaces the receiver of events; null: nobody.
  virtual void on_event(std::function<void(const Event&)> receiver) = 0;

  // Made of the above.
  absl::StatusOr<Counter> read_direct_counter(std::string_view table, const Key& key);
  absl::StatusOr<Cell> read_register(std::string_view table, uint32_t index, uint32_t pipe = 0);
  absl::Status add_port(uint32_t port, const PortConfig& config = {});
  absl::Status remove_port(uint32_t port);
  absl::Status enable_port(uint32_t port, bool enabled);
  absl::StatusOr<PortState> port(uint32_t port);
  absl::StatusOr<std::vector<PortState>> ports();
  // Frames and bytes by name of $PORT_STAT, e.g. "$FramesReceivedOK".
  absl::StatusOr<uint64_t> port_statistic(uint32_t port, std::string_view name);
};

}  // namespace l3dml::control::target
