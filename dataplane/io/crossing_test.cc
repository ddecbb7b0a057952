#include "dataplane/io/crossing.h"

#include <cstring>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"

namespace l3dml::io {
namespace {

struct Bell final : Wakeable {
  int rings = 0;
  void wake() override { ++rings; }
};

TEST(Crossing, hands_over_in_order_and_wakes) {
  base::HeapPool pool(16);
  Bell bell;
  Crossing crossing("to b", bell, 8);
  EXPECT_EQ(crossing.next_deadline_ns(), base::kNever);
  base::Packet* sent[3] = {pool.alloc(), pool.alloc(), pool.alloc()};
  crossing.tx_burst(sent, 0);
  EXPECT_EQ(bell.rings, 1);
  EXPECT_EQ(crossing.next_deadline_ns(), 0);
  base::Packet* got[8];
  ASSERT_EQ(crossing.rx_burst(got, 8, 0), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(got[i], sent[i]);
    base::release(got[i]);
  }
}

TEST(Crossing, copies_a_shared_tail_so_that_nothing_is_shared_between_threads) {
  base::HeapPool pool(16);
  Bell bell;
  Crossing crossing("to b", bell, 8);
  base::Packet* tail = pool.alloc();
  std::memcpy(tail->data, "lanes", 5);
  tail->size = 5;
  tail->refs = 2;
  base::Packet* heads[2] = {pool.alloc(), pool.alloc()};
  for (base::Packet* head : heads) {
    head->size = 4;
    head->tail = tail;
  }
  crossing.tx_burst({heads, 1}, 0);
  EXPECT_EQ(tail->refs, 1);
  EXPECT_EQ(heads[0]->tail, nullptr);
  EXPECT_EQ(heads[0]->size, 9u);
  EXPECT_EQ(std::memcmp(heads[0]->data + 4, "lanes", 5), 0);
  base::release(heads[1]);
}

TEST(Crossing, drops_and_counts_when_the_reader_lags) {
  base::HeapPool pool(16);
  {
    Bell bell;
    Crossing crossing("to b", bell, 4);
    for (int i = 0; i < 6; ++i) {
      base::Packet* packet = pool.alloc();
      crossing.tx_burst({&packet, 1}, 0);
    }
    EXPECT_EQ(crossing.stats().tx_drops, 2u);
    EXPECT_EQ(pool.alive(), 4u);
  }
  EXPECT_EQ(pool.alive(), 0u);
}

}  // namespace
}  // namespace l3dml::io
