// The running switch: figures, and changes while packets flow.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "dataplane/app/switch.h"
#include "dataplane/app/trace_capture.h"
#include "dataplane/io/link_port.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

json to_json(const io::PortStats& s) {
  return {{"rx_packets", s.rx_packets}, {"rx_bytes", s.rx_bytes},     {"rx_drops", s.rx_drops},
          {"rx_errors", s.rx_errors},   {"tx_packets", s.tx_packets}, {"tx_bytes", s.tx_bytes},
          {"tx_drops", s.tx_drops},     {"tx_errors", s.tx_errors}};
}

json to_json(const io::Link& link, const std::string& from, const std::string& to) {
  const io::LinkCounters& c = link.counters();
  const io::LinkParameters& p = link.parameters();
  return {{"from", from},
          {"to", to},
          {"offered_packets", c.offered_packets},
          {"offered_bytes", c.offered_bytes},
          {"sent_packets", c.sent_packets},
          {"sent_bytes", c.sent_bytes},
          {"delivered_packets", c.delivered_packets},
          {"delivered_bytes", c.delivered_bytes},
          {"lost_packets", c.lost_packets},
          {"corrupted_packets", c.corrupted_packets},
          {"queue_drops", c.queue_drops},
          {"marked_packets", c.marked_packets},
          {"duplicated_packets", c.duplicated_packets},
          {"reordered_packets", c.reordered_packets},
          {"no_buffer", c.no_buffer},
          {"queue_bytes", link.queue_bytes()},
          {"max_queue_bytes", c.max_queue_bytes},
          {"packets_under_way", link.packets_under_way()},
          {"rate_bps", p.rate_bps},
          {"rate_in_force_bps", link.rate_bps()},
          {"delay_ns", p.delay_ns},
          {"loss", p.loss.mean()},
          {"up", p.up}};
}

absl::Status traced_already(const Member& member) {
  return absl::FailedPreconditionError(absl::StrCat(
      "device ", member.name, " is being traced already, by a file or a capture: stop that first"));
}

// While the workers stand.
void end_trace(Member& member) {
  member.device->set_trace(nullptr, {});
  member.traced_by = nullptr;
}

}  // namespace

json Switch::stats() {
  json result;
  workers_.run([&] {
    result["time_ns"] = clock_.now_ns();
    result["uptime_s"] = static_cast<double>(clock_.now_ns() - start_ns_) / base::kSecond;
    result["buffers"] = {{"available", pool_->available()}};
    json& devices = result["devices"] = json::array();
    for (Member& member : members_) {
      json device = {
          {"name", member.name}, {"id", member.id}, {"drops", json::object()}, {"ports", json::array()}};
      for (size_t i = 0; i < base::kDropReasons; ++i) {
        const auto reason = static_cast<base::DropReason>(i);
        if (const uint64_t count = member.device->drops(reason))
          device["drops"][std::string(base::drop_reason_name(reason))] = count;
      }
      for (const AttachedPort& port : member.ports) {
        json entry = to_json(port.port->stats());
        entry.update({{"port", port.device_port},
                      {"name", port.name},
                      {"kind", port.kind},
                      {"up", port.up()},
                      {"link_up", port.port->link_up()},
                      {"capture", port.capture != nullptr}});
        device["ports"].push_back(std::move(entry));
      }
      devices.push_back(std::move(device));
    }
    json& links = result["links"] = json::array();
    for (const auto& link : links_)
      links.push_back({{"name", link->name},
                       {"forward", to_json(*link->ways[0], link->ends[0], link->ends[1])},
                       {"backward", to_json(*link->ways[1], link->ends[1], link->ends[0])}});
    json& workers = result["workers"] = json::array();
    for (size_t i = 0; i < workers_.size(); ++i) {
      const pipeline::WorkerStats& s = workers_.worker(i).stats();
      workers.push_back({{"loops", s.loops},
                         {"bursts", s.bursts},
                         {"packets", s.packets},
                         {"sleeps", s.sleeps},
                         {"unwired", s.unwired}});
    }
    json& crossings = result["between_workers"] = json::array();
    for (const auto& port : inner_ports_)
      if (const io::PortStats s = port->stats(); s.tx_packets + s.tx_drops != 0)
        crossings.push_back({{"name", port->name()}, {"packets", s.tx_packets}, {"drops", s.tx_drops}});
  });
  return result;
}

absl::StatusOr<Member*> Switch::find(const std::string& device) {
  for (Member& member : members_)
    if (member.name == device || (device.empty() && members_.size() == 1)) return &member;
  return absl::NotFoundError(absl::StrCat("there is no device \"", device, "\""));
}

absl::StatusOr<AttachedPort*> Switch::find(const std::string& device, uint16_t port) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  for (AttachedPort& attached : (*member)->ports)
    if (attached.device_port == port) return &attached;
  return absl::NotFoundError(absl::StrCat("device ", (*member)->name, " has no port ", port));
}

absl::Status Switch::change_link(const std::string& link, int way, const io::LinkPatch& patch) {
  for (const auto& named : links_) {
    if (named->name != link) continue;
    absl::Status status;
    workers_.run([&] {
      for (int i = 0; i < 2 && status.ok(); ++i) {
        if (way != 2 && way != i) continue;
        io::LinkParameters parameters = named->ways[i]->parameters();
        patch.apply(parameters);
        status = parameters.validate();
        if (status.ok()) named->ways[i]->change(parameters, clock_.now_ns());
      }
    });
    return status;
  }
  return absl::NotFoundError(absl::StrCat("there is no link \"", link, "\""));
}

absl::Status Switch::set_port_up(const std::string& device, uint16_t port, bool up) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  const auto attached = find(device, port);
  if (!attached.ok()) return attached.status();
  workers_.run([&] {
    (*attached)->plugged = up;
    (*attached)->enabled |= up;
    settle(**member, **attached);
  });
  return absl::OkStatus();
}

absl::Status Switch::start_capture(const std::string& device, uint16_t port, const std::string& path,
                                   bool trace) {
  const auto member = find(device);
  const auto attached = find(device, port);
  if (!attached.ok()) return attached.status();
  if ((*attached)->capture != nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("port ", (*attached)->name, " is being captured already"));
  if (trace && (*member)->traced_by != nullptr) return traced_already(**member);
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  auto created = io::CaptureFile::create(path, wall.tv_sec * base::kSecond + wall.tv_nsec - clock_.now_ns());
  if (!created.ok()) return created.status();
  std::shared_ptr<io::CaptureFile> file = *std::move(created);
  std::unique_ptr<io::Capture> capture;
  base::TraceSink* sink = nullptr;
  if (trace) {
    auto both = std::make_unique<TraceCapture>(file, (*attached)->name);
    sink = both.get();
    capture = std::move(both);
  } else {
    capture = std::make_unique<io::PortCapture>(file, (*attached)->name);
  }
  workers_.run([&] {
    (*attached)->port->set_capture(capture.get());
    (*attached)->capture = std::move(capture);
    if (sink == nullptr) return;
    (*member)->traced_by = (*attached)->capture.get();
    (*member)->device->set_trace(sink, [port](const base::Packet& packet) { return packet.port == port; });
  });
  return absl::OkStatus();
}

absl::Status Switch::stop_capture(const std::string& device, uint16_t port) {
  const auto member = find(device);
  const auto attached = find(device, port);
  if (!attached.ok()) return attached.status();
  if ((*attached)->capture == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("port ", (*attached)->name, " is not being captured"));
  workers_.run([&] {
    (*attached)->port->set_capture(nullptr);
    if ((*member)->traced_by == (*attached)->capture.get()) end_trace(**member);
  });
  (*attached)->capture.reset();
  return absl::OkStatus();
}

absl::Status Switch::start_trace(const std::string& device, const std::string& path, TraceFile::Format format,
                                 std::function<bool(const base::Packet&)> filter) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  if ((*member)->traced_by != nullptr) return traced_already(**member);
  auto file = TraceFile::create(path, format, clock_, (*member)->name);
  if (!file.ok()) return file.status();
  workers_.run([&] {
    (*member)->trace = *std::move(file);
    (*member)->traced_by = (*member)->trace.get();
    (*member)->device->set_trace((*member)->trace.get(), std::move(filter));
  });
  return absl::OkStatus();
}

absl::Status Switch::stop_trace(const std::string& device) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  if ((*member)->trace == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("device ", (*member)->name, " is not being traced"));
  workers_.run([&] { end_trace(**member); });
  (*member)->trace.reset();
  return absl::OkStatus();
}

}  // namespace l3dml::app
