#include "dataplane/app/report.h"

#include <thread>

#include <sys/utsname.h>

#include "dataplane/app/build_info.h"

namespace l3dml::app {

nlohmann::json report_of(const nlohmann::json& rows, const std::string& command) {
  utsname system{};
  uname(&system);
  return {{"program", "l3dml-switch"},
          {"version", kVersion},
          {"commit", kCommit},
          {"machine",
           {{"kernel", system.release},
            {"architecture", system.machine},
            {"cpus", std::thread::hardware_concurrency()}}},
          {"command", command},
          {"rows", rows}};
}

nlohmann::json report(const nlohmann::json& stats, const std::string& command) {
  nlohmann::json rows = nlohmann::json::array();
  const auto row = [&](const std::string& name, const nlohmann::json& value, const char* unit,
                       const nlohmann::json& group) {
    rows.push_back({{"name", name}, {"value", value}, {"unit", unit}, {"group", group}});
  };
  for (const auto& link : stats["links"])
    for (const char* way : {"forward", "backward"}) {
      const nlohmann::json group = {
          {"link", link["name"]}, {"from", link[way]["from"]}, {"to", link[way]["to"]}};
      for (const char* name :
           {"sent_packets", "lost_packets", "corrupted_packets", "queue_drops", "marked_packets"})
        row(name, link[way][name], "packets", group);
      row("sent_bytes", link[way]["sent_bytes"], "bytes", group);
    }
  for (const auto& device : stats["devices"]) {
    for (const auto& port : device["ports"])
      for (const char* name : {"rx_packets", "rx_drops", "rx_errors", "tx_packets", "tx_drops", "tx_errors"})
        row(name, port[name], "packets", {{"device", device["name"]}, {"port", port["name"]}});
    for (const auto& [reason, count] : device["drops"].items())
      row("drops", count, "packets", {{"device", device["name"]}, {"reason", reason}});
  }
  return report_of(rows, command);
}

}  // namespace l3dml::app
