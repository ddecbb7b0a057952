#include "dataplane/pipeline/testing/golden_case.h"

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "dataplane/base/heap_pool.h"
#include "dataplane/pipeline/device.h"

namespace l3dml::pipeline::testing {
namespace {

using nlohmann::json;

// "0x..." as big-endian bytes of a field of `width` bits.
std::string field_bytes(const std::string& text, unsigned width) {
  std::string digits = text.substr(2);
  const size_t size = (width + 7) / 8;
  if (text.compare(0, 2, "0x") != 0 || digits.size() > 2 * size)
    throw std::invalid_argument(absl::StrCat("value ", text, " of a field of ", width, " bits"));
  digits.insert(0, 2 * size - digits.size(), '0');
  std::string bytes;
  for (size_t i = 0; i < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

unsigned width_of(const json& field) { return field.at("type").at("width").get<unsigned>(); }

tna::MatchField match_field(const json& key, const json* given) {
  tna::MatchField field;
  const unsigned width = width_of(key);
  const std::string kind = key.at("match_type");
  field.kind = kind == "Exact" ? tna::MatchKind::exact
               : kind == "LPM" ? tna::MatchKind::lpm
                               : tna::MatchKind::ternary;
  if (!given) {
    if (field.kind == tna::MatchKind::exact)
      throw std::invalid_argument(absl::StrCat("key without ", key.at("name").dump()));
    field.present = false;
    field.value = field.mask = std::string((width + 7) / 8, '\0');
    return field;
  }
  const bool plain = given->is_string();
  field.value = field_bytes(plain ? given->get<std::string>() : given->at("value").get<std::string>(), width);
  if (field.kind == tna::MatchKind::lpm) field.prefix_length = given->at("prefix").get<int>();
  if (field.kind == tna::MatchKind::ternary) {
    field.mask = std::string((width + 7) / 8, '\xff');
    if (width % 8) field.mask[0] = static_cast<char>((1 << width % 8) - 1);
    if (!plain) field.mask = field_bytes(given->at("mask"), width);
    for (size_t i = 0; i < field.value.size(); ++i)
      field.value[i] = static_cast<char>(field.value[i] & field.mask[i]);
  }
  return field;
}

tna::Entry entry_of(const json& table, const json& given) {
  tna::Entry entry;
  size_t used = 0;
  for (const json& key : table.at("key")) {
    const std::string name = key.at("name");
    if (name == "$MATCH_PRIORITY") continue;
    const auto value = given.at("key").find(name);
    used += value != given.at("key").end();
    entry.key.push_back(match_field(key, value == given.at("key").end() ? nullptr : &*value));
  }
  if (used != given.at("key").size())
    throw std::invalid_argument(absl::StrCat("a key field is not in ", table.at("name").dump()));
  entry.action = given.at("action");
  entry.priority = given.value("priority", 0u);
  for (const json& action : table.at("action_specs")) {
    if (action.at("name") != entry.action) continue;
    for (const json& data : action.at("data"))
      entry.params.push_back(
          field_bytes(given.at("data").at(data.at("name").get<std::string>()), width_of(data)));
    return entry;
  }
  throw std::invalid_argument(absl::StrCat(table.at("name").dump(), " has no action ", entry.action));
}

wire::MacAddress mac_of(const std::string& text) {
  wire::MacAddress mac;
  for (size_t i = 0; i < mac.size(); ++i)
    mac[i] = static_cast<uint8_t>(std::stoi(text.substr(3 * i, 2), nullptr, 16));
  return mac;
}

class TraceText final : public base::TraceSink {
 public:
  void line(uint64_t packet, std::string_view block, const std::string& text) override {
    text_ += std::to_string(packet) + " " + std::string(block) + ": " + text + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class GoldenSwitch {
 public:
  GoldenSwitch(const Schema& schema, const json& config) {
    const json& given = config.at("device");
    DeviceConfig c;
    c.slots = given.at("slots"), c.lanes = given.at("lanes"), c.neighbors = given.at("neighbors");
    c.ring_entries = given.at("ring_entries"), c.mac = mac_of(given.at("mac"));
    base::PacketPool* pools[] = {&pool_};
    device_ = Device::create(c, pools, &executor_);
    for (const json& port : config.at("ports")) device_->set_port(port, true, false);
    for (const json& entry : config.at("tables")) insert(schema, entry);
    for (const json& group : config.at("multicast")) replicate(group);
    for (const json& cell : config.at("registers")) {
      tna::RegisterTwin* twin = device_->register_array(cell.at("register").get<std::string>());
      if (!twin) throw std::invalid_argument("no register " + cell.at("register").dump());
      twin->write(0, cell.at("index"),
                  {std::stoull(cell.at("values").at(0).get<std::string>(), nullptr, 16), 0});
    }
    device_->set_trace(&trace_, {});
  }

  GoldenResult play(const std::vector<Captured>& packets, int64_t until_ns) {
    for (const Captured& captured : packets) {
      pass_time(captured.time_ns);
      base::Packet* packet = pool_.alloc();
      std::memcpy(packet->data, captured.frame.data(), captured.frame.size());
      packet->size = static_cast<uint32_t>(captured.frame.size());
      packet->port = captured.port;
      device_->pipe(0).process({&packet, 1}, captured.time_ns, out_);
      take(captured.time_ns);
    }
    pass_time(until_ns);
    result_.counters = counters();
    result_.trace = trace_.text();
    return std::move(result_);
  }

 private:
  void insert(const Schema& schema, const json& given) {
    const std::string name = given.at("table");
    const tna::Entry entry = entry_of(schema.table(name), given);
    tna::TableTwin* twin = device_->table(name);
    if (!twin) throw std::invalid_argument("no twin of " + name);
    if (const absl::Status status = twin->check(entry); !status.ok())
      throw std::invalid_argument(absl::StrCat(name, ": ", status.message()));
    twin->insert(++handle_, entry);
  }

  void replicate(const json& group) {
    std::vector<tna::ReplicationTwin::Node> nodes;
    for (const json& node : group.at("nodes"))
      nodes.push_back({node.at("rid"), false, 0, node.at("ports").get<std::vector<uint16_t>>()});
    device_->replication()->set_group(group.at("mgid"), nodes);
  }

  void pass_time(int64_t until_ns) {
    while (device_->pipe(0).next_deadline_ns() <= until_ns) {
      const int64_t now = device_->pipe(0).next_deadline_ns();
      device_->pipe(0).tick(now, out_);
      take(now);
    }
  }

  void take(int64_t now_ns) {
    for (base::Packet* packet : out_.packets()) {
      Captured sent{packet->port, now_ns,
                    std::string(reinterpret_cast<const char*>(packet->data), packet->size)};
      if (packet->tail)
        sent.frame.append(reinterpret_cast<const char*>(packet->tail->data), packet->tail->size);
      result_.sent.push_back(std::move(sent));
      base::release(packet);
    }
    out_.clear();
  }

  json counters() const {
    json all = json::object();
    json& reasons = all["pipe.Ingress.drop_reasons"] = json::object();
    for (size_t i = 1; i < base::kDropReasons; ++i) {
      const auto reason = static_cast<base::DropReason>(i);
      if (const uint64_t count = device_->drops(reason))
        reasons[std::string(base::drop_reason_name(reason))] = count;
    }
    for (const char* name : {"pipe.Ingress.segment_receiver.missing", "pipe.Egress.segment_sender.repairs"}) {
      tna::CounterTwin* twin = device_->counter(name);
      json& cells = all[name] = json::object();
      for (uint32_t i = 0; i < twin->size(); ++i)
        if (const uint64_t count = twin->read(i).packets) cells[std::to_string(i)] = count;
    }
    return all;
  }

  base::HeapPool pool_{4096};
  InlineExecutor executor_;
  std::unique_ptr<Device> device_;
  Outbox out_;
  TraceText trace_;
  tna::Handle handle_ = 0;
  GoldenResult result_;
};

}  // namespace

Schema::Schema(const std::filesystem::path& bf_rt) {
  const json schema = json::parse(read_file(bf_rt));
  for (const json& table : schema.at("tables")) tables_[table.at("name").get<std::string>()] = table;
}

const json& Schema::table(const std::string& name) const {
  const auto it = tables_.find(name);
  if (it == tables_.end()) throw std::invalid_argument(name + " is not in bf-rt.json");
  return it->second;
}

GoldenResult run_golden_case(const Schema& schema, const json& config, const std::vector<Captured>& packets) {
  return GoldenSwitch(schema, config).play(packets, config.at("until_ns"));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace l3dml::pipeline::testing
