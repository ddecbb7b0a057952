// Max-min fair rates of flows that share links, by progressive filling: all rates grow together; a flow stops
// when it reaches its ceiling or a link it uses is full. A flow that crosses a link w times takes w times its
// rate there.
#pragma once

#include <span>
#include <utility>
#include <vector>

namespace l3dml::drl {

struct Flow {
  std::vector<std::pair<int, double>> links;  // link, how often
  double ceiling_bps = 0;
};

std::vector<double> max_min(std::span<const double> capacity_bps, std::span<const Flow> flows);

}  // namespace l3dml::drl
