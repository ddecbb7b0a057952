#include "dataplane/server/port_tables.h"

#include <array>

#include "dataplane/server/codec.h"
#include "dataplane/server/entry_table.h"
#include "dataplane/server/port_map.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Field ids of $PORT.
constexpr uint32_t kSpeed = 1, kFec = 2, kLanes = 3, kEnable = 4, kLoopback = 6, kTxMtu = 7, kMedia = 15;
constexpr uint32_t kIsValid = 21, kIsInternal = 22, kConn = 23, kChnl = 24, kUp = 25, kName = 26;

struct Speed {
  std::string_view name;
  uint32_t mbps;
  uint32_t max_lanes;
};
constexpr Speed kSpeeds[] = {
    {"BF_SPEED_1G", 1000, 1},   {"BF_SPEED_10G", 10000, 1},    {"BF_SPEED_25G", 25000, 1},
    {"BF_SPEED_40G", 40000, 4}, {"BF_SPEED_40G_NB", 40000, 2}, {"BF_SPEED_40G_NON_BREAKABLE", 40000, 2},
    {"BF_SPEED_50G", 50000, 2}, {"BF_SPEED_100G", 100000, 4},
};  // 200G and 400G are choices of the table but not of a Tofino 1

const Speed* find_speed(const std::string& name) {
  for (const Speed& speed : kSpeeds) {
    if (speed.name == name) return &speed;
  }
  return nullptr;
}

uint32_t port_of(const Key& key) { return static_cast<uint32_t>(to_uint(key.fields[0].value)); }
Value number(uint32_t value) { return from_uint(value, 4); }

class PortTable : public EntryTable {
 public:
  PortTable(const TableInfo& info, const Device& device)
      : EntryTable(info, device),
        map_{device.pipes},
        twin_(device.twin == nullptr ? nullptr : device.twin->ports()) {}

  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    for (uint32_t id : {kSpeed, kFec}) {
      if (find_field(data.fields, id) == nullptr) {
        return error(absl::StatusCode::kInvalidArgument, "adding a port needs $SPEED and $FEC");
      }
    }
    return EntryTable::insert(context, std::move(key), data);
  }

  bool added(uint32_t port) const {
    Key key;
    key.index = from_uint(port, 4);
    return find(key) != nullptr;
  }
  template <typename F>
  void each(F&& function) const {
    for (const auto& [handle, row] : rows()) function(row.key);
  }

 protected:
  absl::Status check_row(const Key& key, const Data& data, const Row*) override {
    const uint32_t port = port_of(key);
    if (!map_.valid(port) || (twin_ != nullptr && !twin_->exists(static_cast<uint16_t>(port)))) {
      return error(absl::StatusCode::kInvalidArgument, concat("there is no device port ", port));
    }
    const std::string name = get_text(data.fields, kSpeed);
    const Speed* const speed = find_speed(name);
    if (speed == nullptr) return error(absl::StatusCode::kInvalidArgument, concat("no port runs at ", name));
    const uint64_t lanes = get_uint(data.fields, kLanes, 1);
    if (lanes == 0 || lanes > 4 || (lanes > speed->max_lanes)) {
      return error(absl::StatusCode::kInvalidArgument, concat(name, " does not run on ", lanes, " lanes"));
    }
    return absl::OkStatus();
  }

  void stored(WriteContext& context, tna::Handle, const Row& row, const Data*) override {
    const auto port = static_cast<uint16_t>(port_of(row.key));
    if (twin_ != nullptr) {
      tna::PortConfig config;
      config.enabled = get_bool(row.data.fields, kEnable);
      config.loopback = get_text(row.data.fields, kLoopback) != "BF_LPBK_NONE";
      config.speed_mbps = find_speed(get_text(row.data.fields, kSpeed))->mbps;
      config.mtu_bytes = static_cast<uint32_t>(get_uint(row.data.fields, kTxMtu, 10240));
      context.transaction.on_commit([twin = twin_, port, config] { twin->configure(port, config); });
    }
  }

  void removed(WriteContext& context, tna::Handle, const Row& row) override {
    if (twin_ == nullptr) return;
    context.transaction.on_commit(
        [twin = twin_, port = static_cast<uint16_t>(port_of(row.key))] { twin->remove(port); });
  }

  bool presents() const override { return true; }
  void present(const ReadQuery&, tna::Handle, const Key& key, Data& data) override {
    const uint32_t port = port_of(key);
    set_field(data.fields, kMedia, std::string("BF_MEDIA_TYPE_COPPER"));
    set_field(data.fields, kIsValid, true);
    set_field(data.fields, kIsInternal, map_.internal(port));
    set_field(data.fields, kConn, number(map_.connector(port)));
    set_field(data.fields, kChnl, number(map_.channel(port)));
    set_field(data.fields, kUp, is_up(port, data.fields));
    set_field(data.fields, kName, map_.name(port));
  }

 private:
  bool is_up(uint32_t port, const Fields& fields) const {
    if (!get_bool(fields, kEnable)) return false;
    return twin_ == nullptr || twin_->up(static_cast<uint16_t>(port));
  }

  const PortMap map_;
  tna::PortTwin* const twin_;
};

// Counters of added ports. Writing a value moves a base, so the device's own counters only ever grow.
class PortStatTable : public Table {
 public:
  PortStatTable(const TableInfo& info, const Device& device)
      : Table(info, device), twin_(device.twin == nullptr ? nullptr : device.twin->ports()) {}

  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override {
    const uint32_t port = port_of(key);
    if (!ports().added(port)) return error(absl::StatusCode::kNotFound, "the port was not added");
    Fields next = base(port);
    const Fields raw = counters(port);
    for (const FieldValue& field : data.fields) {
      const uint64_t wanted = get_uint(data.fields, field.id);
      set_field(next, field.id, from_uint(wanted - get_uint(raw, field.id), 8));
    }
    context.transaction.on_undo([this, port, old = base(port)] { bases_[port] = old; });
    bases_[port] = std::move(next);
    return absl::OkStatus();
  }
  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    return modify(context, key, data);
  }
  absl::Status clear(WriteContext& context) override {
    context.transaction.on_undo([this, old = bases_] { bases_ = old; });
    ports().each([&](const Key& key) {
      const Fields raw = counters(port_of(key));
      Fields& next = bases_[port_of(key)];
      for (const FieldInfo& field : info_.data)
        set_field(next, field.id, from_uint(0 - get_uint(raw, field.id), 8));
    });
    return absl::OkStatus();
  }
  absl::Status read(const ReadQuery&, const Key& key, const Emit& emit) override {
    if (!ports().added(port_of(key))) return error(absl::StatusCode::kNotFound, "the port was not added");
    emit_port(key, emit);
    return absl::OkStatus();
  }
  absl::Status read_all(const ReadQuery&, const Emit& emit) override {
    ports().each([&](const Key& key) { emit_port(key, emit); });
    return absl::OkStatus();
  }
  void wipe(WriteContext&) override { bases_.clear(); }

 private:
  const PortTable& ports() const { return *static_cast<PortTable*>(device_.table("$PORT")); }
  Fields base(uint32_t port) const {
    const auto found = bases_.find(port);
    return found == bases_.end() ? Fields{} : found->second;
  }

  // On the wire every frame carries 4 bytes of check sequence, which hardware counts.
  Fields counters(uint32_t port) const {
    if (twin_ == nullptr) return {};
    const tna::PortCounters raw = twin_->counters(static_cast<uint16_t>(port));
    Fields out;
    auto put = [&](uint32_t id, uint64_t value) { out.push_back({id, from_uint(value, 8)}); };
    put(1, raw.rx_packets);
    put(2, raw.rx_packets + raw.rx_errors);
    put(4, raw.rx_errors);
    put(5, raw.rx_bytes + 4 * raw.rx_packets);
    put(6, raw.rx_bytes + 4 * raw.rx_packets);
    put(20, raw.rx_drops);
    put(33, raw.tx_packets);
    put(34, raw.tx_packets + raw.tx_errors);
    put(35, raw.tx_errors);
    put(36, raw.tx_bytes + 4 * raw.tx_packets);
    put(37, raw.tx_bytes + 4 * raw.tx_packets);
    return out;
  }

  void emit_port(const Key& key, const Emit& emit) const {
    const Fields raw = counters(port_of(key)), offsets = base(port_of(key));
    Data data;
    for (const FieldInfo& field : info_.data) {
      data.fields.push_back({field.id, from_uint(get_uint(raw, field.id) + get_uint(offsets, field.id), 8)});
    }
    emit({&key, &data, port_of(key)});
  }

  tna::PortTwin* const twin_;
  absl::flat_hash_map<uint32_t, Fields> bases_;  // added to the device's counters, modulo 2^64
};

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
