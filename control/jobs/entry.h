// What a device shall hold, as a declarative list: table entries by the names of bf-rt.json, and multicast
// groups. The job compiler and routing produce these; `diff` says what to write so that a device holds
// exactly them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace l3dml::control {

using Bytes = std::string;           // big-endian, ceil(bits / 8) long
Bytes be(uint64_t value, int bits);  // bits <= 64
template <typename Array>
Bytes bytes_of(const Array& array) {
  return Bytes(array.begin(), array.end());
}

enum class MatchKind : uint8_t { exact, ternary, lpm };

struct Match {
  std::string field;  // as in bf-rt.json
  MatchKind kind = MatchKind::exact;
  Bytes value;
  Bytes mask;             // ternary
  int prefix_length = 0;  // lpm, bits
  friend auto operator<=>(const Match&, const Match&) = default;
};

struct EntryKey {
  std::string table;
  std::vector<Match>
      matches;  // a ternary field that is "don't care" is left out; $MATCH_PRIORITY is one of them
  friend auto operator<=>(const EntryKey&, const EntryKey&) = default;
};

struct EntryData {
  std::string action;
  std::vector<std::pair<std::string, Bytes>> params;  // in the order of bf-rt.json
  friend auto operator<=>(const EntryData&, const EntryData&) = default;
};

struct Entry {
  EntryKey key;
  EntryData data;
  friend auto operator<=>(const Entry&, const Entry&) = default;
};

struct Replica {
  uint16_t rid = 0;   // the neighbour that egress looks up
  uint16_t port = 0;  // device port
  friend auto operator<=>(const Replica&, const Replica&) = default;
};

struct MulticastGroup {
  uint16_t mgid = 0;
  std::vector<Replica> replicas;
  friend auto operator<=>(const MulticastGroup&, const MulticastGroup&) = default;
};

struct DeviceEntries {
  std::vector<Entry> entries;
  std::vector<MulticastGroup> groups;

  void append(const DeviceEntries& other);
};

struct Change {
  std::vector<Entry> added, modified;
  std::vector<EntryKey> removed;
  std::vector<MulticastGroup> groups_set;  // new or different
  std::vector<uint16_t> groups_removed;

  bool empty() const {
    return added.empty() && modified.empty() && removed.empty() && groups_set.empty() &&
           groups_removed.empty();
  }
};

// Fields by name, wildcards left out, so that lists from different sources compare.
Entry canonical(Entry entry);

// The writes that turn `installed` into `wanted`. Order of entries does not matter; keys are unique in
// either.
Change diff(const DeviceEntries& installed, const DeviceEntries& wanted);

std::string text(const Entry& entry);  // one line, for people

}  // namespace l3dml::control
