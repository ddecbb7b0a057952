// What the worker core costs per chunk, without any network: every UP comes back as its own DOWN (a world of
// one). Compare with copying the tensor's bytes once each way.
#include <cstring>
#include <vector>

#include <benchmark/benchmark.h>

#include "tools/host/testing/test_bed.h"
#include "tools/host/worker_core.h"

namespace l3dml::host {
namespace {

// Keeps UPs in a ring and turns them into DOWNs.
class Mirror final : public PacketSink {
 public:
  Mirror(uint32_t window, uint32_t lanes) : size_(wire::kL3dmlSize + lanes * 4), memory_(2 * window * size_) {
    lengths_.resize(2 * window);
  }
  uint8_t* reserve(unsigned, size_t) override {
    return head_ - tail_ < lengths_.size() ? &memory_[head_ % lengths_.size() * size_] : nullptr;
  }
  void commit(size_t size_bytes) override { lengths_[head_++ % lengths_.size()] = size_bytes; }
  void deliver(WorkerCore& core, int64_t now_ns) {
    for (const size_t end = head_; tail_ != end; ++tail_) {
      uint8_t* packet = &memory_[tail_ % lengths_.size() * size_];
      auto& header = *reinterpret_cast<wire::L3dmlHeader*>(packet);
      if (header.type() != wire::Type::up) continue;
      if (lengths_[tail_ % lengths_.size()] == wire::kL3dmlSize)
        std::memset(packet + wire::kL3dmlSize, 0, size_ - wire::kL3dmlSize);
      header.set_type(wire::Type::down);
      core.on_packet(header, packet + wire::kL3dmlSize, (size_ - wire::kL3dmlSize) / 4, 0, false, now_ns);
    }
  }

 private:
  size_t size_;
  std::vector<uint8_t> memory_;
  std::vector<size_t> lengths_;
  size_t head_ = 0, tail_ = 0;
};

void run_core(benchmark::State& state) {
  const auto format = static_cast<kernels::LaneFormat>(state.range(0));
  const size_t count = size_t{1} << 20;
  testing::BedOptions options{.world = 1, .window = 256, .lanes = 256};
  uint64_t done = 0;
  WorkerCore core(testing::make_stripe(options, 0), 1, [&](const CollectiveResult&) { ++done; });
  Mirror mirror(512, 256);
  std::vector<float> in(count, 1.25f), out(count);
  int64_t now_ns = 0;
  for (auto _ : state) {
    Collective c;
    c.input = in.data();
    c.output = out.data();
    c.count = count;
    c.format = format;
    if (!core.submit(c).ok()) state.SkipWithError("refused");
    for (const uint64_t before = done; done == before;) {
      core.poll(now_ns += 1000, mirror);
      mirror.deliver(core, now_ns);
    }
  }
  const auto bytes = static_cast<int64_t>(count * sizeof(float));
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["ns_per_chunk"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(count) /
                             (256.0 * static_cast<double>(kernels::elements_per_lane(format))) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(run_core)->Name("worker_core")->Arg(0)->Arg(1)->Arg(2);

void run_copy(benchmark::State& state) {
  const size_t bytes = size_t{4} << 20;
  std::vector<uint8_t> a(bytes, 1), b(bytes);
  for (auto _ : state) {
    std::memcpy(b.data(), a.data(), bytes);
    benchmark::ClobberMemory();
    std::memcpy(a.data(), b.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(run_copy)->Name("copy_there_and_back");

}  // namespace
}  // namespace l3dml::host

BENCHMARK_MAIN();
