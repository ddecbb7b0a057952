#include "dataplane/io/units.h"

#include <gtest/gtest.h>

namespace l3dml::io {
namespace {

TEST(Units, reads_what_people_write) {
  EXPECT_EQ(*parse_rate("100Mbit"), 100'000'000u);
  EXPECT_EQ(*parse_rate("2.5 Gbit/s"), 2'500'000'000u);
  EXPECT_EQ(*parse_rate("64000"), 64'000u);
  EXPECT_EQ(*parse_duration("25ms"), 25'000'000);
  EXPECT_EQ(*parse_duration("1.5"), 1'500'000'000);
  EXPECT_EQ(*parse_duration("10us"), 10'000);
  EXPECT_EQ(*parse_size("64KiB"), 65'536u);
  EXPECT_EQ(*parse_size("1MB"), 1'000'000u);
  EXPECT_DOUBLE_EQ(*parse_ratio("0.1%"), 0.001);
  EXPECT_DOUBLE_EQ(*parse_ratio("0.25"), 0.25);
  EXPECT_EQ(*parse_count("0x40"), 64u);
  EXPECT_TRUE(*parse_bool("on"));
}

TEST(Units, refuses_the_rest_with_an_example) {
  for (const char* text : {"", "fast", "-1Mbit", "1 parsec", "nan", "1e30", "1Mbit2"})
    EXPECT_FALSE(parse_rate(text).ok()) << text;
  EXPECT_EQ(parse_duration("25 ly").status().message(), "\"25 ly\" is not a time like 25ms or 1.5s");
  EXPECT_FALSE(parse_ratio("101%").ok());
  EXPECT_FALSE(parse_count("12x").ok());
  EXPECT_FALSE(parse_bool("maybe").ok());
}

}  // namespace
}  // namespace l3dml::io
