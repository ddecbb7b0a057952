// The whole pipeline, parser to deparser, on prepared packets in memory, against a bare loop that adds the
// same payloads into the same slots in the same order. And the cost per packet over children and jobs, which
// must stay flat.
#include "bench/macro/load.h"

namespace l3dml::bench {

std::vector<report::Row> aggregation_rows(const Options& options) {
  std::vector<report::Row> rows;
  for (const auto& [lanes, target] : {std::pair<uint16_t, double>{256, 0.75}, {64, 0.35}}) {
    Load load({4, lanes, 1});
    rows.push_back(ratio(
        "pipeline_" + std::to_string(lanes) + "_lanes_vs_bare_loop", target, options,
        [&] { return 1 / load.pipeline_packet_seconds(); }, [&] { return 1 / load.bare_packet_seconds(); },
        {{"children", "4"}, {"kernels", std::string(kernels::lane_kernels().name)}}));
  }
  return rows;
}

// The gradients of jobs that are admitted, while as many packets of unknown ones come in between.
std::vector<report::Row> flood_rows(const Options& options) {
  Load flooded({4, 256, 1}), calm({4, 256, 1});
  report::Row row = ratio(
      "flood_of_unknown_jobs_leaves", 0.8, options, [&] { return 1 / flooded.pipeline_packet_seconds(true); },
      [&] { return 1 / calm.pipeline_packet_seconds(); }, {{"flood", "1 packet per gradient, 1110 bytes"}});
  row.group["refused"] = std::to_string(flooded.dropped(base::DropReason::unknown_job));
  return {row};
}

std::vector<report::Row> cost_rows(const Options& options) {
  std::vector<report::Row> rows;
  Load base({8, 256, 1});
  for (const LoadShape& shape :
       {LoadShape{1, 256, 1}, LoadShape{31, 256, 1}, LoadShape{8, 256, 16}, LoadShape{8, 256, 256}}) {
    Load load(shape);
    rows.push_back(ratio(
        "pipeline_cost_is_flat", 0.8, options, [&] { return 1 / load.pipeline_packet_seconds(); },
        [&] { return 1 / base.pipeline_packet_seconds(); },
        {{"children", std::to_string(shape.children)},
         {"jobs", std::to_string(shape.jobs)},
         {"against", "8 children, 1 job"}}));
  }
  return rows;
}

}  // namespace l3dml::bench
