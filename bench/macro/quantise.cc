// Quantising float32 into lanes and dequantising them again, on one core, against copying the same bytes
// there and back.
#include <cstring>
#include <vector>

#include "bench/macro/compare.h"
#include "dataplane/kernels/quantize.h"

namespace l3dml::bench {

std::vector<report::Row> quantise_rows(const Options& options) {
  constexpr size_t kChunk = 256;  // elements of a packet
  constexpr uint8_t kExp = 128;   // |x| < 2
  const size_t count = (options.quick ? size_t{1} : size_t{4}) << 20;
  std::vector<float> tensor(count);
  std::vector<uint8_t> lanes(count * 4);
  for (size_t i = 0; i < count; ++i) tensor[i] = static_cast<float>(i % 1999) / 1000 - 1;
  const kernels::QuantizeKernels& k = kernels::quantize_kernels();
  const auto format = static_cast<size_t>(kernels::LaneFormat::kFixed32);
  const int bits = kernels::value_bits(kernels::LaneFormat::kFixed32, 4);
  const auto bytes = static_cast<double>(count * sizeof(float));
  const auto ours = [&] {
    return bytes / seconds([&] {
             for (size_t i = 0; i < count; i += kChunk)
               k.quantize[format](&lanes[4 * i], &tensor[i], kChunk, kExp, bits, nullptr);
             for (size_t i = 0; i < count; i += kChunk)
               k.dequantize[format](&tensor[i], &lanes[4 * i], kChunk, kExp, bits, 4, 1);
           });
  };
  const auto peer = [&] {
    return bytes / seconds([&] {
             std::memcpy(lanes.data(), tensor.data(), count * sizeof(float));
             std::memcpy(tensor.data(), lanes.data(), count * sizeof(float));
           });
  };
  return {ratio("quantise_and_dequantise_vs_memcpy", 0.5, options, ours, peer,
                {{"kernels", std::string(k.name)}})};
}

}  // namespace l3dml::bench
