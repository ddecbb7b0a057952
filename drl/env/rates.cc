#include "drl/env/rates.h"

#include <algorithm>
#include <cmath>

namespace l3dml::drl {

double rate_alone(const Space& space, const Column& column) {
  double rate = kUnlimited;
  for (int i = 0; i < space.row_count(); ++i)
    if (column.takes[i] > 0) rate = std::min(rate, space.capacity()[i] / column.takes[i]);
  return rate;
}

double time_alone(const Space& space, const Column& column) {
  return column.latency_s + space.bits() / rate_alone(space, column);
}

const Allocation& RateSolver::solve(const Space& space, std::span<const Column* const> columns) {
  const int n = static_cast<int>(columns.size());
  const int rows = space.row_count();
  Allocation& a = result_;
  a.rate_bps.assign(n, 0);
  a.share.assign(n, 0);
  a.pressure.assign(rows, 0);
  a.load.assign(rows, 0);
  a.time_s = kUnlimited;
  takes_.clear();
  for (const Column* c : columns) {
    takes_.push_back(c->takes.data());
    a.time_s = std::min(a.time_s, c->alone_s);
  }
  if (!std::isfinite(a.time_s)) return a;

  value_.resize(n);
  packing_.load(space.capacity(), takes_);
  for (int step = 0; step < 30; ++step) {
    for (int j = 0; j < n; ++j) value_[j] = std::max(0.0, a.time_s - columns[j]->latency_s);
    packing_.maximise(value_);
    double rate = 0, offset = 0;
    for (int j = 0; j < n; ++j) {
      const double f = value_[j] > 0 ? packing_.x()[j] : 0;
      rate += f;
      offset += f * columns[j]->latency_s;
    }
    const double time = (space.bits() + offset) / rate;
    const bool done = !(time < a.time_s * (1 - 1e-9));
    a.time_s = std::min(a.time_s, time);
    if (done) break;
  }
  double total = 0;
  for (int j = 0; j < n; ++j) {
    a.rate_bps[j] = value_[j] > 0 ? packing_.x()[j] : 0;
    a.share[j] = a.rate_bps[j] * std::max(0.0, a.time_s - columns[j]->latency_s);
    total += a.share[j];
  }
  for (int j = 0; j < n; ++j) a.share[j] /= total;
  double pressure = 0;
  for (int i = 0; i < rows; ++i) {
    a.pressure[i] = packing_.price()[i] * space.capacity()[i];
    pressure += a.pressure[i];
  }
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < rows; ++i) a.load[i] += takes_[j][i] * a.rate_bps[j];
  for (int i = 0; i < rows; ++i)
    a.load[i] = space.capacity()[i] > 0 ? std::min(1.0, a.load[i] / space.capacity()[i]) : 1;
  for (double& p : a.pressure) p /= pressure;
  return a;
}

}  // namespace l3dml::drl
