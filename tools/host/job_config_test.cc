#include "tools/host/job_config.h"

#include <gtest/gtest.h>

#include "dataplane/wire/address.h"

namespace l3dml::host {
namespace {

JobConfig sample() {
  JobConfig c;
  c.name = "mnist";
  c.world = 4;
  c.rank = 2;
  StripeConfig s;
  s.job = 7;
  s.epoch = 3;
  s.child = 1;
  s.window = 512;
  s.look_ahead = 1024;
  s.shards = 2;
  s.ring = 1024;
  s.slot_base = 4096;
  s.first_number = 6 * 2048;
  s.rate_bps = 100'000'000;
  s.share = 0.25;
  s.aggregator = wire::aggregation_address(0xfd0000000000, 0x0101, 0, 7, 1);
  s.result_source = wire::aggregation_address(0xfd0000000000, 0x0101, 0, 7, wire::kChildSwitch);
  s.local_address = wire::host_address(0xfd0000000000, 0x0101, 9);
  s.local_port = 19602;
  c.stripes = {s};
  return c;
}

std::string error_of(const JobConfig& c) { return std::string(validate(c).message()); }

TEST(JobConfig, survives_writing_and_reading) {
  const JobConfig c = sample();
  auto read = parse_job_config(format_job_config(c));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(format_job_config(*read), format_job_config(c));
  EXPECT_EQ(read->stripes[0].aggregator, c.stripes[0].aggregator);
  EXPECT_EQ(read->stripes[0].share, 0.25);
}

TEST(JobConfig, names_the_wrong_key) {
  const std::string good = format_job_config(sample());
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return std::string(parse_job_config(text).status().message());
  };
  EXPECT_EQ(error("\"world\"", "\"wurld\""), "job configuration: world is missing");
  EXPECT_EQ(error("\"share\"", "\"shape\""), "job configuration: stripes[0].shape is not a key of this file");
  EXPECT_EQ(error("\"window\": 512", "\"window\": \"512\""),
            "job configuration: stripes[0].window must be an integer from 1 to 1073741824, not \"512\"");
  EXPECT_EQ(error("\"child\": 1", "\"child\": 31"),
            "job configuration: stripes[0].child must be an integer from 0 to 30, not 31");
  EXPECT_EQ(error("\"local_address\": \"fd", "\"local_address\": \"xx"),
            "job configuration: stripes[0].local_address must be an IPv6 address, not \"xx00:0:0:101::9\"");
  EXPECT_EQ(parse_job_config("{").status().message(), "job configuration: not JSON");
}

TEST(JobConfig, refuses_what_does_not_fit_together) {
  JobConfig c = sample();
  c.stripes[0].ring = 256;
  EXPECT_NE(
      error_of(c).find("stripes[0].ring must be a power of two with ring x shards >= 2 x window (1024)"),
      std::string::npos);
  c = sample();
  c.stripes[0].look_ahead = 256;
  EXPECT_NE(error_of(c).find("stripes[0].look_ahead"), std::string::npos);
  c = sample();
  c.stripes[0].first_number += 1024;
  EXPECT_NE(error_of(c).find("multiple of ring x shards (2048)"), std::string::npos);
  c = sample();
  c.stripes[0].lanes = 320;
  c.stripes[0].mtu = 1280;
  EXPECT_NE(error_of(c).find("(mtu - 72) / 4 = 302"), std::string::npos);
  c = sample();
  c.stripes[0].child = 2;
  EXPECT_NE(error_of(c).find("aggregation address of job 7 and child 2"), std::string::npos);
  c = sample();
  c.stripes.push_back(c.stripes[0]);
  EXPECT_NE(error_of(c).find("stripes[1].job must differ"), std::string::npos);
  c = sample();
  c.rank = 4;
  EXPECT_NE(error_of(c).find("rank must be below the world (4)"), std::string::npos);
}

}  // namespace
}  // namespace l3dml::host
