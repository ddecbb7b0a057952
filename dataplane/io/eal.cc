#include "dataplane/io/eal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace l3dml::io {
namespace {

bool given(const std::vector<std::string>& arguments, std::initializer_list<std::string_view> names) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return argument == name || argument.starts_with(std::string(name) + "=");
    });
  });
}

}  // namespace

bool hugepages_free() {
  std::error_code error;
  for (const auto& size : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    std::ifstream file(size.path() / "free_hugepages");
    uint64_t count = 0;
    if (file >> count && count > 0) return true;
  }
  return false;
}

std::vector<std::string> eal_arguments(const EalConfig& config, bool hugepages) {
  std::vector<std::string> result = {"l3dml-switch"};
  const auto& user = config.arguments;
  const bool no_huge = given(user, {"--no-huge"}) || !hugepages;
  if (no_huge) {
    if (!given(user, {"--no-huge"})) result.push_back("--no-huge");
    if (!given(user, {"-m", "--socket-mem"})) {
      result.push_back("-m");
      result.push_back(absl::StrCat((config.memory_bytes >> 20) + 32));
    }
    if (!given(user, {"--no-shconf"})) result.push_back("--no-shconf");
  } else if (!given(user, {"--in-memory", "--file-prefix"})) {
    result.push_back("--in-memory");
  }
  if (!given(user, {"--no-telemetry", "--telemetry"})) result.push_back("--no-telemetry");
  // PCI devices are taken only when asked for: a switch must not unbind somebody's NIC.
  if (!given(user, {"-a", "--allow", "-b", "--block", "--no-pci"})) result.push_back("--no-pci");
  if (!given(user, {"--log-level"}))
    result.insert(result.end(),
                  {"--log-level=4", "--log-level=pmd.net.tap:3"});  // errors; tap calls harmless things so
  result.insert(result.end(), user.begin(), user.end());
  return result;
}

absl::Status start_eal(const EalConfig& config) {
  static const absl::Status status = [&]() -> absl::Status {
    std::vector<std::string> arguments = eal_arguments(config, hugepages_free());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    // EAL pins the calling thread to its main core; ours go where the scheduler wants them.
    cpu_set_t cpus;
    pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus);
    const int result = rte_eal_init(static_cast<int>(argv.size()), argv.data());
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    if (result >= 0) return absl::OkStatus();
    std::string line;
    for (size_t i = 1; i < arguments.size(); ++i) absl::StrAppend(&line, i > 1 ? " " : "", arguments[i]);
    return absl::InternalError(absl::StrCat("DPDK did not start (", rte_strerror(rte_errno),
                                            "); check `eal` in the configuration. Arguments were: ", line));
  }();
  return status;
}

void register_dpdk_thread() {
  if (rte_lcore_id() == LCORE_ID_ANY) rte_thread_register();
}
void unregister_dpdk_thread() { rte_thread_unregister(); }

}  // namespace l3dml::io
