#include <cmath>

#include <gtest/gtest.h>

#include "drl/app/commands.h"
#include "drl/app/eval.h"
#include "drl/app/explain.h"
#include "drl/app/problem_file.h"
#include "drl/env/test_networks.h"
#include "drl/policy/testing.h"

namespace l3dml::drl {
namespace {

constexpr const char* kTriangle = R"({
  "sites": [{"name": "a"}, {"name": "b"}, {"name": "c", "aggregates": false}],
  "links": [{"from": "a", "to": "b", "capacity_bps": 1e10, "delay_s": 0.01},
            {"from": "b", "to": "c", "capacity_bps": 1e10, "available_bps": 4e9, "delay_s": 0.02}],
  "children": [{"site": "a", "workers": 4, "ready_s": 0.1}, {"site": "c"}],
  "job": {"bytes": 1e9}})";

TEST(ProblemFile, takes_a_link_for_both_directions_and_fills_in_the_rest) {
  const auto p = parse_problem(kTriangle);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->links.size(), 4u);
  EXPECT_EQ(p->links[0].available_bps, 1e10);
  EXPECT_EQ(p->links[3].from, 2);
  EXPECT_EQ(p->links[3].available_bps, 4e9);
  EXPECT_FALSE(p->children[1].summed_at_site);
}

TEST(ProblemFile, says_in_one_line_what_is_wrong) {
  const auto refusal = [](std::string from, std::string to) {
    std::string text = kTriangle;
    text.replace(text.find(from), from.size(), to);
    const auto p = parse_problem(text);
    EXPECT_FALSE(p.ok()) << to;
    return std::string(p.status().message());
  };
  EXPECT_NE(refusal("\"site\": \"c\"", "\"site\": \"x\"").find("no site is named x"), std::string::npos);
  EXPECT_NE(refusal("\"delay_s\": 0.02", "\"delay_s\": 1e9").find("delay_s"), std::string::npos);
  EXPECT_NE(refusal("\"bytes\": 1e9", "\"bytes\": -1").find("bytes"), std::string::npos);
  EXPECT_FALSE(refusal("{", "[").empty());
  EXPECT_FALSE(read_problem("/nowhere").ok());
}

TEST(Explain, shows_every_baseline_and_an_arrival_per_child) {
  const auto problem = draw_problem(*bundled_topology("abilene"), {}, 4);
  const auto out = explain(*problem, nullptr);
  ASSERT_TRUE(out.ok()) << out.status();
  for (const Baseline& b : guard_baselines())
    EXPECT_NE(out->text.find(b.name + ": iteration"), std::string::npos) << b.name;
  EXPECT_NE(out->text.find("child  2 arrives"), std::string::npos);
  EXPECT_NE(out->html.find("<svg"), std::string::npos);
}

TEST(Explain, refuses_a_network_that_is_cut_in_two) {
  Problem apart = sites_problem(4);
  add_cable(apart, 0, 1, 1e9, 0.01);
  add_cable(apart, 2, 3, 1e9, 0.01);
  add_children(apart, {0, 2});
  EXPECT_EQ(explain(apart, nullptr).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Eval, guarded_is_never_above_any_baseline_and_nobody_is_below_the_optimum) {
  const auto model =
      std::make_shared<const Model>(*parse_model(format_model(info_of("m", 4), random_weights(4, 1))));
  const auto cases = evaluate({{"abilene", "seen", {{"abilene"}, 0, 0, 12}}}, {{"m", model}}, 1, {});
  ASSERT_TRUE(cases.ok()) << cases.status();
  ASSERT_GE(cases->size(), 10u);
  std::vector<const CaseResult*> part;
  for (const CaseResult& c : *cases) {
    part.push_back(&c);
    for (const auto& [name, timed] : c.by_policy) {
      EXPECT_GE(timed.time_s, c.lower_s * (1 - 1e-4)) << name;
      if (name == "rule" || name == "random" || name == "m") continue;
      EXPECT_LE(c.by_policy.at("m guarded").time_s, timed.time_s * (1 + 1e-9)) << name;
    }
  }
  const Summary s = summarise(part, "shortest");
  EXPECT_EQ(s.against_shortest, 0);
  EXPECT_LE(s.mean_interval.first, s.mean);
  EXPECT_GE(s.mean_interval.second, s.mean);
}

TEST(Commands, refuse_bad_arguments) {
  TrainCommand train;
  train.sites = "9-3";
  EXPECT_FALSE(run_train(train).ok());
  EvalCommand eval;
  eval.topologies = {"atlantis"};
  EXPECT_FALSE(run_eval(eval).ok());
  ExplainCommand explained;
  explained.topology = "atlantis";
  EXPECT_FALSE(run_explain(explained).ok());
  ExportCommand exported;
  exported.out = "x.txt";
  EXPECT_FALSE(run_export(exported).ok());
}

}  // namespace
}  // namespace l3dml::drl
