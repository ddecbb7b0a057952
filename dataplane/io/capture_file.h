// A pcapng file that ports write to (draft-ietf-opsawg-pcapng): one interface block per port, enhanced packet
// blocks with direction, nanosecond times and an optional comment. Own writer, since DPDK's wants mbufs of
// its own.
//
// Threads: any; a lock around each packet, so capture costs speed. Failure: a full disk ends the capture,
// ok() tells.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "dataplane/io/port.h"

namespace l3dml::io {

class CaptureFile {
 public:
  // `wall_offset_ns` + a packet's time = nanoseconds since 1970. `snap_size` bytes are kept of each frame.
  static absl::StatusOr<std::unique_ptr<CaptureFile>> create(const std::string& path, int64_t wall_offset_ns,
                                                             uint32_t snap_size = 65535);
  ~CaptureFile();

  uint32_t add_interface(std::string_view name);  // its index
  void write(uint32_t interface, const base::Packet& packet, Capture::Direction direction, int64_t now_ns,
             std::string_view comment = {});
  void flush();
  bool ok() const;
  uint64_t packets() const;

 private:
  CaptureFile(std::FILE* file, int64_t wall_offset_ns, uint32_t snap_size);
  void put(const void* bytes, size_t size);
  void option(uint16_t code, const void* bytes, size_t size);

  mutable std::mutex mutex_;
  std::FILE* file_;
  int64_t wall_offset_ns_;
  uint32_t snap_size_;  // bytes
  uint32_t interfaces_ = 0;
  uint64_t packets_ = 0;
  bool ok_ = true;
};

// The view of one port on a file.
class PortCapture final : public Capture {
 public:
  PortCapture(std::shared_ptr<CaptureFile> file, std::string_view port_name)
      : file_(std::move(file)), interface_(file_->add_interface(port_name)) {}
  void see(const base::Packet& packet, Direction direction, int64_t now_ns) override {
    file_->write(interface_, packet, direction, now_ns);
  }
  CaptureFile& file() { return *file_; }

 private:
  std::shared_ptr<CaptureFile> file_;
  uint32_t interface_;
};

}  // namespace l3dml::io
