// A real device (dataplane/pipeline) on the other side of the generator's memory ports, in virtual time: port
// i of the generator is device port i + 1, behind which worker i of every job lives.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/io/memory_port.h"
#include "dataplane/pipeline/testing/rig.h"
#include "tools/gen/traffic.h"

namespace l3dml::gen::testing {

struct TestedJob {
  uint16_t lanes = 64;
  double share = 1;
};

class TestedSwitch {
 public:
  TestedSwitch(unsigned workers, const std::vector<TestedJob>& jobs, uint32_t ring = 256);

  const std::vector<JobTraffic>& traffic() const { return traffic_; }
  PortSet ports();
  pipeline::testing::Rig& rig() { return *rig_; }
  // What the generator has sent goes through the device, what leaves comes back to its ports.
  void pump(int64_t at_ns);
  // Looks at each frame on its way and may change it on its way back; true: it is lost. `up`: to the device.
  std::function<bool(bool up, std::vector<uint8_t>& frame)> tap;

  // Steps an engine in virtual time until it is over, the device after each step. False: it never ended.
  template <typename Engine>
  bool run(Engine& engine, int64_t step_ns, int64_t limit_ns = 600'000'000'000) {
    for (int64_t end_ns = now_ns + limit_ns; now_ns < end_ns; now_ns += step_ns) {
      if (!engine.step(now_ns)) return true;
      pump(now_ns);
    }
    return false;
  }
  int64_t now_ns = 1'000'000;

 private:
  void deliver();  // what the device left in out_

  std::unique_ptr<pipeline::testing::Rig> rig_;
  base::HeapPool pool_{65536, 9728 + 128};
  std::vector<std::unique_ptr<io::MemoryPort>> ports_;
  std::vector<JobTraffic> traffic_;
  pipeline::Outbox out_;
};

}  // namespace l3dml::gen::testing
