#include "dataplane/app/control.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

absl::Status wrong(const std::string& text) { return absl::InvalidArgumentError(text); }

std::string text_of(const json& request, const char* key) {
  const auto it = request.find(key);
  return it != request.end() && it->is_string() ? it->get<std::string>() : "";
}

// As a person would have written it in the YAML file.
std::string plain(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

absl::Status port_of(const json& request, uint16_t& port) {
  const auto it = request.find("port");
  if (it == request.end() || !it->is_number_integer() || it->get<int64_t>() < 0 || it->get<int64_t>() >= 512)
    return wrong("\"port\" must be a device port, 0 to 511");
  port = it->get<uint16_t>();
  return absl::OkStatus();
}

json answer(const absl::Status& status) {
  if (status.ok()) return {{"ok", true}};
  return {{"ok", false}, {"error", std::string(status.message())}};
}

}  // namespace

absl::Status Control::change_link(const json& request) {
  const auto set = request.find("set");
  if (set == request.end() || !set->is_object() || set->empty())
    return wrong("\"set\" must be an object of link parameters, like {\"rate\": \"50Mbit\"}");
  io::LinkPatch patch;
  for (const auto& [key, value] : set->items()) {
    absl::Status status;
    if (key == "loss" && value.is_object()) {
      std::vector<std::pair<std::string, std::string>> fields;
      for (const auto& [name, field] : value.items()) fields.emplace_back(name, plain(field));
      status = patch.set_loss(fields);
    } else {
      status = patch.set(key, plain(value));
    }
    if (!status.ok()) return wrong(absl::StrCat(key, ": ", std::string(status.message())));
  }
  const std::string way = request.contains("direction") ? text_of(request, "direction") : "both";
  if (way != "both" && way != "forward" && way != "backward")
    return wrong("\"direction\" must be forward, backward or both");
  return switch_.change_link(text_of(request, "name"), way == "both" ? 2 : way == "backward", patch);
}

absl::Status Control::change_port(const json& request) {
  uint16_t port = 0;
  if (auto status = port_of(request, port); !status.ok()) return status;
  const auto up = request.find("up");
  if (up == request.end() || !up->is_boolean()) return wrong("\"up\" must be true or false");
  return switch_.set_port_up(text_of(request, "device"), port, up->get<bool>());
}

absl::Status Control::capture(const json& request) {
  uint16_t port = 0;
  if (auto status = port_of(request, port); !status.ok()) return status;
  const std::string file = text_of(request, "file");
  if (file.empty() != request.contains("stop"))
    return wrong("give \"file\" to start a capture or \"stop\": true to end it");
  const std::string device = text_of(request, "device");
  return file.empty()
             ? switch_.stop_capture(device, port)
             : switch_.start_capture(device, port, file, request.value("trace", json(false)) == true);
}

absl::Status Control::trace(const json& request) {
  const std::string device = text_of(request, "device"), file = text_of(request, "file");
  if (file.empty() != request.contains("stop"))
    return wrong("give \"file\" to start a trace or \"stop\": true to end it");
  if (file.empty()) return switch_.stop_trace(device);
  const std::string format = request.contains("format") ? text_of(request, "format") : "text";
  if (format != "text" && format != "json") return wrong("\"format\" must be text or json");
  std::function<bool(const base::Packet&)> filter;
  if (request.contains("port")) {
    uint16_t port = 0;
    if (auto status = port_of(request, port); !status.ok()) return status;
    filter = [port](const base::Packet& packet) { return packet.port == port; };
  }
  return switch_.start_trace(device, file,
                             format == "json" ? TraceFile::Format::json : TraceFile::Format::text, filter);
}

json Control::handle(const json& request) {
  const std::string op = request.is_object() ? text_of(request, "op") : "";
  if (op == "stats") {
    json result = switch_.stats();
    result["ok"] = true;
    return result;
  }
  if (op == "ping") return {{"ok", true}};
  if (op == "link") return answer(change_link(request));
  if (op == "port") return answer(change_port(request));
  if (op == "capture") return answer(capture(request));
  if (op == "trace") return answer(trace(request));
  if (op == "quit") {
    quit_();
    return {{"ok", true}};
  }
  return answer(wrong("\"op\" must be one of stats, link, port, capture, trace, ping, quit"));
}

std::string Control::handle_line(const std::string& line) {
  const json request = json::parse(line, nullptr, false);
  const json result =
      request.is_discarded() ? answer(wrong("a request is one JSON object on one line")) : handle(request);
  return result.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace l3dml::app
