#include "drl/policy/refine.h"

#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "drl/env/random.h"
#include "drl/env/scenario.h"
#include "drl/env/test_networks.h"
#include "drl/policy/decide.h"

namespace l3dml::drl {
namespace {

Space drawn(const char* name, uint64_t seed, double small_switches = 0.1) {
  const auto t = bundled_topology(name);
  ScenarioOptions options;
  options.kind = seed % 2 ? ScenarioKind::kStraggler : ScenarioKind::kPlain;
  options.small_switches = small_switches;
  return *Space::create(*draw_problem(*t, options, seed));
}

// A network of twelve sites by integer arithmetic alone, so that no library function has a say in its bits.
Problem exact_problem(uint64_t seed) {
  Random random(seed);
  Problem p = sites_problem(12);
  for (int i = 0; i < 12; ++i) p.sites[i].aggregates = i % 5 != 4 || seed % 2;
  if (seed % 3 == 0)
    for (Site& s : p.sites) s.slots = 65536;
  for (int i = 0; i < 12; ++i)
    add_cable(p, i, (i + 1) % 12, 1e9 * (1 + random.below(20)), 1e-3 * (1 + random.below(20)));
  for (int i = 0; i < 6; ++i)
    add_cable(p, i, i + 2 + i % 4, 1e9 * (1 + random.below(20)), 1e-3 * (1 + random.below(20)));
  for (Link& l : p.links) l.available_bps = l.capacity_bps * (1 + random.below(8)) / 8;
  for (int site = 0; site < 12; ++site)
    if (random.below(3))
      p.children.push_back({site, 2, 1e-3 * random.below(100), 25e9, p.sites[site].aggregates});
  p.job.bytes = 1e6 * (1 + random.below(2000));
  return p;
}

// Everything on the way of a refinement that no logarithm went into.
uint64_t bits_of_refinement(uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&](uint64_t word) { hash = (hash ^ word) * 0x100000001b3ull; };
  const auto space = Space::create(exact_problem(seed));
  if (!space.ok()) return 0;
  Refine refine(*space, 12);
  for (uint64_t step = 0;; ++step) {
    const Observation& o = refine.observe();
    add(std::bit_cast<uint64_t>(refine.time_s()));
    for (const auto* values : {&o.takes, &o.cost})
      for (const float v : *values) add(std::bit_cast<uint32_t>(v));
    for (size_t i = 0; i < o.candidate.size(); ++i)
      if (i % kCandidateFeatures != 4) add(std::bit_cast<uint32_t>(o.candidate[i]));
    if (o.candidates == 0) break;
    refine.choose(static_cast<int>(seed + step) % 2 ? refine.cheapest_candidate() : o.candidates / 2);
  }
  for (const Plan::Stripe& s : plan_of(*space, refine.draft()).stripes) {
    add(std::bit_cast<uint64_t>(s.rate_bps));
    for (const Plan::Leg& leg : s.child_legs)
      for (int e : leg.links) add(e);
  }
  return hash;
}

TEST(Refine, every_step_keeps_or_shortens_the_iteration) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Space space = drawn(seed % 3 ? "abilene" : "b4", seed);
    Refine refine(space, 10);
    double before = refine.time_s();
    ASSERT_TRUE(std::isfinite(before));
    for (int step = 0; refine.observe().candidates > 0; ++step) {
      ASSERT_LT(step, 10);
      refine.choose(static_cast<int>(seed) % refine.observe().candidates);
      EXPECT_LE(refine.time_s(), before * (1 + 1e-9));
      before = refine.time_s();
    }
    const Draft draft = refine.draft();
    EXPECT_LE(static_cast<int>(draft.columns.size()), space.problem().job.max_stripes);
    for (const Column& c : draft.columns) EXPECT_TRUE(space.complete(c.tree));
  }
}

TEST(Refine, observes_finite_numbers_in_rows_that_fit) {
  for (uint64_t seed = 20; seed < 30; ++seed) {
    const Space space = drawn("b4", seed, 0.5);
    Refine refine(space, 6);
    for (;;) {
      const Observation& o = refine.observe();
      if (o.candidates == 0) break;
      ASSERT_EQ(o.link.size(), static_cast<size_t>(o.links) * kLinkFeatures);
      ASSERT_EQ(o.takes.size(), static_cast<size_t>(o.links) * o.candidates);
      ASSERT_EQ(o.candidate.size(), static_cast<size_t>(o.candidates) * kCandidateFeatures);
      for (const auto* values : {&o.link, &o.takes, &o.cost, &o.candidate})
        for (const float v : *values) ASSERT_TRUE(std::isfinite(v) && std::abs(v) < 50) << v;
      for (const float v : o.global) ASSERT_TRUE(std::isfinite(v));
      refine.choose(0);
    }
  }
}

TEST(Refine, a_copy_goes_its_own_way) {
  const Space space = drawn("abilene", 3);
  Refine refine(space, 8);
  ASSERT_GT(refine.observe().candidates, 1);
  const double before = refine.time_s();
  Refine copy(refine);
  copy.choose(1);
  EXPECT_EQ(refine.time_s(), before);
  EXPECT_EQ(refine.steps_left(), 8);
}

TEST(Refine, never_offers_a_failed_path) {
  Problem p = sites_problem(4);
  for (int i = 0; i < 4; ++i) add_cable(p, i, (i + 1) % 4, 10e9, 0.01);
  add_children(p, {0, 1, 2, 3});
  p.links[0].available_bps = p.links[1].available_bps = 0;
  const auto space = Space::create(p);
  ASSERT_TRUE(space.ok());
  Refine refine(*space, 8);
  while (refine.observe().candidates > 0) {
    const Observation& o = refine.observe();
    for (int c = 0; c < o.candidates; ++c) {
      EXPECT_EQ(o.takes[c * o.links + 0], 0);
      EXPECT_EQ(o.takes[c * o.links + 1], 0);
    }
    refine.choose(0);
  }
  EXPECT_TRUE(std::isfinite(refine.draft().time_s()));
}

// The figure is that of the plain code (vectors of vectors, every cost anew) that this was written from.
TEST(Refine, has_the_bits_of_the_plain_code) {
  uint64_t all = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) all = (all ^ bits_of_refinement(seed)) * 0x100000001b3ull;
  EXPECT_EQ(all, 0x20f7b83bd1c1c3ecull);
}

TEST(Refine, by_rule_beats_the_single_tree_of_greedy) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Space space = drawn("abilene", seed);
    EXPECT_LE(refine_by_rule(space, 12).time_s(), greedy(space).time_s() * (1 + 1e-6));
  }
}

}  // namespace
}  // namespace l3dml::drl
