#include "dataplane/kernels/lanes.h"

#include <random>

#include <gtest/gtest.h>

#include "dataplane/kernels/guarded.h"

namespace l3dml::kernels {
namespace {

// Runs `body(kernels, count, misalignment of slot, of lanes)` for every implementation but the scalar one.
template <typename Body>
void for_each_case(Body body) {
  const LaneKernelsList list = available_lane_kernels();
  for (size_t k = 0; k < list.count; ++k)
    for (size_t count : kCounts)
      for (size_t slot_shift : {0, 4, 12})
        for (size_t lanes_shift : {0, 1, 2, 3, 31}) {
          SCOPED_TRACE(testing::Message() << list.items[k]->name << " count " << count << " shifts "
                                          << slot_shift << ' ' << lanes_shift);
          body(*list.items[k], count, slot_shift, lanes_shift);
          if (testing::Test::HasFatalFailure()) return;
        }
}

std::mt19937_64 g_random(1);
std::vector<uint32_t> random_slot(size_t count) {
  std::vector<uint32_t> slot(count);
  for (uint32_t& v : slot) v = g_random() % 5 == 0 ? 0xffffffff : static_cast<uint32_t>(g_random());
  return slot;
}
std::vector<uint8_t> random_lanes(size_t count) {
  std::vector<uint8_t> lanes(4 * count);
  for (uint8_t& v : lanes) v = static_cast<uint8_t>(g_random());
  return lanes;
}

const LaneKernels& scalar() { return *available_lane_kernels().items[0]; }

TEST(LaneKernels, scalar_reads_big_endian_and_wraps) {
  const uint8_t lanes[8] = {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff};
  uint32_t slot[2];
  scalar().set(slot, lanes, 2);
  EXPECT_EQ(slot[0], 0x01020304u);
  scalar().add(slot, lanes, 2);
  EXPECT_EQ(slot[1], 0xfffffffeu);
}

TEST(LaneKernels, scalar_checksum_is_that_of_rfc1071) {
  const uint32_t slot[2] = {0x0001f203, 0xf4f5f6f7};  // the example of section 3
  uint8_t lanes[8];
  EXPECT_EQ(scalar().emit(lanes, slot, 2), 0xddf2);
  const uint32_t ones[1] = {0xffffffff};  // nonzero, congruent to zero: stays all ones
  EXPECT_EQ(scalar().emit(lanes, ones, 1), 0xffff);
}

TEST(LaneKernels, every_set_equals_scalar_in_set_and_add) {
  for_each_case([](const LaneKernels& kernels, size_t count, size_t slot_shift, size_t lanes_shift) {
    for (auto function : {&LaneKernels::set, &LaneKernels::add}) {
      const std::vector<uint32_t> before = random_slot(count);
      Guarded<uint32_t> slot(before, slot_shift), expected(before, 0);
      Guarded<uint8_t> lanes(random_lanes(count), lanes_shift);
      const std::vector<uint8_t> lanes_before = lanes.values();
      (kernels.*function)(slot.data(), lanes.data(), count);
      (scalar().*function)(expected.data(), lanes.data(), count);
      ASSERT_EQ(slot.values(), expected.values());
      ASSERT_EQ(lanes.values(), lanes_before);
      slot.check(), lanes.check();
    }
  });
}

TEST(LaneKernels, every_set_equals_scalar_in_emit) {
  for_each_case([](const LaneKernels& kernels, size_t count, size_t slot_shift, size_t lanes_shift) {
    Guarded<uint32_t> slot(random_slot(count), slot_shift);
    Guarded<uint8_t> lanes(4 * count, lanes_shift), expected(4 * count, 0);
    ASSERT_EQ(kernels.emit(lanes.data(), slot.data(), count),
              scalar().emit(expected.data(), slot.data(), count));
    ASSERT_EQ(lanes.values(), expected.values());
    slot.check(), lanes.check();
  });
}

TEST(LaneKernels, every_set_equals_scalar_in_add_and_emit) {
  for_each_case([](const LaneKernels& kernels, size_t count, size_t slot_shift, size_t lanes_shift) {
    const std::vector<uint32_t> slot_before = random_slot(count);
    const std::vector<uint8_t> lanes_before = random_lanes(count);
    Guarded<uint32_t> slot(slot_before, slot_shift), slot_expected(slot_before, 0);
    Guarded<uint8_t> lanes(lanes_before, lanes_shift), lanes_expected(lanes_before, 0);
    ASSERT_EQ(kernels.add_and_emit(slot.data(), lanes.data(), count),
              scalar().add_and_emit(slot_expected.data(), lanes_expected.data(), count));
    ASSERT_EQ(slot.values(), slot_expected.values());
    ASSERT_EQ(lanes.values(), lanes_expected.values());
    slot.check(), lanes.check();
  });
}

TEST(LaneKernels, checksum_of_many_full_words_does_not_overflow) {
  const std::vector<uint32_t> slot(1 << 20, 0xffffffff);
  std::vector<uint8_t> lanes(slot.size() * 4);
  const LaneKernelsList list = available_lane_kernels();
  for (size_t k = 0; k < list.count; ++k)
    EXPECT_EQ(list.items[k]->emit(lanes.data(), slot.data(), slot.size()), 0xffff) << list.items[k]->name;
}

TEST(LaneKernels, forced_by_name_is_the_one_that_runs) {
  const LaneKernelsList list = available_lane_kernels();
  for (size_t k = 0; k < list.count; ++k) {
    ASSERT_TRUE(force_lane_kernels(list.items[k]->name));
    EXPECT_EQ(lane_kernels().name, list.items[k]->name);
    EXPECT_EQ(&lane_kernels(), list.items[k]);
    for (size_t other = 0; other < k; ++other)  // not the same code under two names
      EXPECT_NE(list.items[k]->add, list.items[other]->add);
  }
  EXPECT_FALSE(force_lane_kernels("neon9000"));
  EXPECT_EQ(&lane_kernels(), list.items[list.count - 1]) << "a refused name changes nothing";
  ASSERT_TRUE(force_lane_kernels("auto"));
  EXPECT_EQ(&lane_kernels(), list.items[list.count - 1]);
}

}  // namespace
}  // namespace l3dml::kernels
