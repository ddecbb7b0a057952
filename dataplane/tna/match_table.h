// A match table for exact, longest-prefix and ternary keys alike, by tuple-space search: entries with the
// same mask share one hash table; tuples are searched in order of their best priority and the search stops as
// soon as no later tuple can win. With one mask (exact) a look-up is one probe; so it is for admitted
// gradients, whose entries have the best priority.
//
// Keys are fixed arrays of 64-bit words, built by the caller with a fixed layout. One writer, at quiescence
// (twin.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/tna/twin.h"

namespace l3dml::tna {

__extension__ typedef unsigned __int128 Wide;  // for mixing hashes

template <size_t kWords>
struct TableKey {
  std::array<uint64_t, kWords> words{};

  friend bool operator==(const TableKey&, const TableKey&) = default;
  TableKey operator&(const TableKey& mask) const {
    TableKey result;
    for (size_t i = 0; i < kWords; ++i) result.words[i] = words[i] & mask.words[i];
    return result;
  }
  struct Hash {
    size_t operator()(const TableKey& key) const {
      uint64_t h = 0x9e3779b97f4a7c15;
      for (const uint64_t w : key.words) {
        const Wide product = static_cast<Wide>(h ^ w) * 0xd6e8feb86659fd93;
        h = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
      }
      return h;
    }
  };
};

template <size_t kWords, typename Action>
class MatchTable {
 public:
  using Key = TableKey<kWords>;

  struct Row {
    Key key;  // already masked
    Key mask;
    uint32_t priority = 0;  // lower wins
    Handle handle = 0;
    Action action{};
    mutable uint64_t packets = 0, bytes = 0;  // direct counter
    mutable bool hit = false;                 // since take_hit()
    Row* next = nullptr;                      // same key and mask, worse priority
  };

  // Null when nothing matches.
  const Row* lookup(const Key& key) const {
    const Row* best = nullptr;
    for (const Tuple& tuple : tuples_) {
      if (best && best->priority <= tuple.best_priority) break;
      const auto it = tuple.rows.find(key & tuple.mask);
      if (it == tuple.rows.end()) continue;
      const Row* row = it->second;
      if (!best || row->priority < best->priority) best = row;
    }
    return best;
  }

  void prefetch(const Key& key) const {
    if (!tuples_.empty()) tuples_.front().rows.prefetch(key & tuples_.front().mask);
  }

  void insert(Handle handle, const Key& key, const Key& mask, uint32_t priority, const Action& action) {
    auto& row = rows_[handle];
    row = std::make_unique<Row>(Row{key & mask, mask, priority, handle, action});
    Tuple& tuple = tuple_of(mask);
    Row** place = &tuple.rows[row->key];
    while (*place && (*place)->priority <= priority) place = &(*place)->next;
    row->next = *place;
    *place = row.get();
    ++tuple.priorities[priority];
    reorder();
  }
  void modify(Handle handle, const Action& action) {
    if (Row* row = find(handle)) row->action = action;
  }
  void remove(Handle handle) {
    const auto it = rows_.find(handle);
    if (it == rows_.end()) return;
    Row* row = it->second.get();
    Tuple& tuple = tuple_of(row->mask);
    const auto chain = tuple.rows.find(row->key);
    Row** place = &chain->second;
    while (*place != row) place = &(*place)->next;
    *place = row->next;
    if (!chain->second) tuple.rows.erase(chain);
    const auto count = tuple.priorities.find(row->priority);
    if (--count->second == 0) tuple.priorities.erase(count);
    rows_.erase(it);
    reorder();
  }
  Row* find(Handle handle) {
    const auto it = rows_.find(handle);
    return it == rows_.end() ? nullptr : it->second.get();
  }
  size_t size() const { return rows_.size(); }
  size_t tuple_count() const { return tuples_.size(); }  // what a miss costs, in probes

  template <typename Function>
  void for_each(Function function) {
    for (auto& [handle, row] : rows_) function(*row);
  }

 private:
  struct Tuple {
    Key mask;
    uint32_t best_priority = 0;
    absl::flat_hash_map<Key, Row*, typename Key::Hash> rows;  // best priority first
    std::map<uint32_t, size_t> priorities;                    // how many entries have it
  };

  Tuple& tuple_of(const Key& mask) {
    for (Tuple& tuple : tuples_)
      if (tuple.mask == mask) return tuple;
    return tuples_.emplace_back(Tuple{mask, 0, {}, {}});
  }
  // Keeps tuples sorted by the best priority in them, without empty ones. Tuples are few.
  void reorder() {
    std::erase_if(tuples_, [](const Tuple& t) { return t.rows.empty(); });
    for (Tuple& tuple : tuples_) tuple.best_priority = tuple.priorities.begin()->first;
    if (std::is_sorted(tuples_.begin(), tuples_.end(), better)) return;
    std::stable_sort(tuples_.begin(), tuples_.end(), better);
  }
  static bool better(const Tuple& a, const Tuple& b) { return a.best_priority < b.best_priority; }

  std::vector<Tuple> tuples_;
  absl::flat_hash_map<Handle, std::unique_ptr<Row>> rows_;
};

}  // namespace l3dml::tna
