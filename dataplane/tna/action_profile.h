// Action profile and selector: actions with parameters shared by many table entries (members), and groups of
// members of which a packet's hash picks one that is active. A member that left a group, or is down, moves
// only the packets that it had (resilient hashing: the slot is looked up, then the next active one). One
// writer, at quiescence (twin.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace l3dml::tna {

template <typename Action>
class ActionProfile {
 public:
  using Member = uint32_t;
  struct GroupMember {
    Member member;
    bool active = true;
  };

  void set_member(Member id, const Action& action) { members_[id] = action; }
  // False while a group holds it: it would leave a hole.
  bool remove_member(Member id) {
    for (const auto& [group, slots] : groups_)
      if (std::any_of(slots.begin(), slots.end(), [&](const GroupMember& m) { return m.member == id; }))
        return false;
    members_.erase(id);
    return true;
  }
  // False if it names an unknown member or more than `max` of them.
  bool set_group(uint32_t group, std::vector<GroupMember> members, size_t max) {
    if (members.size() > max) return false;
    for (const GroupMember& m : members)
      if (!members_.contains(m.member)) return false;
    groups_[group] = std::move(members);
    return true;
  }
  void remove_group(uint32_t group) { groups_.erase(group); }

  // Null: nobody. A pointer stays good until the next change.
  const Action* member(Member id) const {
    const auto it = members_.find(id);
    return it == members_.end() ? nullptr : &it->second;
  }
  std::optional<Member> select(uint32_t group, uint32_t hash) const {
    const auto it = groups_.find(group);
    if (it == groups_.end()) return std::nullopt;
    const std::vector<GroupMember>& slots = it->second;
    for (size_t i = 0; i < slots.size(); ++i) {
      const GroupMember& slot = slots[(hash + i) % slots.size()];
      if (slot.active) return slot.member;
    }
    return std::nullopt;
  }
  const Action* choose(uint32_t group, uint32_t hash) const {
    const std::optional<Member> chosen = select(group, hash);
    return chosen ? member(*chosen) : nullptr;
  }

 private:
  absl::flat_hash_map<Member, Action> members_;
  absl::flat_hash_map<uint32_t, std::vector<GroupMember>> groups_;
};

}  // namespace l3dml::tna
