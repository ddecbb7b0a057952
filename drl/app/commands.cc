#include "drl/app/commands.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "drl/app/eval.h"
#include "drl/app/explain.h"
#include "drl/app/problem_file.h"
#include "drl/app/speed.h"
#include "drl/policy/model_set.h"
#include "tools/report/report.h"
#include "tools/report/svg.h"

namespace l3dml::drl {
namespace {

absl::Status write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrCat(file, ": cannot be written"));
}

absl::StatusOr<std::vector<NamedModel>> models_of(const std::vector<std::string>& files) {
  std::vector<NamedModel> out;
  if (files.empty()) {
    std::vector<std::string> refused;
    auto set = ModelSet::load("", refused);
    if (!set.ok()) return set.status();
    for (const auto& m : set->models()) out.push_back({m->info.name, m});
    return out;
  }
  for (const std::string& file : files) {
    auto model = read_model(file);
    if (!model.ok()) return model.status();
    std::string name = model->info.name;
    for (const NamedModel& other : out)
      if (other.name == name)
        name = std::filesystem::path(file).parent_path().filename().string() + "/" + name;
    out.push_back({name, std::make_shared<const Model>(*std::move(model))});
  }
  return out;
}

using Part = std::vector<const CaseResult*>;

struct Table {
  std::vector<report::Row> rows;
  std::string html;
};

// One block of the table: a part of the cases, every policy.
void add_block(Table& table, const std::string& title, std::map<std::string, std::string> group,
               const Part& part, const std::vector<std::string>& policies, const std::set<std::string>& raw) {
  std::cout << absl::StrFormat("\n%s, %d cases\n%-22s %18s %18s %10s %8s %10s %10s\n", title, part.size(),
                               "policy", "mean (95 % int.)", "p95", "-shortest", "-greedy", "p50 us",
                               "p99 us");
  absl::StrAppend(&table.html, "<h2>", title, ", ", part.size(),
                  " cases</h2><table><tr><th>policy<th>mean<th>95 % interval<th>p95"
                  "<th>shorter than shortest path<th>than greedy<th>decision p50, us</tr>\n");
  double gap = 0;
  for (const CaseResult* c : part) gap += c->upper_s / c->lower_s / static_cast<double>(part.size());
  group["policy"] = "optimum";
  table.rows.push_back({"reference_gap_mean", gap, "1", group});
  const bool seen = group["split"] == "seen";
  for (const std::string& policy : policies) {
    const Summary s = summarise(part, policy);
    group["policy"] = policy;
    const bool is_raw = raw.count(policy) > 0;
    const auto target = [&](double seen_value, double unseen_value) {
      return is_raw ? std::optional<double>(seen ? seen_value : unseen_value) : std::nullopt;
    };
    table.rows.push_back({"ratio_to_optimum_mean", s.mean, "1", group, target(1.03, 1.08), s.mean_interval});
    table.rows.push_back({"ratio_to_optimum_p95", s.p95, "1", group, target(1.10, 1.20), s.p95_interval});
    const bool straggler = group["scenario"] == "straggler" && is_raw;
    table.rows.push_back({"reduction_vs_shortest_path", s.against_shortest, "1", group,
                          straggler ? std::optional<double>(0.35) : std::nullopt});
    table.rows.push_back({"reduction_vs_greedy", s.against_greedy, "1", group,
                          straggler ? std::optional<double>(0.05) : std::nullopt});
    table.rows.push_back({"decision_time_p50", s.decision_p50_s, "s", group,
                          is_raw ? std::optional<double>(1e-3) : std::nullopt});
    table.rows.push_back({"decision_time_p99", s.decision_p99_s, "s", group,
                          is_raw ? std::optional<double>(3e-3) : std::nullopt});
    std::cout << absl::StrFormat("%-22s %7.4f (%.3f-%.3f) %6.4f (%.3f-%.3f) %9.1f%% %7.1f%% %10.0f %10.0f\n",
                                 policy, s.mean, s.mean_interval.first, s.mean_interval.second, s.p95,
                                 s.p95_interval.first, s.p95_interval.second, s.against_shortest * 100,
                                 s.against_greedy * 100, s.decision_p50_s * 1e6, s.decision_p99_s * 1e6);
    absl::StrAppendFormat(&table.html,
                          "<tr><td>%s<td>%.4f<td>%.3f-%.3f<td>%.4f<td>%.1f %%<td>%.1f %%<td>%.0f</tr>\n",
                          policy, s.mean, s.mean_interval.first, s.mean_interval.second, s.p95,
                          s.against_shortest * 100, s.against_greedy * 100, s.decision_p50_s * 1e6);
  }
  absl::StrAppend(&table.html, "</table>\n");
}

std::string cdf(const std::string& title, const Part& part, const std::vector<std::string>& policies) {
  std::vector<report::Curve> curves;
  for (const std::string& policy : policies) {
    report::Curve curve{policy, {}};
    const std::vector<double> r = summarise(part, policy).ratios;
    for (size_t i = 0; i < r.size() && r[i] <= 2; ++i)
      curve.points.emplace_back(r[i], static_cast<double>(i + 1) / static_cast<double>(r.size()));
    curves.push_back(std::move(curve));
  }
  return report::svg_chart({title, "iteration time / optimum", "part of cases", 1, 2, 0, 1}, curves);
}

}  // namespace

absl::Status run_eval(const EvalCommand& c) {
  const auto models = models_of(c.models);
  if (!models.ok()) return models.status();
  if (models->empty()) std::cerr << "no model is shipped: baselines and rule only\n";
  std::vector<EvalSet> sets = standard_sets(c.cases);
  if (!c.topologies.empty() && !c.all) {
    sets.clear();
    for (const std::string& name : c.topologies)
      sets.push_back({name, name == "abilene" || name == "b4" ? "seen" : "unseen", {{name}, 0, 0, c.cases}});
  }
  const auto cases =
      evaluate(sets, *models, c.seed, [](const std::string& line) { std::cerr << line << "\n"; });
  if (!cases.ok()) return cases.status();

  std::vector<std::string> policies = {"shortest", "ecmp",         "widest",  "greedy", "spread",
                                       "random",   "local_search", "columns", "rule"};
  std::vector<std::string> shown = {"shortest", "greedy", "spread", "local_search", "columns", "rule"};
  std::set<std::string> raw;
  for (const NamedModel& m : *models) {
    policies.push_back(m.name);
    policies.push_back(m.name + " guarded");
    shown.push_back(m.name);
    raw.insert(m.name);
  }
  Table table;
  std::string plots;
  const auto part_of = [&](auto keep) {
    Part part;
    for (const CaseResult& r : *cases)
      if (keep(r)) part.push_back(&r);
    return part;
  };
  for (const std::string split : {"seen", "unseen"}) {
    const Part all = part_of([&](const CaseResult& r) { return r.split == split; });
    if (all.empty()) continue;
    add_block(table, absl::StrCat("All ", split),
              {{"topology", "all"}, {"split", split}, {"scenario", "all"}}, all, policies, raw);
    const std::string svg =
        cdf(absl::StrCat("Ratio to the optimum, topologies ", split, " in training"), all, shown);
    plots += svg;
    if (!c.svg.empty())
      if (absl::Status s = write(absl::StrCat(c.svg, "/ratio-", split, ".svg"), svg); !s.ok()) return s;
  }
  const Part stragglers = part_of([](const CaseResult& r) { return r.kind == "straggler"; });
  add_block(table, "All straggler scenarios",
            {{"topology", "all"}, {"split", "all"}, {"scenario", "straggler"}}, stragglers, policies, raw);
  for (const EvalSet& set : sets)
    add_block(table, set.name, {{"topology", set.name}, {"split", set.split}, {"scenario", "all"}},
              part_of([&](const CaseResult& r) { return r.set == set.name; }), policies, raw);
  if (!c.html.empty())
    if (absl::Status s =
            write(c.html, report::html_page("Routing policies beside the optimum", plots + table.html));
        !s.ok())
      return s;
  if (!c.json.empty()) return report::write_json({"l3dml-route", c.command, table.rows}, c.json);
  return absl::OkStatus();
}

absl::Status run_explain(const ExplainCommand& c) {
  absl::StatusOr<Problem> problem = Problem{};
  if (!c.problem.empty()) {
    problem = read_problem(c.problem);
  } else {
    const auto topology = read_topology(c.topology);
    if (!topology.ok()) return topology.status();
    ScenarioOptions options;
    options.kind = c.straggler ? ScenarioKind::kStraggler : ScenarioKind::kPlain;
    problem = draw_problem(*topology, options, c.seed);
  }
  if (!problem.ok()) return problem.status();
  const auto models =
      models_of(c.model.empty() ? std::vector<std::string>{} : std::vector<std::string>{c.model});
  if (!models.ok()) return models.status();
  const auto out = explain(*problem, models->empty() ? nullptr : (*models)[0].model.get());
  if (!out.ok()) return out.status();
  std::cout << out->text;
  return c.html.empty() ? absl::OkStatus() : write(c.html, out->html);
}

absl::Status run_speed(const SpeedCommand& c) {
  const auto models = models_of({});
  if (!models.ok()) return models.status();
  if (models->empty()) return absl::NotFoundError("no model is shipped");
  const Model& model = *(*models)[0].model;
  const auto any = twelve_sites(60, 12, false, 1), sixteen = twelve_sites(60, 16, true, 2);
  const EnvironmentSpeed e = environment_speed(any, model.info.steps, c.seconds);
  const DecisionSpeed d = decision_speed(sixteen, model, std::max(1, static_cast<int>(c.seconds * 10)));
  const std::map<std::string, std::string> sites{{"sites", "12"}, {"k", "4"}};
  std::map<std::string, std::string> with_children = sites;
  with_children["children"] = "16";
  const std::vector<report::Row> rows = {
      {"environment_decisions_per_second", e.per_second, "1/s", sites, 20000.0},
      {"decision_time_p50", d.p50_s, "s", with_children, 1e-3},
      {"decision_time_p99", d.p99_s, "s", with_children, 3e-3},
      {"environment_fingerprint", absl::StrFormat("%016x", e.fingerprint), "1", sites}};
  std::cout << absl::StrFormat(
      "environment: %.0f decisions a second of one core, 12 sites (fingerprint %016x)\nraw policy: a decision "
      "for 12 sites, 16 children, k = 4 takes %.2f ms (median), %.2f ms (99th percentile)\n",
      e.per_second, e.fingerprint, d.p50_s * 1e3, d.p99_s * 1e3);
  return c.json.empty() ? absl::OkStatus() : report::write_json({"l3dml-route", c.command, rows}, c.json);
}

absl::Status run_export(const ExportCommand& c) {
  if (!absl::EndsWith(c.out, ".model"))
    return absl::InvalidArgumentError(absl::StrCat("--out ", c.out, ": must end in .model"));
  auto model = read_model(c.from);
  if (!model.ok()) return model.status();
  auto shared = std::make_shared<const Model>(*std::move(model));
  const auto cases = evaluate(standard_sets(c.cases), {{"it", shared}}, 555000, {});
  if (!cases.ok()) return cases.status();
  ModelInfo info = shared->info;
  info.name = c.name;
  for (const std::string split : {"seen", "unseen"}) {
    Part part;
    for (const CaseResult& r : *cases)
      if (r.split == split) part.push_back(&r);
    const Summary s = summarise(part, "it");
    info.scores[split == "seen" ? "mean" : "unseen_mean"] = s.mean;
    info.scores[split == "seen" ? "p95" : "unseen_p95"] = s.p95;
    std::cout << absl::StrFormat("%-6s mean %.4f p95 %.4f over %d cases\n", split, s.mean, s.p95, s.cases);
  }
  return write(c.out, format_model(info, shared->network.weights()));
}

}  // namespace l3dml::drl
