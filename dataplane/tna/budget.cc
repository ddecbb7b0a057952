#include "dataplane/tna/budget.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace l3dml::tna {
namespace {

constexpr unsigned kEntryOverheadBits = 14;  // version, which action, which table next
constexpr unsigned kImmediateBits = 32;      // of action parameters that lie beside the match
constexpr double kFill = 0.9;                // of a hash table

unsigned divide_up(uint64_t a, uint64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

// SRAM of action parameters that do not fit beside the match.
unsigned action_srams(unsigned bits, uint32_t entries) {
  return bits <= kImmediateBits ? 0 : divide_up(uint64_t{std::bit_ceil(bits)} * entries, kSramBits);
}

// A table in slices that may lie in different stages.
struct Need {
  Use fixed;            // in the stage where it begins
  unsigned slices = 0;  // of match memory
  Use slice;            // one of them
  bool has_register = false;
};

class Placement {
 public:
  Placement(const ProgramResources& program, const Chip& chip, const PipeSizes& sizes, Budget* budget)
      : program_(program), chip_(chip), sizes_(sizes), budget_(*budget) {
    const unsigned copies = std::max(1u, budget_.lanes / program.lanes);
    for (const Node& node : program.nodes) {
      const size_t first = nodes_.size();
      firsts_.push_back(first);
      for (unsigned copy = 0; copy < (node.lane ? copies : 1); ++copy) {
        nodes_.push_back(&node);
        needs_.push_back(need_of(node));
        std::vector<std::pair<size_t, unsigned>> after;
        for (const auto& [earlier, delay] : node.after)
          for (size_t i = firsts_[earlier]; i < first && nodes_[i] == &program.nodes[earlier]; ++i)
            after.emplace_back(i, delay);
        after_.push_back(std::move(after));
      }
    }
  }

  void run() {
    check_totals();
    if (!budget_.fits()) return;
    find_latest();
    order_.resize(nodes_.size());
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return latest_[a] < latest_[b]; });
    earliest_.assign(nodes_.size(), 0);
    if (try_once()) return;
    // Two large registers in one stage may leave its last stateful ALU without memory: move one of them.
    const std::vector<int> first_try = stage_of_;
    const std::vector<StageBudget> first_stages = budget_.stages;
    for (const size_t i : order_) {
      if (!needs_[i].has_register || nodes_[i]->lane || first_try[i] < 0) continue;
      earliest_[i] = first_try[i] + 1;
      if (try_once()) return;
      earliest_[i] = 0;
    }
    budget_.stages = first_stages;
    std::vector<std::string> left;
    for (const size_t i : order_)
      if (first_try[i] < 0) left.push_back(nodes_[i]->name);
    const size_t shown = std::min<size_t>(3, left.size());
    std::string names = absl::StrJoin(left.begin(), left.begin() + static_cast<ptrdiff_t>(shown), ", ");
    if (left.size() > shown) absl::StrAppend(&names, " and ", left.size() - shown, " more");
    budget_.problems.push_back(absl::StrCat("stages: no room within ", chip_.stages, " for ", names));
  }

 private:
  uint32_t cells(const CellNeed& need) const {
    if (need.parameter.empty()) return need.cells;
    const auto it = sizes_.parameters.find(need.parameter);
    return it != sizes_.parameters.end() ? it->second : program_.parameters.at(need.parameter);
  }

  unsigned register_blocks(const CellNeed& need) const {
    return divide_up(uint64_t{cells(need)} * need.bits, kSramBits) + 1;
  }

  Need need_of(const Node& node) const {
    Need need;
    if (node.actions != 0) need.fixed.logical_tables = 1;
    for (const size_t r : node.registers) {
      const unsigned blocks = register_blocks(program_.registers[r]);
      need.fixed.stateful_alus += 1;
      need.fixed.srams += blocks;
      need.fixed.map_rams += blocks;
      need.has_register = true;
    }
    for (const size_t c : node.counters) {  // packets: four counters a row
      const unsigned blocks = divide_up(cells(program_.counters[c]), 4 * kSramRows) + 1;
      need.fixed.counter_alus += 1;
      need.fixed.srams += blocks;
      need.fixed.map_rams += blocks;
    }
    unsigned bits = 0, tcam_bits = 0;
    bool ternary = false;
    for (const KeyNeed& key : node.keys) {
      bits += key.bits;
      tcam_bits += key.match == "range" ? 2 * key.bits : key.bits;
      ternary |= key.match != "exact";
    }
    if (ternary) {
      need.slices = divide_up(node.entries, kTcamRows);
      need.slice.tcams = divide_up(tcam_bits, kTcamBits);
      need.slice.srams = 1 + action_srams(node.action_bits, kTcamRows);
    } else if (bits != 0) {
      const unsigned entry = bits + std::min(node.action_bits, kImmediateBits) + kEntryOverheadBits;
      const unsigned packed = std::max(1u, 128 / entry);
      const auto rows = static_cast<uint64_t>(std::ceil(node.entries / packed / kFill));
      need.slices = std::max(1u, divide_up(rows, kSramRows));
      need.slice.srams = divide_up(entry, 128) + action_srams(node.action_bits, kSramRows * packed);
    }
    return need;
  }

  void check_totals() {
    Use total;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Need& need = needs_[i];
      total.stateful_alus += need.fixed.stateful_alus;
      total.srams += need.fixed.srams + need.slices * need.slice.srams;
      total.map_rams += need.fixed.map_rams;
      total.tcams += need.slices * need.slice.tcams;
      if (need.has_register && need.fixed.map_rams > chip_.map_rams && nodes_[i]->registers.size() == 1)
        too_large(program_.registers[nodes_[i]->registers[0]]);
    }
    const auto check = [&](const char* what, unsigned asked, unsigned held) {
      if (asked > held) budget_.problems.push_back(absl::StrFormat("%s: %u of %u", what, asked, held));
    };
    check("stateful ALUs", total.stateful_alus, chip_.stages * chip_.stateful_alus);
    check("SRAM blocks", total.srams, chip_.stages * chip_.srams);
    check("map RAM blocks", total.map_rams, chip_.stages * chip_.map_rams);
    check("TCAM blocks", total.tcams, chip_.stages * chip_.tcams);
    check("32-bit containers of the packet header vector", budget_.phv_words, chip_.phv_words);
    check("bits of the packet header vector", budget_.phv_bits, chip_.phv_bits);
    check("bits that a packet carries", budget_.phv_bits + budget_.carried_bits,
          chip_.phv_bits + chip_.carried_bits);
  }

  // A register must lie in one stage. Those of all lanes are alike: one is named.
  void too_large(const CellNeed& need) {
    const std::string problem =
        absl::StrFormat("map RAM blocks of one stage: %u of %u for register %s of %u cells",
                        register_blocks(need), chip_.map_rams, need.name, cells(need));
    for (const std::string& known : budget_.problems)
      if (known.substr(0, 30) == problem.substr(0, 30)) return;
    budget_.problems.push_back(problem);
  }

  // The last stage in which each node may lie, counting what follows it: in order, and by stateful ALUs.
  void find_latest() {
    const size_t count = nodes_.size();
    const unsigned last = chip_.stages - 1;
    latest_.assign(count, static_cast<int>(last));
    std::vector<std::vector<bool>> behind(count, std::vector<bool>(count));
    for (size_t i = count; i-- > 0;) {
      unsigned alus = 0;
      for (size_t j = 0; j < count; ++j)
        if (behind[i][j]) alus += needs_[j].fixed.stateful_alus;
      latest_[i] =
          std::min(latest_[i], static_cast<int>(last - std::min(last, divide_up(alus, chip_.stateful_alus))));
      for (const auto& [earlier, delay] : after_[i]) {
        latest_[earlier] = std::min(latest_[earlier], latest_[i] - static_cast<int>(delay));
        for (size_t j = 0; j < count; ++j)
          if (behind[i][j]) behind[earlier][j] = true;
        if (delay != 0) behind[earlier][i] = true;
      }
    }
  }

  // Stage by stage, the most urgent first. False if something found no place.
  bool try_once() {
    budget_.stages.clear();
    stage_of_.assign(nodes_.size(), -1);
    part_in_.assign(nodes_.size(), -1);
    left_.resize(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) left_[i] = needs_[i].slices;
    size_t open = nodes_.size();
    for (unsigned stage = 0; stage < chip_.stages && (open != 0 || chip_.srams != kUnlimited); ++stage) {
      budget_.stages.emplace_back();
      for (bool moved = true; moved;) {
        moved = false;
        for (const size_t i : order_)
          if (stage_of_[i] < 0 && ready(i, stage) && put(i, stage)) moved = true, --open;
      }
    }
    return open == 0;
  }

  bool ready(size_t i, unsigned stage) const {
    return earliest_[i] <= static_cast<int>(stage) &&
           std::all_of(after_[i].begin(), after_[i].end(), [&](const auto& edge) {
             return stage_of_[edge.first] >= 0 &&
                    static_cast<unsigned>(stage_of_[edge.first]) + edge.second <= stage;
           });
  }

  bool fits(const Use& more, const Use& used) const {
    return used.stateful_alus + more.stateful_alus <= chip_.stateful_alus &&
           used.counter_alus + more.counter_alus <= chip_.counter_alus &&
           used.srams + more.srams <= chip_.srams && used.map_rams + more.map_rams <= chip_.map_rams &&
           used.tcams + more.tcams <= chip_.tcams &&
           used.logical_tables + more.logical_tables <= chip_.logical_tables;
  }
  static void add(const Use& more, Use* used) {
    used->stateful_alus += more.stateful_alus;
    used->counter_alus += more.counter_alus;
    used->srams += more.srams;
    used->map_rams += more.map_rams;
    used->tcams += more.tcams;
    used->logical_tables += more.logical_tables;
  }

  // True if anything of it was placed; stage_of_ is set when all of it is.
  bool put(size_t i, unsigned stage) {
    StageBudget& here = budget_.stages[stage];
    const Need& need = needs_[i];
    Use use = here.use;
    Use begin = need.fixed;
    if (part_in_[i] == static_cast<int>(stage)) return false;
    if (part_in_[i] >= 0) begin = Use{.logical_tables = 1};
    if (!fits(begin, use)) return false;
    add(begin, &use);
    unsigned slices = 0;
    while (slices < left_[i] && fits(need.slice, use)) {
      add(need.slice, &use);
      ++slices;
    }
    if (left_[i] != 0 && slices == 0) return false;
    if (need.has_register && slices < left_[i]) return false;  // its entries lie where its register does
    here.use = use;
    if (nodes_[i]->actions != 0) here.names.push_back(nodes_[i]->name);
    left_[i] -= slices;
    part_in_[i] = static_cast<int>(stage);
    if (left_[i] == 0) stage_of_[i] = static_cast<int>(stage);
    return left_[i] == 0;
  }

  const ProgramResources& program_;
  const Chip& chip_;
  const PipeSizes& sizes_;
  Budget& budget_;
  std::vector<const Node*> nodes_;  // of lanes as many as there are
  std::vector<size_t> firsts_;      // place in nodes_, by node of the program
  std::vector<Need> needs_;
  std::vector<std::vector<std::pair<size_t, unsigned>>> after_;
  std::vector<size_t> order_;  // by urgency
  std::vector<int> earliest_, latest_, stage_of_;
  std::vector<unsigned> left_;  // slices not placed yet
  std::vector<int> part_in_;    // the last stage that took a part
};

// "Ingress.aggregator.sum00" ... "sum03" -> "Ingress.aggregator.sum00..sum03"
std::string short_list(const std::vector<std::string>& names) {
  std::string text;
  const auto stem = [](const std::string& name) {
    size_t end = name.size();
    while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
    return name.substr(0, name.size() - end >= 2 ? end : name.size());
  };
  for (size_t i = 0; i < names.size();) {
    size_t end = i + 1;
    while (end < names.size() && stem(names[end]) == stem(names[i])) ++end;
    absl::StrAppend(&text, text.empty() ? "" : " ", names[i]);
    if (end - i > 1 && names[end - 1] != names[i])
      absl::StrAppend(&text, "..", names[end - 1].substr(names[i].rfind('.') + 1));
    if (end - i > 1 && names[end - 1] == names[i]) absl::StrAppend(&text, " (", end - i, ")");
    i = end;
  }
  return text;
}

}  // namespace

Use Budget::total() const {
  Use sum;
  for (const StageBudget& stage : stages) {
    sum.stateful_alus += stage.use.stateful_alus;
    sum.counter_alus += stage.use.counter_alus;
    sum.srams += stage.use.srams;
    sum.map_rams += stage.use.map_rams;
    sum.tcams += stage.use.tcams;
    sum.logical_tables += stage.use.logical_tables;
  }
  return sum;
}

std::string Budget::text() const {
  std::string text = absl::StrFormat("%s on a pipe of %s, %u lanes a pass\n", program, chip.name, lanes);
  if (!stages.empty()) {
    absl::StrAppend(&text, "stage  stateful  counter  SRAM  map RAM  TCAM  tables\n");
    const auto line = [&](const std::string& name, const Use& use, const std::string& names) {
      absl::StrAppendFormat(&text, "%5s  %8u  %7u  %4u  %7u  %4u  %6u  %s\n", name, use.stateful_alus,
                            use.counter_alus, use.srams, use.map_rams, use.tcams, use.logical_tables, names);
    };
    for (size_t i = 0; i < stages.size(); ++i)
      line(absl::StrCat(i), stages[i].use, short_list(stages[i].names));
    line("all", total(), "");
    if (chip.srams != kUnlimited)
      line("of",
           Use{chip.stages * chip.stateful_alus, chip.stages * chip.counter_alus, chip.stages * chip.srams,
               chip.stages * chip.map_rams, chip.stages * chip.tcams, chip.stages * chip.logical_tables},
           "");
  }
  const auto of = [&](unsigned held) {
    return chip.srams == kUnlimited ? std::string() : absl::StrCat(" of ", held);
  };
  absl::StrAppend(&text, "packet header vector: ", phv_bits, of(chip.phv_bits), " bits matched or changed, ",
                  phv_words, of(chip.phv_words), " 32-bit containers by lanes, ", carried_bits,
                  " bits only carried\n");
  absl::StrAppend(&text, "passes through ingress:");
  for (const PacketPasses& p : passes) absl::StrAppend(&text, " ", p.packet, " ", p.passes);
  absl::StrAppend(&text, ", one more where another pipe owns the shard\n");
  for (const std::string& problem : problems) absl::StrAppend(&text, "does not fit: ", problem, "\n");
  if (fits() && chip.srams != kUnlimited) absl::StrAppend(&text, "fits\n");
  return text;
}

Budget place(const ProgramResources& program, const Chip& chip, const PipeSizes& sizes) {
  Budget budget{
      .program = program.name, .chip = chip, .lanes = sizes.lanes != 0 ? sizes.lanes : program.lanes};
  for (const PacketBits& bits : program.packet_bits) {
    const unsigned lanes = bits.lanes * budget.lanes / program.lanes;
    budget.phv_bits += bits.matched + lanes;
    budget.phv_words += lanes / 32;
    budget.carried_bits += bits.carried;
  }
  budget.passes = program.passes;
  Placement(program, chip, sizes, &budget).run();
  return budget;
}

}  // namespace l3dml::tna
