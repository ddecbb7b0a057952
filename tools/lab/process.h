// A child process of the lab: in a process group of its own (Ctrl-C reaches the lab alone, which then ends
// its children in order), killed by the kernel if the lab dies, and optionally in a network namespace. One
// thread. Failure to exec is reported by start(), not by a dead child.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace l3dml::lab {

struct ProcessSpec {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // on top of ours
  std::string netns;                               // name under /run/netns; empty: ours
  std::string output_file;                         // both streams; empty: inherited
  std::string directory;                           // empty: ours
};

class Process {
 public:
  static absl::StatusOr<Process> start(const ProcessSpec& spec);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // ends the whole group at once if it still runs

  pid_t pid() const { return pid_; }
  // How it ended (exit code, or 128 + signal); nothing while it runs.
  std::optional<int> poll();
  // Asks the group to end, waits, then kills it. Returns once it is gone.
  void stop(int64_t grace_ms = 3000);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> exit_;
};

// Runs to the end; the error carries what it printed.
absl::StatusOr<std::string> run(const std::vector<std::string>& command, const std::string& input = "");

// When the process started, in clock ticks since boot: tells a process from another one that got its number
// later. 0: no such process.
uint64_t start_time(pid_t pid);

std::string describe_exit(int code);  // "exit code 1", "killed by signal 9 (Killed)"

}  // namespace l3dml::lab
