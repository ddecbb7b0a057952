#include "control/target/switch_target.h"

#include "absl/strings/str_cat.h"

namespace l3dml::control::target {
namespace {

Key port_key(uint32_t port) { return Key{}.exact("$DEV_PORT", port); }

PortState to_state(const Row& row) {
  PortState state;
  if (const KeyField* port = row.key.find("$DEV_PORT"))
    state.port = static_cast<uint32_t>(port->value.number());
  state.name = row.action.get("$PORT_NAME").text();
  state.enabled = row.action.get("$PORT_ENABLE").flag();
  state.up = row.action.get("$PORT_UP").flag();
  return state;
}

}  // namespace

absl::StatusOr<Counter> SwitchTarget::read_direct_counter(std::string_view table, const Key& key) {
  absl::StatusOr<Row> row = read(table, key);
  if (!row.ok()) return row.status();
  return Counter{row->action.get("$COUNTER_SPEC_BYTES").number(),
                 row->action.get("$COUNTER_SPEC_PKTS").number()};
}

absl::StatusOr<Cell> SwitchTarget::read_register(std::string_view table, uint32_t index, uint32_t pipe) {
  absl::StatusOr<std::vector<std::vector<Cell>>> cells = read_registers(table, index, 1);
  if (!cells.ok()) return cells.status();
  if (cells->empty() || pipe >= cells->front().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the switch has no pipe ", pipe));
  }
  return cells->front()[pipe];
}

absl::Status SwitchTarget::add_port(uint32_t port, const PortConfig& config) {
  return write(Batch{}.insert(
      "$PORT", port_key(port),
      Data{}.param("$SPEED", config.speed).param("$FEC", config.fec).param("$PORT_ENABLE", config.enabled)));
}

absl::Status SwitchTarget::remove_port(uint32_t port) {
  return write(Batch{}.remove("$PORT", port_key(port)));
}

absl::Status SwitchTarget::enable_port(uint32_t port, bool enabled) {
  return write(Batch{}.modify("$PORT", port_key(port), Data{}.param("$PORT_ENABLE", enabled)));
}

absl::StatusOr<PortState> SwitchTarget::port(uint32_t port) {
  absl::StatusOr<Row> row = read("$PORT", port_key(port));
  if (!row.ok()) return row.status();
  return to_state(*row);
}

absl::StatusOr<std::vector<PortState>> SwitchTarget::ports() {
  absl::StatusOr<std::vector<Row>> rows = read("$PORT");
  if (!rows.ok()) return rows.status();
  std::vector<PortState> out;
  for (const Row& row : *rows) {
    if (!row.is_default) out.push_back(to_state(row));
  }
  return out;
}

absl::StatusOr<uint64_t> SwitchTarget::port_statistic(uint32_t port, std::string_view name) {
  absl::StatusOr<Row> row = read("$PORT_STAT", port_key(port));
  if (!row.ok()) return row.status();
  if (!row->action.has(name))
    return absl::NotFoundError(absl::StrCat("no port statistic is called '", std::string(name), "'"));
  return row->action.get(name).number();
}

}  // namespace l3dml::control::target
