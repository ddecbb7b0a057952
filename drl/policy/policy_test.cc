#include "drl/policy/policy.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "drl/env/scenario.h"
#include "drl/env/test_networks.h"
#include "drl/policy/decide.h"
#include "drl/policy/testing.h"

namespace l3dml::drl {
namespace {

std::filesystem::path fresh_directory(const std::string& name) {
  const auto dir = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

void put(const std::filesystem::path& dir, ModelInfo info, uint64_t seed = 1) {
  info.scores = {{"mean", 0.5}};  // better than any shipped one
  std::ofstream(dir / (info.name + ".model")) << format_model(info, random_weights(info.hidden, seed));
}

Problem drawn(const char* name, uint64_t seed) { return *draw_problem(*bundled_topology(name), {}, seed); }

TEST(Policy, is_never_slower_than_a_baseline) {
  const auto dir = fresh_directory("guard");
  put(dir, info_of("untrained", 8));
  const auto policy = Policy::create({dir.string()});
  ASSERT_TRUE(policy.ok()) << policy.status();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Problem p = drawn(seed % 2 ? "abilene" : "b4", seed);
    const auto d = (*policy)->decide(p);
    ASSERT_TRUE(d.ok()) << d.status();
    const auto space = Space::create(p);
    for (const Baseline& b : guard_baselines())
      EXPECT_LE(d->plan.time_s, b.plan(*space).time_s() * (1 + 1e-9)) << b.name << " " << d->why;
    EXPECT_EQ(d->plan.time_s, std::min(d->policy_s, d->baseline_s));
    EXPECT_EQ(d->source, d->policy_s <= d->baseline_s ? "untrained" : d->baseline);
    EXPECT_FALSE(d->why.empty());
  }
}

TEST(Policy, predicts_what_it_decided) {
  const auto policy = Policy::create();
  ASSERT_TRUE(policy.ok());
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Problem p = drawn("abilene", seed);
    const auto d = (*policy)->decide(p);
    ASSERT_TRUE(d.ok());
    const auto time = (*policy)->predict(p, d->plan);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_NEAR(*time, d->plan.time_s, 1e-5 * d->plan.time_s) << d->source << " " << seed;
    double share = 0;
    for (const Plan::Stripe& s : d->plan.stripes) share += s.share;
    EXPECT_NEAR(share, 1, 1e-6);
  }
}

TEST(Policy, keeps_a_running_plan_until_another_is_clearly_faster) {
  const auto policy = Policy::create();
  ASSERT_TRUE(policy.ok());
  Problem p = drawn("abilene", 4);
  const auto first = (*policy)->decide(p);
  ASSERT_TRUE(first.ok());
  auto again = (*policy)->revise(p, first->plan);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->keep) << again->why;
  EXPECT_EQ(again->plan.stripes.size(), first->plan.stripes.size());
  // A link of the largest stripe loses nearly all of its room, though another way exists.
  const Plan::Stripe& stripe = first->plan.stripes[0];
  for (const Plan::Leg& leg : stripe.child_legs)
    for (int e : leg.links)
      for (Link& l : p.links)
        if ((l.from == p.links[e].from && l.to == p.links[e].to) ||
            (l.from == p.links[e].to && l.to == p.links[e].from))
          l.available_bps *= 0.01;
  again = (*policy)->revise(p, first->plan);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->keep) << again->why;
  EXPECT_LT(again->plan.time_s, 0.9 * *(*policy)->predict(p, first->plan));
}

TEST(Policy, leaves_a_plan_over_a_failed_link_or_of_another_network) {
  const auto policy = Policy::create();
  Problem ring = sites_problem(4);
  for (int i = 0; i < 4; ++i) add_cable(ring, i, (i + 1) % 4, 10e9, 0.01);
  add_children(ring, {0, 1, 2, 3});
  const auto first = (*policy)->decide(ring);
  ASSERT_TRUE(first.ok());
  Problem cut = ring;
  for (const Plan::Leg& leg : first->plan.stripes[0].child_legs)
    if (!leg.links.empty()) {
      const Link l = cut.links[leg.links[0]];
      for (Link& x : cut.links)
        if ((x.from == l.from && x.to == l.to) || (x.from == l.to && x.to == l.from)) x.available_bps = 0;
      break;
    }
  EXPECT_TRUE(std::isinf(*(*policy)->predict(cut, first->plan)));
  EXPECT_FALSE((*policy)->revise(cut, first->plan)->keep);
  EXPECT_FALSE((*policy)->predict(star_problem(3), first->plan).ok());
  const auto other = (*policy)->revise(star_problem(3), first->plan);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(other->keep);
}

TEST(Policy, falls_back_where_nothing_was_trained_or_the_sight_is_strange) {
  const auto dir = fresh_directory("fallback");
  ModelInfo narrow = info_of("narrow", 4);
  narrow.bytes = {1e3, 1e4};
  put(dir, narrow);
  ModelInfo dizzy = info_of("dizzy", 4);
  dizzy.strangeness = 1e-6f;
  dizzy.bytes = {1e5, 1e15};
  put(dir, dizzy);
  const auto policy = Policy::create({dir.string()});
  const auto d = (*policy)->decide(drawn("abilene", 4));
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->source, d->baseline);
  EXPECT_NE(d->why.find("out of distribution"), std::string::npos) << d->why;
  EXPECT_TRUE(std::isinf(d->policy_s));
}

TEST(Policy, refuses_what_is_no_problem_in_one_line) {
  const auto policy = Policy::create();
  const auto refusal = [&](const Problem& p) { return (*policy)->decide(p).status(); };
  EXPECT_EQ(refusal({}).code(), absl::StatusCode::kInvalidArgument);
  Problem apart = sites_problem(4);
  add_cable(apart, 0, 1, 1e9, 0.01);
  add_cable(apart, 2, 3, 1e9, 0.01);
  add_children(apart, {0, 2});
  EXPECT_EQ(refusal(apart).code(), absl::StatusCode::kFailedPrecondition);
  Problem dead = star_problem(3);
  for (Link& l : dead.links) l.capacity_bps = l.available_bps = 0;
  EXPECT_EQ(refusal(dead).code(), absl::StatusCode::kFailedPrecondition);
  Problem absurd = star_problem(3);
  absurd.links[0].delay_s = 1e9;
  EXPECT_EQ(refusal(absurd).code(), absl::StatusCode::kInvalidArgument);
  absurd.links[0].delay_s = std::nan("");
  EXPECT_EQ(refusal(absurd).code(), absl::StatusCode::kInvalidArgument);
  Problem slotless = star_problem(3);
  for (Site& s : slotless.sites) s.slots = 0;
  EXPECT_EQ(refusal(slotless).code(), absl::StatusCode::kFailedPrecondition);
  Problem one = star_problem(1);
  const auto alone = (*policy)->decide(one);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->plan.stripes.size(), 1u);
}

TEST(Policy, reload_swaps_good_models_in_and_keeps_the_old_ones_on_bad_files) {
  const auto dir = fresh_directory("reload");
  put(dir, info_of("one", 4), 1);
  const auto policy = Policy::create({dir.string()});
  const auto hash = [&] {
    for (const ModelSummary& m : (*policy)->models())
      if (m.name == "one") return m.hash;
    return std::string();
  };
  const std::string before = hash();
  put(dir, info_of("one", 4), 2);
  EXPECT_EQ(hash(), before);
  ASSERT_TRUE((*policy)->reload().ok());
  const std::string after = hash();
  EXPECT_NE(after, before);
  std::ofstream(dir / "one.model") << "rubbish";
  EXPECT_FALSE((*policy)->reload().ok());
  EXPECT_EQ(hash(), after);
  EXPECT_TRUE((*policy)->decide(star_problem(4)).ok());
}

TEST(Policy, decides_while_models_are_swapped) {
  const auto dir = fresh_directory("swap");
  put(dir, info_of("one", 4), 1);
  const auto policy = Policy::create({dir.string()});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) wrong += !(*policy)->decide(star_problem(4)).ok();
    });
  for (int i = 0; i < 50; ++i) wrong += !(*policy)->reload().ok();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace l3dml::drl
