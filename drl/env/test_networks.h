// Small networks for tests: hand-checkable, built in a line.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "drl/env/problem.h"

namespace l3dml::drl {

// `count` sites without links; every site aggregates and holds unlimited slots.
inline Problem sites_problem(int count, double bytes = 1.25e9) {
  Problem p;
  for (int i = 0; i < count; ++i) {
    Site site;
    site.name = absl::StrCat("s", i);
    p.sites.push_back(site);
  }
  p.job.bytes = bytes;
  return p;
}

inline void add_cable(Problem& p, int a, int b, double bps, double delay_s) {
  p.links.push_back({a, b, bps, bps, delay_s});
  p.links.push_back({b, a, bps, bps, delay_s});
}

inline void add_children(Problem& p, const std::vector<int>& sites, double ready_s = 0) {
  for (int site : sites) {
    Child child;
    child.site = site;
    child.ready_s = ready_s;
    p.children.push_back(child);
  }
}

// Sites 0..n-1 round hub n, 10 Gb/s and 10 ms each; children at the outer sites.
inline Problem star_problem(int n) {
  Problem p = sites_problem(n + 1);
  std::vector<int> outer;
  for (int i = 0; i < n; ++i) {
    add_cable(p, i, n, 10e9, 0.01);
    outer.push_back(i);
  }
  add_children(p, outer);
  return p;
}

}  // namespace l3dml::drl
