// Jobs over real sockets in a namespace of the test's own, around a fake aggregator.
#include "tools/host/job.h"

#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "tools/host/l3dml.h"
#include "tools/host/testing/loopback_switch.h"
#include "tools/host/testing/test_bed.h"
#include "tools/host/udp_transport.h"

namespace l3dml::host {
namespace {

using testing::BedOptions;
using testing::LoopbackSwitch;
using testing::make_stripe;

class JobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::enter_private_network()) GTEST_SKIP() << "needs the right to make a network namespace";
  }
  // A world around one switch.
  void start(const BedOptions& options, double loss = 0, bool offload = true,
             int64_t timeout_ns = 20 * base::kSecond) {
    loopback.reset();  // it holds the ports
    std::vector<StripeConfig> stripes;
    for (unsigned rank = 0; rank < options.world; ++rank) stripes.push_back(make_stripe(options, rank));
    loopback = std::make_unique<LoopbackSwitch>(stripes, loss, options.seed);
    ASSERT_TRUE(loopback->ok());
    for (unsigned rank = 0; rank < options.world; ++rank) {
      JobConfig config;
      config.name = "test";
      config.world = options.world;
      config.rank = rank;
      config.timeout_ns = timeout_ns;
      config.stripes = {stripes[rank]};
      configs.push_back(config);
      UdpOptions udp;
      udp.segment_offload = offload;
      auto job = Job::create(config, std::make_unique<UdpTransport>(udp));
      ASSERT_TRUE(job.ok()) << job.status();
      jobs.push_back(*std::move(job));
    }
  }
  std::vector<std::vector<float>> ones(size_t count) {
    std::vector<std::vector<float>> x;
    for (unsigned rank = 0; rank < jobs.size(); ++rank) {
      x.emplace_back(count);
      for (size_t i = 0; i < count; ++i)
        x[rank][i] = static_cast<float>(rank + 1) * static_cast<float>(i % 1000);
    }
    return x;
  }
  std::vector<Job::Handle> submit(std::vector<std::vector<float>>& x) {
    std::vector<Job::Handle> handles;
    for (unsigned rank = 0; rank < jobs.size(); ++rank) {
      Request r;
      r.input = r.output = x[rank].data();
      r.count = x[rank].size();
      handles.push_back(jobs[rank]->allreduce(r));
    }
    return handles;
  }
  void close_all() {
    std::vector<std::thread> threads;
    for (auto& job : jobs) threads.emplace_back([&job] { EXPECT_TRUE(job->close().ok()); });
    for (auto& thread : threads) thread.join();
  }

  std::unique_ptr<LoopbackSwitch> loopback;
  std::vector<JobConfig> configs;
  std::vector<std::unique_ptr<Job>> jobs;
};

TEST_F(JobTest, sums_over_sockets_with_and_without_offload_and_loss) {
  for (const bool offload : {true, false}) {
    for (const double loss : {0.0, 0.02}) {
      SCOPED_TRACE(offload);
      SCOPED_TRACE(loss);
      ASSERT_NO_FATAL_FAILURE(start({.world = 3, .window = 128, .shards = 2, .lanes = 256}, loss, offload));
      auto x = ones(256 * 300 + 17);
      for (auto& handle : submit(x)) ASSERT_TRUE(handle.wait().ok());
      for (const auto& got : x)
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], 6.0 * static_cast<double>(i % 1000), 1e-2) << i;
      const JobStats stats = jobs[0]->stats();
      EXPECT_EQ(stats.collectives, 1u);
      EXPECT_EQ(stats.total.chunks, 301u);
      close_all();
      loopback->stop();
      EXPECT_TRUE(loopback->complaints().empty()) << loopback->complaints()[0];
      jobs.clear();
      configs.clear();
    }
  }
}

TEST_F(JobTest, a_silent_rank_ends_the_call_with_what_is_missing) {
  start({.world = 2, .window = 16}, 0, true, base::kSecond / 2);
  std::vector<float> x(64 * 4, 1.0f);
  Request r;
  r.input = r.output = x.data();
  r.count = x.size();
  const absl::Status status = jobs[0]->allreduce(r).wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  const std::string message(status.message());
  EXPECT_NE(
      message.find("test: allreduce 0 (256 float32): nothing moved for 0.5 s; 4 of 4 chunks are missing"),
      std::string::npos)
      << message;
  EXPECT_NE(message.find("the aggregator has ours and waits for other ranks"), std::string::npos) << message;
  EXPECT_EQ(jobs[0]->allreduce(r).wait(), status) << "a failed job stays failed";
}

TEST_F(JobTest, liveness_ends_calls_with_its_reason) {
  start({.world = 2});
  std::vector<float> x(100, 1.0f);
  Request r;
  r.input = r.output = x.data();
  r.count = x.size();
  Job::Handle handle = jobs[0]->allreduce(r);
  jobs[0]->fail("rank 1 on host b is gone: its lease ran out");
  EXPECT_EQ(handle.wait().message(), "rank 1 on host b is gone: its lease ran out");
  EXPECT_FALSE(jobs[0]->close().ok());
}

TEST_F(JobTest, says_what_is_wrong_with_an_address) {
  const StripeConfig stripe = make_stripe({.world = 2}, 20);  // an address that this host does not have
  JobConfig config;
  config.name = "test";
  config.world = 21;
  config.rank = 20;
  config.stripes = {stripe};
  const auto job = Job::create(config, std::make_unique<UdpTransport>());
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.status().message(),
            "cannot receive at [fd00:0:0:101::15]:19620 (local_address, local_port): Cannot assign requested "
            "address");
}

TEST_F(JobTest, c_interface) {
  start({.world = 2});
  jobs.clear();  // the C interface makes its own
  std::vector<std::thread> ranks;
  for (unsigned rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([this, rank] {
      l3dml_job* job = l3dml_open_json(format_job_config(configs[rank]).c_str());
      ASSERT_NE(job, nullptr) << l3dml_last_error();
      EXPECT_EQ(l3dml_world(job), 2u);
      EXPECT_EQ(l3dml_rank(job), rank);
      double x[3] = {1.5 + rank, -2, 1e-3};
      l3dml_request r = L3DML_REQUEST_INIT;
      r.input = r.output = x;
      r.count = 3;
      r.type = L3DML_FLOAT64;
      r.op = L3DML_AVERAGE;
      EXPECT_EQ(l3dml_allreduce(job, &r), L3DML_OK) << l3dml_last_error();
      EXPECT_NEAR(x[0], 2, 1e-8);
      EXPECT_NEAR(x[1], -2, 1e-8);
      x[1] = rank == 1 ? INFINITY : 0;
      l3dml_work* work = l3dml_allreduce_start(job, &r);
      ASSERT_NE(work, nullptr);
      EXPECT_EQ(l3dml_wait(work), L3DML_NOT_FINITE);
      EXPECT_NE(std::string(l3dml_last_error()).find(rank == 1 ? "element 1 of this rank" : "another rank"),
                std::string::npos)
          << l3dml_last_error();
      EXPECT_EQ(l3dml_done(work), 1);
      l3dml_work_free(work);
      r.type = 9;
      EXPECT_EQ(l3dml_allreduce(job, &r), L3DML_INVALID);
      l3dml_stats stats{};
      stats.size = sizeof stats;
      EXPECT_EQ(l3dml_get_stats(job, &stats), L3DML_OK);
      EXPECT_GT(stats.sent_packets, 0u);
      EXPECT_EQ(l3dml_close(job), L3DML_OK) << l3dml_last_error();
    });
  }
  for (auto& thread : ranks) thread.join();
}

TEST(CInterface, refuses_what_it_cannot_read) {
  EXPECT_EQ(l3dml_open("/nonexistent/rank0.json"), nullptr);
  EXPECT_STREQ(l3dml_last_error(), "cannot read /nonexistent/rank0.json");
  EXPECT_EQ(l3dml_open_json("{}"), nullptr);
  EXPECT_STREQ(l3dml_last_error(), "job configuration: name is missing");
}

}  // namespace
}  // namespace l3dml::host
