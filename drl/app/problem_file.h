// A routing problem as JSON, for `explain` and for whoever wants to ask:
//   {"sites": [{"name": "a", "aggregates": true, "slots": 65536}, ...],
//    "links": [{"from": "a", "to": "b", "capacity_bps": 1e10, "available_bps": 4e9, "delay_s": 0.01}, ...]
//    "children": [{"site": "a", "workers": 4, "ready_s": 0.1}, ...],
//    "job": {"bytes": 1e9, "payload_bytes": 1024, "max_stripes": 8}}
// A link without its reverse counts for both directions. Only names, ends, capacity, delay, site and bytes
// must be there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "drl/env/problem.h"

namespace l3dml::drl {

absl::StatusOr<Problem> parse_problem(const std::string& json);  // what is wrong, in one line
absl::StatusOr<Problem> read_problem(const std::string& file);

}  // namespace l3dml::drl
