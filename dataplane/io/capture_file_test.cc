#include "dataplane/io/capture_file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"

namespace l3dml::io {
namespace {

uint32_t word(const std::string& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, 4);
  return value;
}

TEST(CaptureFile, writes_blocks_that_chain_and_pad) {
  const std::string path = testing::TempDir() + "l3dml_capture.pcapng";
  base::HeapPool pool(4);
  {
    auto file = CaptureFile::create(path, 5'000'000'000);
    ASSERT_TRUE(file.ok()) << file.status();
    const std::shared_ptr<CaptureFile> shared = *std::move(file);
    PortCapture capture(shared, "paris/0");
    base::Packet* packet = pool.alloc();
    std::memcpy(packet->data, "0123456", 7);
    packet->size = 7;
    capture.see(*packet, Capture::Direction::in, 250);
    packet->tail = pool.alloc();
    std::memcpy(packet->tail->data, "abc", 3);
    packet->tail->size = 3;
    shared->write(0, *packet, Capture::Direction::out, 251, "slot 4: complete");
    base::release(packet);
    EXPECT_EQ(shared->packets(), 2u);
    EXPECT_TRUE(shared->ok());
  }
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::pair<uint32_t, size_t>> blocks;  // type, offset
  for (size_t at = 0; at < bytes.size();) {
    const uint32_t size = word(bytes, at + 4);
    ASSERT_EQ(size % 4, 0u);
    ASSERT_LE(at + size, bytes.size());
    ASSERT_EQ(word(bytes, at + size - 4), size);
    blocks.emplace_back(word(bytes, at), at);
    at += size;
  }
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].first, 0x0a0d0d0au);
  EXPECT_EQ(blocks[1].first, 1u);
  const size_t in_at = blocks[2].second, out_at = blocks[3].second;
  EXPECT_EQ((uint64_t{word(bytes, in_at + 12)} << 32) + word(bytes, in_at + 16), 5'000'000'250u);
  EXPECT_EQ(word(bytes, in_at + 20), 7u);
  EXPECT_EQ(bytes.substr(in_at + 28, 7), "0123456");
  EXPECT_EQ(word(bytes, out_at + 24), 10u);
  EXPECT_EQ(bytes.substr(out_at + 28, 10), "0123456abc");
  EXPECT_NE(bytes.find("slot 4: complete"), std::string::npos);
  std::filesystem::remove(path);
}

TEST(CaptureFile, says_which_file_cannot_be_written) {
  const auto file = CaptureFile::create("/nonexistent/x.pcapng", 0);
  EXPECT_EQ(file.status().message(),
            "cannot write capture file /nonexistent/x.pcapng: No such file or directory");
}

}  // namespace
}  // namespace l3dml::io
