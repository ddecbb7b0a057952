#include "dataplane/pipeline/testing/pcapng.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <stdexcept>

namespace l3dml::pipeline::testing {
namespace {

// Block types and option codes of draft-ietf-opsawg-pcapng; little-endian files only.
constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kEnhancedPacket = 6;
constexpr uint16_t kOptionName = 2, kOptionResolution = 9;

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void pad(std::string* out) { out->append(-out->size() % 4, '\0'); }

void block(std::string* out, uint32_t type, std::string body) {
  pad(&body);
  const auto size = static_cast<uint32_t>(body.size() + 12);
  put(out, type), put(out, size);
  out->append(body);
  put(out, size);
}

void option(std::string* out, uint16_t code, std::string_view value) {
  put(out, code), put(out, static_cast<uint16_t>(value.size()));
  out->append(value);
  pad(out);
}

template <typename T>
T get(std::string_view bytes, size_t at) {
  T value;
  if (at + sizeof value > bytes.size()) throw std::runtime_error("pcapng: cut short");
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::string to_pcapng(const std::vector<Captured>& packets) {
  std::set<uint16_t> ports;
  for (const Captured& packet : packets) ports.insert(packet.port);
  std::string out, section;
  put(&section, uint32_t{0x1a2b3c4d}), put(&section, uint16_t{1}), put(&section, uint16_t{0}),
      put(&section, int64_t{-1});
  block(&out, kSection, section);
  for (const uint16_t port : ports) {
    std::string body;
    put(&body, uint16_t{1}), put(&body, uint16_t{0}), put(&body, uint32_t{0});
    option(&body, kOptionName, "port " + std::to_string(port));
    option(&body, kOptionResolution, "\x09");
    option(&body, 0, "");
    block(&out, kInterface, body);
  }
  for (const Captured& packet : packets) {
    std::string body;
    const auto size = static_cast<uint32_t>(packet.frame.size());
    put(&body, static_cast<uint32_t>(std::distance(ports.begin(), ports.find(packet.port))));
    put(&body, static_cast<uint32_t>(packet.time_ns >> 32)),
        put(&body, static_cast<uint32_t>(packet.time_ns));
    put(&body, size), put(&body, size);
    block(&out, kEnhancedPacket, body + packet.frame);
  }
  return out;
}

std::vector<Captured> from_pcapng(std::string_view file) {
  std::vector<Captured> packets;
  std::vector<uint16_t> ports;
  for (size_t at = 0; at < file.size();) {
    const auto type = get<uint32_t>(file, at), size = get<uint32_t>(file, at + 4);
    if (size < 12 || at + size > file.size()) throw std::runtime_error("pcapng: bad block size");
    const std::string_view body = file.substr(at + 8, size - 12);
    if (type == kInterface) {
      const std::string name(body.substr(12, get<uint16_t>(body, 10)));
      ports.push_back(static_cast<uint16_t>(std::stoi(name.substr(name.find(' ')))));
    } else if (type == kEnhancedPacket) {
      const int64_t time = int64_t{get<uint32_t>(body, 4)} << 32 | get<uint32_t>(body, 8);
      packets.push_back(
          {ports.at(get<uint32_t>(body, 0)), time, std::string(body.substr(20, get<uint32_t>(body, 12)))});
    }
    at += size;
  }
  return packets;
}

}  // namespace l3dml::pipeline::testing
