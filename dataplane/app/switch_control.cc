// The running switch: figures, and changes while packets flow.
#include <ctime>

#include "absl/strings/str_cat.h"
#include "dataplane/app/switch.h"
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
          {"delay_ns", p.delay_ns},
          {"loss", p.loss.mean()},
          {"up", p.up}};
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
                      {"up", port.up},
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
    (*attached)->up = up;
    (*member)->device->set_port(port, up, (*attached)->checksum);
  });
  return absl::OkStatus();
}

absl::Status Switch::start_capture(const std::string& device, uint16_t port, const std::string& path) {
  const auto attached = find(device, port);
  if (!attached.ok()) return attached.status();
  timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  const int64_t offset_ns = wall.tv_sec * base::kSecond + wall.tv_nsec - clock_.now_ns();
  auto file = io::CaptureFile::create(path, offset_ns);
  if (!file.ok()) return file.status();
  std::unique_ptr<io::Capture> capture = std::make_unique<io::PortCapture>(
      std::shared_ptr<io::CaptureFile>(*std::move(file)), (*attached)->name);
  workers_.run([&] {
    (*attached)->port->set_capture(capture.get());
    (*attached)->capture.swap(capture);
  });
  return absl::OkStatus();
}

absl::Status Switch::stop_capture(const std::string& device, uint16_t port) {
  const auto attached = find(device, port);
  if (!attached.ok()) return attached.status();
  if ((*attached)->capture == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("port ", (*attached)->name, " is not being captured"));
  workers_.run([&] { (*attached)->port->set_capture(nullptr); });
  (*attached)->capture.reset();
  return absl::OkStatus();
}

absl::Status Switch::start_trace(const std::string& device, const std::string& path, TraceFile::Format format,
                                 std::function<bool(const base::Packet&)> filter) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  auto file = TraceFile::create(path, format, clock_, (*member)->name);
  if (!file.ok()) return file.status();
  workers_.run([&] {
    (*member)->device->set_trace(file->get(), std::move(filter));
    (*member)->trace.swap(*file);
  });
  return absl::OkStatus();
}

absl::Status Switch::stop_trace(const std::string& device) {
  const auto member = find(device);
  if (!member.ok()) return member.status();
  if ((*member)->trace == nullptr)
    return absl::FailedPreconditionError(absl::StrCat("device ", (*member)->name, " is not being traced"));
  workers_.run([&] { (*member)->device->set_trace(nullptr, {}); });
  (*member)->trace.reset();
  return absl::OkStatus();
}

}  // namespace l3dml::app
