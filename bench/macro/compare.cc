#include "bench/macro/compare.h"

#include <chrono>

namespace l3dml::bench {

report::Row ratio(const std::string& name, double target, const Options& options, const Side& ours,
                  const Side& peer, std::map<std::string, std::string> group) {
  ours(), peer();  // warm up
  std::vector<double> ratios, own, other;
  for (int round = 0; round < options.rounds; ++round) {
    const bool first = round % 2 == 0;  // neither side always goes first
    const double a = first ? ours() : 0;
    const double b = peer();
    own.push_back(first ? a : ours());
    other.push_back(b);
    ratios.push_back(own.back() / b);
  }
  report::Row row{name, report::median(ratios), "1", std::move(group), target, report::spread_of(ratios)};
  row.group["ours_per_s"] = std::to_string(static_cast<uint64_t>(report::median(own)));
  row.group["peer_per_s"] = std::to_string(static_cast<uint64_t>(report::median(other)));
  return row;
}

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace l3dml::bench
