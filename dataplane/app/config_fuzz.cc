// Fuzz target for what the switch reads from outside, packets aside: the first byte picks the configuration
// (YAML), the model's port file (JSON), or a tap's frame with virtio header. Nothing may crash, and what is
// accepted is consistent. With clang: libFuzzer; with any compiler the corpus is replayed as a test.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "dataplane/app/config.h"
#include "dataplane/base/heap_pool.h"
#include "dataplane/io/segmented_frame.h"

namespace {

using namespace l3dml;

void read_config(const std::string& text) {
  const auto config = app::parse_config(text, "fuzz.yaml");
  if (!config.ok()) {
    if (config.status().message().empty()) abort();
    return;
  }
  if (!app::check_config(*config).ok()) abort();
  for (const app::BetweenConfig& between : config->links)
    for (const io::LinkParameters& way : between.link.parameters)
      if (!way.validate().ok()) abort();
}

void read_frame(const uint8_t* data, size_t size) {
  io::SegmentedFrame frame;
  if (size < sizeof frame.header()) return;
  std::memcpy(&frame.header(), data, sizeof frame.header());
  data += sizeof frame.header(), size -= sizeof frame.header();
  std::memcpy(frame.bytes(), data, std::min(size, io::kMaxSegmentedFrame));
  base::HeapPool pool(1);
  if (!frame.begin(std::min(size, io::kMaxSegmentedFrame))) return;
  for (int count = 0; !frame.empty(); ++count) {
    base::Packet* const packet = pool.alloc();
    if (frame.take(*packet) && packet->size > 2048) abort();
    base::release(packet);
    if (count > 70'000) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  app::DeviceConfig device{.name = "d", .id = 0, .device = {}, .ports = {}};
  switch (data[0] % 3) {
    case 0:
      read_config(text);
      break;
    case 1:
      (void)app::add_port_file(text, "fuzz.json", device);
      break;
    default:
      read_frame(data + 1, size - 1);
  }
  return 0;
}
