// Sends prepared gradients through the pipeline, nothing else: what bench/instructions_test.py runs under
// callgrind and what a profiler wants to look at. Usage: packets LANES [CHILDREN JOBS ROUNDS KERNELS].
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/macro/load.h"

int main(int argc, char** argv) {
  using namespace l3dml;
  const auto number = [&](int i, long otherwise) {
    return argc > i ? std::strtol(argv[i], nullptr, 10) : otherwise;
  };
  const long lanes = number(1, 0), children = number(2, 4), jobs = number(3, 1), rounds = number(4, 1);
  if (argc > 1 && (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "--version"))) {
    std::printf(
        "packets LANES [CHILDREN JOBS ROUNDS KERNELS]: gradients through the pipeline, for profilers\n");
    return 0;
  }
  if (lanes < 64 || lanes > 320 || lanes % 64 || children < 1 || children > 31 || jobs < 1 || jobs > 256 ||
      rounds < 1 || (argc > 5 && !kernels::force_lane_kernels(argv[5]))) {
    std::fprintf(stderr,
                 "packets: want LANES (64 to 320 by 64) [CHILDREN (1-31) JOBS (1-256) ROUNDS KERNELS that "
                 "this CPU has]\n");
    return 2;
  }
  bench::Load load(
      {static_cast<unsigned>(children), static_cast<uint16_t>(lanes), static_cast<unsigned>(jobs)});
  double best = 1;
  for (long i = 0; i < rounds; ++i) best = std::min(best, load.pipeline_packet_seconds());
  std::printf("%.1f ns a packet at best\n", best * 1e9);
  std::printf("packets %ld\n", rounds * static_cast<long>(load.packets_per_round()));
}
