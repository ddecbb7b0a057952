#include "control/jobs/entry.h"

#include <algorithm>
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

Entry canonical(Entry entry) {
  const auto by_name = [](const auto& a, const auto& b) { return a.field < b.field; };
  std::erase_if(entry.key.matches, [](const Match& m) {
    return m.kind == MatchKind::ternary && m.mask.find_first_not_of('\0') == Bytes::npos;
  });
  std::sort(entry.key.matches.begin(), entry.key.matches.end(), by_name);
  std::sort(entry.data.params.begin(), entry.data.params.end());
  return entry;
}

Change diff(const DeviceEntries& installed, const DeviceEntries& wanted) {
  Change change;
  std::map<EntryKey, std::pair<EntryData, const Entry*>> old_entries;
  for (const Entry& e : installed.entries) {
    Entry plain = canonical(e);
    old_entries.emplace(std::move(plain.key), std::pair(std::move(plain.data), &e));
  }
  for (const Entry& e : wanted.entries) {
    const Entry plain = canonical(e);
    const auto found = old_entries.find(plain.key);
    if (found == old_entries.end()) {
      change.added.push_back(e);
      continue;
    }
    if (found->second.first != plain.data) change.modified.push_back(e);
    old_entries.erase(found);
  }
  for (const auto& [key, old] : old_entries) change.removed.push_back(old.second->key);

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
