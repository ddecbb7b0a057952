#include "drl/env/packing.h"

#include <cmath>
#include <limits>

namespace l3dml::drl {

bool Packing::solve(std::span<const double> capacity, std::span<const double* const> columns,
                    std::span<const double> value) {
  constexpr double kEps = 1e-11;
  const int n = static_cast<int>(columns.size());
  row_of_.clear();
  tableau_.clear();
  rhs_.clear();
  for (size_t i = 0; i < capacity.size();
       ++i) {  // only rows that someone takes from; each scaled by its capacity
    double largest = 0;
    for (int j = 0; j < n; ++j) largest = std::max(largest, columns[j][i]);
    if (largest <= 0) continue;
    row_of_.push_back(static_cast<int>(i));
    for (int j = 0; j < n; ++j) tableau_.push_back(columns[j][i] / largest);
    rhs_.push_back(capacity[i] / largest);
  }
  const int m = static_cast<int>(row_of_.size());
  cost_.assign(value.begin(), value.end());
  row_var_.resize(m);
  col_var_.resize(n);
  for (int i = 0; i < m; ++i) row_var_[i] = n + i;
  for (int j = 0; j < n; ++j) col_var_[j] = j;
  objective_ = 0;
  bool bounded = true;

  double scale = 0;
  for (double v : cost_) scale = std::max(scale, std::abs(v));
  for (int iteration = 0; iteration < 50 * (n + 10); ++iteration) {
    int enter = -1;
    double best = kEps * scale;
    for (int j = 0; j < n; ++j) {
      if (cost_[j] <= best) continue;
      enter = j;
      if (iteration > 20 * (n + 2)) break;  // Bland-like: no cycling
      best = cost_[j];
    }
    if (enter < 0) break;
    int leave = -1;
    double ratio = std::numeric_limits<double>::infinity();
    for (int i = 0; i < m; ++i) {
      const double t = tableau_[i * n + enter];
      if (t > kEps && rhs_[i] < ratio * t) {
        ratio = rhs_[i] / t;
        leave = i;
      }
    }
    if (leave < 0) {
      bounded = false;
      break;
    }
    double* pivot_row = &tableau_[leave * n];
    const double inverse = 1 / pivot_row[enter];
    for (int j = 0; j < n; ++j) pivot_row[j] *= inverse;
    pivot_row[enter] = inverse;
    rhs_[leave] *= inverse;
    for (int i = 0; i < m; ++i) {
      if (i == leave) continue;
      double* row = &tableau_[i * n];
      const double factor = row[enter];
      if (factor == 0) continue;
      row[enter] = 0;
      for (int j = 0; j < n; ++j) row[j] -= factor * pivot_row[j];
      rhs_[i] = std::max(0.0, rhs_[i] - factor * rhs_[leave]);
    }
    const double factor = cost_[enter];
    objective_ += factor * rhs_[leave];
    cost_[enter] = 0;
    for (int j = 0; j < n; ++j) cost_[j] -= factor * pivot_row[j];
    std::swap(row_var_[leave], col_var_[enter]);
  }

  x_.assign(n, 0);
  price_.assign(capacity.size(), 0);
  for (int i = 0; i < m; ++i)
    if (row_var_[i] < n) x_[row_var_[i]] = rhs_[i];
  for (int j = 0; j < n; ++j) {
    if (col_var_[j] < n) continue;
    const int row = row_of_[col_var_[j] - n];
    double largest = 0;
    for (int c = 0; c < n; ++c) largest = std::max(largest, columns[c][row]);
    price_[row] = std::max(0.0, -cost_[j] / largest);
  }
  return bounded;
}

}  // namespace l3dml::drl
