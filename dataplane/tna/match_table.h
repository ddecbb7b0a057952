// A match table for exact, longest-prefix and ternary keys alike, by tuple-space search: entries with the
// same mask share one hash table; tuples are searched in order of their best priority and the search stops as
// soon as no later tuple can win. With one mask (exact) a look-up is one probe; so it is for admitted
// gradients, whose entries have the best priority.
//
// Keys are fixed arrays of 64-bit words, built by the caller with a fixed layout. One writer, at quiescence
// (twin.h). The pipes look up at the same time, so each counts in a cell of its own.
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

constexpr unsigned kMaxPipes = 4;

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

  struct alignas(64) Count {  // of one pipe
    uint64_t packets = 0, bytes = 0;
    bool hit = false;  // since take_hit()
  };
  struct Row {
    Key key;  // already masked
    Key mask;
    uint32_t priority = 0;  // lower wins
    Handle handle = 0;
    Action action{};
    Row* next = nullptr;                            // same key and mask, worse priority
    mutable std::array<Count, kMaxPipes> counts{};  // direct counter

    void count(unsigned pipe, uint64_t packets, uint64_t bytes) const {
      Count& c = counts[pipe];
      c.packets += packets;
      c.bytes += bytes;
      c.hit = true;
    }
  };

  // Null when nothing matches.
  const Row* lookup(const Key& key) const {
    if (tuples_.size() > 1 && !parts_.contains(key & common_)) return nullptr;
    const Row* best = nullptr;
    for (const Tuple& tuple : tuples_) {
      if (best && best->priority <= tuple.best_priority) break;
      const Row* row = tuple.rows.find(key & tuple.mask);
      if (row && (!best || row->priority < best->priority)) best = row;
    }
    return best;
  }
  // The best priority of all entries: whatever matches with it has won.
  uint32_t best_priority() const { return tuples_.empty() ? 0 : tuples_.front().best_priority; }

  void insert(Handle handle, const Key& key, const Key& mask, uint32_t priority, const Action& action) {
    auto& row = rows_[handle];
    row = std::make_unique<Row>(Row{key & mask, mask, priority, handle, action});
    Tuple& tuple = tuple_of(mask);
    Row** place = tuple.rows.place(row->key);
    while (*place && (*place)->priority <= priority) place = &(*place)->next;
    row->next = *place;
    *place = row.get();
    ++tuple.priorities[priority];
    ++parts_[key & mask & common_];
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
    Row** const chain = tuple.rows.place(row->key);
    Row** place = chain;
    while (*place != row) place = &(*place)->next;
    *place = row->next;
    if (!*chain) tuple.rows.erase(row->key);
    const auto count = tuple.priorities.find(row->priority);
    if (--count->second == 0) tuple.priorities.erase(count);
    const auto part = parts_.find(row->key & common_);
    if (--part->second == 0) parts_.erase(part);
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
  void for_each(Function function) const {
    for (const auto& [handle, row] : rows_) function(*row);
  }

 private:
  // Rows of one mask by key: open addressing, never more than half full, keys beside the pointers so that a
  // look-up is one cache line in most cases.
  class Rows {
   public:
    Row* find(const Key& key) const {
      for (size_t i = start(key);; i = (i + 1) & (cells_.size() - 1)) {
        const Cell& cell = cells_[i];
        if (!cell.row || cell.key == key) return cell.row;
      }
    }
    // Where the first row of the key is, or shall be, kept. A new place must be filled before the next call.
    Row** place(const Key& key) {
      if (Cell& cell = cells_[index(key)]; cell.row) return &cell.row;
      if (++count_ * 2 > cells_.size()) grow();
      Cell& cell = cells_[index(key)];
      cell.key = key;
      return &cell.row;
    }
    // The place of the key has been emptied: moves up what was pushed behind it.
    void erase(const Key& key) {
      const size_t mask = cells_.size() - 1;
      size_t hole = start(key);
      while (cells_[hole].row || !(cells_[hole].key == key)) hole = (hole + 1) & mask;
      --count_;
      for (size_t i = (hole + 1) & mask; cells_[i].row; i = (i + 1) & mask) {
        if (((i - start(cells_[i].key)) & mask) < ((i - hole) & mask))
          continue;  // it lies at or after its start
        cells_[hole] = cells_[i];
        cells_[i].row = nullptr;
        hole = i;
      }
    }
    bool empty() const { return count_ == 0; }

   private:
    struct Cell {
      Key key;
      Row* row = nullptr;  // best priority first
    };
    size_t start(const Key& key) const { return typename Key::Hash{}(key) & (cells_.size() - 1); }
    size_t index(const Key& key) const {  // of its cell, or of the empty one where it would lie
      size_t i = start(key);
      while (cells_[i].row && !(cells_[i].key == key)) i = (i + 1) & (cells_.size() - 1);
      return i;
    }
    void grow() {
      std::vector<Cell> old(cells_.size() * 2);
      old.swap(cells_);
      for (const Cell& cell : old)
        if (cell.row) cells_[index(cell.key)] = cell;
    }

    std::vector<Cell> cells_ = std::vector<Cell>(8);
    size_t count_ = 0;
  };
  struct Tuple {
    Key mask;
    uint32_t best_priority = 0;
    Rows rows;
    std::map<uint32_t, size_t> priorities;  // how many entries have it
  };

  Tuple& tuple_of(const Key& mask) {
    for (Tuple& tuple : tuples_)
      if (tuple.mask == mask) return tuple;
    return tuples_.emplace_back(Tuple{mask, 0, {}, {}});
  }
  // Keeps tuples sorted by the best priority in them, without empty ones. Tuples are few.
  void reorder() {
    std::erase_if(tuples_, [](const Tuple& t) { return t.rows.empty(); });
    if (tuples_.size() != common_to_) find_common();
    for (Tuple& tuple : tuples_) tuple.best_priority = tuple.priorities.begin()->first;
    if (std::is_sorted(tuples_.begin(), tuples_.end(), better)) return;
    std::stable_sort(tuples_.begin(), tuples_.end(), better);
  }
  void find_common() {
    common_to_ = tuples_.size();
    common_.words.fill(~uint64_t{0});
    for (const Tuple& tuple : tuples_) common_ = common_ & tuple.mask;
    parts_.clear();
    for (const auto& [handle, row] : rows_) ++parts_[row->key & common_];
  }
  static bool better(const Tuple& a, const Tuple& b) { return a.best_priority < b.best_priority; }

  std::vector<Tuple> tuples_;
  absl::flat_hash_map<Handle, std::unique_ptr<Row>> rows_;
  // The bits that all masks share, and how many entries have which values there: what has none of them (an
  // unknown job) is refused by one probe in place of one per tuple.
  Key common_;
  size_t common_to_ = 0;  // so many tuples
  absl::flat_hash_map<Key, size_t, typename Key::Hash> parts_;
};

}  // namespace l3dml::tna
