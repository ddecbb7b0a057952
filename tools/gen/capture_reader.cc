#include "tools/gen/capture_reader.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "dataplane/base/endian.h"

namespace l3dml::gen {
namespace {

constexpr uint32_t kMicro = 0xa1b2c3d4, kNano = 0xa1b23c4d;  // pcap
constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kSimple = 3, kEnhanced = 6, kOrder = 0x1a2b3c4d;
constexpr uint16_t kEthernet = 1, kResolution = 9;
constexpr size_t kMostBytes = 65535;  // of a frame

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}
  bool swapped = false;  // the file's byte order is not ours

  template <typename Int>
  Int get(size_t at) const {  // the caller has checked the size
    Int value;
    std::memcpy(&value, file_.data() + at, sizeof value);
    return swapped ? base::swap_bytes(value) : value;
  }
  bool holds(size_t at, size_t size) const { return at <= file_.size() && size <= file_.size() - at; }
  size_t size() const { return file_.size(); }
  std::string bytes(size_t at, size_t size) const { return std::string(file_.substr(at, size)); }

 private:
  std::string_view file_;
};

absl::Status bad(size_t at, const char* what) {
  return absl::InvalidArgumentError(absl::StrCat("at byte ", at, ": ", what));
}

absl::StatusOr<std::vector<CapturedFrame>> parse_pcap(Reader reader, bool nano) {
  std::vector<CapturedFrame> frames;
  if (!reader.holds(0, 24)) return bad(0, "the pcap header is cut short");
  if ((reader.get<uint32_t>(20) & 0xffff) != kEthernet) return bad(20, "only Ethernet can be replayed");
  for (size_t at = 24; at < reader.size();) {
    if (!reader.holds(at, 16)) return bad(at, "a packet header is cut short");
    const auto size = reader.get<uint32_t>(at + 8);
    if (size > kMostBytes || !reader.holds(at + 16, size)) return bad(at, "a packet is longer than the file");
    const int64_t fraction = reader.get<uint32_t>(at + 4);
    frames.push_back({int64_t{reader.get<uint32_t>(at)} * 1'000'000'000 + fraction * (nano ? 1 : 1000), 0,
                      reader.bytes(at + 16, size)});
    at += 16 + size;
  }
  return frames;
}

struct Interface {
  bool ethernet = true;
  uint32_t snap_size = 0;
  double ns_per_tick = 1000;
};

// Of an interface block that ends at `end`: what its options say of time.
double resolution(const Reader& reader, size_t at, size_t end) {
  while (at + 4 <= end) {
    const auto code = reader.get<uint16_t>(at), size = reader.get<uint16_t>(at + 2);
    if (code == 0 || at + 4 + size > end) break;
    if (code == kResolution && size == 1) {
      const auto value = static_cast<uint8_t>(reader.bytes(at + 4, 1)[0]);
      double ns = 1e9;
      for (int i = 0; i < (value & 127); ++i) ns /= value & 128 ? 2 : 10;
      return ns;
    }
    at += 4 + ((size + 3u) & ~3u);
  }
  return 1000;
}

absl::StatusOr<std::vector<CapturedFrame>> parse_pcapng(Reader reader) {
  std::vector<CapturedFrame> frames;
  std::vector<Interface> interfaces;
  size_t first_interface = 0;  // of the section
  for (size_t at = 0; at < reader.size();) {
    if (!reader.holds(at, 12)) return bad(at, "a block is cut short");
    if (reader.get<uint32_t>(at) == kSection) {
      const auto order = reader.get<uint32_t>(at + 8);
      if (order != kOrder && order != base::swap_bytes(kOrder))
        return bad(at, "the section has no byte order");
      if (order != kOrder) reader.swapped = !reader.swapped;
      first_interface = interfaces.size();
    }
    const auto type = reader.get<uint32_t>(at);
    const size_t size = reader.get<uint32_t>(at + 4);
    if (size < 12 || size % 4 || !reader.holds(at, size)) return bad(at, "a block is longer than the file");
    const size_t end = at + size - 4;
    if (type == kInterface) {
      if (size < 20) return bad(at, "an interface block is too short");
      interfaces.push_back({reader.get<uint16_t>(at + 8) == kEthernet, reader.get<uint32_t>(at + 12),
                            resolution(reader, at + 16, end)});
    } else if (type == kEnhanced || type == kSimple) {
      const bool enhanced = type == kEnhanced;
      const size_t head = enhanced ? 28 : 12;
      if (size < head + 4) return bad(at, "a packet block is too short");
      const size_t index = first_interface + (enhanced ? reader.get<uint32_t>(at + 8) : 0);
      if (index >= interfaces.size()) return bad(at, "a packet names an interface that was not described");
      const Interface& interface = interfaces[index];
      if (!interface.ethernet) return bad(at, "only Ethernet can be replayed");
      size_t bytes = reader.get<uint32_t>(at + (enhanced ? 20 : 8));
      if (!enhanced && interface.snap_size) bytes = std::min<size_t>(bytes, interface.snap_size);
      if (bytes > kMostBytes || head + bytes > size - 4) return bad(at, "a packet is longer than its block");
      const uint64_t ticks =
          enhanced ? uint64_t{reader.get<uint32_t>(at + 12)} << 32 | reader.get<uint32_t>(at + 16) : 0;
      frames.push_back({static_cast<int64_t>(static_cast<long double>(ticks) * interface.ns_per_tick),
                        static_cast<uint32_t>(index), reader.bytes(at + head, bytes)});
    }
    at += size;
  }
  return frames;
}

}  // namespace

absl::StatusOr<std::vector<CapturedFrame>> parse_capture(std::string_view file) {
  Reader reader(file);
  if (!reader.holds(0, 4)) return bad(0, "too short for a capture");
  const auto magic = reader.get<uint32_t>(0);
  if (magic == kSection) return parse_pcapng(reader);
  for (const uint32_t known : {kMicro, kNano}) {
    if (magic != known && magic != base::swap_bytes(known)) continue;
    reader.swapped = magic != known;
    return parse_pcap(reader, known == kNano);
  }
  return bad(0, "neither pcap nor pcapng");
}

absl::StatusOr<std::vector<CapturedFrame>> read_capture(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  auto frames = parse_capture(text.str());
  if (!frames.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", frames.status().message()));
  return frames;
}

}  // namespace l3dml::gen
