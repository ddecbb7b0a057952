// The controller's Prometheus metrics: read from controller and switches at each scrape. METRICS.md lists
// them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/api/controller.h"
#include "control/api/telemetry.h"
#include "prometheus/collectable.h"

namespace l3dml::control {

class ControllerMetrics final : public prometheus::Collectable {
 public:
  ControllerMetrics(const Controller* controller, const Telemetry* telemetry)
      : controller_(*controller), telemetry_(*telemetry) {}
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const Controller& controller_;
  const Telemetry& telemetry_;
};

}  // namespace l3dml::control
