#include "dataplane/kernels/quantize.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "dataplane/kernels/guarded.h"

namespace l3dml::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr LaneFormat kFormats[] = {LaneFormat::kFixed32, LaneFormat::kFixed16x2, LaneFormat::kFixed8x4};

std::mt19937_64 g_random(1);
// Normally distributed times 2^k, with zeros, denormals and exact ties among them.
std::vector<float> random_values(size_t count, int k) {
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& v : x) switch (g_random() % 8) {
      case 0:
        v = 0;
        break;
      case 1:
        v = std::ldexp(std::round(normal(g_random) * 64) + 0.5f, k - 5);
        break;
      case 2:
        v = -0.0f;
        break;
      case 3:
        v = std::ldexp(normal(g_random), k - 20);
        break;
      default:
        v = std::ldexp(normal(g_random), k);
    }
  return x;
}

const QuantizeKernels& scalar() { return *available_quantize_kernels().items[0]; }

template <typename Body>
void for_each_case(Body body) {
  const QuantizeKernelsList list = available_quantize_kernels();
  for (size_t k = 0; k < list.count; ++k)
    for (LaneFormat format : kFormats)
      for (size_t count : kCounts)
        for (int power : {-140, -126, -30, 0, 40, 120})
          for (size_t shift : {0, 1, 2, 3}) {
            SCOPED_TRACE(testing::Message() << list.items[k]->name << " format " << int(format) << " count "
                                            << count << " 2^" << power << " shift " << shift);
            body(*list.items[k], size_t(format), random_values(count, power), shift);
            if (testing::Test::HasFatalFailure()) return;
          }
}

TEST(Quantize, exponent_is_the_least_power_above) {
  for (float x : {1.0f, 1.5f, 0.75f, 0x1p-126f, 0x1.fffffep125f, 1e-40f, 3.0e10f}) {
    const uint8_t exp = scalar().exponent(&x, 1);
    EXPECT_LT(std::fabs(double{x}), std::ldexp(1.0, exp - 127)) << x;
    EXPECT_TRUE(exp == kExpMin || std::fabs(double{x}) >= std::ldexp(1.0, exp - 128)) << x;
  }
  const float zero = 0;
  EXPECT_EQ(scalar().exponent(&zero, 1), kExpMin);
  for (float x : {kInf, -kInf, NAN, 0x1p126f, -0x1p127f})
    EXPECT_EQ(scalar().exponent(&x, 1), kExpNonFinite) << x;
}

TEST(Quantize, rounds_to_nearest_even) {
  const float x[6] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.4f};
  uint8_t lanes[24];
  const int bits = 29;
  const uint8_t exp = 127 + bits;  // scale 1
  ASSERT_LE(scalar().quantize[0](lanes, x, 6, exp, bits, nullptr), exp);
  const int32_t expected[6] = {0, 2, 2, 0, -2, -2};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(int32_t(uint32_t{lanes[4 * i]} << 24 | lanes[4 * i + 1] << 16 | lanes[4 * i + 2] << 8 |
                      lanes[4 * i + 3]),
              expected[i]);
}

TEST(Quantize, tells_when_a_lane_does_not_fit) {
  std::vector<float> x(40, 0.25f);
  std::vector<uint8_t> lanes(160);
  x[33] = 1.0f;  // needs 2^1
  const QuantizeKernelsList list = available_quantize_kernels();
  for (size_t k = 0; k < list.count; ++k)
    for (const QuantizeFunction quantize : list.items[k]->quantize) {
      EXPECT_EQ(quantize(lanes.data(), x.data(), x.size(), 127, 7, nullptr), 128);
      EXPECT_EQ(quantize(lanes.data(), x.data(), 33, 127, 7, nullptr), 126);
    }
}

TEST(Quantize, every_set_equals_scalar) {
  for_each_case(
      [](const QuantizeKernels& kernels, size_t format, const std::vector<float>& values, size_t shift) {
        const size_t count = values.size(), bytes = 4 * lanes_for(LaneFormat(format), count);
        Guarded<float> x(values, 4 * shift), residual(count, shift * 4), residual_expected(count, 0);
        ASSERT_EQ(kernels.exponent(x.data(), count), scalar().exponent(x.data(), count));
        const uint8_t exp = scalar().exponent(x.data(), count);
        if (exp == kExpNonFinite) return;
        for (unsigned world : {1, 2, 4, 8}) {
          const int bits = value_bits(LaneFormat(format), world);
          Guarded<uint8_t> lanes(bytes, shift), expected(bytes, 0);
          float* const out = format ? residual.data() : nullptr;
          const uint8_t needed = kernels.quantize[format](lanes.data(), x.data(), count, exp, bits, out);
          ASSERT_EQ(needed, scalar().quantize[format](expected.data(), x.data(), count, exp, bits,
                                                      format ? residual_expected.data() : nullptr));
          ASSERT_EQ(lanes.values(), expected.values());
          ASSERT_TRUE(format == 0 || residual.values() == residual_expected.values());

          // What comes back: any sum, not only one's own lanes.
          Guarded<uint8_t> sum(bytes, shift);
          for (size_t i = 0; i < bytes; ++i) sum.data()[i] = static_cast<uint8_t>(g_random());
          for (float divisor : {1.0f, 3.0f, 4.0f}) {
            Guarded<float> y(count, 4 * shift), y_expected(count, 0);
            kernels.dequantize[format](y.data(), sum.data(), count, exp, bits, world, divisor);
            scalar().dequantize[format](y_expected.data(), sum.data(), count, exp, bits, world, divisor);
            ASSERT_EQ(y.values(), y_expected.values());
            y.check();
          }
          x.check(), lanes.check(), residual.check();
        }
      });
}

TEST(Quantize, every_set_accumulates) {
  for_each_case([](const QuantizeKernels& kernels, size_t, const std::vector<float>& values, size_t shift) {
    Guarded<float> x(values, 4 * shift), r(random_values(values.size(), 0), 0);
    std::vector<float> expected = values;
    for (size_t i = 0; i < values.size(); ++i) expected[i] += r.data()[i];
    kernels.accumulate(x.data(), r.data(), values.size());
    ASSERT_EQ(x.values(), expected);
    x.check(), r.check();
  });
}

// The reference semantics of a job: the integer sum of all workers' lanes, halves and quarters without
// carries.
TEST(Quantize, sums_of_lanes_are_sums_of_values_in_every_format) {
  for (LaneFormat format : kFormats)
    for (unsigned world : {1, 2, 3, 8, 31}) {
      const int bits = value_bits(format, world);
      if (bits < 1) continue;
      constexpr size_t kCount = 1000;
      std::vector<std::vector<float>> inputs;
      uint8_t exp = kExpMin;
      for (unsigned w = 0; w < world; ++w) {
        inputs.push_back(random_values(kCount, -7));
        inputs.back()[0] = 0x1.fffffep-2f,
        inputs.back()[1] = -0x1.fffffep-2f;  // all workers at both extremes
        exp = std::max(exp, scalar().exponent(inputs.back().data(), kCount));
      }
      std::vector<uint8_t> lanes(4 * lanes_for(format, kCount));
      std::vector<uint32_t> sum(lanes.size() / 4);
      for (const std::vector<float>& x : inputs) {
        ASSERT_LE(scalar().quantize[size_t(format)](lanes.data(), x.data(), kCount, exp, bits, nullptr), exp);
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += uint32_t{lanes[4 * i]} << 24 | lanes[4 * i + 1] << 16 | lanes[4 * i + 2] << 8 |
                    lanes[4 * i + 3];
      }
      for (size_t i = 0; i < sum.size(); ++i)
        for (int b = 0; b < 4; ++b) lanes[4 * i + b] = static_cast<uint8_t>(sum[i] >> (24 - 8 * b));
      std::vector<float> y(kCount);
      scalar().dequantize[size_t(format)](y.data(), lanes.data(), kCount, exp, bits, world, 1);
      const double step = std::ldexp(1.0, exp - 127 - bits);
      for (size_t i = 0; i < kCount; ++i) {
        double expected = 0;
        for (const std::vector<float>& x : inputs) expected += x[i];
        // Half a step each; a whole one where 2^s was cut to 2^s - 1; plus float32's own rounding of the sum.
        ASSERT_NEAR(y[i], expected, world * step * (i < 2 ? 1.0 : 0.5) + std::fabs(expected) * 0x1p-23)
            << "format " << int(format) << " world " << world << " element " << i;
      }
    }
}

// What a format costs: error of the sum of four workers against float64, in units of the largest sum.
TEST(Quantize, reports_the_error_of_each_format_against_float64) {
  static constexpr const char* kNames[] = {"fixed32", "fixed16x2", "fixed8x4"};
  static constexpr double kAtMost[] = {2e-7, 3e-4, 0.08};
  constexpr unsigned kWorld = 4;
  constexpr size_t kCount = 1 << 16;
  std::normal_distribution<float> normal(0, 0.01f);
  std::vector<std::vector<float>> inputs(kWorld, std::vector<float>(kCount));
  uint8_t exp = kExpMin;
  for (std::vector<float>& x : inputs) {
    for (float& v : x) v = normal(g_random);
    exp = std::max(exp, scalar().exponent(x.data(), kCount));
  }
  for (LaneFormat format : kFormats) {
    const int bits = value_bits(format, kWorld);
    std::vector<double> sum(kCount);
    std::vector<uint8_t> lanes(4 * lanes_for(format, kCount));
    std::vector<float> y(kCount);
    double largest = 0, worst = 0, squares = 0;
    for (const std::vector<float>& x : inputs) {  // each worker's lanes alone: the integer sum adds no error
      scalar().quantize[size_t(format)](lanes.data(), x.data(), kCount, exp, bits, nullptr);
      scalar().dequantize[size_t(format)](y.data(), lanes.data(), kCount, exp, bits, 1, 1);
      for (size_t i = 0; i < kCount; ++i) sum[i] += double{y[i]};
    }
    for (size_t i = 0; i < kCount; ++i) {
      double exact = 0;
      for (const std::vector<float>& x : inputs) exact += double{x[i]};
      largest = std::max(largest, std::fabs(exact));
      worst = std::max(worst, std::fabs(sum[i] - exact));
      squares += (sum[i] - exact) * (sum[i] - exact);
    }
    const std::string name = kNames[size_t(format)];
    RecordProperty(name + "_worst", std::to_string(worst / largest));
    std::printf("%-9s worst %.2e, root mean square %.2e of the largest sum\n", name.c_str(), worst / largest,
                std::sqrt(squares / kCount) / largest);
    EXPECT_LT(worst / largest, kAtMost[size_t(format)]) << name;
  }
}

TEST(Quantize, residual_is_what_was_left_out) {
  const std::vector<float> x = random_values(333, -3);
  for (size_t format : {1, 2}) {
    const int bits = value_bits(LaneFormat(format), 4);
    const uint8_t exp = scalar().exponent(x.data(), x.size());
    std::vector<uint8_t> lanes(4 * lanes_for(LaneFormat(format), x.size()));
    std::vector<float> residual(x.size()), y(x.size());
    scalar().quantize[format](lanes.data(), x.data(), x.size(), exp, bits, residual.data());
    scalar().dequantize[format](y.data(), lanes.data(), x.size(), exp, bits, 1, 1);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_FLOAT_EQ(y[i] + residual[i], x[i]);
  }
}

TEST(Quantize, forced_by_name_is_the_one_that_runs) {
  const QuantizeKernelsList list = available_quantize_kernels();
  for (size_t k = 0; k < list.count; ++k) {
    ASSERT_TRUE(force_quantize_kernels(list.items[k]->name));
    EXPECT_EQ(&quantize_kernels(), list.items[k]);
    EXPECT_EQ(quantize_kernels().name, list.items[k]->name);
    for (size_t other = 0; other < k; ++other)
      EXPECT_NE(list.items[k]->exponent, list.items[other]->exponent);
  }
  EXPECT_FALSE(force_quantize_kernels(""));
  ASSERT_TRUE(force_quantize_kernels("auto"));
  EXPECT_EQ(&quantize_kernels(), list.items[list.count - 1]);
}

}  // namespace
}  // namespace l3dml::kernels
