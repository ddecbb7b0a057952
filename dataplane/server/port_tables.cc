#include "dataplane/server/port_tables.h"

#include "dataplane/server/port_stat_table.h"

namespace l3dml::server {
namespace {

// Look-ups from a name or connector to the device port; driver knowledge, so nothing to read from hardware.
class PortInfoTable : public Table {
 public:
  PortInfoTable(const TableInfo& info, const Device& device) : Table(info, device), map_{device.pipes} {}

  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override {
    if (query.from_hw) return error(absl::StatusCode::kUnimplemented, "cannot be read from hardware");
    const std::optional<uint32_t> port = look_up(key);
    if (!port) return error(absl::StatusCode::kNotFound, "there is no such port");
    const Data data{0, {{1, from_uint(*port, 4)}}};
    emit({&key, &data, *port});
    return absl::OkStatus();
  }
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override {
    if (query.from_hw) return error(absl::StatusCode::kUnimplemented, "cannot be read from hardware");
    for (uint32_t port = 0; port < 512; ++port) {
      if (map_.connector(port) == 0) continue;
      Key key;
      auto add = [&key](std::string value) {
        key.fields.emplace_back();
        key.fields.back().value = std::move(value);
      };
      if (info_.type == "PortHdlInfo") {
        add(from_uint(map_.connector(port), 4));
        add(from_uint(map_.channel(port), 4));
      } else if (info_.type == "PortStrInfo") {
        add(map_.name(port));
      } else {
        add(from_uint(front_index(port), 4));
      }
      const Data data{0, {{1, from_uint(port, 4)}}};
      emit({&key, &data, port});
    }
    return absl::OkStatus();
  }
  void wipe(WriteContext&) override {}

 private:
  uint32_t front_index(uint32_t port) const {
    return (map_.connector(port) - 1) * PortMap::kChannels + map_.channel(port);
  }
  std::optional<uint32_t> look_up(const Key& key) const {
    if (info_.type == "PortStrInfo") return map_.port_named(key.fields[0].value);
    const auto first = static_cast<uint32_t>(to_uint(key.fields[0].value));
    if (info_.type == "PortHdlInfo")
      return map_.port_of(first, static_cast<uint32_t>(to_uint(key.fields[1].value)));
    return first < 512 ? map_.port_of(first / PortMap::kChannels + 1, first % PortMap::kChannels)
                       : std::nullopt;
  }
  const PortMap map_;
};

}  // namespace

std::unique_ptr<Table> make_port_table(const TableInfo& info, const Device& device) {
  if (info.type == "PortConfigure") return std::make_unique<PortTable>(info, device);
  if (info.type == "PortStat") return std::make_unique<PortStatTable>(info, device);
  if (info.type == "PortHdlInfo" || info.type == "PortStrInfo" || info.type == "PortFpIdxInfo") {
    return std::make_unique<PortInfoTable>(info, device);
  }
  return nullptr;
}

}  // namespace l3dml::server
