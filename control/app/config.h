// The controller's YAML file (README.md has the format). Errors name the line and the key.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "control/api/server.h"
#include "control/api/views.h"

namespace l3dml::control {

struct TlsFiles {
  std::string certificate, key, authority;
  bool any() const { return !certificate.empty() || !key.empty() || !authority.empty(); }
};

struct ControllerConfig {
  std::vector<std::string> listen{"127.0.0.1:50061"};
  std::string store = "sqlite:l3dml-controller.db";
  bool standby = false;  // wait for the store while another controller has it
  double store_lease_s = 5;
  std::string metrics;  // "host:port" of the Prometheus endpoint; empty: none
  TlsFiles tls, switch_tls, store_tls;
  std::vector<std::string> operators;
  double detach_grace_s = 1, switch_grace_s = 5;
  std::string policy = "drl", models;  // who chooses stripes; a folder of models beside the compiled-in ones
  double policy_hysteresis = 0.1;
  double telemetry_interval_s = 1;  // 0: never
  NetworkRecords network;           // added at the start
};

absl::StatusOr<ControllerConfig> load_config(const std::string& file);
absl::StatusOr<ControllerConfig> parse_config(const std::string& text, const std::string& file);

absl::StatusOr<std::string> read_file(const std::string& file);

}  // namespace l3dml::control
