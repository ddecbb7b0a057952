// l3dmlctl's output for people: tables, and a job explained.
#pragma once

#include <string>
#include <vector>

#include "l3dml.pb.h"

namespace l3dml::control {

namespace api = ::l3dml::v1;

// Columns as wide as their widest cell; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string print(const api::Topology& topology);
std::string print_links(const api::Topology& topology);
std::string print(const api::ListDevicesResponse& devices);
std::string print_slots(const api::ListDevicesResponse& devices, const api::ListJobsResponse& jobs);
std::string print(const api::ListJobsResponse& jobs);
std::string print(const api::GetRoutesResponse& routes);
std::string print(const api::Statistics& statistics);
std::string print(const api::TelemetryFigures& figures);
std::string print(const api::Event& event);
std::string line(const api::Job& job);     // one, for watching
std::string explain(const api::Job& job);  // tree, rates, what limits it

}  // namespace l3dml::control
