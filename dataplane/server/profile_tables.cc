#include "dataplane/server/profile_tables.h"

#include <algorithm>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

uint32_t field_id(const TableInfo& info, Role role) {
  const FieldInfo* const field = info.data_with(role);
  return field == nullptr ? 0 : field->id;
}

}  // namespace

bool ProfileTable::exists(uint32_t id) const {
  Key key;
  key.index = from_uint(id, info_.key[0].byte_count());
  return in_any_scope(key);
}

void ProfileTable::count(WriteContext& context, uint32_t id, int by) {
  context.transaction.on_undo([this, id, by] { holders_[id] -= by; });
  holders_[id] += by;
}

absl::Status ProfileTable::check_remove(const Row& row) {
  const auto found = holders_.find(id_of(row.key));
  if (found == holders_.end() || found->second <= 0) return absl::OkStatus();
  return error(absl::StatusCode::kAlreadyExists,
               concat(info_.key[0].name, " ", id_of(row.key), " is in use: ", found->second, " refer to it"));
}

SelectorTable::SelectorTable(const TableInfo& info, const Device& device)
    : ProfileTable(info, device),
      member_id_(field_id(info, Role::member)),
      status_id_(field_id(info, Role::member_status)),
      size_id_(field_id(info, Role::group_size)),
      max_size_(size_id_ == 0 ? 0
                              : static_cast<uint32_t>(get_uint(
                                    {{size_id_, info.data_with(Role::group_size)->initial}}, size_id_))) {}

SelectorTable::Members SelectorTable::members(const Fields& fields) const {
  Members out{get_uints(fields, member_id_), get_bools(fields, status_id_)};
  out.active.resize(out.ids.size(), true);
  return out;
}

Fields SelectorTable::to_fields(const Members& members) const {
  Fields out{{member_id_, members.ids}};
  if (status_id_ != 0) out.push_back({status_id_, members.active});
  return out;
}

// New members without a status of their own are in service.
absl::StatusOr<Data> SelectorTable::complete(const WriteContext& context, const Data& given,
                                             const Data* old) const {
  absl::StatusOr<Data> full = ProfileTable::complete(context, given, old);
  if (!full.ok() || status_id_ == 0 || find_field(given.fields, status_id_) != nullptr ||
      find_field(given.fields, member_id_) == nullptr) {
    return full;
  }
  set_field(full->fields, status_id_, std::vector<bool>(get_uints(full->fields, member_id_).size(), true));
  return full;
}

absl::Status SelectorTable::check_row(const Key&, const Data& data, const Row*) {
  const std::vector<uint32_t> ids = get_uints(data.fields, member_id_);
  auto invalid = [&](std::string_view what) { return error(absl::StatusCode::kInvalidArgument, what); };
  if (status_id_ != 0 && get_bools(data.fields, status_id_).size() != ids.size())
    return invalid("members and their states are lists of equal length");
  const uint64_t limit = size_id_ == 0 ? 0 : get_uint(data.fields, size_id_);
  if (max_size_ != 0 && limit > max_size_)
    return invalid(
        concat("a group of ", limit, " is above the ", max_size_, " the program was compiled for"));
  if (limit != 0 && ids.size() > limit)
    return invalid(concat(ids.size(), " members do not fit a group of ", limit));
  std::vector<uint32_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return invalid("a member is given twice");
  const auto* const profile = static_cast<ProfileTable*>(dependency(TableKind::action));
  for (uint32_t id : ids) {
    if (profile != nullptr && !profile->exists(id))
      return error(absl::StatusCode::kNotFound, concat("there is no $ACTION_MEMBER_ID ", id));
  }
  return absl::OkStatus();
}

absl::Status SelectorTable::modify_inc(WriteContext& context, const Key& key, const Data& data) {
  absl::StatusOr<tna::Handle> handle = handle_of(context.target, key);
  if (!handle.ok()) return handle.status();
  Members now = members(rows().at(*handle).data.fields);
  const Members given = members(data.fields);
  for (size_t i = 0; i < given.ids.size(); ++i) {
    const auto found = std::find(now.ids.begin(), now.ids.end(), given.ids[i]);
    if (!context.remove_members) {
      if (found != now.ids.end())
        return error(absl::StatusCode::kAlreadyExists, concat("member ", given.ids[i], " is in the group"));
      now.ids.push_back(given.ids[i]);
      now.active.push_back(given.active[i]);
      continue;
    }
    if (found == now.ids.end())
      return error(absl::StatusCode::kNotFound, concat("member ", given.ids[i], " is not in the group"));
    now.active.erase(now.active.begin() + (found - now.ids.begin()));
    now.ids.erase(found);
  }
  return modify(context, key, Data{0, to_fields(now)});
}

void SelectorTable::refer(WriteContext& context, const Data& data, bool hold) const {
  auto* const profile = static_cast<ProfileTable*>(dependency(TableKind::action));
  if (profile == nullptr) return;
  for (uint32_t id : get_uints(data.fields, member_id_))
    hold ? profile->hold(context, id) : profile->release(context, id);
}

void SelectorTable::stored(WriteContext& context, tna::Handle, const Row& row, const Data* old) {
  if (old != nullptr) refer(context, *old, false);
  refer(context, row.data, true);
  announce(context, row.key, old == nullptr ? Members{} : members(old->fields), members(row.data.fields));
}

void SelectorTable::removed(WriteContext& context, tna::Handle, const Row& row) {
  refer(context, row.data, false);
  announce(context, row.key, members(row.data.fields), Members{});
}

// Tells clients which members came into or went out of service, where one asked for it.
void SelectorTable::announce(WriteContext& context, const Key& key, const Members& old,
                             const Members& now) const {
  const auto* const wanted = attribute(bfrt_proto::TableAttribute::kSelectorUpdateNotify);
  if (wanted == nullptr || !wanted->selector_update_notify().enable()) return;
  auto in_service = [](const Members& members, uint32_t id) {
    for (size_t i = 0; i < members.ids.size(); ++i) {
      if (members.ids[i] == id) return static_cast<bool>(members.active[i]);
    }
    return false;
  };
  auto tell = [&](const Members& from, const Members& against, bool added) {
    for (size_t i = 0; i < from.ids.size(); ++i) {
      if (!from.active[i] || in_service(against, from.ids[i])) continue;
      bfrt_proto::StreamMessageResponse message;
      auto* const change = message.mutable_selector_update_change_notification();
      change->set_sel_group_id(id_of(key));
      change->set_act_member_id(from.ids[i]);
      change->set_logical_entry_index(static_cast<uint32_t>(i));
      change->set_is_add(added);
      context.transaction.on_done([this, message] { device_.notify(message); });
    }
  };
  tell(old, now, false);
  tell(now, old, true);
}

std::optional<std::vector<uint32_t>> SelectorTable::active_members(const Target& target,
                                                                   uint32_t group) const {
  Key key;
  key.index = from_uint(group, info_.key[0].byte_count());
  const absl::StatusOr<unsigned> scope = scopes().of(target.pipe);
  const Row* const row = find(key, scope.value_or(0));
  if (row == nullptr) return std::nullopt;
  const Members all = members(row->data.fields);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < all.ids.size(); ++i) {
    if (all.active[i]) out.push_back(all.ids[i]);
  }
  return out;
}

absl::Status GroupMemberTable::read(const ReadQuery& query, const Key& key, const Emit& emit) {
  uint64_t group = 0, hash = 0;
  for (size_t i = 0; i < key.fields.size(); ++i)
    (info_.key[i].role == Role::group ? group : hash) = to_uint(key.fields[i].value);
  const auto* const selector = static_cast<SelectorTable*>(dependency(TableKind::selector));
  if (selector == nullptr) return unsupported("selector to look at");
  const auto members = selector->active_members(query.target, static_cast<uint32_t>(group));
  if (!members) return error(absl::StatusCode::kNotFound, concat("there is no $SELECTOR_GROUP_ID ", group));
  if (members->empty())
    return error(absl::StatusCode::kNotFound, concat("group ", group, " has no active member"));
  const FieldInfo* const field = info_.data_with(Role::member);
  Data data;
  if (field != nullptr)
    data.fields.push_back({field->id, from_uint((*members)[hash % members->size()], field->byte_count())});
  emit({&key, &data});
  return absl::OkStatus();
}

}  // namespace l3dml::server
