#include "dataplane/pipeline/device.h"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/pipeline/description.h"
#include "dataplane/pipeline/pipe.h"
#include "dataplane/pipeline/watched_table.h"

namespace l3dml::pipeline {
namespace {

// A register or counter of the program as two functions on a pipe: what the driver reads and writes.
class RegisterView final : public tna::RegisterTwin {
 public:
  using Read = std::function<std::array<uint64_t, 2>(PipeImpl&, uint32_t)>;
  using Write = std::function<void(PipeImpl&, uint32_t, std::array<uint64_t, 2>)>;
  RegisterView(std::vector<std::unique_ptr<PipeImpl>>* pipes, uint32_t size, Read read, Write write)
      : pipes_(*pipes), size_(size), read_(std::move(read)), write_(std::move(write)) {}
  uint32_t size() const override { return size_; }
  std::array<uint64_t, 2> read(unsigned pipe, uint32_t index) const override {
    return read_(*pipes_[pipe], index);
  }
  void write(unsigned pipe, uint32_t index, std::array<uint64_t, 2> value) override {
    write_(*pipes_[pipe], index, value);
  }

 private:
  std::vector<std::unique_ptr<PipeImpl>>& pipes_;
  uint32_t size_;
  Read read_;
  Write write_;
};

class CounterView final : public tna::CounterTwin {
 public:
  using Cell = std::function<uint64_t*(PipeImpl&, uint32_t)>;  // packets
  CounterView(std::vector<std::unique_ptr<PipeImpl>>* pipes, uint32_t size, Cell cell)
      : pipes_(*pipes), size_(size), cell_(std::move(cell)) {}
  uint32_t size() const override { return size_; }
  unsigned pipes() const override { return static_cast<unsigned>(pipes_.size()); }
  tna::CounterValue read(unsigned pipe, uint32_t index) const override {
    return {.packets = *cell_(*pipes_[pipe], index)};
  }
  void write(unsigned pipe, uint32_t index, tna::CounterValue value) override {
    *cell_(*pipes_[pipe], index) = value.packets;
  }

 private:
  std::vector<std::unique_ptr<PipeImpl>>& pipes_;
  uint32_t size_;
  Cell cell_;
};

class Generators final : public tna::GeneratorTwin {
 public:
  explicit Generators(std::vector<std::unique_ptr<PipeImpl>>* pipes) : pipes_(*pipes) {}
  void configure(unsigned pipe, unsigned app, const tna::PacketGeneratorApp& settings) override {
    pipes_[pipe]->generation().configure(app, settings);
  }
  void write_buffer(unsigned pipe, size_t offset, std::string_view bytes) override {
    (void)pipes_[pipe]->generation().generator().write_buffer(offset, bytes);  // the driver has checked it
  }
  void enable(unsigned pipe, bool generate, bool match_patterns) override {
    pipes_[pipe]->generation().enable(generate, match_patterns);
  }
  tna::PacketGenerator::Counters& counters(unsigned pipe, unsigned app) override {
    return pipes_[pipe]->generation().generator().counters(app);
  }

 private:
  std::vector<std::unique_ptr<PipeImpl>>& pipes_;
};

class DeviceImpl final : public Device {
 public:
  DeviceImpl(const DeviceConfig& config, std::span<base::PacketPool* const> pools, tna::Executor* executor)
      : program_(config), executor_(*executor) {
    for (base::PacketPool* pool : pools)
      pipes_.push_back(std::make_unique<PipeImpl>(program_, static_cast<unsigned>(pipes_.size()), pool));
    watch_tables();
    name_registers();
    name_counters();
  }

  Pipe& pipe(unsigned index) override { return *pipes_[index]; }
  const DeviceConfig& config() const override { return program_.config; }
  void set_port(uint16_t port, bool up, bool checksum) override {
    PortState& state = program_.ports.at(port);
    if (state.up && !up && port / base::kPortsPerPipe < pipes_.size())
      pipes_[port / base::kPortsPerPipe]->generation().port_down(port);
    state = {up, checksum};
  }
  uint64_t drops(base::DropReason reason) const override {
    uint64_t sum = 0;
    for (const auto& pipe : pipes_) sum += pipe->drops(reason);
    return sum;
  }
  unsigned steer(const base::Packet& packet) const override;
  void set_trace(base::TraceSink* sink, std::function<bool(const base::Packet&)> filter) override {
    for (auto& pipe : pipes_) pipe->set_trace(sink, filter);
  }

  unsigned pipes() const override { return program_.config.pipes; }
  tna::Executor& executor() override { return executor_; }
  tna::TableTwin* table(std::string_view name) override;
  tna::RegisterTwin* register_array(std::string_view name) override { return find(registers_, name); }
  tna::CounterTwin* counter(std::string_view name) override { return find(counters_, name); }
  tna::ReplicationTwin* replication() override { return &program_.multicast; }
  tna::MirrorTwin* mirrors() override { return &program_.mirrors; }
  tna::GeneratorTwin* generator() override { return &generators_; }
  Description describe() const;

 private:
  template <typename Map>
  static auto find(Map& map, std::string_view name) -> typename Map::mapped_type::element_type* {
    const auto it = map.find(name);
    return it == map.end() ? nullptr : it->second.get();
  }
  void add_register(std::string name, uint32_t size, RegisterView::Read read, RegisterView::Write write) {
    registers_.emplace(std::move(name),
                       std::make_unique<RegisterView>(&pipes_, size, std::move(read), std::move(write)));
  }
  template <typename Get>
  void add_slot_register(const char* name, Get get);
  void watch_tables();
  void name_registers();
  void name_counters();

  Program program_;
  tna::Executor& executor_;
  std::vector<std::unique_ptr<PipeImpl>> pipes_;
  Generators generators_{&pipes_};
  std::map<std::string, std::unique_ptr<WatchedTable>, std::less<>> tables_;
  std::map<std::string, std::unique_ptr<RegisterView>, std::less<>> registers_;
  std::map<std::string, std::unique_ptr<CounterView>, std::less<>> counters_;
};

void DeviceImpl::watch_tables() {
  const auto flush = [this] {
    for (auto& pipe : pipes_) pipe->forget_flows();
  };
  const auto watch = [&](std::string name, tna::TableTwin* twin) {
    tables_.emplace(std::move(name), std::make_unique<WatchedTable>(twin, flush));
  };
  watch("pipe.Ingress.admission.admission", program_.admission.admission_table());
  watch("pipe.Ingress.job.job", &program_.job);
  for (const char* name : {"local6", "host6", "prefix6", "local4", "host4", "prefix4"})
    watch(absl::StrCat("pipe.Ingress.forwarder.", name), program_.forwarder.table(name));
}

Description DeviceImpl::describe() const {
  Description d;
  d.tables["pipe.Ingress.admission.admission"] = program_.admission.shape();
  d.tables["pipe.Ingress.admission.generated"] = blocks::GeneratedTable::shape();
  d.tables["pipe.Ingress.job.job"] = blocks::JobTable::shape();
  d.tables["pipe.Egress.replica.replica"] = blocks::ReplicaTable::shape();
  for (auto& [name, shape] : program_.forwarder.shapes()) d.tables["pipe.Ingress.forwarder." + name] = shape;
  for (const auto& [name, twin] : registers_) d.registers.push_back(name);
  for (const auto& [name, twin] : counters_) d.counters.push_back(name);
  return d;
}

tna::TableTwin* DeviceImpl::table(std::string_view name) {
  // Looked up for each packet.
  if (name == "pipe.Egress.replica.replica") return &program_.replica;
  if (name == "pipe.Ingress.admission.generated") return &program_.generated;
  return find(tables_, name);
}

// A field of the slot entries, found by `get`, which returns a reference to it.
template <typename Get>
void DeviceImpl::add_slot_register(const char* name, Get get) {
  using Field = std::remove_reference_t<decltype(get(std::declval<blocks::SlotEntry&>()))>;
  add_register(
      name, program_.config.slots * program_.config.shards_per_pipe,
      [get](PipeImpl& pipe, uint32_t i) -> std::array<uint64_t, 2> {
        return {get(pipe.ingress_state().slot_state.cell(i)), 0};
      },
      [get](PipeImpl& pipe, uint32_t i, std::array<uint64_t, 2> v) {
        get(pipe.ingress_state().slot_state.cell(i)) = static_cast<Field>(v[0]);
      });
}

void DeviceImpl::name_registers() {
  using Pair = std::array<uint64_t, 2>;
  const uint32_t slots = program_.config.slots * program_.config.shards_per_pipe;
  const uint32_t segments = program_.config.neighbors * program_.config.shards_per_pipe;
  add_register(
      "pipe.Ingress.segment_receiver.expected", segments,
      [](PipeImpl& p, uint32_t i) -> Pair {
        return {p.ingress_state().segment_receiver.expected().cell(i), 0};
      },
      [](PipeImpl& p, uint32_t i, Pair v) {
        p.ingress_state().segment_receiver.expected().cell(i) = static_cast<uint32_t>(v[0]);
      });
  add_register(
      "pipe.Egress.segment_sender.tx_seq", segments,
      [](PipeImpl& p, uint32_t i) -> Pair {
        return {p.sender().tx_seq(i), 0};
      },
      [](PipeImpl& p, uint32_t i, Pair v) { p.sender().set_tx_seq(i, static_cast<uint32_t>(v[0])); });
  add_register(
      "pipe.Egress.segment_sender.ring", program_.config.ring_entries,
      [](PipeImpl& p, uint32_t i) -> Pair {
        return {p.sender().ring(i), 0};
      },
      [](PipeImpl& p, uint32_t i, Pair v) { p.sender().ring(i) = static_cast<uint32_t>(v[0]); });
  add_slot_register("pipe.Ingress.slot_state.stamp",
                    [](blocks::SlotEntry& e) -> uint32_t& { return e.stamp; });
  add_slot_register("pipe.Ingress.slot_state.count",
                    [](blocks::SlotEntry& e) -> uint16_t& { return e.count; });
  add_slot_register("pipe.Ingress.aggregator.weight",
                    [](blocks::SlotEntry& e) -> uint16_t& { return e.weight; });
  // On the chip `bitmap` is a pair (the second half is what the last access returned); here both are the
  // bitmap.
  add_register(
      "pipe.Ingress.slot_state.bitmap", slots,
      [](PipeImpl& p, uint32_t i) -> Pair {
        const uint32_t bitmap = p.ingress_state().slot_state.cell(i).bitmap;
        return {bitmap, bitmap};
      },
      [](PipeImpl& p, uint32_t i, Pair v) {
        p.ingress_state().slot_state.cell(i).bitmap = static_cast<uint32_t>(v[0]);
      });
  add_register(
      "pipe.Ingress.exponent.exps", slots,
      [](PipeImpl& p, uint32_t i) -> Pair {
        const blocks::SlotEntry& e = p.ingress_state().slot_state.cell(i);
        return {e.exp, e.exp_max};
      },
      [](PipeImpl& p, uint32_t i, Pair v) {
        blocks::SlotEntry& e = p.ingress_state().slot_state.cell(i);
        e.exp = static_cast<uint8_t>(v[0]), e.exp_max = static_cast<uint8_t>(v[1]);
      });
  constexpr unsigned kPairs = base::kLanesGranularity / 2;  // one pass of the chip: 32 pairs
  for (unsigned n = 0; n < program_.config.lanes / 2; ++n) {
    const unsigned first = n / kPairs * base::kLanesGranularity + n % kPairs, second = first + kPairs;
    add_register(
        absl::StrFormat("pipe.Ingress.aggregator.lanes%02d", n), slots,
        [first, second](PipeImpl& p, uint32_t i) -> Pair {
          const uint32_t* lanes = p.ingress_state().aggregator.lanes(i);
          return {lanes[first], lanes[second]};
        },
        [first, second](PipeImpl& p, uint32_t i, Pair v) {
          uint32_t* lanes = p.ingress_state().aggregator.lanes(i);
          lanes[first] = static_cast<uint32_t>(v[0]), lanes[second] = static_cast<uint32_t>(v[1]);
        });
  }
}

void DeviceImpl::name_counters() {
  const uint32_t segments = program_.config.neighbors * program_.config.shards_per_pipe;
  const auto add = [this](const char* name, uint32_t size, CounterView::Cell cell) {
    counters_.emplace(name, std::make_unique<CounterView>(&pipes_, size, std::move(cell)));
  };
  add("pipe.Ingress.drop_reasons", base::kDropReasons,
      [](PipeImpl& p, uint32_t i) { return &p.drop_counters()[i]; });
  add("pipe.Ingress.segment_receiver.missing", segments,
      [](PipeImpl& p, uint32_t i) { return &p.ingress_state().segment_receiver.missing()[i]; });
  add("pipe.Egress.segment_sender.repairs", segments,
      [](PipeImpl& p, uint32_t i) { return &p.sender().repairs(i); });
}

unsigned DeviceImpl::steer(const base::Packet& packet) const {
  if (program_.config.pipes == 1) return 0;
  const wire::Parsed parsed = wire::parse(packet);
  if (parsed.kind == wire::Kind::l3dml) return parsed.shard % program_.config.pipes;
  return (packet.port / base::kPortsPerPipe) % program_.config.pipes;
}

}  // namespace

Description describe(const Device& device) { return static_cast<const DeviceImpl&>(device).describe(); }

bool is_chip_only(std::string_view name) {
  constexpr std::string_view kNames[] = {"pipe.Ingress.admission.owner",
                                         "pipe.Egress.segment_sender.ring_slot", "pipe.Egress.drop_reasons"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::unique_ptr<Device> Device::create(const DeviceConfig& config, std::span<base::PacketPool* const> pools,
                                       tna::Executor* executor) {
  if (pools.size() != config.pipes || config.pipes == 0 || config.pipes > 4 ||
      !std::has_single_bit(config.slots) || config.lanes == 0 || config.lanes > base::kMaxLanes ||
      config.lanes % base::kLanesGranularity != 0 || config.shards_per_pipe == 0)
    throw std::invalid_argument(
        "device: 1 to 4 pipes with a pool each, slots a power of two, lanes a multiple of 64 up to 320");
  return std::make_unique<DeviceImpl>(config, pools, executor);
}

}  // namespace l3dml::pipeline
