#include "dataplane/kernels/codec.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace l3dml::kernels {
namespace {

constexpr LaneFormat kFormats[] = {LaneFormat::kFixed32, LaneFormat::kFixed16x2, LaneFormat::kFixed8x4};

template <typename T, typename FromDouble>
std::vector<T> values(size_t count, FromDouble from) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<T> x(count);
  for (T& v : x) v = from(normal(random) / 8);
  return x;
}

// One worker's chunk through lanes and back: the error of every combination stays within a step of its lanes
// and of its own type.
template <typename T, typename FromDouble, typename ToDouble>
void round_trip(ElementType type, double type_error, FromDouble from, ToDouble to) {
  for (LaneFormat format : kFormats)
    for (size_t count : {1, 3, 64, 255, 256, 257, 1001}) {
      const Codec codec(type, format, 4);
      const std::vector<T> x = values<T>(count, from);
      const uint8_t exp = codec.exponent(x.data(), nullptr, count);
      std::vector<uint8_t> lanes(4 * lanes_for(format, count));
      ASSERT_EQ(codec.quantize(lanes.data(), x.data(), nullptr, count, exp, nullptr), exp);
      std::vector<T> y(count);
      codec.dequantize(y.data(), lanes.data(), count, exp, 1, false);
      const double step = std::ldexp(1.0, exp - 127 - codec.bits());
      for (size_t i = 0; i < count; ++i)
        ASSERT_NEAR(to(y[i]), to(x[i]), step + std::fabs(to(x[i])) * type_error) << "format " << int(format);
    }
}

TEST(Codec, float32_round_trip) {
  round_trip<float>(
      ElementType::kFloat32, 0x1p-23, [](double v) { return float(v); }, [](float v) { return v; });
}
TEST(Codec, float64_round_trip) {
  round_trip<double>(
      ElementType::kFloat64, 0x1p-24, [](double v) { return v; }, [](double v) { return v; });
}
TEST(Codec, float16_round_trip) {
  round_trip<uint16_t>(
      ElementType::kFloat16, 0x1p-10, [](double v) { return half_of_float(float(v)); }, float_of_half);
}
TEST(Codec, bfloat16_round_trip) {
  round_trip<uint16_t>(
      ElementType::kBfloat16, 0x1p-7, [](double v) { return bfloat16_of_float(float(v)); },
      float_of_bfloat16);
}

TEST(Codec, float64_keeps_more_than_float32_would) {
  const double x = 1.0 + 0x1p-28;
  const Codec codec(ElementType::kFloat64, LaneFormat::kFixed32, 1);
  uint8_t lanes[4];
  const uint8_t exp = codec.exponent(&x, nullptr, 1);
  codec.quantize(lanes, &x, nullptr, 1, exp, nullptr);
  double y;
  codec.dequantize(&y, lanes, 1, exp, 1, false);
  EXPECT_EQ(y, x);
}

TEST(Codec, non_finite_input_is_254_in_every_type) {
  const double d[2] = {0, -std::numeric_limits<double>::infinity()}, large[1] = {1e39};
  const float f[2] = {0, NAN};
  const uint16_t h[2] = {0, 0x7c00}, b[2] = {0, 0x7f80};
  for (LaneFormat format : kFormats) {
    EXPECT_EQ(Codec(ElementType::kFloat64, format, 4).exponent(d, nullptr, 2), kExpNonFinite);
    EXPECT_EQ(Codec(ElementType::kFloat64, format, 4).exponent(large, nullptr, 1), kExpNonFinite);
    EXPECT_EQ(Codec(ElementType::kFloat32, format, 4).exponent(f, nullptr, 2), kExpNonFinite);
    EXPECT_EQ(Codec(ElementType::kFloat16, format, 4).exponent(h, nullptr, 2), kExpNonFinite);
    EXPECT_EQ(Codec(ElementType::kBfloat16, format, 4).exponent(b, nullptr, 2), kExpNonFinite);
  }
}

TEST(Codec, integers_wrap_and_need_no_exponent) {
  const Codec codec(ElementType::kInt32, LaneFormat::kFixed8x4, 4);
  EXPECT_EQ(codec.format(), LaneFormat::kFixed32);
  const int32_t x[3] = {-7, std::numeric_limits<int32_t>::max(), 1};
  uint8_t lanes[12];
  EXPECT_EQ(codec.exponent(x, nullptr, 3), 0);
  EXPECT_EQ(codec.quantize(lanes, x, nullptr, 3, 0, nullptr), 0);
  int32_t y[3];
  codec.dequantize(y, lanes, 3, 0, 4, false);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y[i], x[i]);
  codec.dequantize(y, lanes, 3, 0, 2, true);
  EXPECT_EQ(y[0], -3);
}

TEST(Codec, average_divides_by_the_weight_and_zero_weight_is_zero) {
  const Codec codec(ElementType::kFloat32, LaneFormat::kFixed32, 4);
  const float x[2] = {6, -9};
  uint8_t lanes[8];
  const uint8_t exp = codec.exponent(x, nullptr, 2);
  codec.quantize(lanes, x, nullptr, 2, exp, nullptr);
  float y[2];
  codec.dequantize(y, lanes, 2, exp, 3, true);
  EXPECT_EQ(y[0], 2);
  EXPECT_EQ(y[1], -3);
  codec.dequantize(y, lanes, 2, exp, 0, true);
  EXPECT_EQ(y[0], 0);
}

// Error feedback: what one step leaves out, the next ones send, so the mean of many steps has no bias.
TEST(Codec, carried_residual_removes_the_bias_of_eight_bits) {
  const Codec codec(ElementType::kFloat32, LaneFormat::kFixed8x4, 8);
  const std::vector<float> x = {1.0f, 0.01f, -0.017f, 0.003f, 0.4999f};
  std::vector<float> carried(x.size(), 0), residual(x.size()), y(x.size());
  std::vector<double> sum(x.size(), 0);
  constexpr int kSteps = 1000;
  for (int step = 0; step < kSteps; ++step) {
    const uint8_t exp = codec.exponent(x.data(), carried.data(), x.size());
    std::vector<uint8_t> lanes(4 * lanes_for(codec.format(), x.size()));
    ASSERT_LE(codec.quantize(lanes.data(), x.data(), carried.data(), x.size(), exp, residual.data()), exp);
    codec.dequantize(y.data(), lanes.data(), x.size(), exp, 1, false);
    carried = residual;
    for (size_t i = 0; i < x.size(); ++i) sum[i] += y[i];
  }
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(sum[i] / kSteps, x[i], 0.0005) << i;
}

TEST(Codec, refuses_more_workers_than_the_format_has_room_for) {
  EXPECT_TRUE(Codec(ElementType::kFloat32, LaneFormat::kFixed8x4, 64).usable());
  EXPECT_FALSE(Codec(ElementType::kFloat32, LaneFormat::kFixed8x4, 65).usable());
  EXPECT_TRUE(Codec(ElementType::kFloat32, LaneFormat::kFixed32, 1000).usable());
}

TEST(Codec, halves_convert_as_the_compiler_does) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f = float_of_half(static_cast<uint16_t>(bits));
    const bool nan = (bits & 0x7fff) > 0x7c00;
    ASSERT_EQ(std::isnan(f), nan);
    ASSERT_TRUE(nan || half_of_float(f) == bits) << bits;
  }
  EXPECT_EQ(half_of_float(65519.9f), 0x7bff);
  EXPECT_EQ(half_of_float(65520.0f), 0x7c00);
  EXPECT_EQ(half_of_float(0x1p-25f), 0) << "tie to even";
  EXPECT_EQ(half_of_float(0x1.002p-25f), 1);
  EXPECT_EQ(half_of_float(1 + 0x1p-11f), 0x3c00) << "tie to even";
  EXPECT_EQ(half_of_float(1 + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(half_of_float(-0.0f), 0x8000);
}

TEST(Codec, bfloat16_rounds_to_nearest_even) {
  EXPECT_EQ(bfloat16_of_float(1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bfloat16_of_float(1 + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(bfloat16_of_float(0x1.fffffep127f), 0x7f80);
  EXPECT_TRUE(std::isnan(float_of_bfloat16(bfloat16_of_float(NAN))));
}

}  // namespace
}  // namespace l3dml::kernels
