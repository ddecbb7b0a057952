// Measuring modes: networks written by hand on which the same classes run under the virtual clock. Times are
// those of the emulated network, so a busy machine changes nothing but how long one waits.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/report/report.h"

namespace l3dml::sim {

using Rows = std::vector<report::Row>;

Rows measure_goodput();    // 1 Gb/s, 50 ms, at several losses, as share of what headers leave
Rows measure_loss_cost();  // what one lost packet adds to its chunk's time
Rows measure_fairness();   // two jobs, or a job and a TCP flow, on one link; its queue
Rows measure_scale();      // a thousand workers on a hundred switches

// The distributions of measure_loss_cost() as SVG; empty if the rows have none.
std::string loss_cost_chart(const Rows& rows);

// By name, or all of them; the names are those of the functions without measure_.
absl::StatusOr<Rows> measure(const std::string& what);

}  // namespace l3dml::sim
