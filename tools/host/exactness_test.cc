// The promise of DESIGN section 5: a sum is the integer sum of the quantised inputs, bit by bit, whatever is
// lost on the way. And the error of that against float64, per lane format.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "tools/host/testing/test_bed.h"

namespace l3dml::host {
namespace {

using kernels::Codec;
using kernels::ElementType;
using kernels::LaneFormat;
using testing::BedOptions;
using testing::TestBed;

// What all ranks must hold, computed without any network: every chunk's exponent is the largest that a rank
// needs, as it is where exponents are asked for or told.
std::vector<float> integer_sum(const std::vector<std::vector<float>>& x, LaneFormat format, size_t lanes) {
  const auto world = static_cast<unsigned>(x.size());
  const Codec codec(ElementType::kFloat32, format, world);
  const size_t each = lanes * kernels::elements_per_lane(format);
  std::vector<float> sum(x[0].size());
  std::vector<uint8_t> bytes(lanes * 4);
  for (size_t from = 0; from < sum.size(); from += each) {
    const size_t count = std::min(each, sum.size() - from);
    uint8_t exp = 0;
    for (const auto& rank : x) exp = std::max(exp, codec.exponent(&rank[from], nullptr, count));
    std::vector<uint32_t> total(lanes);
    for (const auto& rank : x) {
      std::memset(bytes.data(), 0, bytes.size());
      codec.quantize(bytes.data(), &rank[from], nullptr, count, exp, nullptr);
      for (size_t i = 0; i < lanes; ++i) {
        base::be32_t lane;
        std::memcpy(&lane, &bytes[i * 4], 4);
        total[i] += lane.load();
      }
    }
    for (size_t i = 0; i < lanes; ++i) {
      const base::be32_t lane(total[i]);
      std::memcpy(&bytes[i * 4], &lane, 4);
    }
    codec.dequantize(&sum[from], bytes.data(), count, exp, world, false);
  }
  return sum;
}

std::vector<std::vector<float>> inputs(unsigned world, size_t count, uint64_t seed) {
  std::vector<std::vector<float>> x(world);
  for (unsigned rank = 0; rank < world; ++rank) {
    std::mt19937_64 random(seed * 100 + rank);
    std::uniform_real_distribution<float> mantissa(-1, 1);
    std::uniform_int_distribution<int> exponent(-20, 8);
    x[rank].resize(count);
    float scale = 1;
    for (size_t i = 0; i < count; ++i) {
      if (i % 97 == 0) scale = std::ldexp(1.0f, exponent(random));
      x[rank][i] = mantissa(random) * scale;
    }
  }
  return x;
}

void allreduce(TestBed& bed, std::vector<std::vector<float>>& x, LaneFormat format, uint64_t id,
               std::vector<std::vector<float>>* residual = nullptr) {
  for (unsigned rank = 0; rank < x.size(); ++rank) {
    Collective c;
    c.id = id;
    c.input = c.output = x[rank].data();
    c.count = x[rank].size();
    c.format = format;
    c.key = id;
    if (residual) c.residual = (*residual)[rank].data();
    ASSERT_TRUE(bed.worker(rank).submit(c).ok());
  }
  ASSERT_TRUE(bed.run());
}

void expect_exact(const BedOptions& options, size_t count, LaneFormat format) {
  SCOPED_TRACE(testing::describe(options) + " elements " + std::to_string(count));
  TestBed bed(options);
  auto x = inputs(options.world, count, options.seed);
  const auto want = integer_sum(x, format, options.lanes);
  allreduce(bed, x, format, 1);
  for (const auto& got : x) ASSERT_EQ(0, std::memcmp(got.data(), want.data(), count * sizeof(float)));
  for (const std::string& complaint : bed.aggregator().complaints) ADD_FAILURE() << complaint;
}

TEST(Exactness, random_worlds_losses_and_sizes) {
  std::mt19937_64 random(20240611);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    BedOptions o;
    o.seed = seed;
    o.world = 2 + static_cast<unsigned>(random() % 7);
    o.lanes = 64 * (1 + static_cast<uint32_t>(random() % 5));
    o.window = 1u << (random() % 9);
    o.look_ahead = o.window << (random() % 3);
    o.shards = std::min(o.window, 1u << (random() % 4));
    o.loss = 0.01 * static_cast<double>(random() % 6);
    o.duplication = 0.01 * static_cast<double>(random() % 3);
    o.jitter_ns = static_cast<int64_t>(random() % 3) * 2'000'000;
    const size_t count = 1 + random() % (random() % 4 ? 20'000 : 200'000);
    expect_exact(o, count, static_cast<LaneFormat>(random() % 3));
    if (HasFatalFailure()) return;
  }
}

// One to ten million elements, every world from 2 to 8, every loss from 0 to 5 %: the tensors of real models.
struct LargeTensor {
  unsigned world;
  size_t count;
  double loss;
};

class ExactLargeTensor : public ::testing::TestWithParam<LargeTensor> {};

TEST_P(ExactLargeTensor, is_the_integer_sum) {
  const auto& [world, count, loss] = GetParam();
  expect_exact({.world = world, .window = 1024, .lanes = 320, .loss = loss, .seed = world}, count,
               LaneFormat::kFixed32);
}

INSTANTIATE_TEST_SUITE_P(Worlds, ExactLargeTensor,
                         ::testing::Values(LargeTensor{2, 10'000'000, 0.01}, LargeTensor{3, 2'345'678, 0.05},
                                           LargeTensor{4, 4'000'000, 0.02}, LargeTensor{5, 1'000'003, 0},
                                           LargeTensor{6, 1'500'000, 0.03}, LargeTensor{7, 1'000'000, 0.04},
                                           LargeTensor{8, 3'000'001, 0.001}),
                         [](const auto& tensor) {
                           return "of_" + std::to_string(tensor.param.world) + "_workers";
                         });

TEST(Exactness, error_against_float64_per_format) {
  struct Case {
    LaneFormat format;
    double most;  // of the chunk's largest magnitude
  };
  for (const auto& [format, most] : {Case{LaneFormat::kFixed32, 4e-8}, Case{LaneFormat::kFixed16x2, 5e-4},
                                     Case{LaneFormat::kFixed8x4, 0.13}}) {
    TestBed bed({.world = 4, .window = 64, .lanes = 256});
    const size_t count = 40'000;
    std::vector<std::vector<float>> x(4, std::vector<float>(count));
    std::vector<double> sum(count);
    std::mt19937_64 random(7);
    std::normal_distribution<float> normal;
    for (auto& rank : x)
      for (size_t i = 0; i < count; ++i) sum[i] += rank[i] = normal(random);
    allreduce(bed, x, format, 1);
    double worst = 0, square = 0;
    for (size_t i = 0; i < count; ++i) {
      const double error = std::fabs(x[0][i] - sum[i]);
      worst = std::max(worst, error);
      square += error * error;
    }
    // Four ranks, each rounding to half a step; the largest magnitudes here are about 4.
    EXPECT_LE(worst, 4 * 4 * most) << static_cast<int>(format);
    RecordProperty("rms_error_" + std::to_string(static_cast<int>(format)),
                   std::to_string(std::sqrt(square / count)));
  }
}

// What one step leaves out the next one says: over many steps the mean of the sums approaches the truth.
TEST(Exactness, error_feedback_makes_the_mean_of_many_steps_right) {
  constexpr size_t kCount = 3000;
  constexpr int kSteps = 64;
  TestBed bed({.world = 4, .window = 16, .loss = 0.02});
  std::vector<std::vector<float>> x(4), truth(4), residual(4, std::vector<float>(kCount));
  std::vector<double> mean(kCount), sum(kCount);
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  for (auto& rank : truth) {
    rank.resize(kCount);
    for (size_t i = 0; i < kCount; ++i) sum[i] += rank[i] = normal(random);
  }
  for (int step = 0; step < kSteps; ++step) {
    x = truth;
    allreduce(bed, x, LaneFormat::kFixed8x4, 1, &residual);
    for (size_t i = 0; i < kCount; ++i) mean[i] += x[0][i] / double{kSteps};
  }
  double worst = 0;
  for (size_t i = 0; i < kCount; ++i) worst = std::max(worst, std::fabs(mean[i] - sum[i]));
  EXPECT_LT(worst, 0.05);  // a single step errs by up to half
}

// Same inputs, other losses: the same bits, over several steps with predicted exponents.
TEST(Exactness, bits_do_not_depend_on_what_was_lost) {
  std::vector<std::vector<float>> first;
  for (const double loss : {0.0, 0.01, 0.05}) {
    TestBed bed({.world = 3,
                 .window = 32,
                 .loss = loss,
                 .jitter_ns = 1'000'000,
                 .seed = 1 + static_cast<uint64_t>(loss * 1000)});
    std::vector<std::vector<float>> all;
    for (uint64_t step = 0; step < 6; ++step) {
      auto x = inputs(3, 64 * 90, 50 + step);
      allreduce(bed, x, step % 2 ? LaneFormat::kFixed32 : LaneFormat::kFixed16x2, 9);
      all.push_back(x[2]);
    }
    if (first.empty()) first = all;
    for (size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(0, std::memcmp(all[i].data(), first[i].data(), all[i].size() * sizeof(float)))
          << "step " << i;
  }
}

}  // namespace
}  // namespace l3dml::host
