#include "dataplane/io/segmented_frame.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/io/checksum.h"

namespace l3dml::io {
namespace {

// UDP over IPv6 with `payload` bytes, as a host hands it over for segmentation: pseudo sum in the checksum
// field.
size_t fill(SegmentedFrame& frame, size_t payload, uint16_t gso_size) {
  uint8_t* const b = frame.bytes();
  std::memset(b, 0, 62);
  b[12] = 0x86;
  b[13] = 0xdd;
  b[14] = 0x60;
  b[20] = 17;
  b[22] = b[38] = 0xfd;
  for (size_t i = 0; i < payload; ++i) b[62 + i] = static_cast<uint8_t>(i * 31);
  const size_t udp = 8 + payload;
  b[18] = b[58] = static_cast<uint8_t>(udp >> 8);
  b[19] = b[59] = static_cast<uint8_t>(udp);
  base::Packet view;
  view.data = b;
  view.size = static_cast<uint32_t>(62 + payload);
  write_udp_pseudo_sum(view);
  frame.header() = {.flags = kNeedsChecksum,
                    .gso_type = gso_size ? kGsoUdp : uint8_t{0},
                    .hdr_len = 62,
                    .gso_size = gso_size,
                    .csum_start = 54,
                    .csum_offset = 6};
  return 62 + payload;
}

TEST(SegmentedFrame, cuts_segments_that_are_sound_packets) {
  SegmentedFrame frame;
  base::HeapPool pool(1);
  const size_t size = fill(frame, 2500, 1000);
  ASSERT_TRUE(frame.begin(size));
  size_t payload = 0;
  for (const size_t expected : {1000u, 1000u, 500u}) {
    ASSERT_FALSE(frame.empty());
    base::Packet* packet = pool.alloc();
    ASSERT_TRUE(frame.take(*packet));
    ASSERT_EQ(packet->size, 62 + expected);
    EXPECT_EQ(packet->data[18] << 8 | packet->data[19], static_cast<int>(8 + expected));
    EXPECT_EQ(packet->data[62], static_cast<uint8_t>(payload * 31));
    const uint32_t sum = uint32_t{ones_sum(packet->data + 22, 32)} + 17 +
                         static_cast<uint32_t>(8 + expected) + ones_sum(packet->data + 54, packet->size - 54);
    EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
    payload += expected;
    base::release(packet);
  }
  EXPECT_TRUE(frame.empty());
}

TEST(SegmentedFrame, cuts_ipv4_with_ids_and_header_checksums) {
  SegmentedFrame frame;
  uint8_t* const b = frame.bytes();
  std::memset(b, 1, 62);
  b[12] = 0x08;
  b[13] = 0x00;
  b[14] = 0x45;
  b[18] = 0;
  b[19] = 7;  // id
  b[23] = 17;
  frame.header() = {
      .flags = kNeedsChecksum, .gso_type = kGsoUdp, .gso_size = 10, .csum_start = 34, .csum_offset = 6};
  ASSERT_TRUE(frame.begin(62));
  base::HeapPool pool(1);
  for (int i = 0; i < 2; ++i) {
    base::Packet* packet = pool.alloc();
    ASSERT_TRUE(frame.take(*packet));
    EXPECT_EQ(packet->size, 52u);
    EXPECT_EQ(packet->data[19], 7 + i);
    EXPECT_EQ(packet->data[17], 38);
    EXPECT_EQ(ones_sum(packet->data + 14, 20), 0xffff);
    base::release(packet);
  }
  EXPECT_TRUE(frame.empty());
}

TEST(SegmentedFrame, finishes_the_checksum_of_a_single_packet) {
  SegmentedFrame frame;
  base::HeapPool pool(1);
  ASSERT_TRUE(frame.begin(fill(frame, 333, 0)));
  base::Packet* packet = pool.alloc();
  ASSERT_TRUE(frame.take(*packet));
  EXPECT_TRUE(frame.empty());
  const uint32_t sum =
      uint32_t{ones_sum(packet->data + 22, 32)} + 17 + 341 + ones_sum(packet->data + 54, 341);
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
  base::release(packet);
}

TEST(SegmentedFrame, refuses_headers_that_contradict_the_frame) {
  SegmentedFrame frame;
  const size_t size = fill(frame, 100, 0);
  frame.header().csum_start = 160;
  EXPECT_FALSE(frame.begin(size));
  EXPECT_TRUE(frame.empty());
  fill(frame, 100, 10);
  frame.header().gso_type = kGsoTcp6;
  EXPECT_FALSE(frame.begin(size));
  fill(frame, 100, 10);
  frame.header().gso_size = 0;
  EXPECT_FALSE(frame.begin(size));
  fill(frame, 0, 10);
  EXPECT_FALSE(frame.begin(62));
  EXPECT_FALSE(frame.begin(5));
}

TEST(SegmentedFrame, skips_what_is_larger_than_a_packet) {
  SegmentedFrame frame;
  base::HeapPool pool(1, 512);
  ASSERT_TRUE(frame.begin(fill(frame, 1000, 0)));
  base::Packet* packet = pool.alloc();
  EXPECT_FALSE(frame.take(*packet));
  EXPECT_TRUE(frame.empty());
  base::release(packet);
}

}  // namespace
}  // namespace l3dml::io
