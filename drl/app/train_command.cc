#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "drl/app/commands.h"
#include "drl/app/eval.h"
#include "tools/report/svg.h"

namespace l3dml::drl {
namespace {

constexpr uint64_t kValidationSeed = 900000;  // far from training's and evaluation's draws

absl::Status parse_sites(const std::string& text, PoolOptions& problems) {
  if (text == "0") return absl::OkStatus();
  const std::vector<std::string> ends = absl::StrSplit(text, '-');
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &problems.min_sites) ||
      !absl::SimpleAtoi(ends[1], &problems.max_sites) || problems.min_sites < 3 ||
      problems.max_sites < problems.min_sites || problems.max_sites > 200)
    return absl::InvalidArgumentError(
        absl::StrCat("--sites ", text, ": expected LOW-HIGH within 3-200, or 0"));
  return absl::OkStatus();
}

// progress.csv as it grew over all runs, so that a resumed training shows its whole curve.
std::string learning_page(const std::string& directory, const std::string& name, std::string* svg) {
  std::ifstream in(directory + "/progress.csv");
  report::Curve mean{"mean", {}}, p95{"95th percentile", {}}, reward{"reward", {}}, kl{"KL", {}};
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> f = absl::StrSplit(line, ',');
    std::vector<double> v(f.size(), 0);
    for (size_t i = 1; i < f.size(); ++i)
      if (!absl::SimpleAtod(f[i], &v[i])) v[i] = 0;
    if (f.size() < 14) continue;
    if (v[12] > 0) mean.points.emplace_back(v[2] / 60, v[12]);
    if (v[13] > 0) p95.points.emplace_back(v[2] / 60, v[13]);
    if (f[0] == "ppo") {
      reward.points.emplace_back(v[1], v[4]);
      kl.points.emplace_back(v[1], v[8]);
    }
  }
  report::Axes axes{"Raw policy, validation", "minutes since the start", "iteration time / optimum"};
  *svg = report::svg_chart(axes, {mean, p95});
  return report::html_page(
      absl::StrCat("Training of ", name),
      absl::StrCat(*svg,
                   report::svg_chart(
                       {"Sum of rewards of an episode", "update", "log(first time / final time)"}, {reward}),
                   report::svg_chart({"Change of the policy per update", "update", "approximate KL"}, {kl})));
}

}  // namespace

TrainCommand::TrainCommand() {
  options.problems.topologies = {"abilene", "b4"};
  options.problems.count = 1000;
  options.ppo.learning_rate = 1e-3;
  options.ppo.entropy_weight = 0.001;
}

absl::Status run_train(TrainCommand command) {
  TrainOptions& o = command.options;
  if (absl::Status s = parse_sites(command.sites, o.problems); !s.ok()) return s;
  std::error_code error;
  std::filesystem::create_directories(o.directory, error);
  if (error) return absl::InvalidArgumentError(absl::StrCat("--out ", o.directory, ": ", error.message()));
  PoolOptions unseen = o.problems;
  unseen.count = command.validation_cases;
  std::cerr << "drawing " << unseen.count << " validation problems and their optima\n";
  const auto validation = draw_cases(unseen, kValidationSeed);
  if (!validation.ok()) return validation.status();
  const auto trained = train(o, *validation, [](const TrainRow& r) {
    std::cerr << absl::StrFormat("%7.1f s  %-9s %3d  decisions %8d", r.seconds, r.phase, r.update,
                                 r.decisions);
    if (r.phase != "lessons")
      std::cerr << absl::StrFormat("  %s %.4f", r.phase == "ppo" ? "reward" : "cross-entropy", r.reward);
    if (r.phase == "ppo") std::cerr << absl::StrFormat("  kl %.4f  entropy %.3f", r.ppo.kl, r.ppo.entropy);
    if (r.mean > 0) std::cerr << absl::StrFormat("  validation mean %.4f p95 %.4f", r.mean, r.p95);
    std::cerr << "\n";
  });
  if (!trained.ok()) return trained.status();

  ModelInfo info;
  info.name = command.name;
  info.steps = o.steps;
  info.hidden = o.hidden;
  info.children = {2, kMaxChildren};
  info.strangeness = trained->strangeness * 2;
  info.trained_on = o.problems.topologies;
  if (o.problems.max_sites > 0)
    info.trained_on.push_back(absl::StrCat("random WANs of ", command.sites, " sites"));
  info.trained_on.push_back("plain and straggler scenarios");
  info.scores = {{"mean", trained->mean}, {"p95", trained->p95}, {"seed", static_cast<double>(o.seed)}};
  const std::string file = absl::StrCat(o.directory, "/", command.name, ".model");
  std::ofstream(file) << format_model(info, trained->weights);
  std::string svg;
  std::ofstream(o.directory + "/report.html") << learning_page(o.directory, command.name, &svg);
  std::ofstream(o.directory + "/learning.svg") << svg;
  if (auto written = read_model(file); !written.ok()) return written.status();
  std::cout << file << ": validation mean "
            << absl::StrFormat("%.4f, p95 %.4f\n", trained->mean, trained->p95);
  return absl::OkStatus();
}

}  // namespace l3dml::drl
