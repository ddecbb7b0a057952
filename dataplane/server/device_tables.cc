#include "dataplane/server/device_tables.h"

#include <algorithm>

#include "dataplane/server/entry_table.h"
#include "dataplane/server/port_map.h"
#include "dataplane/server/preset_table.h"
#include "dataplane/server/single_table.h"
#include "dataplane/server/text.h"
#include "dataplane/tna/mirror.h"
#include "dataplane/tna/packet_generator.h"

namespace l3dml::server {
namespace {

tna::GeneratorTwin* generator_of(const Device& device) {
  return device.twin == nullptr ? nullptr : device.twin->generator();
}

// Sessions of a Tofino 1: 1015 takes what deflects on drop, the last eight coalesce.
class MirrorTable final : public EntryTable {
 public:
  using EntryTable::EntryTable;
  static constexpr uint32_t kFirstCoalescing = 1016, kSessions = 1024;
  static constexpr uint32_t kCoalescing = 1;  // action
  enum Field : uint32_t {
    kEnable = 5,
    kDirection,
    kPort,
    kPortValid,
    kQueue,
    kCos,
    kColor,
    kGroupA = 14,
    kGroupAValid,
    kGroupB,
    kGroupBValid,
    kL1Xid,
    kL2Xid,
    kRid,
    kCopyToCpu = 22,
    kMaxLength
  };

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
  void stored(WriteContext& context, tna::Handle, const Row& row, const Data*) override {
    tna::MirrorTwin* const mirrors = device_.twin == nullptr ? nullptr : device_.twin->mirrors();
    if (mirrors == nullptr) return;
    context.transaction.on_commit(
        [mirrors, sid = sid_of(row), session = session_of(row.data)] { mirrors->set(sid, session); });
  }
  void removed(WriteContext& context, tna::Handle, const Row& row) override {
    tna::MirrorTwin* const mirrors = device_.twin == nullptr ? nullptr : device_.twin->mirrors();
    if (mirrors == nullptr) return;
    context.transaction.on_commit([mirrors, sid = sid_of(row)] { mirrors->remove(sid); });
  }

 private:
  static uint16_t sid_of(const Row& row) { return static_cast<uint16_t>(to_uint(row.key.fields[0].value)); }
  static tna::MirrorSession session_of(const Data& data) {
    const auto number = [&](uint32_t field) { return static_cast<uint16_t>(get_uint(data.fields, field)); };
    const auto valid = [&](uint32_t field, uint32_t flag) {
      return get_bool(data.fields, flag) ? std::optional(number(field)) : std::nullopt;
    };
    tna::MirrorSession session;
    session.enabled = get_bool(data.fields, kEnable);
    const std::string direction = get_text(data.fields, kDirection);
    session.direction = direction == "INGRESS"  ? tna::Gress::ingress
                        : direction == "EGRESS" ? tna::Gress::egress
                                                : tna::Gress::both;
    session.ucast_egress_port = valid(kPort, kPortValid);
    session.mcast_grp_a = valid(kGroupA, kGroupAValid);
    session.mcast_grp_b = valid(kGroupB, kGroupBValid);
    session.rid = number(kRid);
    session.level1_exclusion_id = number(kL1Xid);
    session.level2_exclusion_id = number(kL2Xid);
    session.qid = static_cast<uint8_t>(number(kQueue));
    session.ingress_cos = static_cast<uint8_t>(number(kCos));
    const std::string color = get_text(data.fields, kColor);
    session.packet_color = color == "RED"      ? tna::Color::red
                           : color == "YELLOW" ? tna::Color::yellow
                                               : tna::Color::green;
    session.copy_to_cpu = get_bool(data.fields, kCopyToCpu);
    session.max_pkt_len = number(kMaxLength);
    return session;
  }
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
  // A pipe generates, or looks for patterns, while one of its ports does.
  void changed(WriteContext& context, Place) override {
    tna::GeneratorTwin* const generator = generator_of(device_);
    if (generator == nullptr) return;
    context.transaction.on_commit([this, generator] {
      std::vector<std::pair<bool, bool>> pipes(device_.pipes);
      for (size_t i = 0; i < keys().size(); ++i) {
        auto& [generates, matches] = pipes[to_uint(keys()[i].fields[0].value) >> 7];
        const Fields& fields = row({0, i}).fields;
        generates = generates || get_bool(fields, kGenerate);
        matches = matches || get_bool(fields, kPattern);
      }
      for (unsigned pipe = 0; pipe < device_.pipes; ++pipe)
        generator->enable(pipe, pipes[pipe].first, pipes[pipe].second);
    });
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
      : PresetTable(info, device, number_keys(apps(info.size), 4), true) {}

  // Counters that are written are set; those of a running application go on counting from there.
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override {
    if (absl::Status status = PresetTable::modify(context, key, data); !status.ok()) return status;
    tna::GeneratorTwin* const generator = generator_of(device_);
    if (generator == nullptr) return absl::OkStatus();
    const auto app = static_cast<unsigned>(to_uint(key.fields[0].value));
    context.transaction.on_commit([this, generator, app, pipe = context.target.pipe, data] {
      for (unsigned p = 0; p < device_.pipes; ++p) {
        if (pipe != kAllPipes && pipe != p) continue;
        tna::PacketGenerator::Counters& counters = generator->counters(p, app);
        for (const auto& [field, cell] :
             {std::pair(kBatches, &counters.batches), std::pair(kPackets, &counters.packets),
              std::pair(kTriggers, &counters.triggers)})
          if (find_field(data.fields, field) != nullptr) *cell = get_uint(data.fields, field);
      }
    });
    return absl::OkStatus();
  }

 protected:
  enum Action : uint32_t { kOneShot = 1, kPeriodic, kPortDown, kRecirculation };
  enum Field : uint32_t {
    kTimer = 1,
    kPatternValue = 4,
    kPatternMask,
    kEnable = 12,
    kLength,
    kOffset,
    kSource,
    kIncrement,
    kBatchCount,
    kPerBatch,
    kIbg,
    kIbgJitter,
    kIpg,
    kIpgJitter,
    kBatches,
    kPackets,
    kTriggers
  };
  absl::Status check(Place, const Data& full, const Data&) override {
    const uint64_t offset = get_uint(full.fields, kOffset), length = get_uint(full.fields, kLength);
    if (offset % kBufferUnit != 0) return wrong(concat("offset ", offset, " is not a multiple of 16"));
    if (offset + length > kBufferBytes) return wrong("the packet does not lie inside the buffer");
    if (get_uint(full.fields, kSource) >= PortMap::kPortsPerPipe)
      return wrong("the source port is one of the pipe: below 72");
    if (!get_bool(full.fields, kEnable)) return absl::OkStatus();
    if (full.action_id == 0) return wrong("an app that runs needs a trigger");
    if (length == 0) return wrong("an app that runs needs a packet: pkt_len is 0");
    if ((full.action_id == kOneShot || full.action_id == kPeriodic) && get_uint(full.fields, kTimer) == 0)
      return wrong("timer_nanosec must be more than 0");
    return absl::OkStatus();
  }
  void changed(WriteContext& context, Place place) override {
    tna::GeneratorTwin* const generator = generator_of(device_);
    if (generator == nullptr) return;
    context.transaction.on_commit([generator, place, app = app_of(row(place))] {
      generator->configure(place.pipe, static_cast<unsigned>(place.index), app);
    });
  }
  bool presents() const override { return generator_of(device_) != nullptr; }
  void present(Place place, Fields& fields) override {
    const tna::PacketGenerator::Counters& counters =
        generator_of(device_)->counters(place.pipe, static_cast<unsigned>(place.index));
    set_field(fields, kBatches, from_uint(counters.batches, 8));
    set_field(fields, kPackets, from_uint(counters.packets, 8));
    set_field(fields, kTriggers, from_uint(counters.triggers, 8));
  }

 private:
  absl::Status wrong(std::string_view what) const { return error(absl::StatusCode::kInvalidArgument, what); }
  static tna::PacketGeneratorApp app_of(const Data& data) {
    using Trigger = tna::PacketGeneratorApp::Trigger;
    constexpr Trigger kTriggers[] = {Trigger::one_shot, Trigger::periodic, Trigger::port_down,
                                     Trigger::recirculation};
    const auto number = [&](uint32_t field) { return static_cast<uint32_t>(get_uint(data.fields, field)); };
    tna::PacketGeneratorApp app;
    if (data.action_id != 0) app.trigger = kTriggers[data.action_id - 1];
    app.enabled = get_bool(data.fields, kEnable);
    app.timer_ns = app.timed() ? number(kTimer) : 0;
    app.pattern_value = number(kPatternValue);
    app.pattern_mask = number(kPatternMask);
    app.pkt_len = static_cast<uint16_t>(number(kLength));
    app.pkt_buffer_offset = static_cast<uint16_t>(number(kOffset));
    app.source_port = static_cast<uint16_t>(number(kSource));
    app.increment_source_port = get_bool(data.fields, kIncrement);
    app.batch_count = static_cast<uint16_t>(number(kBatchCount));
    app.packets_per_batch = static_cast<uint16_t>(number(kPerBatch));
    app.ibg_ns = number(kIbg);
    app.ibg_jitter_ns = number(kIbgJitter);
    app.ipg_ns = number(kIpg);
    app.ipg_jitter_ns = number(kIpgJitter);
    return app;
  }
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
    publish(context, piece->first, std::string(given.begin(), given.end()));
    return absl::OkStatus();
  }
  absl::Status clear(WriteContext& context) override {
    context.transaction.on_undo([this, old = bytes_] { bytes_ = old; });
    std::fill(bytes_.begin(), bytes_.end(), 0);
    publish(context, 0, std::string(kBufferBytes, '\0'));
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
  // Every pipe has a buffer, all with the same packets.
  void publish(WriteContext& context, uint32_t offset, std::string bytes) {
    tna::GeneratorTwin* const generator = generator_of(device_);
    if (generator == nullptr) return;
    context.transaction.on_commit([this, generator, offset, bytes = std::move(bytes)] {
      for (unsigned pipe = 0; pipe < device_.pipes; ++pipe) generator->write_buffer(pipe, offset, bytes);
    });
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
