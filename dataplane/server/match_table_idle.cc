// How a match table ages its entries, and the other attributes that only match tables have.
#include "dataplane/server/codec.h"
#include "dataplane/server/match_table.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

using Attribute = bfrt_proto::TableAttribute;

constexpr size_t kHitsPerPause = 4096;  // entries looked at in one pause of the pipeline

}  // namespace

// The timer follows what the pipeline knows, so it is set when the request has been settled.
void MatchTable::restart_timer(WriteContext& context, tna::Handle handle, const Data& data) {
  if (!ages_ || ttl_ == nullptr) return;
  context.transaction.on_done([this, handle, ttl = get_uint(data.fields, ttl_->id)] {
    if (timer_.mode() == IdleTimer::Mode::notify) timer_.start(handle, ttl, device_.clock->now_ns());
  });
}

std::vector<bool> MatchTable::take_hits(const std::vector<tna::Handle>& handles) const {
  std::vector<bool> hits(handles.size(), false);
  if (twin() == nullptr) return hits;  // no packets, no hits
  for (size_t first = 0; first < handles.size(); first += kHitsPerPause) {
    device_.run([&] {
      for (size_t i = first; i < std::min(handles.size(), first + kHitsPerPause); ++i)
        hits[i] = twin()->take_hit(handles[i]);
    });
  }
  return hits;
}

void MatchTable::tick(int64_t now_ns) {
  if (!timer_.due(now_ns)) return;
  const std::vector<tna::Handle> watched = timer_.watched();
  for (const IdleTimer::Event& event : timer_.sweep(now_ns, watched, take_hits(watched))) announce(event);
}

void MatchTable::announce(const IdleTimer::Event& event) const {
  const Row& row = rows().at(event.handle);
  bfrt_proto::StreamMessageResponse message;
  auto* const idle = message.mutable_idle_timeout_notification();
  bfrt_proto::TargetDevice* const target = idle->mutable_target();
  target->set_device_id(device_.id);
  target->set_pipe_id(scopes().lowest_pipe(static_cast<unsigned>(row.key.scope)));
  target->set_direction(0xff);
  target->set_prsr_id(0xff);
  idle->mutable_table_entry()->set_table_id(info_.id);
  encode_key(info_, row.key, idle->mutable_table_entry()->mutable_key());
  idle->set_type(event.active ? bfrt_proto::IdleTimeoutNotification::ENTRY_ACTIVE
                              : bfrt_proto::IdleTimeoutNotification::ENTRY_IDLE);
  device_.notify(message);
}

// In poll mode a client asks for the hit states to be looked up, then reads them.
absl::Status MatchTable::operation(WriteContext& context, std::string_view name) {
  if (name != "UpdateHitState" || hit_state_ == nullptr || timer_.mode() != IdleTimer::Mode::poll)
    return absl::OkStatus();  // counters and registers are read live: nothing to wait for
  context.transaction.on_done([this] {
    std::vector<tna::Handle> handles;
    for (const auto& [handle, row] : rows()) handles.push_back(handle);
    const std::vector<bool> hits = take_hits(handles);
    for (size_t i = 0; i < handles.size(); ++i)
      set_field(data_of(handles[i]).fields, hit_state_->id,
                std::string(hits[i] ? "ENTRY_ACTIVE" : "ENTRY_IDLE"));
  });
  return absl::OkStatus();
}

absl::Status MatchTable::check_attribute(const Attribute& attribute) {
  if (attribute.has_idle_table()) {
    const bfrt_proto::IdleTable& idle = attribute.idle_table();
    if (!idle.enable()) return absl::OkStatus();
    if (idle.max_ttl() != 0 && idle.min_ttl() > idle.max_ttl())
      return error(absl::StatusCode::kInvalidArgument, "the least time to live is above the greatest");
    if (!bfrt_proto::IdleTable::IdleTableMode_IsValid(idle.idle_table_mode()))
      return error(absl::StatusCode::kInvalidArgument, "unknown idle-table mode");
    return absl::OkStatus();
  }
  if (attribute.has_dyn_key_mask()) {
    if (twin() != nullptr) return unsupported("key mask while the pipeline runs this program");
    if (!rows().empty())
      return error(absl::StatusCode::kInvalidArgument,
                   "the table has entries: clear it before masking its key");
    for (const auto& field : attribute.dyn_key_mask().fields()) {
      const FieldInfo* info = nullptr;
      for (const FieldInfo& candidate : info_.key) {
        if (candidate.id == field.field_id()) info = &candidate;
      }
      if (info == nullptr)
        return error(absl::StatusCode::kNotFound, concat("no key field with id ", field.field_id()));
      if (info->match != tna::MatchKind::exact || field.mask().size() != info->byte_count()) {
        return error(
            absl::StatusCode::kInvalidArgument,
            concat("a mask of ", info->name, " needs an exact field and ", info->byte_count(), " bytes"));
      }
    }
    return absl::OkStatus();
  }
  return EntryTable::check_attribute(attribute);
}

void MatchTable::reconfigure_timer(WriteContext& context) {
  const Attribute* const idle = attribute(Attribute::kIdleTable);
  context.transaction.on_done(
      [this, config = idle == nullptr ? bfrt_proto::IdleTable() : idle->idle_table()] {
        timer_.switch_off();
        timer_.configure(config);
        if (timer_.mode() != IdleTimer::Mode::notify || ttl_ == nullptr) return;
        const int64_t now = device_.clock->now_ns();
        for (const auto& [handle, row] : rows())
          timer_.start(handle, get_uint(row.data.fields, ttl_->id), now);
      });
}

void MatchTable::attribute_changed(WriteContext& context) {
  EntryTable::attribute_changed(context);
  if (ages_) reconfigure_timer(context);
  std::vector<std::string> masks;
  if (const Attribute* const given = attribute(Attribute::kDynKeyMask); given != nullptr) {
    masks.resize(info_.key.size());
    for (const auto& field : given->dyn_key_mask().fields()) {
      for (size_t i = 0; i < info_.key.size(); ++i) {
        if (info_.key[i].id == field.field_id()) masks[i] = field.mask();
      }
    }
  }
  context.transaction.on_undo([this, old = masks_] { masks_ = old; });
  masks_ = std::move(masks);
}

}  // namespace l3dml::server
