#include "tools/host/dpdk/l3dml_dpdk.h"

#include <exception>
#include <sstream>

#include "dataplane/wire/address.h"
#include "tools/host/dpdk/port_transport.h"
#include "tools/host/l3dml_job.h"

namespace {

using namespace l3dml;

absl::StatusOr<std::unique_ptr<host::Job>> open(const char* config_file, const char* device,
                                                const char* switch_mac, const char* eal) {
  if (!config_file || !device || !switch_mac)
    return absl::InvalidArgumentError("config_file, device and switch_mac must not be null");
  const auto config = host::load_job_config(config_file);
  if (!config.ok()) return config.status();
  host::DpdkOptions options;
  options.device = device;
  if (!wire::parse_mac(switch_mac, &options.switch_mac))
    return absl::InvalidArgumentError(std::string("switch_mac: not a link-layer address: ") + switch_mac);
  std::istringstream words(eal ? eal : "");
  for (std::string word; words >> word;) options.eal.push_back(word);
  auto transport = host::open_dpdk_transport(options);
  if (!transport.ok()) return transport.status();
  return host::Job::create(*config, *std::move(transport));
}

}  // namespace

extern "C" l3dml_job* l3dml_open_dpdk(const char* config_file, const char* device, const char* switch_mac,
                                      const char* eal) {
  try {
    auto job = open(config_file, device, switch_mac, eal);
    if (job.ok()) return new l3dml_job{*std::move(job), nullptr};
    host::set_last_error(std::string(job.status().message()));
  } catch (const std::exception& error) {  // memory, threads: nothing thrown may cross into C
    host::set_last_error(error.what());
  }
  return nullptr;
}
