// A file of packet traces: what the pipeline says about each packet it was asked to follow, one line a block,
// as text or as JSON lines. Threads: any (pipes of one device may run on several). Buffered, flushed by
// flush() and at the end; a full disk ends it silently, ok() tells.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/base/clock.h"
#include "dataplane/base/trace.h"

namespace l3dml::app {

class TraceFile final : public base::TraceSink {
 public:
  enum class Format : uint8_t { text, json };
  // `path` "-": standard output.
  static absl::StatusOr<std::unique_ptr<TraceFile>> create(const std::string& path, Format format,
                                                           const base::Clock& clock, std::string device);
  ~TraceFile() override;

  void line(uint64_t packet, std::string_view block, const std::string& text) override;
  void flush();
  uint64_t lines() const;

 private:
  TraceFile(std::FILE* file, Format format, const base::Clock& clock, std::string device)
      : file_(file), format_(format), clock_(clock), device_(std::move(device)) {}

  mutable std::mutex mutex_;
  std::FILE* file_;
  Format format_;
  const base::Clock& clock_;
  std::string device_;
  uint64_t lines_ = 0;
};

}  // namespace l3dml::app
