#include "dataplane/app/trace_file.h"

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace l3dml::app {

absl::StatusOr<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path, Format format,
                                                             const base::Clock& clock, std::string device) {
  std::FILE* const file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (file == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write trace file ", path, ": ", std::strerror(errno)));
  return std::unique_ptr<TraceFile>(new TraceFile(file, format, clock, std::move(device)));
}

TraceFile::~TraceFile() {
  if (file_ == stdout)
    std::fflush(file_);
  else
    std::fclose(file_);
}

void TraceFile::line(uint64_t packet, std::string_view block, const std::string& text) {
  const int64_t now_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  ++lines_;
  if (format_ == Format::json) {
    const nlohmann::json entry = {{"time_ns", now_ns},
                                  {"device", device_},
                                  {"packet", packet},
                                  {"block", std::string(block)},
                                  {"text", text}};
    std::fprintf(file_, "%s\n", entry.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::fprintf(file_, "%lld.%06lld %s [%llu] %.*s: %s\n", static_cast<long long>(now_ns / base::kSecond),
                 static_cast<long long>(now_ns % base::kSecond / 1000), device_.c_str(),
                 static_cast<unsigned long long>(packet), static_cast<int>(block.size()), block.data(),
                 text.c_str());
  }
}

void TraceFile::flush() {
  const std::lock_guard lock(mutex_);
  std::fflush(file_);
}

uint64_t TraceFile::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

}  // namespace l3dml::app
