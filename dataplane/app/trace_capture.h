// A capture of one port that writes beside each received frame what the pipeline did with it: the packet
// trace, as the frame's pcapng comment. Frames that the port sends on account of it follow it in the file.
//
// Threads: as a Capture, the port's worker; as a trace sink, any (lines of other workers are not of our
// packet).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/heap_pool.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/trace.h"
#include "dataplane/io/capture_file.h"

namespace l3dml::app {

class TraceCapture final : public io::Capture, public base::TraceSink {
 public:
  TraceCapture(std::shared_ptr<io::CaptureFile> file, std::string_view port_name)
      : file_(std::move(file)), interface_(file_->add_interface(port_name)) {}
  ~TraceCapture() override;

  void see(const base::Packet& packet, Direction direction, int64_t now_ns) override;
  bool one_by_one() const override { return true; }
  void done() override;
  void line(uint64_t packet, std::string_view block, const std::string& text) override;

 private:
  struct Frame {
    base::Packet* copy;
    Direction direction;
    int64_t time_ns;
    std::string comment;
  };
  std::shared_ptr<io::CaptureFile> file_;
  uint32_t interface_;
  base::HeapPool pool_{4096, base::kMaxFrame + 128};
  std::vector<Frame> frames_;  // the received one, then those that it caused
};

}  // namespace l3dml::app
