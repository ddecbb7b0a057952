// Match tables of every kind against a list that is searched from the front, and action profiles.
#include <random>

#include "dataplane/tna/action_profile.h"
#include "dataplane/tna/table_twin.h"
#include "gtest/gtest.h"

namespace l3dml::tna {
namespace {

struct Number {
  uint32_t value = 0;
};
using Twin = MatchTableTwin<1, Number>;

Twin make_twin(std::vector<KeySlice> layout) {
  return Twin(std::move(layout), {{"set", {32}}}, [](const Entry& entry, Number* number) {
    if (entry.action != "set") return absl::InvalidArgumentError("no such action");
    number->value = static_cast<uint32_t>(to_uint(entry.params.at(0)));
    return absl::OkStatus();
  });
}

MatchField ternary(uint64_t value, uint64_t mask, unsigned bits) {
  return {MatchKind::ternary, true, to_bytes(value & mask, bits), to_bytes(mask, bits), 0};
}
MatchField range(uint64_t low, uint64_t high, unsigned bits) {
  return {MatchKind::range, true, to_bytes(low, bits), to_bytes(high, bits), 0};
}
MatchField lpm(uint64_t value, int length, unsigned bits) {
  return {MatchKind::lpm, true, to_bytes(value, bits), {}, length};
}
Entry entry_of(std::vector<MatchField> key, uint32_t value, uint32_t priority = 0) {
  return {.key = std::move(key), .priority = priority, .action = "set", .params = {to_bytes(value, 32)}};
}

int find(const Twin& twin, uint64_t key) {
  const auto* row = twin.table().lookup({{key}});
  if (!row) return -1;
  row->count(0, 1, 0);
  return static_cast<int>(row->action.value);
}

TEST(MatchTable, agrees_with_a_searched_list_on_ternary_and_range_keys) {
  // Low 8 bits exact or any, then a ternary byte, then a 12-bit range.
  const std::vector<KeySlice> layout = {{0, 0, 8}, {0, 8, 8}, {0, 16, 12}};
  struct Row {
    uint64_t value, mask, low, high;
    uint32_t priority;
    Handle handle;
  };
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return static_cast<uint64_t>(random() % n); };
  for (int round = 0; round < 20; ++round) {
    Twin twin = make_twin(layout);
    std::vector<Row> list;
    Handle next = 1;
    for (int step = 0; step < 400; ++step) {
      if (list.empty() || below(3) != 0) {
        const uint64_t low = below(4096), high = low + below(static_cast<uint32_t>(4096 - low));
        const uint64_t exact = below(4), mask = below(2) ? 0xf0 : below(256), value = below(256) & mask;
        const auto priority = static_cast<uint32_t>(next);  // all different: the best is never in doubt
        const bool any = below(4) == 0;
        MatchField first = ternary(exact, any ? 0 : 0xff, 8);
        const Entry entry = entry_of({first, ternary(value, mask, 8), range(low, high, 12)}, next, priority);
        ASSERT_TRUE(twin.check(entry).ok());
        twin.insert(next, entry);
        list.push_back(
            {(any ? 0 : exact) | value << 8, (any ? 0 : 0xffu) | mask << 8, low, high, priority, next});
        ++next;
      } else {
        const size_t victim = below(static_cast<uint32_t>(list.size()));
        twin.remove(list[victim].handle);
        list.erase(list.begin() + static_cast<ptrdiff_t>(victim));
      }
      const uint64_t key = below(4) | below(256) << 8 | below(4096) << 16;
      int expected = -1;
      uint32_t best = ~0u;
      for (const Row& row : list)
        if ((key & 0xffff & row.mask) == row.value && key >> 16 >= row.low && key >> 16 <= row.high &&
            row.priority < best)
          best = row.priority, expected = static_cast<int>(row.handle);
      ASSERT_EQ(find(twin, key), expected) << "round " << round << " step " << step;
    }
  }
}

TEST(MatchTable, ranges_count_and_change_as_one_entry) {
  Twin twin = make_twin({{0, 0, 16}});
  twin.insert(5, entry_of({range(1, 1000, 16)}, 8));
  for (const uint64_t key : {1, 2, 512, 999, 1000}) EXPECT_EQ(find(twin, key), 8) << key;
  EXPECT_EQ(find(twin, 0), -1);
  EXPECT_EQ(find(twin, 1001), -1);
  EXPECT_EQ(twin.counter(5).packets, 5u);
  EXPECT_TRUE(twin.take_hit(5));
  EXPECT_FALSE(twin.take_hit(5));
  twin.set_counter(5, {0, 0});
  EXPECT_EQ(twin.counter(5).packets, 0u);
  twin.modify(5, entry_of({range(1, 1000, 16)}, 9));
  EXPECT_EQ(find(twin, 700), 9);
  twin.remove(5);
  EXPECT_EQ(find(twin, 700), -1);
  EXPECT_EQ(twin.table().size(), 0u);
  EXPECT_FALSE(twin.check(entry_of({range(9, 3, 16)}, 1)).ok()) << "ends the wrong way round";
}

TEST(MatchTable, the_whole_range_is_one_row_and_matches_all) {
  Twin twin = make_twin({{0, 0, 16}});
  twin.insert(1, entry_of({range(0, 0xffff, 16)}, 3));
  EXPECT_EQ(twin.table().size(), 1u);
  EXPECT_EQ(find(twin, 0), 3);
  EXPECT_EQ(find(twin, 0xffff), 3);
}

TEST(MatchTable, the_longest_prefix_wins_and_the_default_is_for_the_rest) {
  Twin twin = make_twin({{0, 0, 32}});
  twin.insert(1, entry_of({lpm(0x0a000000, 8, 32)}, 8));
  twin.insert(2, entry_of({lpm(0x0a0b0000, 16, 32)}, 16));
  twin.insert(3, entry_of({lpm(0x0a0b0c0d, 32, 32)}, 32));
  EXPECT_EQ(find(twin, 0x0a0b0c0d), 32);
  EXPECT_EQ(find(twin, 0x0a0b0c0e), 16);
  EXPECT_EQ(find(twin, 0x0a0c0000), 8);
  EXPECT_EQ(find(twin, 0x0b000000), -1);
  twin.set_default(entry_of({}, 77));
  EXPECT_EQ(twin.default_action().value, 77u);
  twin.set_default({});
  EXPECT_EQ(twin.default_action().value, 0u) << "back to the program's own";
}

TEST(MatchTable, the_lower_priority_number_wins) {
  Twin twin = make_twin({{0, 0, 8}});
  twin.insert(1, entry_of({ternary(0, 0, 8)}, 1, 50));
  twin.insert(2, entry_of({ternary(5, 0xff, 8)}, 2, 60));
  EXPECT_EQ(find(twin, 5), 1);
  twin.insert(3, entry_of({ternary(5, 0xff, 8)}, 3, 40));
  EXPECT_EQ(find(twin, 5), 3);
}

TEST(ActionProfile, a_changed_member_changes_all_who_use_it) {
  ActionProfile<int> profile;
  profile.set_member(1, 10);
  profile.set_member(2, 20);
  ASSERT_TRUE(profile.set_group(7, {{1}, {2}}, 4));
  EXPECT_EQ(*profile.member(1), 10);
  profile.set_member(1, 11);
  EXPECT_EQ(*profile.member(1), 11);
  EXPECT_EQ(*profile.choose(7, 0), 11);
  EXPECT_EQ(*profile.choose(7, 1), 20);
  EXPECT_FALSE(profile.remove_member(1)) << "a group holds it";
  profile.remove_group(7);
  EXPECT_TRUE(profile.remove_member(1));
  EXPECT_EQ(profile.member(1), nullptr);
}

TEST(ActionProfile, groups_are_checked) {
  ActionProfile<int> profile;
  profile.set_member(1, 10);
  EXPECT_FALSE(profile.set_group(7, {{1}, {2}}, 4)) << "there is no member 2";
  EXPECT_FALSE(profile.set_group(7, {{1}, {1}, {1}}, 2)) << "more than it may have";
  EXPECT_EQ(profile.choose(7, 0), nullptr);
  ASSERT_TRUE(profile.set_group(7, {{1, false}}, 2));
  EXPECT_EQ(profile.choose(7, 0), nullptr) << "nobody is up";
}

TEST(ActionProfile, a_member_that_goes_down_moves_only_its_own_packets) {
  ActionProfile<int> profile;
  for (uint32_t m = 0; m < 4; ++m) profile.set_member(m, static_cast<int>(m));
  ASSERT_TRUE(profile.set_group(1, {{0}, {1}, {2}, {3}}, 4));
  std::vector<int> before;
  for (uint32_t hash = 0; hash < 400; ++hash) before.push_back(*profile.choose(1, hash));
  for (int m = 0; m < 4; ++m) EXPECT_EQ(std::count(before.begin(), before.end(), m), 100);
  ASSERT_TRUE(profile.set_group(1, {{0}, {1, false}, {2}, {3}}, 4));
  for (uint32_t hash = 0; hash < 400; ++hash) {
    const int after = *profile.choose(1, hash);
    EXPECT_NE(after, 1);
    if (before[hash] != 1) {
      EXPECT_EQ(after, before[hash]);
    }
  }
}

}  // namespace
}  // namespace l3dml::tna
