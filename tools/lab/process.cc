#include "tools/lab/process.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace l3dml::lab {
namespace {

// What the child does between fork and exec. The first failure is written to `report`, as errno and a word.
[[noreturn]] void become(const ProcessSpec& spec, char** argv, char** env, pid_t parent, int report) {
  const auto fail = [&](const char* what) {
    const int error = errno;
    const std::string text = absl::StrCat(what, ": ", std::strerror(error));
    (void)!write(report, text.data(), text.size());
    _exit(127);
  };
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the lab died before we asked
  if (!spec.netns.empty()) {
    const int ns = open(("/run/netns/" + spec.netns).c_str(), O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) != 0) fail("network namespace");
  }
  if (!spec.output_file.empty()) {
    const int out = open(spec.output_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    if (out < 0) fail("output file");
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
  }
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (!spec.directory.empty() && chdir(spec.directory.c_str()) != 0) fail("directory");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvpe(argv[0], argv, env);
  fail("program");
  _exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

absl::StatusOr<Process> Process::start(const ProcessSpec& spec) {
  std::vector<std::string> env_texts;
  for (char** e = environ; *e; ++e) {
    const absl::string_view entry(*e);
    if (!spec.environment.contains(std::string(entry.substr(0, entry.find('=')))))
      env_texts.emplace_back(entry);
  }
  for (const auto& [key, value] : spec.environment) env_texts.push_back(absl::StrCat(key, "=", value));
  std::vector<char*> env, argv;
  for (std::string& e : env_texts) env.push_back(e.data());
  env.push_back(nullptr);
  std::vector<std::string> words = spec.command;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);

  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(spec, argv.data(), env.data(), parent, report[1]);
  close(report[1]);
  if (pid < 0) {
    close(report[0]);
    return absl::InternalError(absl::StrCat("fork: ", std::strerror(errno)));
  }
  char text[256];
  const ssize_t n = read(report[0], text, sizeof text);  // end of file when exec closed it
  close(report[0]);
  if (n > 0) {
    waitpid(pid, nullptr, 0);
    return absl::FailedPreconditionError(absl::StrCat("cannot start ", spec.command[0], ": ",
                                                      absl::string_view(text, static_cast<size_t>(n))));
  }
  return Process(pid);
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), exit_(other.exit_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(exit_, other.exit_);
  return *this;
}

Process::~Process() {
  if (pid_ > 0) stop(0);
}

std::optional<int> Process::poll() {
  int status = 0;
  if (!exit_ && pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) exit_ = code_of(status);
  return exit_;
}

void Process::stop(int64_t grace_ms) {
  if (!poll() && grace_ms > 0) {
    kill(-pid_, SIGTERM);
    for (int64_t waited = 0; waited < grace_ms && !poll(); waited += 10) ::poll(nullptr, 0, 10);
  }
  if (pid_ > 0) kill(-pid_, SIGKILL);  // also what it left behind in its group
  if (!exit_) {
    int status = 0;
    if (waitpid(pid_, &status, 0) == pid_) exit_ = code_of(status);
  }
  pid_ = -1;
}

absl::StatusOr<std::string> run(const std::vector<std::string>& command, const std::string& input) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    return absl::InternalError(absl::StrCat("pipe: ", std::strerror(errno)));
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    std::vector<std::string> words = command;
    std::vector<char*> argv;
    for (std::string& w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  if (!input.empty()) (void)!write(in[1], input.data(), input.size());  // far below what a pipe holds
  close(in[1]);
  std::string text;
  char part[4096];
  for (ssize_t n; (n = read(out[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  close(out[0]);
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return absl::InternalError("fork failed");
  if (code_of(status) == 127)
    return absl::FailedPreconditionError(absl::StrCat(command[0], " is not installed"));
  if (code_of(status) != 0) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return absl::InternalError(absl::StrCat(absl::StrJoin(command, " "), ": ", text));
  }
  return text;
}

uint64_t start_time(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t after_name = text.rfind(')');  // the name may hold anything
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(after_name + 1));
  std::string field;
  for (int i = 3; i <= 21; ++i) fields >> field;
  uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::string describe_exit(int code) {
  return code > 128 ? absl::StrCat("killed by signal ", code - 128, " (", strsignal(code - 128), ")")
                    : absl::StrCat("exit code ", code);
}

}  // namespace l3dml::lab
