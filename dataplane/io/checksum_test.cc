#include "dataplane/io/checksum.h"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/io/ecn.h"

namespace l3dml::io {
namespace {

// RFC 1071, word by word: the specification.
uint16_t plain_sum(const std::vector<uint8_t>& bytes, size_t begin = 0) {
  uint32_t sum = 0;
  for (size_t i = begin; i < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

std::vector<uint8_t> udp_frame(size_t payload, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> frame(62 + payload);
  for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
  frame[12] = 0x86;
  frame[13] = 0xdd;
  frame[20] = 17;
  const size_t udp = 8 + payload;
  for (size_t at : {size_t{18}, size_t{58}}) {
    frame[at] = static_cast<uint8_t>(udp >> 8);
    frame[at + 1] = static_cast<uint8_t>(udp);
  }
  return frame;
}

// A receiver's check: everything with the pseudo header sums to all ones.
bool verifies(const std::vector<uint8_t>& frame) {
  std::vector<uint8_t> pseudo(frame.begin() + 22, frame.begin() + 54);
  const size_t udp = frame.size() - 54;
  pseudo.insert(pseudo.end(), {static_cast<uint8_t>(udp >> 8), static_cast<uint8_t>(udp), 0, 17});
  const uint32_t sum = uint32_t{plain_sum(pseudo)} + plain_sum(frame, 54);
  return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

class ChecksumTest : public testing::Test {
 protected:
  base::HeapPool pool_{4};

  base::Packet* head(const std::vector<uint8_t>& frame, size_t size) {
    base::Packet* packet = pool_.alloc();
    std::memcpy(packet->data, frame.data(), size);
    packet->size = static_cast<uint32_t>(size);
    return packet;
  }
  base::Packet* split(const std::vector<uint8_t>& frame, size_t head_size, bool with_sum) {
    base::Packet* packet = head(frame, head_size);
    packet->tail = pool_.alloc();
    packet->tail->size = static_cast<uint32_t>(frame.size() - head_size);
    std::memcpy(packet->tail->data, frame.data() + head_size, packet->tail->size);
    packet->tail->has_sum = with_sum;
    packet->tail->sum = with_sum ? plain_sum(frame, head_size) : 0xdead;
    return packet;
  }
  static std::vector<uint8_t> bytes(const base::Packet& packet) {
    std::vector<uint8_t> result(packet.data, packet.data + packet.size);
    if (packet.tail) result.insert(result.end(), packet.tail->data, packet.tail->data + packet.tail->size);
    return result;
  }
};

TEST_F(ChecksumTest, sum_is_that_of_the_rfc_for_all_sizes) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 200; ++size) {
    std::vector<uint8_t> data(size);
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random());
    const uint16_t expected = plain_sum(data), got = ones_sum(data.data(), size);
    EXPECT_TRUE(expected == got || (expected == 0xffff && got == 0)) << size;
  }
  const std::vector<uint8_t> ones(64, 0xff);
  EXPECT_EQ(ones_sum(ones.data(), 64), 0xffff);
}

TEST_F(ChecksumTest, udp_checksum_verifies_in_one_piece_and_in_two) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const auto frame = udp_frame(24 + seed * 7, seed);
    for (const bool with_sum : {false, true})
      for (const size_t head_size : {size_t{62}, size_t{71}, size_t{86}, frame.size()}) {
        base::Packet* packet =
            head_size == frame.size() ? head(frame, head_size) : split(frame, head_size, with_sum);
        ASSERT_TRUE(write_udp_checksum(*packet));
        EXPECT_TRUE(verifies(bytes(*packet))) << seed << ' ' << head_size << ' ' << with_sum;
        base::release(packet);
      }
  }
}

TEST_F(ChecksumTest, never_writes_zero_which_means_none) {
  auto frame = udp_frame(2, 3);
  frame[60] = frame[61] = frame[62] = frame[63] = 0;
  base::Packet* packet = head(frame, frame.size());
  write_udp_checksum(*packet);
  const uint16_t checksum = static_cast<uint16_t>(packet->data[60] << 8 | packet->data[61]);
  packet->data[62] = static_cast<uint8_t>(checksum >> 8);  // a payload that makes the sum all ones
  packet->data[63] = static_cast<uint8_t>(checksum);
  write_udp_checksum(*packet);
  EXPECT_EQ(packet->data[60] << 8 | packet->data[61], 0xffff);
  base::release(packet);
}

TEST_F(ChecksumTest, leaves_other_frames_alone) {
  auto frame = udp_frame(20, 4);
  frame[20] = 6;
  base::Packet* packet = head(frame, frame.size());
  EXPECT_FALSE(write_udp_checksum(*packet));
  EXPECT_EQ(bytes(*packet), frame);
  packet->size = 40;
  EXPECT_FALSE(write_udp_pseudo_sum(*packet));
  base::release(packet);
}

TEST_F(ChecksumTest, pseudo_sum_is_what_a_nic_completes) {
  const auto frame = udp_frame(100, 5);
  base::Packet* packet = head(frame, frame.size());
  ASSERT_TRUE(write_udp_pseudo_sum(*packet));
  const auto done = static_cast<uint16_t>(~ones_sum(packet->data + 54, packet->size - 54));
  packet->data[60] = static_cast<uint8_t>(done >> 8);
  packet->data[61] = static_cast<uint8_t>(done);
  EXPECT_TRUE(verifies(bytes(*packet)));
  base::release(packet);
}

TEST_F(ChecksumTest, congestion_mark_keeps_the_ipv4_header_sound) {
  std::vector<uint8_t> frame(60, 0x5a);
  frame[12] = 0x08;
  frame[13] = 0x00;
  frame[14] = 0x45;
  frame[15] = 0x02;
  frame[24] = frame[25] = 0;
  const auto sum = static_cast<uint16_t>(~ones_sum(frame.data() + 14, 20));
  frame[24] = static_cast<uint8_t>(sum >> 8);
  frame[25] = static_cast<uint8_t>(sum);
  base::Packet* packet = head(frame, frame.size());
  EXPECT_TRUE(mark_congestion(*packet));
  EXPECT_EQ(packet->data[15] & 3, 3);
  EXPECT_EQ(ones_sum(packet->data + 14, 20), 0xffff);
  packet->data[15] = 0;
  EXPECT_FALSE(mark_congestion(*packet));
  base::release(packet);
}

}  // namespace
}  // namespace l3dml::io
