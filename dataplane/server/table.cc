#include "dataplane/server/table.h"

#include "dataplane/server/cell_table.h"
#include "dataplane/server/debug_tables.h"
#include "dataplane/server/device_tables.h"
#include "dataplane/server/entry_table.h"
#include "dataplane/server/hash_compute.h"
#include "dataplane/server/match_table.h"
#include "dataplane/server/meter_table.h"
#include "dataplane/server/port_tables.h"
#include "dataplane/server/profile_tables.h"
#include "dataplane/server/replication_tables.h"
#include "dataplane/server/single_table.h"
#include "dataplane/server/text.h"
#include "dataplane/server/tm_tables.h"
#include "dataplane/server/value_set_table.h"

namespace l3dml::server {

absl::Status Table::unsupported(std::string_view what) const {
  return error(absl::StatusCode::kUnimplemented, concat("tables of type ", info_.type, " have no ", what));
}

absl::Status Table::error(absl::StatusCode code, std::string_view what) const {
  return absl::Status(code, concat(info_.name, ": ", what));
}

Table* Table::dependency(TableKind kind) const {
  for (uint32_t id : info_.depends_on) {
    Table* const table = device_.table_with_id(id);
    if (table != nullptr && table->info().kind == kind) return table;
  }
  return nullptr;
}

using Attribute = bfrt_proto::TableAttribute;

absl::Status Table::check_supported(Attribute::AttributeCase which) const {
  static constexpr std::pair<Attribute::AttributeCase, std::string_view> kNames[] = {
      {Attribute::kIdleTable, "IdleTimeout"},
      {Attribute::kEntryScope, "EntryScope"},
      {Attribute::kDynKeyMask, "DynamicKeyMask"},
      {Attribute::kDynHashing, "DynHashing"},
      {Attribute::kByteCountAdj, "MeterByteCountAdjust"},
      {Attribute::kPortStatusNotify, "port_status_notif_cb"},
      {Attribute::kIntvlMs, "poll_intvl_ms"},
      {Attribute::kPreDeviceConfig, "pre_device_config"},
      {Attribute::kSelectorUpdateNotify, "SelectorUpdateCb"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == which) {
      if (info_.has_attribute(name) ||
          (which == Attribute::kSelectorUpdateNotify && info_.type == "Selector")) {
        return absl::OkStatus();
      }
      return error(absl::StatusCode::kUnimplemented, concat("the table has no attribute ", name));
    }
  }
  return which == Attribute::ATTRIBUTE_NOT_SET
             ? error(absl::StatusCode::kInvalidArgument, "no attribute is named")
             : unsupported("attribute of this kind");
}

absl::Status Table::set_attribute(WriteContext& context, const Attribute& attribute) {
  const Attribute::AttributeCase which = attribute.attribute_case();
  if (absl::Status status = check_supported(which); !status.ok()) return status;
  const bool notify =
      which == Attribute::kIdleTable && attribute.idle_table().enable() &&
      attribute.idle_table().idle_table_mode() == bfrt_proto::IdleTable::IDLE_TABLE_NOTIFY_MODE;
  if ((notify && !context.client.idle_timeout) ||
      (which == Attribute::kPortStatusNotify && attribute.port_status_notify().enable() &&
       !context.client.port_status) ||
      (which == Attribute::kSelectorUpdateNotify && attribute.selector_update_notify().enable() &&
       !context.client.selector_update)) {
    return error(absl::StatusCode::kInvalidArgument, "the client did not subscribe to this notification");
  }
  if (absl::Status status = check_attribute(attribute); !status.ok()) return status;
  const auto found = attributes_.find(which);
  std::optional<Attribute> old;
  if (found != attributes_.end()) old = found->second;
  context.transaction.on_undo([this, which, old] {
    if (old) {
      attributes_[which] = *old;
    } else {
      attributes_.erase(which);
    }
  });
  attributes_[which] = attribute;
  attribute_changed(context);
  return absl::OkStatus();
}

const Attribute* Table::attribute(Attribute::AttributeCase which) const {
  const auto found = attributes_.find(which);
  return found == attributes_.end() ? nullptr : &found->second;
}

absl::Status Table::get_attribute(Attribute* out) const {
  const Attribute::AttributeCase which = out->attribute_case();
  if (absl::Status status = check_supported(which); !status.ok()) return status;
  if (const Attribute* known = attribute(which)) {
    *out = *known;
    out->set_table_id(info_.id);
    return absl::OkStatus();
  }
  if (which == Attribute::kEntryScope) {
    bfrt_proto::EntryScope* scope = out->mutable_entry_scope();
    for (bfrt_proto::Mode* mode :
         {scope->mutable_gress_scope(), scope->mutable_pipe_scope(), scope->mutable_prsr_scope()}) {
      mode->set_predef(bfrt_proto::Mode::ALL);
    }
  }
  return absl::OkStatus();
}

std::unique_ptr<Table> make_fixed_table(const TableInfo& info, const Device& device) {
  if (std::unique_ptr<Table> table = make_replication_table(info, device)) return table;
  if (std::unique_ptr<Table> table = make_port_table(info, device)) return table;
  if (std::unique_ptr<Table> table = make_tm_table(info, device)) return table;
  if (std::unique_ptr<Table> table = make_device_table(info, device)) return table;
  return make_program_table(info, device);
}

std::unique_ptr<Table> make_program_table(const TableInfo& info, const Device& device) {
  switch (info.kind) {
    case TableKind::register_array:
      return std::make_unique<RegisterTable>(info, device);
    case TableKind::counter:
      return std::make_unique<CounterTable>(info, device);
    case TableKind::meter:
      return std::make_unique<MeterTable>(info, device);
    case TableKind::match:
      return std::make_unique<MatchTable>(info, device);
    case TableKind::value_set:
      return std::make_unique<ValueSetTable>(info, device);
    case TableKind::action:
      return std::make_unique<MemberTable>(info, device);
    case TableKind::selector:
      return std::make_unique<SelectorTable>(info, device);
    case TableKind::group_member:
      return std::make_unique<GroupMemberTable>(info, device);
    case TableKind::single:
      return std::make_unique<SingleTable>(info, device);
    default:
      if (info.type == "DynHashCompute") return std::make_unique<HashComputeTable>(info, device);
      if (std::unique_ptr<Table> table = make_debug_table(info, device)) return table;
      return std::make_unique<EntryTable>(info, device);
  }
}

}  // namespace l3dml::server
