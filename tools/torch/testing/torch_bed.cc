// Runs a command once per rank around a real device on loopback, in a network namespace of its own:
//
//   torch_bed --world 4 --loss 0.01 -- python3 script.py
//
// sets RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, GLOO_SOCKET_IFNAME and L3DML_JOB as the lab does. --once
// starts one process (torchrun, say), with "{rank}" left in L3DML_JOB. Exit code: the first that is not 0;
// 128 + signal for a rank that was killed, which --may-die RANK forgives; 77 where a namespace cannot be
// made.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/host/testing/loopback_switch.h"
#include "tools/torch/testing/device_switch.h"

namespace {

struct Options {
  unsigned world = 2;
  double loss = 0, timeout_s = 60;
  uint64_t seed = 1;
  bool once = false;
  int may_die = -1;
  std::vector<std::string> command;
};

pid_t start(const Options& options, const std::string& folder, int rank) {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  set("L3DML_JOB", folder + "/rank" + (options.once ? "{rank}" : std::to_string(rank)) + ".json");
  set("GLOO_SOCKET_IFNAME", "lo");
  set("OMP_NUM_THREADS", "1");
  if (!options.once) {
    set("RANK", std::to_string(rank)), set("LOCAL_RANK", std::to_string(rank));
    set("WORLD_SIZE", std::to_string(options.world));
    set("MASTER_ADDR", "127.0.0.1"), set("MASTER_PORT", "29500");
  }
  std::vector<char*> arguments;
  for (const std::string& word : options.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  std::cerr << "cannot run " << arguments[0] << '\n';
  _exit(127);
}

int run(const Options& options) {
  if (!l3dml::host::testing::enter_private_network()) {
    std::cerr << "torch_bed: needs the right to make a network namespace (root, or user namespaces)\n";
    return 77;
  }
  l3dml::pytorch::testing::DeviceSwitch device(options.world, options.loss, options.seed);
  device.start();

  char folder[] = "/tmp/l3dml-bed-XXXXXX";
  if (!mkdtemp(folder)) throw std::runtime_error("cannot make a folder in /tmp");
  for (unsigned rank = 0; rank < options.world; ++rank) {
    l3dml::host::JobConfig config;
    config.name = "bed";
    config.world = options.world, config.rank = rank;
    config.timeout_ns = static_cast<int64_t>(options.timeout_s * 1e9);
    config.stripes = {device.stripe(rank)};
    const absl::Status saved = save_job_config(config, folder + ("/rank" + std::to_string(rank)) + ".json");
    if (!saved.ok()) throw std::runtime_error(std::string(saved.message()));
  }

  std::vector<pid_t> children;
  for (unsigned rank = 0; rank < (options.once ? 1 : options.world); ++rank)
    children.push_back(start(options, folder, static_cast<int>(rank)));
  int exit_code = 0;
  for (size_t rank = 0; rank < children.size(); ++rank) {
    int status = 0;
    waitpid(children[rank], &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (exit_code == 0 && static_cast<int>(rank) != options.may_die) exit_code = code;
  }
  std::filesystem::remove_all(folder);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a command once per rank around a real device on loopback.");
  app.add_option("--world", options.world, "number of ranks")->check(CLI::Range(1, 16));
  app.add_option("--loss", options.loss, "share of packets lost, each way")->check(CLI::Range(0.0, 0.9));
  app.add_option("--seed", options.seed, "of the losses");
  app.add_option("--timeout", options.timeout_s, "seconds without progress after which an allreduce fails");
  app.add_option("--may-die", options.may_die, "a rank that the command kills");
  app.add_flag("--once", options.once, "start the command once, not once per rank");
  app.add_option("command", options.command, "command and arguments, after --")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "torch_bed: " << error.what() << '\n';
    return 1;
  }
}
