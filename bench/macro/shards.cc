// Two shards on two cores against one shard on one core: pipes share nothing but read-only tables.
#include <memory>
#include <thread>
#include <vector>

#include "bench/macro/compare.h"
#include "bench/macro/load.h"

namespace l3dml::bench {

std::vector<report::Row> shard_rows(const Options& options) {
  Load one({4, 256, 1}), other({4, 256, 1}), alone({4, 256, 1});
  const auto ours = [&] {
    double a = 0, b = 0;
    std::thread second([&] { b = 1 / other.pipeline_packet_seconds(); });
    a = 1 / one.pipeline_packet_seconds();
    second.join();
    return a + b;
  };
  return {ratio("two_shards_on_two_cores_vs_one", 1.85, options, ours,
                [&] { return 1 / alone.pipeline_packet_seconds(); })};
}

}  // namespace l3dml::bench
