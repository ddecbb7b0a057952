// What the driver's description of the program (bf-rt.json) must find in a device, by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/pipeline/device.h"
#include "dataplane/tna/shape.h"

namespace l3dml::pipeline {

struct Description {
  std::map<std::string, tna::TableShape> tables;  // "pipe.Ingress.admission.admission" -> ...
  std::vector<std::string> registers, counters;
};

Description describe(const Device& device);  // one that Device::create() made
// Which pipe owns a shard, our slot of a sequence number, drops in egress: only a chip has a use for these;
// x86 knows them otherwise.
bool is_chip_only(std::string_view name);

}  // namespace l3dml::pipeline
