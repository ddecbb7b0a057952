// What a MAC lets through, turns round, holds back and counts.
#include "dataplane/io/mac_port.h"

#include <cstring>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/io/memory_port.h"

namespace l3dml::io {
namespace {

struct Bell final : Wakeable {
  void wake() override {}
};

class MacPortTest : public testing::Test {
 protected:
  explicit MacPortTest(bool one_worker = true) {
    auto line = std::make_unique<MemoryPort>("port");
    line_ = line.get();
    mac_ = std::make_unique<MacPort>(std::move(line), nullptr, bell_, one_worker);
  }
  base::Packet* frame(uint32_t size, uint8_t first = 2) {
    base::Packet* packet = pool_.alloc();
    packet->size = size;
    std::memset(packet->data, 0, size);
    packet->data[0] = first;
    return packet;
  }
  unsigned receive(int64_t now_ns = 0) {
    base::Packet* got[8];
    const unsigned count = mac_->rx_burst(got, 8, now_ns);
    for (unsigned i = 0; i < count; ++i) base::release(got[i]);
    return count;
  }
  void send(base::Packet* packet, int64_t now_ns = 0) { mac_->tx_burst({&packet, 1}, now_ns); }
  size_t on_the_line() {
    size_t count = 0;
    while (base::Packet* packet = line_->take_sent()) base::release(packet), ++count;
    return count;
  }

  base::HeapPool pool_{64, 4096};
  Bell bell_;
  MemoryPort* line_;
  std::unique_ptr<MacPort> mac_;
};

TEST_F(MacPortTest, counts_frames_by_kind_and_length) {
  const std::pair<uint32_t, size_t> lengths[] = {{59, 0},   {60, 1},   {61, 2},  {123, 2},  {124, 3},
                                                 {251, 3},  {252, 4},  {508, 5}, {1019, 5}, {1020, 6},
                                                 {1514, 6}, {1515, 7}, {2043, 7}};
  std::array<uint64_t, FrameCounters::kLengths> want{};
  uint64_t octets = 0;
  for (const auto& [size, which] : lengths) {
    send(frame(size));
    ++want[which];
    octets += size + 4;
  }
  EXPECT_EQ(mac_->sent().lengths, want);
  EXPECT_EQ(mac_->sent().octets, octets);
  EXPECT_EQ(FrameCounters::length_class(2048), 8u);
  EXPECT_EQ(FrameCounters::length_class(4095), 8u);
  EXPECT_EQ(FrameCounters::length_class(4096), 9u);
  EXPECT_EQ(FrameCounters::length_class(8192), 10u);
  EXPECT_EQ(FrameCounters::length_class(9216), 11u);

  base::Packet* everybody = frame(64);
  std::memset(everybody->data, 0xff, 6);
  line_->inject(everybody);
  line_->inject(frame(64, 0x33));
  line_->inject(frame(64));
  EXPECT_EQ(receive(), 3u);
  EXPECT_EQ(mac_->received().broadcast, 1u);
  EXPECT_EQ(mac_->received().multicast, 1u);
  EXPECT_EQ(mac_->received().unicast(), 1u);
}

TEST_F(MacPortTest, passes_nothing_while_off_and_counts_it) {
  mac_->set({.receive = false, .transmit = false});
  line_->inject(frame(64));
  send(frame(64));
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(on_the_line(), 0u);
  EXPECT_EQ(mac_->received().disabled, 1u);
  EXPECT_EQ(mac_->stats().rx_drops, 1u);
  EXPECT_EQ(mac_->stats().tx_drops, 1u);
  EXPECT_EQ(mac_->received().frames, 0u);
  mac_->set({});
  line_->inject(frame(64));
  EXPECT_EQ(receive(), 1u);
}

TEST_F(MacPortTest, keeps_to_the_frame_limits) {
  mac_->set({.rx_limit_bytes = 1500, .tx_limit_bytes = 100});
  line_->inject(frame(1496));
  line_->inject(frame(1497));
  EXPECT_EQ(receive(), 1u);
  send(frame(96));
  send(frame(97));
  EXPECT_EQ(on_the_line(), 1u);
  EXPECT_EQ(mac_->received().oversized, 1u);
  EXPECT_EQ(mac_->sent().oversized, 1u);
}

TEST_F(MacPortTest, near_loopback_brings_back_what_is_sent) {
  mac_->set({.loopback = Loopback::near});
  line_->inject(frame(64));  // of the line, not ours
  send(frame(100));
  EXPECT_EQ(mac_->next_deadline_ns(), 0);
  EXPECT_EQ(receive(), 1u);
  EXPECT_EQ(on_the_line(), 0u);
  EXPECT_EQ(mac_->received().octets, 104u);
  EXPECT_TRUE(mac_->link_up());
  send(frame(100));
  mac_->set({});
  EXPECT_EQ(mac_->next_deadline_ns(), base::kNever);
  EXPECT_EQ(receive(), 0u) << "what was under way is gone";
}

TEST_F(MacPortTest, far_loopback_serves_the_line) {
  mac_->set({.loopback = Loopback::far});
  line_->inject(frame(64));
  send(frame(100));
  EXPECT_EQ(receive(), 0u);
  EXPECT_EQ(on_the_line(), 1u);
  EXPECT_EQ(mac_->sent().disabled, 1u);
}

TEST_F(MacPortTest, shaper_spaces_frames_and_queues_the_rest) {
  mac_->shape(8'000'000, 0);                     // a byte a microsecond
  for (int i = 0; i < 3; ++i) send(frame(976));  // 1000 with preamble, check sequence and gap
  EXPECT_EQ(on_the_line(), 0u);
  EXPECT_EQ(mac_->queue().bytes, 2 * 976u);
  EXPECT_EQ(mac_->queue().rate_bps, 8'000'000u);
  EXPECT_EQ(mac_->next_deadline_ns(), base::kMillisecond);
  receive(base::kMillisecond);
  EXPECT_EQ(on_the_line(), 1u);
  receive(3 * base::kMillisecond);
  EXPECT_EQ(on_the_line(), 2u);
  for (int i = 0; i < 40; ++i) send(frame(1900), 3 * base::kMillisecond);
  EXPECT_GT(mac_->queue().drops, 0u);
  mac_->shape(0, 4 * base::kMillisecond);
  EXPECT_EQ(mac_->queue().rate_bps, 0u);
}

TEST(MacPort, shapes_the_line_that_it_has) {
  base::HeapPool pool(4);
  Bell bell;
  Link line({.rate_bps = 1'000'000}, 1);
  MacPort mac(std::make_unique<MemoryPort>("port"), &line, bell, false);
  mac.shape(4'000'000, 0);
  EXPECT_EQ(line.rate_bps(), 1'000'000u) << "a shaper makes no line faster";
  mac.shape(10'000, 0);
  EXPECT_EQ(line.rate_bps(), 10'000u);
  EXPECT_EQ(line.parameters().rate_bps, 1'000'000u);
}

}  // namespace
}  // namespace l3dml::io
