#include "drl/env/packing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace l3dml::drl {

// Only rows that someone takes from; each scaled by its largest coefficient.
void Packing::load(std::span<const double> capacity, std::span<const double* const> columns) {
  columns_ = static_cast<int>(columns.size());
  width_ = (columns_ + 2) / 2 * 2;  // an even number: vectors of two
  row_of_.clear();
  largest_.clear();
  loaded_.resize(capacity.size() * width_);
  price_.assign(capacity.size(), 0);
  double* row = loaded_.data();
  for (size_t i = 0; i < capacity.size(); ++i) {
    double largest = 0;
    for (int j = 0; j < columns_; ++j) largest = std::max(largest, columns[j][i]);
    if (largest <= 0) continue;
    row_of_.push_back(static_cast<int>(i));
    largest_.push_back(largest);
    for (int j = 0; j < columns_; ++j) row[j] = columns[j][i] / largest;
    std::fill(row + columns_, row + width_, 0.0);
    row[width_ - 1] = capacity[i] / largest;
    row += width_;
  }
  rows_ = static_cast<int>(row_of_.size());
}

bool Packing::maximise(std::span<const double> value) {
  constexpr double kEps = 1e-11;
  const int n = columns_, m = rows_, width = width_, right = width_ - 1;
  tableau_.assign(loaded_.begin(), loaded_.begin() + static_cast<std::ptrdiff_t>(m) * width);
  double* const tableau = tableau_.data();
  cost_.assign(width, 0);
  std::copy(value.begin(), value.end(), cost_.begin());
  row_var_.resize(m);
  col_var_.resize(n);
  for (int i = 0; i < m; ++i) row_var_[i] = n + i;
  for (int j = 0; j < n; ++j) col_var_[j] = j;
  objective_ = 0;
  bool bounded = true;

  double scale = 0;
  for (int j = 0; j < n; ++j) scale = std::max(scale, std::abs(cost_[j]));
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
      const double t = tableau[i * width + enter], b = tableau[i * width + right];
      if (t > kEps && b < ratio * t) {
        ratio = b / t;
        leave = i;
      }
    }
    if (leave < 0) {
      bounded = false;
      break;
    }
    double* const pivot_row = tableau + leave * width;
    const double inverse = 1 / pivot_row[enter];
    for (int j = 0; j < width; ++j) pivot_row[j] *= inverse;
    pivot_row[enter] = inverse;
    for (int i = 0; i < m; ++i) {
      double* const row = tableau + i * width;
      const double factor = row[enter];
      if (factor == 0 || i == leave) continue;
      row[enter] = 0;
      for (int j = 0; j < width; j += 2) {  // the right side with the rest
        row[j] -= factor * pivot_row[j];
        row[j + 1] -= factor * pivot_row[j + 1];
      }
      row[right] = std::max(0.0, row[right]);
    }
    const double factor = cost_[enter];
    objective_ += factor * pivot_row[right];
    cost_[enter] = 0;
    for (int j = 0; j < n; ++j) cost_[j] -= factor * pivot_row[j];
    std::swap(row_var_[leave], col_var_[enter]);
  }

  x_.assign(n, 0);
  std::fill(price_.begin(), price_.end(), 0.0);
  for (int i = 0; i < m; ++i)
    if (row_var_[i] < n) x_[row_var_[i]] = tableau[i * width + right];
  for (int j = 0; j < n; ++j) {
    if (col_var_[j] < n) continue;
    const int row = col_var_[j] - n;
    price_[row_of_[row]] = std::max(0.0, -cost_[j] / largest_[row]);
  }
  return bounded;
}

}  // namespace l3dml::drl
