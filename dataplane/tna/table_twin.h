// Glue between the driver's view of a table (named fields as byte strings, twin.h) and a MatchTable (packed
// words, typed action): the layout of the key and one function that reads an action.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/tna/bytes.h"
#include "dataplane/tna/match_table.h"
#include "dataplane/tna/shape.h"
#include "dataplane/tna/twin.h"

namespace l3dml::tna {

// Where a key field lies: `width` bits at `shift` of word `word`. A 128-bit field takes word and word + 1,
// high half first.
struct KeySlice {
  unsigned word;
  unsigned shift;
  unsigned width;  // bits
};

template <size_t kWords, typename Action>
class MatchTableTwin final : public TableTwin {
 public:
  using Table = MatchTable<kWords, Action>;
  // Fills *action from an entry's action name and parameters, or says what is wrong.
  using ReadAction = std::function<absl::Status(const Entry&, Action*)>;
  // Called after every change, for tables that keep something derived.
  using Changed = std::function<void()>;

  using Actions = std::map<std::string, std::vector<unsigned>>;  // name -> widths of its parameters

  MatchTableTwin(std::vector<KeySlice> layout, Actions actions, ReadAction read_action, Changed changed = {})
      : layout_(std::move(layout)),
        actions_(std::move(actions)),
        read_action_(std::move(read_action)),
        changed_(std::move(changed)) {}

  TableShape shape() const {
    TableShape shape{.key = {}, .actions = actions_};
    for (const KeySlice& slice : layout_) shape.key.push_back(slice.width);
    return shape;
  }

  Table& table() { return table_; }
  const Table& table() const { return table_; }
  const Action& default_action() const { return default_; }

  absl::Status check(const Entry& entry) const override {
    if (!entry.key.empty() && entry.key.size() != layout_.size())
      return absl::InvalidArgumentError(
          absl::StrCat("the key has ", entry.key.size(), " fields, this table wants ", layout_.size()));
    for (size_t i = 0; i < entry.key.size(); ++i) {
      const MatchField& field = entry.key[i];
      if (field.kind != MatchKind::range || !field.present) continue;
      if (layout_[i].width > 64) return absl::InvalidArgumentError("a range is of at most 64 bits");
      if (to_uint(field.mask) < to_uint(field.value))
        return absl::InvalidArgumentError("the high end of a range lies below its low end");
    }
    Action action{};
    return read_action_(entry, &action);
  }
  void insert(Handle handle, const Entry& entry) override {
    std::vector<Part> parts(1);
    uint32_t priority = entry.priority;
    for (size_t i = 0; i < layout_.size(); ++i) {
      if (entry.key[i].kind == MatchKind::range && entry.key[i].present)
        spread(layout_[i], entry.key[i], &parts);
      else
        for (Part& part : parts) pack(layout_[i], entry.key[i], &part.key, &part.mask, &priority);
    }
    const Action action = read(entry);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Handle row = i == 0 ? handle : kPart | next_part_++;
      if (i != 0) parts_[handle].push_back(row);
      table_.insert(row, parts[i].key, parts[i].mask, priority, action);
    }
    if (changed_) changed_();
  }
  void modify(Handle handle, const Entry& entry) override {
    const Action action = read(entry);
    for_rows(handle, [&](Handle row) { table_.modify(row, action); });
    if (changed_) changed_();
  }
  void remove(Handle handle) override {
    for_rows(handle, [&](Handle row) { table_.remove(row); });
    parts_.erase(handle);
    if (changed_) changed_();
  }
  void set_default(const Entry& entry) override { default_ = entry.action.empty() ? Action{} : read(entry); }

  CounterValue counter(Handle handle) const override {
    CounterValue sum;
    for_rows(handle, [&](Handle part) {
      if (const auto* row = const_cast<Table&>(table_).find(part))
        for (const auto& count : row->counts) sum.bytes += count.bytes, sum.packets += count.packets;
    });
    return sum;
  }
  void set_counter(Handle handle, CounterValue value) override {
    for_rows(handle, [&](Handle part) {
      auto* row = table_.find(part);
      if (!row) return;
      for (auto& count : row->counts) count.bytes = count.packets = 0;
      if (part == handle) row->counts[0].bytes = value.bytes, row->counts[0].packets = value.packets;
    });
  }
  bool take_hit(Handle handle) override {
    bool hit = false;
    for_rows(handle, [&](Handle part) {
      if (auto* row = table_.find(part))
        for (auto& count : row->counts) hit |= std::exchange(count.hit, false);
    });
    return hit;
  }

 private:
  // A range is kept as the prefixes that it consists of (RFC 4632), each a row of its own under one entry.
  struct Part {
    typename Table::Key key, mask;
  };
  static constexpr Handle kPart = 0x80000000;  // the driver's handles stay below

  static void spread(const KeySlice& slice, const MatchField& field, std::vector<Part>* parts) {
    uint64_t low = to_uint(field.value);
    const uint64_t high = to_uint(field.mask), all = ones_low(slice.width);
    std::vector<Part> result;
    for (;;) {
      uint64_t block =
          low == 0 ? all : (low & ~(low - 1)) - 1;  // the largest aligned one that begins here, less one
      while (block > high - low) block >>= 1;
      for (Part part : *parts) {
        part.key.words[slice.word] |= low << slice.shift;
        part.mask.words[slice.word] |= (all & ~block) << slice.shift;
        result.push_back(part);
      }
      if (block >= high - low) break;
      low += block + 1;
    }
    *parts = std::move(result);
  }
  template <typename Function>
  void for_rows(Handle handle, Function function) const {
    function(handle);
    const auto it = parts_.find(handle);
    if (it != parts_.end())
      for (const Handle part : it->second) function(part);
  }

  Action read(const Entry& entry) const {
    Action action{};
    (void)read_action_(entry, &action);  // check() has accepted it
    return action;
  }
  static void pack(const KeySlice& slice, const MatchField& field, typename Table::Key* key,
                   typename Table::Key* mask, uint32_t* priority) {
    if (!field.present) return;
    if (slice.width == 128) {
      const std::string_view value = field.value, m = field.mask;
      const int length = field.kind == MatchKind::lpm ? field.prefix_length : 128;
      for (unsigned half = 0; half < 2; ++half) {
        key->words[slice.word + half] = to_uint(value.substr(8 * half, 8));
        mask->words[slice.word + half] = field.kind == MatchKind::ternary
                                             ? to_uint(m.substr(8 * half, 8))
                                             : ones_high(length - 64 * static_cast<int>(half), 64);
      }
      if (field.kind == MatchKind::lpm) *priority = static_cast<uint32_t>(128 - length);
      return;
    }
    uint64_t bits = ones_low(slice.width);
    if (field.kind == MatchKind::ternary) bits = to_uint(field.mask);
    if (field.kind == MatchKind::lpm) {
      bits = ones_high(field.prefix_length, slice.width);
      *priority = slice.width - static_cast<unsigned>(field.prefix_length);
    }
    key->words[slice.word] |= to_uint(field.value) << slice.shift;
    mask->words[slice.word] |= bits << slice.shift;
  }
  static uint64_t ones_low(unsigned count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; }
  static uint64_t ones_high(int count, unsigned width) {
    if (count <= 0) return 0;
    if (count >= static_cast<int>(width)) return ones_low(width);
    return ones_low(static_cast<unsigned>(count)) << (width - static_cast<unsigned>(count));
  }

  std::vector<KeySlice> layout_;
  Actions actions_;
  ReadAction read_action_;
  Changed changed_;
  Table table_;
  Action default_{};
  absl::flat_hash_map<Handle, std::vector<Handle>> parts_;  // further rows of an entry with ranges
  Handle next_part_ = 0;
};

}  // namespace l3dml::tna
