#include "tools/lab/daemon.h"

#include <fstream>

#include <poll.h>

#include "absl/strings/str_cat.h"
#include "tools/lab/status.h"

namespace l3dml::lab {
namespace {

constexpr int kReadyMs = 30'000;

}  // namespace

absl::StatusOr<Daemon> Daemon::start(const std::string& what, const std::vector<std::string>& command,
                                     const std::string& log, Record* record) {
  auto process = Process::start(
      {.command = command, .environment = {}, .netns = "", .output_file = log, .directory = ""});
  if (!process.ok()) return process.status();
  L3DML_RETURN_IF_ERROR(record->add_process(process->pid()));
  Daemon daemon(what, *std::move(process), log);
  L3DML_RETURN_IF_ERROR(daemon.wait_ready());
  return daemon;
}

absl::Status Daemon::wait_ready() {
  for (int waited = 0; waited < kReadyMs; waited += 20) {
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) {
      auto said = nlohmann::json::parse(line, nullptr, false);
      if (!said.is_object() || !said.value("ready", false)) continue;
      said_ = std::move(said);
      return absl::OkStatus();
    }
    L3DML_RETURN_IF_ERROR(check());
    ::poll(nullptr, 0, 20);
  }
  return absl::DeadlineExceededError(
      absl::StrCat(what_, " is not ready after ", kReadyMs / 1000, " s: ", last_words(), " [", log_, "]"));
}

absl::Status Daemon::check() {
  const auto code = process_.poll();
  if (!code) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what_, " ended with ", describe_exit(*code), ": ", last_words(), " [", log_, "]"));
}

std::string Daemon::last_words() const {
  std::ifstream in(log_);
  std::string last = "it said nothing";
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace l3dml::lab
