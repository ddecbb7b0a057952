// The ports of one device of the switch as its BfRuntime driver sees them: carries out what $PORT and the
// traffic manager's tables say. A valid device port that nothing is attached to may be added; its link is
// down. Threads and failure: see server::PortDriver. The member outlives it.
#pragma once

#include <array>
#include <atomic>

#include "dataplane/app/switch.h"
#include "dataplane/server/port_driver.h"

namespace l3dml::app {

class SwitchPorts final : public server::PortDriver {
 public:
  explicit SwitchPorts(Member& member);

  std::vector<Given> given() const override;
  absl::Status check(uint16_t port, const server::PortSettings& settings) const override;
  bool has_link(uint16_t port) const override { return links_.at(port); }
  void configure(uint16_t port, const server::PortSettings& settings) override;
  void remove(uint16_t port) override;
  void look() override;
  server::PortFigures figures(uint16_t port) const override;
  void shape(uint16_t port, uint64_t rate_bps) override;
  void reset_mark(uint16_t port) override;

 private:
  Member& member_;
  base::MonotonicClock clock_;
  std::array<AttachedPort*, pipeline::kDevicePorts> attached_{};  // null: nothing is
  std::array<std::atomic<bool>, pipeline::kDevicePorts> links_{};
};

}  // namespace l3dml::app
