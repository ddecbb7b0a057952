#include "control/jobs/entry.h"

#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

Entry entry(int key, int value) {
  return {{"t", {{"k", MatchKind::exact, be(key, 16), {}, 0}}}, {"act", {{"v", be(value, 9)}}}};
}

TEST(Entry, writes_numbers_big_endian_in_whole_bytes) {
  EXPECT_EQ(be(0x1ff, 9), Bytes("\x01\xff", 2));
  EXPECT_EQ(be(5, 128).size(), 16u);
  EXPECT_EQ(text(entry(1, 2)), "t k=0x0001 -> act(v=0x0002)");
}

TEST(Diff, names_exactly_what_differs) {
  const DeviceEntries installed{{entry(1, 1), entry(2, 2), entry(3, 3)},
                                {{1, {{1, 1}}}, {2, {{2, 2}}}, {3, {}}}};
  const DeviceEntries wanted{{entry(4, 4), entry(2, 9), entry(1, 1)}, {{1, {{1, 1}}}, {2, {{2, 3}}}}};
  const Change change = diff(installed, wanted);
  EXPECT_EQ(change.added, std::vector{entry(4, 4)});
  EXPECT_EQ(change.modified, std::vector{entry(2, 9)});
  EXPECT_EQ(change.removed, std::vector{entry(3, 3).key});
  ASSERT_EQ(change.groups_set.size(), 1u);
  EXPECT_EQ(change.groups_set[0].mgid, 2);
  EXPECT_EQ(change.groups_removed, std::vector<uint16_t>{3});
  EXPECT_TRUE(diff(wanted, wanted).empty());
}

TEST(Diff, does_not_mind_the_order_of_fields_nor_wildcards_written_out) {
  const Match a{"a", MatchKind::exact, be(1, 8), {}, 0}, b{"b", MatchKind::ternary, be(2, 8), be(3, 8), 0};
  const Match any{"c", MatchKind::ternary, be(0, 8), be(0, 8), 0};
  const Entry one{{"t", {a, b}}, {"act", {{"x", be(1, 8)}, {"y", be(2, 8)}}}};
  const Entry same{{"t", {any, b, a}}, {"act", {{"y", be(2, 8)}, {"x", be(1, 8)}}}};
  EXPECT_TRUE(diff({{one}, {}}, {{same}, {}}).empty());
}

}  // namespace
}  // namespace l3dml::control
