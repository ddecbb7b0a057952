// A small packing program: maximise value . x subject to columns . x <= capacity, x >= 0, with few columns
// and many rows. Primal simplex on the condensed tableau (one row per constraint, one column per non-basic
// variable), from the slack basis, which is feasible because capacities are not negative. A few microseconds
// for eight columns; the buffers are reused, so one object per thread. Checked against GLPK in packing_test.
#pragma once

#include <span>
#include <vector>

namespace l3dml::drl {

class Packing {
 public:
  // `columns[j]` points at capacity.size() coefficients >= 0; every column with a positive value must have a
  // positive coefficient, or the program is unbounded and x is meaningless (maximise returns false).
  void load(std::span<const double> capacity, std::span<const double* const> columns);
  bool maximise(std::span<const double> value);  // as often as wanted for what was loaded
  bool solve(std::span<const double> capacity, std::span<const double* const> columns,
             std::span<const double> value) {
    load(capacity, columns);
    return maximise(value);
  }

  double objective() const { return objective_; }
  const std::vector<double>& x() const { return x_; }          // per column
  const std::vector<double>& price() const { return price_; }  // dual, per row

 private:
  int columns_ = 0, rows_ = 0, width_ = 0;  // of the program; numbers per row of the tableau, right side last
  std::vector<double> loaded_, tableau_;    // rows x width, row-major
  std::vector<double> cost_, x_, price_, largest_;
  std::vector<int> row_var_, col_var_, row_of_;  // variable ids: columns first, then slacks
  double objective_ = 0;
};

}  // namespace l3dml::drl
