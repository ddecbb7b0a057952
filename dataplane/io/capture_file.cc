#include "dataplane/io/capture_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace l3dml::io {
namespace {

constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kPacket = 6;
constexpr uint16_t kEnd = 0, kComment = 1, kName = 2, kFlags = 2, kResolution = 9;
constexpr uint16_t kEthernet = 1;

constexpr size_t padded(size_t size) { return (size + 3) & ~size_t{3}; }
constexpr size_t option_size(size_t size) { return 4 + padded(size); }

struct SectionBlock {
  uint32_t type = kSection, size = sizeof(SectionBlock), magic = 0x1a2b3c4d;
  uint16_t major = 1, minor = 0;
  uint32_t section_low = ~0u, section_high = ~0u;  // length not given
  uint32_t size_again = sizeof(SectionBlock);
};
static_assert(sizeof(SectionBlock) == 28);

struct InterfaceHead {
  uint32_t type = kInterface, size = 0;
  uint16_t link_type = kEthernet, reserved = 0;
  uint32_t snap_size = 0;
};

struct PacketHead {
  uint32_t type = kPacket, size = 0, interface = 0, time_high = 0, time_low = 0, captured = 0, original = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CaptureFile>> CaptureFile::create(const std::string& path,
                                                                 int64_t wall_offset_ns, uint32_t snap_size) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write capture file ", path, ": ", std::strerror(errno)));
  std::setvbuf(file, nullptr, _IOFBF, 1 << 18);
  std::unique_ptr<CaptureFile> result(new CaptureFile(file, wall_offset_ns, snap_size));
  const SectionBlock section;
  result->put(&section, sizeof section);
  return result;
}

CaptureFile::CaptureFile(std::FILE* file, int64_t wall_offset_ns, uint32_t snap_size)
    : file_(file), wall_offset_ns_(wall_offset_ns), snap_size_(snap_size) {}

CaptureFile::~CaptureFile() { std::fclose(file_); }

void CaptureFile::put(const void* bytes, size_t size) {
  static constexpr char kZeros[4] = {};
  if (size == 0) return;
  if (std::fwrite(bytes, 1, size, file_) != size) ok_ = false;
  if (const size_t padding = padded(size) - size; std::fwrite(kZeros, 1, padding, file_) != padding)
    ok_ = false;
}

void CaptureFile::option(uint16_t code, const void* bytes, size_t size) {
  const uint16_t head[2] = {code, static_cast<uint16_t>(size)};
  put(head, sizeof head);
  put(bytes, size);
}

uint32_t CaptureFile::add_interface(std::string_view name) {
  const std::lock_guard lock(mutex_);
  constexpr uint8_t kNanoseconds = 9;
  InterfaceHead head;
  head.snap_size = snap_size_;
  head.size =
      static_cast<uint32_t>(sizeof head + option_size(name.size()) + option_size(1) + option_size(0) + 4);
  put(&head, sizeof head);
  option(kName, name.data(), name.size());
  option(kResolution, &kNanoseconds, 1);
  option(kEnd, nullptr, 0);
  put(&head.size, 4);
  return interfaces_++;
}

void CaptureFile::write(uint32_t interface, const base::Packet& packet, Capture::Direction direction,
                        int64_t now_ns, std::string_view comment) {
  const std::lock_guard lock(mutex_);
  if (!ok_) return;
  comment = comment.substr(0, 65535);
  const auto time = static_cast<uint64_t>(now_ns + wall_offset_ns_);
  PacketHead head;
  head.interface = interface;
  head.time_high = static_cast<uint32_t>(time >> 32);
  head.time_low = static_cast<uint32_t>(time);
  head.original = packet.frame_size();
  head.captured = std::min(head.original, snap_size_);
  head.size = static_cast<uint32_t>(sizeof head + padded(head.captured) + option_size(4) + option_size(0) +
                                    4 + (comment.empty() ? 0 : option_size(comment.size())));
  put(&head, sizeof head);
  const uint32_t from_head = std::min(packet.size, head.captured);
  const uint32_t from_tail = head.captured - from_head;
  if (from_tail != 0) {  // in two pieces, so without the padding that put() adds
    if (std::fwrite(packet.data, 1, from_head, file_) != from_head) ok_ = false;
    if (std::fwrite(packet.tail->data, 1, from_tail, file_) != from_tail) ok_ = false;
    constexpr char kZeros[4] = {};
    const size_t padding = padded(head.captured) - head.captured;
    if (std::fwrite(kZeros, 1, padding, file_) != padding) ok_ = false;
  } else {
    put(packet.data, from_head);
  }
  const uint32_t flags = direction == Capture::Direction::in ? 1 : 2;
  option(kFlags, &flags, 4);
  if (!comment.empty()) option(kComment, comment.data(), comment.size());
  option(kEnd, nullptr, 0);
  put(&head.size, 4);
  ++packets_;
}

void CaptureFile::flush() {
  const std::lock_guard lock(mutex_);
  if (std::fflush(file_) != 0) ok_ = false;
}

bool CaptureFile::ok() const {
  const std::lock_guard lock(mutex_);
  return ok_;
}

uint64_t CaptureFile::packets() const {
  const std::lock_guard lock(mutex_);
  return packets_;
}

}  // namespace l3dml::io
