#include "tools/sim/ledger.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "dataplane/base/serial.h"

namespace l3dml::sim {

Ledger::Ledger(const Shape& shape, const Tree& tree)
    : shape_(shape), tree_(tree), members_(tree.places.size()) {
  nodes_ = members_ + tree.aggregators.size();
  // A number is of interest until its entry is restarted (ring x shards later) and its copies have left the
  // network's sight; rows for twice as many keep the predecessor in the entry in view.
  rows_.resize(std::bit_ceil(size_t{2} * shape.entries));
  sent_.resize(rows_.size() * nodes_);
  held_.resize(rows_.size() * members_);
  in_epoch_.resize(members_);
  for (uint32_t member : shape.members) in_epoch_[member] = true;
  next_.resize(size_t{shape.window} * members_);
}

bool Ledger::live(uint32_t number) const {
  const Row& row = rows_[place(number)];
  return row.used && row.number == number;
}

bool Ledger::holds(uint32_t member, uint32_t number) const {
  return live(number) && held_[place(number) * members_ + member];
}

Violation Ledger::violation(const char* name, uint32_t node, uint32_t number, const std::string& text) const {
  const std::string who = node < members_ ? fmt::format("member {}", node)
                                          : fmt::format("aggregator {} on device {}", node - members_,
                                                        tree_.aggregators[node - members_].device);
  return {name, fmt::format("job {} epoch {} number {} (first + {}), {}: {}", shape_.job, shape_.epoch,
                            number, number - shape_.first_number, who, text)};
}

Ledger::Check Ledger::open(uint32_t number, uint32_t member) {
  Row& row = rows_[place(number)];
  if (row.used && row.number == number) return {};
  row = {number, true, 0, member};
  wrapped_ |= number < shape_.first_number;
  std::fill_n(sent_.begin() + static_cast<ptrdiff_t>(place(number) * nodes_), nodes_, Sent{});
  std::fill_n(held_.begin() + static_cast<ptrdiff_t>(place(number) * members_), members_, false);
  // The entry's last tenant must be held by everybody before this number is sent.
  const uint32_t before = number - shape_.entries;
  if (base::serial_older(before, shape_.first_number)) return {};
  if (live(before) && rows_[place(before)].held == shape_.members.size()) return {};
  return violation("one_live_number", member, number,
                   fmt::format("begins while {} of {} members hold number {} of the same slot",
                               live(before) ? rows_[place(before)].held : 0, shape_.members.size(), before));
}

Ledger::Check Ledger::again(const Sent& before, const Sent& now, const Frame& frame, uint32_t node) const {
  if (before == now) return {};
  const char* name = before.exp != now.exp ? "same_exponent" : "no_freed_retransmission";
  return violation(
      name, node, frame.head->l3dml.number.load(),
      fmt::format(
          "sent again otherwise: exp {} was {}, next_exp {} was {}, weight {} was {}, lanes {} was {}{}",
          now.exp, before.exp, now.next_exp, before.next_exp, now.weight, before.weight, now.lanes,
          before.lanes, now.hash == before.hash ? "" : ", other lanes"));
}

Ledger::Check Ledger::member_sends(uint32_t member, const Frame& frame) {
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const uint32_t number = h.number.load();
  if (!in_epoch_[member]) return violation("paused_silence", member, number, "has no part in this epoch");
  const Sent now{frame.lane_count ? lane_hash(frame.lanes, frame.lane_count) : 0,
                 h.weight.load(),
                 h.exp,
                 h.next_exp,
                 1,
                 frame.lane_count != 0};
  if (live(number) && sent(number, member).known) {
    if (Check check = again(sent(number, member), now, frame, member)) return check;
    return {};
  }
  // The queue of its position: the next number, and only when the last one is held.
  const uint32_t offset = number - shape_.first_number, position = offset & (shape_.window - 1);
  uint32_t& next = next_[position * members_ + member];
  if (offset != position + next * shape_.window)
    return violation("numbers_in_order", member, number,
                     fmt::format("position {} is at its {}th number", position, next));
  if (next > 0 && !holds(member, number - shape_.window))
    return violation("window", member, number, fmt::format("sent before {} is held", number - shape_.window));
  ++next;
  if (Check check = open(number, member)) return check;
  // One exponent for a number. UPs without lanes that abstain carry the exponent their lanes would have had.
  const uint32_t opener = rows_[place(number)].opener;
  const Sent& first = sent(number, opener);
  if (first.known && first.exp != now.exp && !shape_.exponents_differ)
    return violation("same_exponent", member, number,
                     fmt::format("exp {}, member {} has {}", now.exp, opener, first.exp));
  if (now.weight != now.lanes)
    return violation("each_contribution_once", member, number,
                     fmt::format("weight {} with {} lanes", now.weight, frame.lane_count));
  sent(number, member) = now;
  return {};
}

std::optional<Ledger::Sent> Ledger::sum_of_children(uint32_t aggregator, uint32_t number,
                                                    std::string* missing) {
  Sent sum;
  bool first = true, differ = false;
  for (const TreeChild& child : tree_.aggregators[aggregator].children) {
    const Sent& s = sent(number, child.member ? child.index : static_cast<uint32_t>(members_) + child.index);
    if (!s.known) {
      *missing = fmt::format("{} {}", child.member ? "member" : "aggregator", child.index);
      return std::nullopt;
    }
    sum.hash += s.hash;
    sum.weight = static_cast<uint16_t>(sum.weight + s.weight);
    differ |= !first && s.exp != sum.exp;
    if (first) sum.exp = s.exp;
    sum.next_exp = std::max(sum.next_exp, s.next_exp);
    first = false;
  }
  if (differ) sum.next_exp = wire::kExpOverflow;
  sum.known = 1;
  sum.lanes = 1;
  return sum;
}

Ledger::Check Ledger::aggregator_sends(uint32_t aggregator, const Frame& frame) {
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const uint32_t number = h.number.load();
  const uint32_t node = static_cast<uint32_t>(members_) + aggregator;
  if (frame.lane_count != shape_.lanes)
    return violation("exact_sum", node, number,
                     fmt::format("{} lanes instead of {}", frame.lane_count, shape_.lanes));
  const Sent now{lane_hash(frame.lanes, frame.lane_count), h.weight.load(), h.exp, h.next_exp, 1, 1};
  if (!live(number))
    return violation("no_freed_retransmission", node, number,
                     "nobody has sent this number, or its slot was reused");
  const bool up = h.type() == wire::Type::up;
  const bool root = tree_.aggregators[aggregator].parent < 0;
  if (up && root) return violation("exact_sum", node, number, "the root sends UP");
  // A DOWN is the root's sum, whoever sends it.
  const uint32_t author = up ? aggregator : 0;
  Sent& before = sent(number, static_cast<uint32_t>(members_) + author);
  if (before.known) return again(before, now, frame, node);
  if (!up && !root) return violation("exact_sum", node, number, "sends a result before the root has one");
  std::string missing;
  const std::optional<Sent> sum = sum_of_children(aggregator, number, &missing);
  if (!sum)
    return violation("exact_sum", node, number,
                     fmt::format("sends a sum although {} has sent nothing", missing));
  if (now.weight != sum->weight)
    return violation("each_contribution_once", node, number,
                     fmt::format("weight {}, its children's are {}", now.weight, sum->weight));
  if (now.hash != sum->hash)
    return violation("exact_sum", node, number, "lanes are not the sum of its children's");
  if (now.next_exp != sum->next_exp)
    return violation("same_exponent", node, number,
                     fmt::format("next_exp {}, its children's make {}", now.next_exp, sum->next_exp));
  if (now.exp != sum->exp && sum->next_exp < wire::kExpOverflow)
    return violation("same_exponent", node, number,
                     fmt::format("exp {}, its children's is {}", now.exp, sum->exp));
  before = now;
  return {};
}

Ledger::Check Ledger::member_holds(uint32_t member, uint32_t number) {
  if (!live(number) || !sent(number, static_cast<uint32_t>(members_)).known)
    return violation("exact_sum", member, number, "holds a result that the root never sent");
  std::vector<bool>::reference held = held_[place(number) * members_ + member];
  if (held)
    return violation("each_contribution_once", member, number, "takes a result that it holds already");
  held = true;
  if (++rows_[place(number)].held == shape_.members.size()) ++numbers_final_;
  return {};
}

}  // namespace l3dml::sim
