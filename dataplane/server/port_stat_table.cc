#include "dataplane/server/port_stat_table.h"

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

// Field ids of the length classes: below 64, 64, ... 9216 and more.
constexpr uint32_t kRxLengths = 21, kTxLengths = 44;
constexpr uint32_t kRxFrames = 1, kRxOctets = 6, kTxFrames = 33, kTxOctets = 37;
constexpr uint32_t kRates = 92;  // sent and received frames, sent and received bits per second

}  // namespace

PortStatTable::Values PortStatTable::counters(uint32_t port) const {
  Values v{};
  if (device_.ports == nullptr) return v;
  const PortFigures f = device_.ports->figures(static_cast<uint16_t>(port));
  const uint64_t bad = f.port.rx_errors - f.rx.oversized;  // check sequence, length
  v[1] = f.rx.frames;
  v[2] = f.rx.frames + f.port.rx_errors;
  v[3] = bad;
  v[4] = f.port.rx_errors;
  v[5] = v[6] = f.rx.octets;
  v[7] = f.rx.unicast();
  v[8] = f.rx.multicast;
  v[9] = f.rx.broadcast;
  v[10] = f.rx.pause;
  v[13] = v[18] = f.rx.oversized;
  v[19] = f.rx.vlan;
  v[20] = f.port.rx_drops - f.rx.disabled;
  for (uint32_t i = 0; i < io::FrameCounters::kLengths; ++i) {
    v[kRxLengths + i] = f.rx.lengths[i];
    v[kTxLengths + i] = f.tx.lengths[i];
  }
  v[12] = f.rx.lengths[0];
  v[33] = f.port.tx_packets;
  v[34] = f.port.tx_packets + f.port.tx_errors;
  v[35] = f.port.tx_errors;
  v[36] = v[37] = f.port.tx_bytes + io::kCheckSequence * f.port.tx_packets;
  v[38] = f.tx.unicast();
  v[39] = f.tx.multicast;
  v[40] = f.tx.broadcast;
  v[41] = f.tx.pause;
  v[43] = f.tx.vlan;
  return v;
}

PortStatTable::Values PortStatTable::base(uint32_t port) const {
  const auto found = bases_.find(port);
  return found == bases_.end() ? Values{} : found->second;
}

void PortStatTable::tick(int64_t now_ns) {
  const auto* interval = attribute(bfrt_proto::TableAttribute::kIntvlMs);
  if (interval == nullptr || interval->intvl_ms().intvl_val() == 0 || now_ns < next_poll_ns_) return;
  next_poll_ns_ = now_ns + int64_t{interval->intvl_ms().intvl_val()} * 1'000'000;
  device_.run([&] {
    ports().each([&](const Key& key) {
      Sample& sample = samples_[PortTable::port_of(key)];
      const Values values = counters(PortTable::port_of(key));
      const int64_t passed_ns = sample.time_ns == 0 ? 0 : now_ns - sample.time_ns;
      constexpr uint32_t kCounted[] = {kTxFrames, kRxFrames, kTxOctets, kRxOctets};
      for (size_t i = 0; i < 4 && passed_ns > 0; ++i) {
        const uint64_t more = (values[kCounted[i]] - sample.values[kCounted[i]]) * (i < 2 ? 1 : 8);
        sample.rates[i] =
            static_cast<uint64_t>(static_cast<double>(more) * 1e9 / static_cast<double>(passed_ns));
      }
      sample.values = values;
      sample.time_ns = now_ns;
    });
  });
}

absl::Status PortStatTable::modify(WriteContext& context, const Key& key, const Data& data) {
  const uint32_t port = PortTable::port_of(key);
  if (!ports().added(port)) return error(absl::StatusCode::kNotFound, "the port was not added");
  const Values old = base(port);
  Values raw{}, next = old;
  device_.run([&] { raw = counters(port); });
  for (const FieldValue& field : data.fields)
    if (field.id < kFields) next[field.id] = get_uint(data.fields, field.id) - raw[field.id];
  context.transaction.on_undo([this, port, old] { bases_[port] = old; });
  bases_[port] = next;
  return absl::OkStatus();
}

absl::Status PortStatTable::clear(WriteContext& context) {
  context.transaction.on_undo([this, old = bases_] { bases_ = old; });
  device_.run([&] {
    ports().each([&](const Key& key) {
      const uint32_t port = PortTable::port_of(key);
      const Values raw = counters(port);
      Values& next = bases_[port];
      for (size_t i = 0; i < kFields; ++i) next[i] = 0 - raw[i];
    });
  });
  return absl::OkStatus();
}

void PortStatTable::emit_port(const Key& key, const Values& raw, const Emit& emit) const {
  const uint32_t port = PortTable::port_of(key);
  const Values offsets = base(port);
  const auto sample = samples_.find(port);
  Data data;
  for (const FieldInfo& field : info_.data)
    if (field.id >= kRates && field.id < kRates + 4 && sample != samples_.end())
      data.fields.push_back({field.id, from_uint(sample->second.rates[field.id - kRates], 8)});
    else if (field.id < kFields)
      data.fields.push_back({field.id, from_uint(raw[field.id] + offsets[field.id], 8)});
  emit({&key, &data, port});
}

absl::Status PortStatTable::read(const ReadQuery&, const Key& key, const Emit& emit) {
  const uint32_t port = PortTable::port_of(key);
  if (!ports().added(port)) return error(absl::StatusCode::kNotFound, "the port was not added");
  Values raw{};
  device_.run([&] { raw = counters(port); });
  emit_port(key, raw, emit);
  return absl::OkStatus();
}

absl::Status PortStatTable::read_all(const ReadQuery&, const Emit& emit) {
  std::vector<std::pair<Key, Values>> all;
  device_.run([&] {  // all ports at one moment
    ports().each([&](const Key& key) { all.emplace_back(key, counters(PortTable::port_of(key))); });
  });
  for (const auto& [key, raw] : all) emit_port(key, raw, emit);
  return absl::OkStatus();
}

}  // namespace l3dml::server
