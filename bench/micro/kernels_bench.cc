// The kernels against what they are measured by: memcpy of the same bytes, and a bare loop over the same
// arrays. Every benchmark walks a working set chunk by chunk, as packets do; bytes_per_second counts the
// tensor or the lanes once. `Arg` is the working set in KiB: 256 stays in L2, 16384 does not.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "dataplane/kernels/lanes.h"
#include "dataplane/kernels/quantize.h"

namespace l3dml::kernels {
namespace {

constexpr size_t kLanes = 256;  // of a chunk
constexpr size_t kChunkBytes = 4 * kLanes;
constexpr size_t kHeader = 42 + 20 + 24;  // lanes in a packet start as misaligned as they do on the wire

struct Data {
  explicit Data(const benchmark::State& state)
      : chunks(static_cast<size_t>(state.range(0)) * 1024 / kChunkBytes),
        packets(chunks * (kChunkBytes + kHeader)),
        words(chunks * kLanes),
        floats(chunks * kLanes) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 0.01f);
    for (float& f : floats) f = normal(random);
    for (uint8_t& b : packets) b = static_cast<uint8_t>(random());
  }
  uint8_t* lanes(size_t chunk) { return packets.data() + chunk * (kChunkBytes + kHeader) + kHeader; }
  uint32_t* slot(size_t chunk) { return words.data() + chunk * kLanes; }
  float* tensor(size_t chunk) { return floats.data() + chunk * kLanes; }

  size_t chunks;
  std::vector<uint8_t> packets;
  std::vector<uint32_t> words;
  std::vector<float> floats;
};

template <typename Body>
void over_chunks(benchmark::State& state, Body body) {
  Data data(state);
  for (auto _ : state) {
    for (size_t c = 0; c < data.chunks; ++c) body(data, c);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * data.chunks * kChunkBytes));
}

void memcpy_lanes(benchmark::State& state) {
  over_chunks(state, [](Data& d, size_t c) { std::memcpy(d.slot(c), d.lanes(c), kChunkBytes); });
}
BENCHMARK(memcpy_lanes)->Arg(256)->Arg(16384);

// What the speed table calls the bare loop: host order, no checksum, as the compiler of this build makes it.
void bare_add(benchmark::State& state) {
  over_chunks(state, [](Data& d, size_t c) {
    uint32_t* slot = d.slot(c);
    const uint8_t* lanes = d.lanes(c);
    for (size_t i = 0; i < kLanes; ++i) {
      uint32_t v;
      std::memcpy(&v, lanes + 4 * i, 4);
      slot[i] += v;
    }
  });
}
BENCHMARK(bare_add)->Arg(256)->Arg(16384);

// There and back: what a quantise and a dequantise move, without the arithmetic.
void memcpy_there_and_back(benchmark::State& state) {
  over_chunks(state, [](Data& d, size_t c) {
    std::memcpy(d.lanes(c), d.tensor(c), kChunkBytes);
    benchmark::ClobberMemory();
    std::memcpy(d.tensor(c), d.lanes(c), kChunkBytes);
  });
}
BENCHMARK(memcpy_there_and_back)->Arg(256)->Arg(16384);

void lanes_benches(const LaneKernels& k) {
  const auto add = [&](const char* what, auto body) {
    benchmark::RegisterBenchmark((std::string(what) + "/" + std::string(k.name)).c_str(),
                                 [body](benchmark::State& state) { over_chunks(state, body); })
        ->Arg(256)
        ->Arg(16384);
  };
  add("set", [&k](Data& d, size_t c) { k.set(d.slot(c), d.lanes(c), kLanes); });
  add("add", [&k](Data& d, size_t c) { k.add(d.slot(c), d.lanes(c), kLanes); });
  add("add_and_emit",
      [&k](Data& d, size_t c) { benchmark::DoNotOptimize(k.add_and_emit(d.slot(c), d.lanes(c), kLanes)); });
  add("emit", [&k](Data& d, size_t c) { benchmark::DoNotOptimize(k.emit(d.lanes(c), d.slot(c), kLanes)); });
}

void quantize_benches(const QuantizeKernels& k) {
  static constexpr const char* kNames[] = {"fixed32", "fixed16x2", "fixed8x4"};
  static constexpr uint8_t kExp = 127;  // |x| < 1
  const auto add = [&](const std::string& what, auto body) {
    benchmark::RegisterBenchmark((what + "/" + std::string(k.name)).c_str(),
                                 [body](benchmark::State& state) { over_chunks(state, body); })
        ->Arg(256)
        ->Arg(16384);
  };
  add("exponent", [&k](Data& d, size_t c) { benchmark::DoNotOptimize(k.exponent(d.tensor(c), kLanes)); });
  for (size_t f = 0; f < kLaneFormats; ++f) {
    const int bits = value_bits(static_cast<LaneFormat>(f), 4);
    const std::string format = kNames[f];
    add("quantize_" + format, [&k, f, bits](Data& d, size_t c) {
      benchmark::DoNotOptimize(k.quantize[f](d.lanes(c), d.tensor(c), kLanes, kExp, bits, nullptr));
    });
    add("dequantize_" + format, [&k, f, bits](Data& d, size_t c) {
      k.dequantize[f](d.tensor(c), d.lanes(c), kLanes, kExp, bits, 4, 1);
    });
    add("quantize_dequantize_" + format, [&k, f, bits](Data& d, size_t c) {
      benchmark::DoNotOptimize(k.quantize[f](d.lanes(c), d.tensor(c), kLanes, kExp, bits, nullptr));
      k.dequantize[f](d.tensor(c), d.lanes(c), kLanes, kExp, bits, 1, 1);
    });
  }
}

}  // namespace
}  // namespace l3dml::kernels

int main(int argc, char** argv) {
  using namespace l3dml::kernels;
  const LaneKernelsList lanes = available_lane_kernels();
  for (size_t i = 0; i < lanes.count; ++i) lanes_benches(*lanes.items[i]);
  const QuantizeKernelsList quantizers = available_quantize_kernels();
  for (size_t i = 0; i < quantizers.count; ++i) quantize_benches(*quantizers.items[i]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("lane_kernels", std::string(lane_kernels().name));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
