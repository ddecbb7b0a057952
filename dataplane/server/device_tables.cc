#include "dataplane/server/device_tables.h"

#include <algorithm>

#include "dataplane/server/entry_table.h"
#include "dataplane/server/port_map.h"
#include "dataplane/server/preset_table.h"
#include "dataplane/server/single_table.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Sessions of a Tofino 1: 1015 takes what deflects on drop, the last eight coalesce.
class MirrorTable final : public EntryTable {
 public:
  using EntryTable::EntryTable;
  static constexpr uint32_t kFirstCoalescing = 1016, kSessions = 1024;
  static constexpr uint32_t kCoalescing = 1;  // action
  static constexpr uint32_t kPort = 7, kPortValid = 8, kMaxLength = 23;

  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    if (EntryTable::find(key) != nullptr) return wrong("the session exists");
    return EntryTable::insert(context, std::move(key), data);
  }
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override {
    if (EntryTable::find(key) == nullptr) return wrong("there is no such session");
    return EntryTable::modify(context, key, data);
  }

 protected:
  absl::Status check_row(const Key& key, const Data& data, const Row*) override {
    const uint64_t session = to_uint(key.fields[0].value);
    const bool coalesces = data.action_id == kCoalescing;
    if (session == 0 || session >= kSessions) return wrong(concat("there is no session ", session));
    if (coalesces != (session >= kFirstCoalescing))
      return wrong(concat("session ", session, coalesces ? " does not coalesce" : " coalesces"));
    const uint64_t port = get_uint(data.fields, kPort);
    if (get_bool(data.fields, kPortValid) && !PortMap{device_.pipes}.valid(static_cast<uint32_t>(port)))
      return wrong(concat("there is no device port ", port));
    return absl::OkStatus();
  }

 private:
  absl::Status wrong(std::string_view what) const { return error(absl::StatusCode::kInvalidArgument, what); }
};

constexpr uint32_t kBufferBytes = 16 * 1024, kBufferUnit = 16;

// Which ports recirculate, which generate: in each pipe local ports 64 to 71 may, the others not.
class GeneratorPortTable final : public PresetTable {
 public:
  GeneratorPortTable(const TableInfo& info, const Device& device)
      : PresetTable(info, device, number_keys(ports(device.pipes), 4)) {}
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override {
    return query.from_hw ? no_hw() : PresetTable::read(query, key, emit);
  }
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override {
    return query.from_hw ? no_hw() : PresetTable::read_all(query, emit);
  }

 protected:
  static constexpr uint32_t kGenerate = 2, kPattern = 3;
  absl::Status check(Place place, const Data& full, const Data&) override {
    const uint64_t port = to_uint(keys()[place.index].fields[0].value);
    if ((get_bool(full.fields, kGenerate) || get_bool(full.fields, kPattern)) &&
        (port & 0x7f) < PortMap::kRecirculationLocal)
      return error(absl::StatusCode::kInvalidArgument, concat("device port ", port, " generates no packets"));
    return absl::OkStatus();
  }

 private:
  absl::Status no_hw() const {
    return error(absl::StatusCode::kUnimplemented, "cannot be read from hardware");
  }
  static std::vector<uint32_t> ports(unsigned pipes) {
    std::vector<uint32_t> out;
    for (uint32_t port = 0; port < 512; ++port)
      if (PortMap{pipes}.valid(port)) out.push_back(port);
    return out;
  }
};

class GeneratorAppTable final : public PresetTable {
 public:
  GeneratorAppTable(const TableInfo& info, const Device& device)
      : PresetTable(info, device, number_keys(apps(info.size), 4)) {}

 protected:
  static constexpr uint32_t kEnable = 12, kLength = 13, kOffset = 14, kSource = 15;
  absl::Status check(Place, const Data& full, const Data&) override {
    const uint64_t offset = get_uint(full.fields, kOffset), length = get_uint(full.fields, kLength);
    if (offset % kBufferUnit != 0) return wrong(concat("offset ", offset, " is not a multiple of 16"));
    if (offset + length > kBufferBytes) return wrong("the packet does not lie inside the buffer");
    if (get_uint(full.fields, kSource) >= PortMap::kPortsPerPipe)
      return wrong("the source port is one of the pipe: below 72");
    if (get_bool(full.fields, kEnable) && full.action_id == 0)
      return wrong("an app that runs needs a trigger");
    return absl::OkStatus();
  }

 private:
  absl::Status wrong(std::string_view what) const { return error(absl::StatusCode::kInvalidArgument, what); }
  static std::vector<uint32_t> apps(uint32_t count) {
    std::vector<uint32_t> out(count);
    for (uint32_t i = 0; i < count; ++i) out[i] = i;
    return out;
  }
};

// 16 KiB that packets are taken from; the key names a piece of it.
class GeneratorBufferTable final : public Table {
 public:
  GeneratorBufferTable(const TableInfo& info, const Device& device)
      : Table(info, device), bytes_(kBufferBytes) {}

  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    return modify(context, key, data);
  }
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override {
    const auto piece = piece_of(key);
    if (!piece.ok()) return piece.status();
    const std::vector<uint32_t> given = get_uints(data.fields, 1);
    if (given.size() != piece->second)
      return error(absl::StatusCode::kInvalidArgument,
                   concat("the key names ", piece->second, " bytes, given are ", given.size()));
    context.transaction.on_undo([this, old = bytes_] { bytes_ = old; });
    std::copy(given.begin(), given.end(), bytes_.begin() + piece->first);
    return absl::OkStatus();
  }
  absl::Status clear(WriteContext& context) override {
    context.transaction.on_undo([this, old = bytes_] { bytes_ = old; });
    std::fill(bytes_.begin(), bytes_.end(), 0);
    return absl::OkStatus();
  }
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override {
    if (query.from_hw) return error(absl::StatusCode::kUnimplemented, "cannot be read from hardware");
    const auto piece = piece_of(key);
    if (!piece.ok()) return piece.status();
    const auto first = bytes_.begin() + piece->first;
    const Data data{0, {{1, std::vector<uint32_t>(first, first + piece->second)}}};
    emit({&key, &data, piece->first});
    return absl::OkStatus();
  }
  void wipe(WriteContext& context) override { (void)clear(context); }

 private:
  // Offset and size.
  absl::StatusOr<std::pair<uint32_t, uint32_t>> piece_of(const Key& key) const {
    const uint64_t offset = to_uint(key.fields[0].value), size = to_uint(key.fields[1].value);
    if (offset % kBufferUnit != 0 || size == 0 || offset + size > kBufferBytes)
      return error(absl::StatusCode::kInvalidArgument,
                   "a piece of the buffer begins at a multiple of 16 and ends by 16384");
    return std::pair(static_cast<uint32_t>(offset), static_cast<uint32_t>(size));
  }
  std::vector<uint32_t> bytes_;
};

class DeviceTable final : public SingleTable {
 public:
  DeviceTable(const TableInfo& info, const Device& device) : SingleTable(info, device) {
    const PortMap map{device.pipes};
    std::vector<uint32_t> front, internal, recirculation;
    for (uint32_t port = 0; port < 512; ++port) {
      if (!map.valid(port)) continue;
      if (map.front(port)) front.push_back(port);
      if (map.internal(port)) internal.push_back(port);
      if ((port & 0x7f) >= PortMap::kRecirculationLocal) recirculation.push_back(port);
    }
    const auto number = [this](uint32_t id, uint64_t value) { set_initial(id, from_uint(value, 4)); };
    number(2, device.pipes);
    number(3, 12);
    number(4, device.pipes * PortMap::kPortsPerPipe);
    number(5, front.size());
    number(6, device.pipes > 2 ? 320 : 192);
    set_initial(7, std::vector<uint32_t>{64, 65, 66, 67});
    set_initial(8, std::move(internal));
    set_initial(9, std::move(front));
    set_initial(10, std::move(recirculation));
  }
};

}  // namespace

std::unique_ptr<Table> make_device_table(const TableInfo& info, const Device& device) {
  if (info.type == "MirrorCfg") return std::make_unique<MirrorTable>(info, device);
  if (info.type == "PktgenPortCfg") return std::make_unique<GeneratorPortTable>(info, device);
  if (info.type == "PktgenAppCfg") return std::make_unique<GeneratorAppTable>(info, device);
  if (info.type == "PktgenPktBufferCfg") return std::make_unique<GeneratorBufferTable>(info, device);
  if (info.type == "DevConfigure") return std::make_unique<DeviceTable>(info, device);
  return nullptr;
}

}  // namespace l3dml::server
