#include "control/install/startup.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace l3dml::control {
namespace {

using target::Batch;
using target::Data;
using target::Key;

constexpr uint32_t kRecirculationLocal = 68;  // of the 128 ports of a pipe
constexpr uint32_t kFirstSession = 512;       // + device port: p4/types.p4, MIRROR_SESSION
// What a copy holds behind the header that the mirror puts in front: an ingress copy begins with what came in
// (behind a bridge header where it was steered), one that egress makes with the bridge header.
constexpr uint32_t kFrameBytes = 86, kBridgeBytes = 4, kIngressMirrorBytes = 7, kEgressMirrorBytes = 9;
constexpr uint32_t kSyncPeriodNs = 20'000'000;
constexpr uint32_t kGeneratedPerRound = 1024;  // rows of pipe.Ingress.admission.generated

// A SYNC without what `speak_for` writes: Ethernet, IPv6, UDP to shard 0, L3DML.
std::vector<uint32_t> sync_frame() {
  std::vector<uint32_t> bytes(kFrameBytes, 0);
  const auto put = [&](size_t at, std::initializer_list<uint32_t> values) {
    std::copy(values.begin(), values.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(12, {0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 17, 64});
  put(54, {0xc0, 0x00, 0x4c, 0x33, 0, 32, 0, 0});
  put(62, {0x14});  // version 1, SYNC
  return bytes;
}

class Starter {
 public:
  Starter(target::SwitchTarget& device, const StartUp& needs) : device_(device), needs_(needs) {}

  absl::Status ports(std::vector<std::string>* problems) {
    auto present = device_.ports();
    if (absl::IsNotFound(present.status())) return absl::OkStatus();  // a driver without port table
    if (!present.ok()) return present.status();
    std::set<uint32_t> known;
    for (const target::PortState& port : *present) known.insert(port.port);
    for (const uint16_t port : needs_.ports) {
      if (!known.insert(port).second) continue;
      if (const absl::Status s = device_.add_port(port, needs_.port); !s.ok()) {
        if (!device_.connected()) return s;
        problems->push_back(absl::StrCat("port ", port, ": ", s.message()));
        continue;
      }
      ++writes_;
    }
    return absl::OkStatus();
  }

  // Only for a program that has packets pass the switch again.
  absl::Status inside() {
    if (!device_.schema()->table("pipe.Ingress.admission.generated").ok()) return absl::OkStatus();
    auto configuration = device_.read_default("tf1.dev.device_configuration");
    if (!configuration.ok()) return configuration.status();
    if (!*configuration) return absl::UnavailableError("the device does not tell its recirculation ports");
    std::vector<uint32_t> recirculation = (*configuration)->action.get("recirc_port_list").numbers();
    std::erase_if(recirculation, [](uint32_t port) { return (port & 0x7f) != kRecirculationLocal; });
    if (recirculation.empty()) return absl::UnavailableError("the device has no recirculation ports");
    const bool steers = recirculation.size() > 1;
    for (const uint32_t port : recirculation)
      want("tf1.pktgen.port_cfg", Key{}.exact("dev_port", port),
           Data{}.param("recirculation_enable", true).param("pktgen_enable", port == recirculation.front()));
    for (const uint32_t port : recirculation)
      want_session(port, kEgressMirrorBytes + kBridgeBytes + kFrameBytes);
    for (const uint16_t port : needs_.ports)
      want_session(port, kIngressMirrorBytes + (steers ? kBridgeBytes : 0) + kFrameBytes);
    want("tf1.pktgen.pkt_buffer", Key{}.exact("pkt_buffer_offset", 0).exact("pkt_buffer_size", kFrameBytes),
         Data{}.param("buffer", sync_frame()));
    want("tf1.pktgen.app_cfg", Key{}.exact("app_id", 0),
         Data("trigger_timer_periodic")
             .param("timer_nanosec", kSyncPeriodNs)
             .param("app_enable", true)
             .param("pkt_len", kFrameBytes)
             .param("pkt_buffer_offset", 0)
             .param("pipe_local_source_port", kRecirculationLocal)
             .param("increment_source_port", false)
             .param("batch_count_cfg", 0)
             .param("packets_per_batch_cfg", kGeneratedPerRound - 1));
    return first_error_;
  }

  size_t writes() const { return writes_; }

 private:
  void want_session(uint32_t port, uint32_t length) {
    want("$mirror.cfg", Key{}.exact("$sid", kFirstSession + port),
         Data("$normal")
             .param("$session_enable", true)
             .param("$direction", "BOTH")
             .param("$ucast_egress_port", port)
             .param("$ucast_egress_port_valid", true)
             .param("$max_pkt_len", length));
  }

  void want(const char* table, const Key& key, const Data& data) {
    if (!first_error_.ok()) return;
    const auto row = device_.read(table, key, {.from_hardware = false});
    const bool is_there = row.ok();
    if (is_there && std::all_of(data.fields().begin(), data.fields().end(), [&](const auto& field) {
          return same(row->action.get(field.first), field.second);
        }))
      return;
    if (!is_there && !absl::IsNotFound(row.status())) {
      first_error_ = row.status();
      return;
    }
    Batch batch;
    is_there ? batch.modify(table, key, data) : batch.insert(table, key, data);
    first_error_ = device_.write(batch);
    writes_ += first_error_.ok();
  }

  static bool same(const target::FieldValue& a, const target::FieldValue& b) {
    if (std::holds_alternative<std::vector<uint32_t>>(b.storage())) return a.numbers() == b.numbers();
    if (std::holds_alternative<std::string>(b.storage())) return a.text() == b.text();
    return a.number() == b.number();
  }

  target::SwitchTarget& device_;
  const StartUp& needs_;
  size_t writes_ = 0;
  absl::Status first_error_;
};

}  // namespace

absl::StatusOr<size_t> start_device(target::SwitchTarget& device, const StartUp& needs,
                                    std::vector<std::string>* problems) {
  Starter starter(device, needs);
  if (absl::Status s = starter.ports(problems); !s.ok()) return s;
  if (absl::Status s = starter.inside(); !s.ok()) return s;
  return starter.writes();
}

}  // namespace l3dml::control
