#include "dataplane/server/tm_tables.h"

#include <algorithm>

#include "dataplane/server/port_driver.h"
#include "dataplane/server/port_map.h"
#include "dataplane/server/preset_table.h"
#include "dataplane/server/single_table.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

constexpr uint32_t kPortsPerGroup = 4, kQueuesPerPort = 8;
constexpr uint32_t kGroups = PortMap::kPortsPerPipe / kPortsPerGroup;  // in each pipe
constexpr uint32_t kQueuesPerGroup = kPortsPerGroup * kQueuesPerPort;
constexpr uint64_t kCellBytes = 80;
constexpr uint64_t kCells = 278'528;  // 22 MB

uint64_t cells(uint64_t bytes) { return (bytes + kCellBytes - 1) / kCellBytes; }

std::vector<Key> port_keys(unsigned pipes) {
  std::vector<uint32_t> ports;
  for (uint32_t pipe = 0; pipe < pipes; ++pipe)
    for (uint32_t local = 0; local < PortMap::kPortsPerPipe; ++local) ports.push_back(pipe << 7 | local);
  return PresetTable::number_keys(ports, 4);
}

std::vector<Key> group_keys(bool with_queues) {
  std::vector<Key> keys;
  for (uint32_t group = 0; group < kGroups; ++group) {
    for (uint32_t queue = 0; queue < (with_queues ? kQueuesPerGroup : 1); ++queue) {
      Key key;
      key.fields.resize(with_queues ? 2 : 1);
      key.fields[0].value = from_uint(group, 1);
      if (with_queues) key.fields[1].value = from_uint(queue, 1);
      for (const tna::MatchField& field : key.fields) key.index += field.value;
      keys.push_back(std::move(key));
    }
  }
  return keys;
}

// Text keys, as the codec indexes them.
std::vector<Key> choice_keys(const TableInfo& info) {
  std::vector<Key> keys;
  for (const std::string& choice : info.key[0].choices) {
    Key key;
    key.fields.emplace_back();
    key.fields[0].value = choice;
    key.index = from_uint(choice.size(), 4) + choice;
    keys.push_back(std::move(key));
  }
  return keys;
}

// A queue by its number in its group, or a port.
struct QueueName {
  uint16_t port = 0;
  uint32_t queue = 0;
};
QueueName queue_of(unsigned pipe, const Key& key) {
  const auto group = static_cast<uint32_t>(to_uint(key.fields[0].value));
  const auto queue = static_cast<uint32_t>(to_uint(key.fields[1].value));
  return {static_cast<uint16_t>(pipe << 7 | (group * kPortsPerGroup + queue / kQueuesPerPort)),
          queue % kQueuesPerPort};
}
uint16_t port_of(const Key& key) { return static_cast<uint16_t>(to_uint(key.fields[0].value)); }

// Where port and queue lie in the tables keyed by them.
PresetTable::Place port_place(uint16_t port) {
  return {0, static_cast<size_t>(port >> 7) * PortMap::kPortsPerPipe + (port & 0x7f)};
}
PresetTable::Place queue_place(uint16_t port) {  // its queue 0
  const uint32_t local = port & 0x7f;
  return {static_cast<unsigned>(port >> 7),
          local / kPortsPerGroup * kQueuesPerGroup + local % kPortsPerGroup * kQueuesPerPort};
}

// One of the four tables that shape: whether there is a rate, and which, of ports and of queues.
class ShapingTable final : public PresetTable {
 public:
  ShapingTable(const TableInfo& info, const Device& device, bool queues)
      : PresetTable(info, device, queues ? group_keys(true) : port_keys(device.pipes), queues),
        queues_(queues) {}

 protected:
  absl::Status check(Place, const Data& full, const Data&) override {
    if (device_.ports == nullptr || info_.data[0].name != "unit") return absl::OkStatus();
    if (get_text(full.fields, info_.data[0].id) == "PPS" && get_uint(full.fields, max_rate_id()) != 0)
      return error(absl::StatusCode::kInvalidArgument, "this switch shapes by bits: give $unit BPS");
    return absl::OkStatus();
  }
  void changed(WriteContext& context, Place place) override {
    if (device_.ports == nullptr) return;
    uint16_t port = 0;
    if (queues_) {
      const QueueName name = queue_of(place.pipe, keys()[place.index]);
      if (name.queue != 0) return;
      port = name.port;
    } else {
      port = port_of(keys()[place.index]);
    }
    context.transaction.on_commit([this, port] { device_.ports->shape(port, rate_bps(port)); });
  }

 private:
  uint32_t max_rate_id() const {
    for (const FieldInfo& field : info_.data)
      if (field.name == "max_rate") return field.id;
    return 0;
  }
  // By the end of the request; 0: no limit.
  uint64_t rate_bps(uint16_t port) const {
    const auto limit = [this](std::string_view cfg, std::string_view shaping, Place place) -> uint64_t {
      auto* const enabled = static_cast<ShapingTable*>(device_.table(cfg));
      auto* const rates = static_cast<ShapingTable*>(device_.table(shaping));
      bool on = false;
      for (const FieldInfo& field : enabled->info().data)
        if (field.name == "max_rate_enable") on = get_bool(enabled->row(place).fields, field.id);
      return on ? 1000 * get_uint(rates->row(place).fields, rates->max_rate_id()) : 0;
    };
    const uint64_t of_port = limit("tf1.tm.port.sched_cfg", "tf1.tm.port.sched_shaping", port_place(port));
    const uint64_t of_queue =
        limit("tf1.tm.queue.sched_cfg", "tf1.tm.queue.sched_shaping", queue_place(port));
    return of_port == 0 || of_queue == 0 ? of_port + of_queue : std::min(of_port, of_queue);
  }

  const bool queues_;
};

// What is where: port groups and queues of a port, ports of a queue.
class MapTable final : public PresetTable {
 public:
  MapTable(const TableInfo& info, const Device& device)
      : PresetTable(
            info, device,
            info.type == "TmPortCfg" ? port_keys(device.pipes) : group_keys(info.type == "TmQueueMap"),
            info.type != "TmPortCfg") {}

 protected:
  bool presents() const override { return true; }
  void present(Place place, Fields& fields) override {
    const Key& key = keys()[place.index];
    const auto set = [&fields](uint32_t id, uint64_t value, size_t bytes) {
      set_field(fields, id, from_uint(value, bytes));
    };
    std::vector<uint32_t> queues(kQueuesPerPort);
    for (uint32_t i = 0; i < kQueuesPerPort; ++i) queues[i] = i;
    if (info_.type == "TmPortCfg") {
      const uint32_t local = port_of(key) & 0x7f;
      set(1, local / kPortsPerGroup, 1);
      set(2, local % kPortsPerGroup, 1);
      set(3, kQueuesPerPort, 1);
      set_field(fields, 4, queues);
      for (uint32_t& queue : queues) queue += local % kPortsPerGroup * kQueuesPerPort;
      set_field(fields, 5, std::move(queues));
    } else if (info_.type == "TmQueueMap") {
      const QueueName name = queue_of(place.pipe, key);
      set(1, name.port, 4);
      set(2, name.queue, 1);
      set(3, kQueuesPerPort - 1, 1);
      set(4, 1, 1);
      set_field(fields, 5, std::vector<uint32_t>{name.queue});
    } else {  // TmPortGroup
      std::vector<uint32_t> ports;
      for (uint32_t i = 0; i < kPortsPerGroup; ++i)
        ports.push_back(place.pipe << 7 |
                        (static_cast<uint32_t>(to_uint(key.fields[0].value)) * kPortsPerGroup + i));
      set_field(fields, 1, std::move(ports));
    }
  }
};

// Drops, fill and high-water mark: of a port on its way in or out, or of a queue. Writing a drop count moves
// a base; writing a mark brings it down to what waits now.
class CounterTable final : public PresetTable {
 public:
  CounterTable(const TableInfo& info, const Device& device)
      : PresetTable(info, device, info.type == "TmCounterQueue" ? group_keys(true) : port_keys(device.pipes),
                    info.type == "TmCounterQueue") {}

  absl::Status clear(WriteContext& context) override {
    writes_drops_ = writes_mark_ = true;
    if (absl::Status status = PresetTable::clear(context); !status.ok()) return status;
    for (unsigned pipe = 0; pipe < (info_.type == "TmCounterQueue" ? device_.pipes : 1); ++pipe)
      for (size_t i = 0; i < keys().size(); ++i) changed(context, {pipe, i});
    return absl::OkStatus();
  }

 protected:
  static constexpr uint32_t kDrops = 1, kUsage = 2, kMark = 3;

  absl::Status check(Place, const Data&, const Data& given) override {
    writes_drops_ = find_field(given.fields, kDrops) != nullptr;
    writes_mark_ = find_field(given.fields, kMark) != nullptr;
    if (writes_mark_ && get_uint(given.fields, kMark) != 0)
      return error(absl::StatusCode::kInvalidArgument, "a watermark can only be set to 0");
    return absl::OkStatus();
  }
  void changed(WriteContext& context, Place place) override {
    if (device_.ports == nullptr || queue(place).queue != 0) return;
    context.transaction.on_commit([this, place, wanted = get_uint(row(place).fields, kDrops),
                                   to_drops = writes_drops_, to_mark = writes_mark_] {
      const QueueName name = queue(place);
      if (to_drops) bases_[place.pipe * keys().size() + place.index] = wanted - drops(name);
      if (to_mark && info_.type != "TmCounterIgPort") device_.ports->reset_mark(name.port);
    });
  }
  bool presents() const override { return device_.ports != nullptr; }
  void present(Place place, Fields& fields) override {
    const QueueName name = queue(place);
    const auto base = bases_.find(place.pipe * keys().size() + place.index);
    set_field(fields, kDrops, from_uint(drops(name) + (base == bases_.end() ? 0 : base->second), 8));
    if (name.queue != 0 || info_.type == "TmCounterIgPort") return;
    const io::MacPort::Queue queue = device_.ports->figures(name.port).queue;
    set_field(fields, kUsage, from_uint(cells(queue.bytes), 8));
    set_field(fields, kMark, from_uint(cells(queue.max_bytes), 8));
  }

 private:
  QueueName queue(Place place) const {
    return info_.type == "TmCounterQueue" ? queue_of(place.pipe, keys()[place.index])
                                          : QueueName{port_of(keys()[place.index]), 0};
  }
  uint64_t drops(const QueueName& name) const {
    if (name.queue != 0) return 0;
    const PortFigures figures = device_.ports->figures(name.port);
    return info_.type == "TmCounterIgPort" ? figures.port.rx_drops - figures.rx.disabled
                                           : figures.queue.drops;
  }
  bool writes_drops_ = false, writes_mark_ = false;  // of the write that is being carried out
  absl::flat_hash_map<size_t, uint64_t> bases_;      // by place, modulo 2^64
};

class BufferTable final : public SingleTable {
 public:
  BufferTable(const TableInfo& info, const Device& device) : SingleTable(info, device) {
    set_initial(2, from_uint(kCellBytes, 4));
    set_initial(3, from_uint(kCells, 4));
  }
};

}  // namespace

std::unique_ptr<Table> make_tm_table(const TableInfo& info, const Device& device) {
  if (!info.type.starts_with("Tm")) return nullptr;
  if (info.type == "TmPortSchedCfg" || info.type == "TmPortSchedShaping")
    return std::make_unique<ShapingTable>(info, device, false);
  if (info.type == "TmQueueSchedCfg" || info.type == "TmQueueSchedShaping")
    return std::make_unique<ShapingTable>(info, device, true);
  if (info.type == "TmPortCfg" || info.type == "TmQueueMap" || info.type == "TmPortGroup")
    return std::make_unique<MapTable>(info, device);
  if (info.type == "TmCounterIgPort" || info.type == "TmCounterEgPort" || info.type == "TmCounterQueue")
    return std::make_unique<CounterTable>(info, device);
  if (info.type == "TmCfg") return std::make_unique<BufferTable>(info, device);
  if (info.key.empty()) return std::make_unique<SingleTable>(info, device);
  const std::string& first = info.key[0].name;
  if (first == "dev_port") return std::make_unique<PresetTable>(info, device, port_keys(device.pipes));
  if (first == "pg_id")
    return std::make_unique<PresetTable>(info, device, group_keys(info.key.size() == 2), true);
  return std::make_unique<PresetTable>(info, device, choice_keys(info));
}

}  // namespace l3dml::server
