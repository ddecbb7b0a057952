// The tables that all pipes of a device share: programmed by the driver at quiescence, read by every pipe.
#pragma once

#include <array>

#include "dataplane/base/limits.h"
#include "dataplane/blocks/admission.h"
#include "dataplane/blocks/forwarder.h"
#include "dataplane/blocks/generated.h"
#include "dataplane/blocks/job.h"
#include "dataplane/blocks/replica.h"
#include "dataplane/pipeline/device.h"
#include "dataplane/tna/mirror.h"
#include "dataplane/tna/multicast.h"

namespace l3dml::pipeline {

struct PortState {
  bool up = false;
  bool checksum = false;  // wants real UDP checksums
};

struct Program {
  explicit Program(const DeviceConfig& device_config)
      : config(device_config), replica(config.neighbors, config.ring_entries) {}

  DeviceConfig config;
  blocks::Admission admission;
  blocks::Forwarder forwarder;
  blocks::GeneratedTable generated;
  blocks::JobTable job;
  blocks::ReplicaTable replica;
  tna::Multicast multicast;
  tna::MirrorTable mirrors;
  std::array<PortState, base::kPortsPerPipe * 4> ports{};
};

}  // namespace l3dml::pipeline
