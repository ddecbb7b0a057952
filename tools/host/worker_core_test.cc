#include "tools/host/worker_core.h"

#include <cmath>
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "tools/host/testing/test_bed.h"

namespace l3dml::host {
namespace {

using kernels::ElementType;
using kernels::LaneFormat;
using testing::BedOptions;
using testing::TestBed;

std::vector<float> random_floats(size_t count, uint64_t seed, float scale = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> x(count);
  for (float& v : x) v = normal(random);
  return x;
}

// In-place float tensors, one per rank, and the sum in double for comparison.
struct Tensors {
  Tensors(unsigned world, size_t count, uint64_t seed, float scale = 1) : sum(count) {
    for (unsigned rank = 0; rank < world; ++rank) {
      x.push_back(random_floats(count, seed * 1000 + rank, scale));
      for (size_t i = 0; i < count; ++i) sum[i] += x[rank][i];
    }
  }
  void submit(TestBed& bed, uint64_t id, uint64_t key = 0) {
    for (unsigned rank = 0; rank < x.size(); ++rank) submit_one(bed, rank, id, key);
  }
  void submit_one(TestBed& bed, unsigned rank, uint64_t id, uint64_t key = 0) {
    Collective c;
    c.id = id;
    c.input = c.output = x[rank].data();
    c.count = sum.size();
    c.key = key;
    ASSERT_TRUE(bed.worker(rank).submit(c).ok());
  }
  void check() const {
    for (const auto& got : x) {
      ASSERT_EQ(0, std::memcmp(got.data(), x[0].data(), got.size() * sizeof(float))) << "ranks differ";
      float largest = 1e-30f;
      for (const double v : sum) largest = std::max(largest, std::fabs(static_cast<float>(v)));
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], sum[i], 1e-5 * largest) << "element " << i;
    }
  }
  std::vector<std::vector<float>> x;
  std::vector<double> sum;
};

void expect_no_complaints(TestBed& bed) {
  for (const std::string& complaint : bed.aggregator().complaints) ADD_FAILURE() << complaint;
}

TEST(WorkerCore, sums_one_chunk) {
  TestBed bed({.world = 3});
  Tensors t(3, 10, 1);
  t.submit(bed, 7);
  ASSERT_TRUE(bed.run());
  t.check();
  for (unsigned rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(bed.results(rank).size(), 1u);
    EXPECT_EQ(bed.results(rank)[0].id, 7u);
    EXPECT_TRUE(bed.results(rank)[0].finite);
    EXPECT_EQ(bed.results(rank)[0].least_weight, 3u);
  }
  expect_no_complaints(bed);
}

TEST(WorkerCore, pipelines_many_collectives_through_a_small_window) {
  TestBed bed({.world = 2, .window = 4, .shards = 2});
  std::vector<Tensors> all;
  for (uint64_t i = 0; i < 20; ++i) all.emplace_back(2, 1 + 97 * i, i);
  for (uint64_t i = 0; i < all.size(); ++i) all[i].submit(bed, i);
  ASSERT_TRUE(bed.run());
  for (const Tensors& t : all) t.check();
  EXPECT_EQ(bed.results(0).size(), 20u);
  expect_no_complaints(bed);
}

TEST(WorkerCore, survives_loss_duplication_and_reordering) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    TestBed bed({.world = 2 + static_cast<unsigned>(seed % 3),
                 .window = 16,
                 .shards = seed % 2 ? 1u : 4u,
                 .loss = 0.02 * static_cast<double>(seed % 6),
                 .duplication = 0.05,
                 .jitter_ns = 3'000'000,
                 .seed = seed});
    Tensors a(bed.world(), 64 * 100 + 3, seed), b(bed.world(), 64 * 33, seed + 50);
    a.submit(bed, 1);
    b.submit(bed, 2);
    ASSERT_TRUE(bed.run());
    a.check();
    b.check();
    expect_no_complaints(bed);
  }
}

TEST(WorkerCore, wraps_around_number_and_seq) {
  BedOptions options{.world = 2, .window = 8, .loss = 0.02, .seed = 5};
  options.first_number = 0u - 64;  // ring 16: a multiple
  TestBed bed(options);
  Tensors t(2, 64 * 300, 3);
  // The fake aggregator's entries hold stamp 0, which is newer than the first numbers: start them below.
  bed.aggregator().set_stamps(options.first_number - 1);
  t.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  t.check();
  expect_no_complaints(bed);
}

// One class of message never arrives: still live, by PROBE alone if need be.
TEST(WorkerCore, lives_without_nack_or_sync) {
  for (const wire::Type type : {wire::Type::nack, wire::Type::sync}) {
    TestBed bed({.world = 2, .loss = 0.05, .seed = 9});
    bed.tap = [type](bool, unsigned, testing::Datagram& p) { return p.header().type() == type; };
    Tensors t(2, 64 * 200, 4);
    t.submit(bed, 1);
    ASSERT_TRUE(bed.run());
    t.check();
    EXPECT_GT(bed.worker(0).stats().probes_sent, 0u);
  }
}

// A lost UP is repaired after one round trip of its segment, without a timer.
TEST(WorkerCore, answers_a_nack_at_once) {
  TestBed bed({.world = 2, .window = 64});
  unsigned ups = 0;
  bed.tap = [&](bool up, unsigned rank, testing::Datagram& p) {
    return up && rank == 0 && p.header().type() == wire::Type::up && ups++ == 10;
  };
  Tensors t(2, 64 * 64, 4);
  t.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  t.check();
  EXPECT_EQ(bed.worker(0).stats().nacked, 1u);
  EXPECT_EQ(bed.worker(0).stats().retransmitted, 1u);
  EXPECT_EQ(bed.worker(0).stats().probe_missing, 0u);
  // First passes ask (2 ms), the lanes 2 ms, the repair one round trip of 2 ms more.
  EXPECT_LE(bed.now_ns(), 2'000'000 * 3 + 2'000'000);
}

TEST(WorkerCore, repairs_the_tail_of_a_burst_by_sync) {
  TestBed bed({.world = 2, .window = 64});
  bed.tap = [n = 0](bool up, unsigned rank, testing::Datagram& p) mutable {
    return up && rank == 0 && p.header().type() == wire::Type::up && n++ == 63;  // the last of the first pass
  };
  Tensors t(2, 64 * 64, 4);
  t.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  t.check();
  EXPECT_GT(bed.worker(0).stats().syncs_sent, 0u);
  EXPECT_EQ(bed.worker(0).stats().nacked, 1u);
  EXPECT_LE(bed.now_ns(), 9'000'000);
}

TEST(WorkerCore, asks_for_exponents_once_and_predicts_them_afterwards) {
  TestBed bed({.world = 2, .window = 16});
  Tensors first(2, 64 * 40, 1), second(2, 64 * 40, 2);
  first.submit(bed, 1, 42);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(bed.worker(0).stats().asked, 16u);  // the first L chunks; the others are told
  EXPECT_EQ(bed.worker(0).stats().repeats, 16u);
  second.submit(bed, 2, 42);
  ASSERT_TRUE(bed.run());
  first.check();
  second.check();
  EXPECT_EQ(bed.worker(0).stats().repeats, 16u);
  expect_no_complaints(bed);
}

TEST(WorkerCore, repeats_a_chunk_that_does_not_fit) {
  TestBed bed({.world = 3, .window = 16});
  Tensors small(3, 64 * 16, 1, 1e-3f), large(3, 64 * 16, 2, 1e-3f);
  small.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  const uint64_t before = bed.worker(1).stats().repeats;
  large.x[2][64 * 5 + 3] = 1000;  // on one rank, in one chunk
  large.sum[64 * 5 + 3] = double{large.x[0][64 * 5 + 3]} + large.x[1][64 * 5 + 3] + 1000;
  large.submit(bed, 2);
  ASSERT_TRUE(bed.run());
  large.check();
  EXPECT_EQ(bed.worker(1).stats().repeats - before, 2u);  // the empty pass and the lanes
  expect_no_complaints(bed);
}

TEST(WorkerCore, values_that_are_not_finite_fail_the_call_everywhere_and_no_other) {
  TestBed bed({.world = 2, .window = 8});
  Tensors a(2, 64 * 20, 1), b(2, 64 * 20, 2);
  a.x[1][64 * 7 + 9] = std::nanf("");
  a.submit(bed, 1);
  b.submit(bed, 2);
  ASSERT_TRUE(bed.run());
  for (unsigned rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(bed.results(rank).size(), 2u);
    const auto bad =
        std::find_if(bed.results(rank).begin(), bed.results(rank).end(), [](auto& r) { return r.id == 1; });
    EXPECT_FALSE(bad->finite);
    EXPECT_EQ(bad->ours, rank == 1);
    EXPECT_EQ(bad->bad_first, rank == 1 ? 64u * 7 + 9 : 64u * 7);
    EXPECT_EQ(bad->bad_end, rank == 1 ? 64u * 7 + 10 : 64u * 8);
  }
  b.check();
  expect_no_complaints(bed);
}

TEST(WorkerCore, sums_integers_with_wrap_around) {
  TestBed bed({.world = 2});
  std::vector<int32_t> a{INT32_MAX, 5, -7}, b{1, 6, -8};
  for (unsigned rank = 0; rank < 2; ++rank) {
    Collective c;
    auto& x = rank ? b : a;
    c.input = c.output = x.data();
    c.count = x.size();
    c.type = ElementType::kInt32;
    ASSERT_TRUE(bed.worker(rank).submit(c).ok());
  }
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a, (std::vector<int32_t>{INT32_MIN, 11, -15}));
  EXPECT_EQ(a, b);
  EXPECT_EQ(bed.worker(0).stats().repeats, 0u);
}

TEST(WorkerCore, an_average_divides_by_the_true_weight_and_residuals_keep_what_was_left_out) {
  TestBed bed({.world = 4, .window = 8});
  std::vector<std::vector<float>> x(4), residual(4);
  for (unsigned rank = 0; rank < 4; ++rank) {
    x[rank].assign(64 * 20, static_cast<float>(rank + 1));
    residual[rank].assign(64 * 20, 0);
    Collective c;
    c.input = c.output = x[rank].data();
    c.count = x[rank].size();
    c.op = ReduceOp::average;
    c.residual = residual[rank].data();
    if (rank == 3) c.abstain_after_ns = -1;
    ASSERT_TRUE(bed.worker(rank).submit(c).ok());
  }
  ASSERT_TRUE(bed.run());
  for (unsigned rank = 0; rank < 4; ++rank) {
    for (const float v : x[rank]) ASSERT_FLOAT_EQ(v, 2);  // (1 + 2 + 3) / 3
    for (const float v : residual[rank]) ASSERT_FLOAT_EQ(v, rank == 3 ? 4.0f : 0.0f);
    EXPECT_EQ(bed.results(rank)[0].least_weight, 3u);
  }
  EXPECT_EQ(bed.results(3)[0].abstained_chunks, 20u);
  expect_no_complaints(bed);
}

TEST(WorkerCore, waits_for_a_straggler_without_flooding) {
  TestBed bed({.world = 2, .window = 256});
  Tensors warm(2, 64 * 512, 1), t(2, 64 * 512, 2);
  warm.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  const uint64_t before = bed.worker(0).stats().probes_sent;
  t.submit_one(bed, 0, 2);
  bed.run_until([] { return false; }, 10'000'000'000);  // ten seconds late
  const uint64_t probes = bed.worker(0).stats().probes_sent - before;
  EXPECT_GT(probes, 0u);
  EXPECT_LT(probes, 2000u);
  t.submit_one(bed, 1, 2);
  ASSERT_TRUE(bed.run());
  t.check();
  EXPECT_EQ(bed.worker(0).stats().retransmitted, 0u);
}

// Results that come late but in order are no sign of loss: each question would be a repair on the WAN.
TEST(WorkerCore, asks_for_nothing_while_a_straggler_streams) {
  TestBed bed({.world = 2, .window = 256, .rate_bps = 10'000'000});
  Tensors warm(2, 64 * 512, 1), t(2, 64 * 2048, 2);
  warm.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  t.submit_one(bed, 0, 2);
  bed.run_until([] { return false; }, bed.now_ns() + 100'000'000);
  t.submit_one(bed, 1, 2);
  const uint64_t before = bed.worker(0).stats().probes_sent;
  const int64_t began = bed.now_ns();
  ASSERT_TRUE(bed.run());
  t.check();
  EXPECT_GT(bed.now_ns() - began, 500'000'000);  // hundreds of silences
  EXPECT_LT(bed.worker(0).stats().probes_sent - before, 10u);
}

TEST(WorkerCore, names_what_is_missing) {
  TestBed bed({.world = 2, .window = 16});
  Tensors t(2, 64 * 40, 2);
  t.submit_one(bed, 0, 3);
  bed.run_until([] { return false; }, 5'000'000'000);
  const Missing m = bed.worker(0).missing(3);
  EXPECT_EQ(m.chunks, 40u);
  EXPECT_EQ(m.of, 40u);
  EXPECT_EQ(m.sent, 16u);
  EXPECT_EQ(m.first_element, 0u);
  EXPECT_EQ(m.why, Missing::Why::others_missing);
}

// A worker that is ahead has its window full of numbers that wait for others; the one that is lost is not
// asked about in its turn only.
TEST(WorkerCore, asks_about_what_may_be_missing_before_what_waits) {
  constexpr uint32_t kWindow = 64;
  TestBed bed({.world = 2, .window = kWindow});
  std::optional<uint32_t> first;
  int swallowed = 0;
  bed.tap = [&](bool up, unsigned rank, testing::Datagram& p) {
    const wire::Type type = p.header().type();
    if (type == wire::Type::nack || type == wire::Type::sync) return true;
    if (!up || rank != 0 || type != wire::Type::up) return false;
    const uint32_t number = p.header().number.load();
    if (!first) first = number;
    return number == *first && swallowed < 5 && ++swallowed > 0;
  };
  std::vector<int32_t> one(64, 1), two(64, 2), ahead(64 * (kWindow - 1));
  const auto submit = [&](unsigned rank, uint64_t id, std::vector<int32_t>& x) {
    Collective c;
    c.id = id;
    c.input = c.output = x.data();
    c.count = x.size();
    c.type = ElementType::kInt32;
    ASSERT_TRUE(bed.worker(rank).submit(c).ok());
  };
  submit(0, 1, one);
  submit(0, 2, ahead);
  submit(1, 1, two);
  ASSERT_TRUE(bed.run_until([&] { return !bed.results(0).empty(); }, 600'000'000'000));
  EXPECT_EQ(swallowed, 5);
  EXPECT_EQ(one[0], 3);
  EXPECT_LT(bed.worker(0).stats().probes_sent, 3 * kWindow);  // five times through the window otherwise
}

// What is asked with an UP without lanes is answered, and sent on by inner aggregators, with lanes.
TEST(WorkerCore, paces_questions_as_what_becomes_of_them) {
  TestBed bed({.world = 2, .window = 512, .lanes = 256, .rate_bps = 100'000'000});
  Tensors t(2, 256 * 512, 2);
  t.submit(bed, 1);
  bed.run_until([] { return false; }, 20'000'000);
  EXPECT_GT(bed.worker(0).stats().empty_ups, 100u);
  const double bits = static_cast<double>(bed.worker(0).stats().downs) * (wire::kHeadSize + 1024) * 8;
  EXPECT_LE(bits / 0.02, 150e6);  // a burst at the start
}

TEST(WorkerCore, keeps_to_the_rate) {
  TestBed bed({.world = 2, .window = 512, .lanes = 256, .rate_bps = 100'000'000});
  Tensors t(2, 256 * 4000, 2);
  t.submit(bed, 1);
  ASSERT_TRUE(bed.run());
  const double seconds = static_cast<double>(bed.now_ns()) / 1e9;
  const double bits = static_cast<double>(bed.worker(0).stats().ups) * (wire::kHeadSize + 1024) * 8;
  EXPECT_LE(bits / seconds, 103e6);  // a burst at the start
  EXPECT_GE(bits / seconds, 95e6);
}

}  // namespace
}  // namespace l3dml::host
