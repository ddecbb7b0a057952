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
Rows measure_fairness();   // two jobs on one link, and its queue
Rows measure_scale();      // a thousand workers on a hundred switches

// By name, or all of them; the names are those of the functions without measure_.
absl::StatusOr<Rows> measure(const std::string& what);

}  // namespace l3dml::sim
