#include "control/jobs/entry.h"

#include <cstdio>
#include <map>

namespace l3dml::control {
namespace {

std::string hex(const Bytes& bytes) {
  std::string out = "0x";
  char digits[3];
  for (const char c : bytes) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<uint8_t>(c));
    out += digits;
  }
  return out;
}

}  // namespace

Bytes be(uint64_t value, int bits) {
  const int count = (bits + 7) / 8;
  Bytes out(static_cast<size_t>(count), '\0');
  for (int i = count - 1; i >= 0; --i, value >>= 8)
    out[static_cast<size_t>(i)] = static_cast<char>(value & 0xff);
  return out;
}

void DeviceEntries::append(const DeviceEntries& other) {
  entries.insert(entries.end(), other.entries.begin(), other.entries.end());
  groups.insert(groups.end(), other.groups.begin(), other.groups.end());
}

Change diff(const DeviceEntries& installed, const DeviceEntries& wanted) {
  Change change;
  std::map<EntryKey, const EntryData*> old_entries;
  for (const Entry& e : installed.entries) old_entries.emplace(e.key, &e.data);
  for (const Entry& e : wanted.entries) {
    const auto found = old_entries.find(e.key);
    if (found == old_entries.end()) {
      change.added.push_back(e);
      continue;
    }
    if (*found->second != e.data) change.modified.push_back(e);
    old_entries.erase(found);
  }
  for (const auto& [key, data] : old_entries) change.removed.push_back(key);

  std::map<uint16_t, const MulticastGroup*> old_groups;
  for (const MulticastGroup& g : installed.groups) old_groups.emplace(g.mgid, &g);
  for (const MulticastGroup& g : wanted.groups) {
    const auto found = old_groups.find(g.mgid);
    if (found == old_groups.end() || *found->second != g) change.groups_set.push_back(g);
    if (found != old_groups.end()) old_groups.erase(found);
  }
  for (const auto& [mgid, group] : old_groups) change.groups_removed.push_back(mgid);
  return change;
}

std::string text(const Entry& entry) {
  std::string out = entry.key.table;
  for (const Match& m : entry.key.matches) {
    out += " " + m.field + "=" + hex(m.value);
    if (m.kind == MatchKind::ternary) out += "&" + hex(m.mask);
    if (m.kind == MatchKind::lpm) out += "/" + std::to_string(m.prefix_length);
  }
  out += " -> " + entry.data.action + "(";
  for (size_t i = 0; i < entry.data.params.size(); ++i)
    out += (i ? ", " : "") + entry.data.params[i].first + "=" + hex(entry.data.params[i].second);
  return out + ")";
}

}  // namespace l3dml::control
