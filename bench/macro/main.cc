// compare: the speed table.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "bench/macro/compare.h"

int main(int argc, char** argv) {
  using namespace l3dml;
  CLI::App app{"Compares pipeline, kernels and allreduces with their peers, in one run."};
  bench::Options options;
  std::string json, only;
  app.add_option("--rounds", options.rounds, "rounds per row; each times both sides")
      ->check(CLI::Range(3, 101));
  app.add_option("--network-rounds", options.network_rounds, "rounds of taps, wan and memif")
      ->check(CLI::Range(1, 25));
  app.add_flag("--quick", options.quick, "shorter rounds");
  app.add_option("--only", only, "one section")
      ->check(CLI::IsMember(
          {"aggregation", "cost", "shards", "quantise", "swx", "forward", "flood", "taps", "wan", "memif"}));
  app.add_option("--json", json, "write the report to this file (- for standard output)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  bool failed = false;
  report::Report report{"compare", report::command_line(argc, argv), {}};
  const auto add = [&](const char* section, auto make) {
    if (!only.empty() && only != section) return;
    std::vector<report::Row> rows;
    try {
      rows = make(options);
    } catch (const std::exception& error) {  // one peer that cannot be had does not cost the other rows
      std::fprintf(stderr, "compare: %s: %s\n", section, error.what());
      failed = true;
    }
    for (report::Row& row : rows) {
      const auto value = std::get<double>(row.value);
      std::string tags;
      for (const auto& [key, text] : row.group) tags += " " + key + "=" + text;
      std::fprintf(stderr, "%-42s %7.2f  (%.2f-%.2f)  target %.2f%s\n", row.name.c_str(), value,
                   row.spread->first, row.spread->second, row.target.value_or(0), tags.c_str());
      report.rows.push_back(std::move(row));
    }
  };
  add("aggregation", bench::aggregation_rows);
  add("cost", bench::cost_rows);
  add("shards", bench::shard_rows);
  add("quantise", bench::quantise_rows);
  add("swx", bench::swx_rows);
  add("forward", bench::forward_rows);
  add("flood", bench::flood_rows);
  for (const char* section : {"taps", "wan", "memif"})
    add(section, [&](const bench::Options& o) { return bench::network_rows(o, section); });
  if (json.empty()) return failed ? 1 : 0;
  if (const absl::Status status = report::write_json(report, json); !status.ok()) {
    std::fprintf(stderr, "compare: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return failed ? 1 : 0;
}
