// The figures of a switch in the shape that all programs of the project report in (DESIGN section 15).
#pragma once

#include <nlohmann/json.hpp>

namespace l3dml::app {

nlohmann::json report_of(const nlohmann::json& rows, const std::string& command);
// Of a running switch's statistics.
nlohmann::json report(const nlohmann::json& stats, const std::string& command);

}  // namespace l3dml::app
