#include "dataplane/app/program.h"

#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/app/report.h"

namespace l3dml::app {
namespace {

using nlohmann::json;

const tna::ProgramResources& our_program() {
  static const tna::ProgramResources program = *tna::ProgramResources::parse(kResourcesJson);
  return program;
}

void add_rows(const std::string& device, const tna::Budget& budget, json* rows) {
  const auto row = [&](const char* name, const json& value, json group) {
    group["device"] = device;
    group["chip"] = budget.chip.name;
    rows->push_back({{"name", name}, {"value", value}, {"unit", ""}, {"group", group}});
  };
  const auto limited = [&](const char* name, unsigned value, unsigned held, const json& group) {
    row(name, value, group);
    rows->back()["target"] = held;
  };
  const tna::Chip& chip = budget.chip;
  for (size_t i = 0; i < budget.stages.size(); ++i) {
    const tna::Use& use = budget.stages[i].use;
    const json stage = {{"stage", std::to_string(i)}};
    limited("stateful_alus", use.stateful_alus, chip.stateful_alus, stage);
    limited("sram_blocks", use.srams, chip.srams, stage);
    limited("map_ram_blocks", use.map_rams, chip.map_rams, stage);
    limited("tcam_blocks", use.tcams, chip.tcams, stage);
    limited("logical_tables", use.logical_tables, chip.logical_tables, stage);
  }
  limited("phv_bits", budget.phv_bits, chip.phv_bits, json::object());
  limited("phv_words", budget.phv_words, chip.phv_words, json::object());
  for (const tna::PacketPasses& p : budget.passes) row("passes", p.passes, {{"packet", p.packet}});
  for (const std::string& problem : budget.problems) row("does_not_fit", problem, json::object());
}

}  // namespace

tna::PipeSizes sizes_of(const pipeline::DeviceConfig& device) {
  return {.parameters = {{"SLOTS", device.slots * device.shards_per_pipe},
                         {"NEIGHBORS", device.neighbors * device.shards_per_pipe},
                         {"RING_ENTRIES", device.ring_entries}},
          .lanes = device.lanes};
}

absl::Status check_budget(const DeviceConfig& device) {
  const tna::Chip* chip = tna::find_chip(device.budget);
  if (chip == nullptr)
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", device.name, ": budget is none, tofino1 or tofino2, not \"", device.budget, "\""));
  if (chip == &tna::kNoChip) return absl::OkStatus();
  const tna::Budget budget = tna::place(our_program(), *chip, sizes_of(device.device));
  if (budget.fits()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("device ", device.name, " asks for more than a pipe of ",
                                                 std::string(chip->name),
                                                 " has: ", absl::StrJoin(budget.problems, "; ")));
}

int print_budget(const SwitchConfig& config, const tna::Chip& chip, bool own_sizes, bool as_json,
                 const std::string& command) {
  bool fits = true;
  json rows = json::array();
  for (const DeviceConfig& device : config.devices) {
    const tna::Budget budget =
        tna::place(our_program(), chip, own_sizes ? tna::PipeSizes{} : sizes_of(device.device));
    fits &= budget.fits();
    if (as_json)
      add_rows(device.name, budget, &rows);
    else
      std::cout << (own_sizes ? "" : device.name + ": ") << budget.text();
  }
  if (as_json) std::cout << report_of(rows, command).dump() << std::endl;
  return fits ? 0 : 1;
}

}  // namespace l3dml::app
