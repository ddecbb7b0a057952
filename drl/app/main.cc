// l3dml-route: train, evaluate, explain and export routing policies.
#include <iostream>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "drl/app/commands.h"
#include "tools/report/report.h"
#include "tools/report/version.h"

namespace l3dml::drl {
namespace {

int finish(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << "l3dml-route: " << status.message() << "\n";
  return status.code() == absl::StatusCode::kInvalidArgument || status.code() == absl::StatusCode::kNotFound
             ? 2
             : 1;
}

int run(int argc, char** argv) {
  CLI::App app{"Routing policies for jobs: which switches sum, over which paths, at what rate."};
  app.set_version_flag("--version",
                       absl::StrCat("l3dml-route ", report::kVersion, " (", report::kCommit, ")"));
  app.require_subcommand(1);

  TrainCommand train;
  CLI::App* t =
      app.add_subcommand("train", "Train a policy: lessons of an expert, then PPO; writes DIR/NAME.model");
  t->add_option("--out", train.options.directory,
                "Directory for the model, checkpoint, progress.csv and report.html")
      ->required();
  t->add_option("--name", train.name, "Name of the model")->capture_default_str();
  t->add_option("--seed", train.options.seed, "Everything is drawn from it")->capture_default_str();
  t->add_option("--topology", train.options.problems.topologies, "Bundled names or files; repeat or list")
      ->delimiter(',')
      ->capture_default_str();
  t->add_option("--sites", train.sites, "Sizes of random WANs, LOW-HIGH; 0 for none")->capture_default_str();
  t->add_option("--problems", train.options.problems.count, "Problems in the pool")->capture_default_str();
  t->add_option("--steps", train.options.steps, "Refinement steps of a decision")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  t->add_option("--hidden", train.options.hidden, "Width of the network")
      ->check(CLI::Range(4, 512))
      ->capture_default_str();
  t->add_option("--lessons", train.options.lessons,
                "States that the expert labels for the warm start; 0: none")
      ->capture_default_str();
  t->add_option("--epochs", train.options.imitation_epochs, "Passes over the lessons")->capture_default_str();
  t->add_option("--updates", train.options.updates, "Updates of PPO")->capture_default_str();
  t->add_option("--steps-per-update", train.options.steps_per_update, "Decisions between updates")
      ->capture_default_str();
  t->add_option("--environments", train.options.environments, "Run in parallel")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  t->add_option("--learning-rate", train.options.ppo.learning_rate, "Of PPO, falls to a tenth")
      ->capture_default_str();
  t->add_option("--target-kl", train.options.ppo.target_kl, "Ends the epochs of an update")
      ->capture_default_str();
  t->add_option("--clip", train.options.ppo.clip)->capture_default_str();
  t->add_option("--lambda", train.options.ppo.lambda, "Of generalised advantage estimation")
      ->capture_default_str();
  t->add_option("--entropy", train.options.ppo.entropy_weight, "Weight of the entropy bonus")
      ->capture_default_str();
  t->add_option("--validation", train.validation_cases,
                "Problems with their optimum, to choose the best weights")
      ->capture_default_str();
  t->add_option("--target-mean", train.options.target_mean,
                "Stop when validation reaches this ratio to the optimum ...")
      ->capture_default_str();
  t->add_option("--target-p95", train.options.target_p95, "... and this 95th percentile")
      ->capture_default_str();
  t->add_flag("--resume", train.options.resume, "Go on from DIR's checkpoint");

  EvalCommand eval;
  CLI::App* e = app.add_subcommand("eval", "The table: every policy beside the optimum");
  e->add_flag("--all", eval.all, "Every topology and the shipped models (the default)");
  e->add_option("--topology", eval.topologies, "Only these topologies instead")->delimiter(',');
  e->add_option("--model", eval.models, "Model files instead of the shipped ones; repeat for several seeds")
      ->check(CLI::ExistingFile);
  e->add_option("--cases", eval.cases, "Problems per topology")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  e->add_option("--seed", eval.seed, "Problems are drawn from it; training never sees these")
      ->capture_default_str();
  e->add_option("--json", eval.json, "Write rows to FILE, - for standard output");
  e->add_option("--html", eval.html, "Write a page with plots to FILE");
  e->add_option("--svg", eval.svg, "Write the plots as SVG files into this directory");

  ExplainCommand explain;
  CLI::App* x =
      app.add_subcommand("explain", "One decision: the chosen tree beside the baselines', arrival per child");
  x->add_option("--problem", explain.problem, "A problem as JSON (drl/app/problem_file.h)");
  x->add_option("--topology", explain.topology, "Or one drawn on this topology")->capture_default_str();
  x->add_option("--seed", explain.seed)->capture_default_str();
  x->add_flag("--straggler", explain.straggler, "With a degraded link");
  x->add_option("--model", explain.model, "Instead of the shipped one")->check(CLI::ExistingFile);
  x->add_option("--html", explain.html, "Write a page with maps to FILE");

  SpeedCommand speed;
  CLI::App* v = app.add_subcommand("speed", "Steps of the environment and time of a decision, on 12 sites");
  v->add_option("--seconds", speed.seconds, "Of CPU time, for the environment")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  v->add_option("--json", speed.json, "Write rows to FILE, - for standard output");

  ExportCommand exported;
  CLI::App* p = app.add_subcommand(
      "export", "Sign off a model: check it, score it on fresh problems, write it with name and scores");
  p->add_option("MODEL", exported.from, "Of train, for instance DIR/best.model")
      ->required()
      ->check(CLI::ExistingFile);
  p->add_option("--name", exported.name)->required();
  p->add_option("--out", exported.out, "File to write; must end in .model")->required();
  p->add_option("--cases", exported.cases, "Problems per topology")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  eval.command = speed.command = report::command_line(argc, argv);
  if (*t) return finish(run_train(train));
  if (*e) return finish(run_eval(eval));
  if (*x) return finish(run_explain(explain));
  if (*v) return finish(run_speed(speed));
  return finish(run_export(exported));
}

}  // namespace
}  // namespace l3dml::drl

int main(int argc, char** argv) { return l3dml::drl::run(argc, argv); }
