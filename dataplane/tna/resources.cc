#include "dataplane/tna/resources.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace l3dml::tna {
namespace {

using nlohmann::json;

CellNeed cell_need(const json& j) {
  CellNeed need{.name = j.at("name"), .bits = j.value("bits", 0u), .parameter = {}, .cells = 0};
  if (j.at("cells").is_string())
    need.parameter = j.at("cells");
  else
    need.cells = j.at("cells");
  return need;
}

std::vector<size_t> places(const std::vector<CellNeed>& needs, const json& names) {
  std::vector<size_t> result;
  for (const std::string name : names) {
    const auto it =
        std::find_if(needs.begin(), needs.end(), [&](const CellNeed& n) { return n.name == name; });
    if (it == needs.end()) throw std::invalid_argument(absl::StrCat("unknown register or counter ", name));
    result.push_back(static_cast<size_t>(it - needs.begin()));
  }
  return result;
}

Node node_of(const ProgramResources& program, const json& j) {
  Node node{.name = j.at("name"), .egress = j.at("gress") == "egress"};
  for (const json& key : j.at("keys")) node.keys.push_back({key.at(0), key.at(1)});
  node.entries = j.at("entries");
  node.action_bits = j.at("action_bits");
  node.actions = j.at("actions");
  node.registers = places(program.registers, j.at("registers"));
  node.counters = places(program.counters, j.at("counters"));
  node.lane = j.at("lane");
  for (const json& edge : j.at("after")) {
    node.after.emplace_back(edge.at(0), edge.at(1));
    if (node.after.back().first >= program.nodes.size())
      throw std::invalid_argument(absl::StrCat(node.name, " comes after something later"));
  }
  return node;
}

}  // namespace

absl::StatusOr<ProgramResources> ProgramResources::parse(std::string_view text) {
  ProgramResources program;
  try {
    const json j = json::parse(text);
    program.name = j.at("program");
    program.lanes = j.at("lanes");
    program.parameters = j.at("parameters").get<std::map<std::string, uint32_t>>();
    for (const json& r : j.at("registers")) program.registers.push_back(cell_need(r));
    for (const json& c : j.at("counters")) program.counters.push_back(cell_need(c));
    for (const json& n : j.at("nodes")) program.nodes.push_back(node_of(program, n));
    for (const json& p : j.at("phv"))
      program.packet_bits.push_back(
          {p.at("gress") == "egress", p.at("matched_bits"), p.at("carried_bits"), p.at("lane_bits")});
    for (const json& p : j.at("passes")) program.passes.push_back({p.at("packet"), p.at("passes")});
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the program's resources cannot be read: ", error.what()));
  }
  for (const auto* needs : {&program.registers, &program.counters})
    for (const CellNeed& need : *needs)
      if (!need.parameter.empty() && !program.parameters.contains(need.parameter))
        return absl::InvalidArgumentError(
            absl::StrCat("the program's resources: ", need.name, " has the unknown size ", need.parameter));
  if (program.lanes == 0) return absl::InvalidArgumentError("the program's resources: no lanes");
  return program;
}

}  // namespace l3dml::tna
