#include "control/target/bfrt_codec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace l3dml::control::target {
namespace {

absl::Status bad(const SchemaField& field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("field ", field.name, " ", what));
}

// Big-endian, exactly ceil(width / 8) bytes.
absl::StatusOr<std::string> to_bytes(const SchemaField& field, const FieldValue& value) {
  const size_t size = (field.width + 7) / 8;
  if (const auto* bytes = std::get_if<std::string>(&value.storage())) {
    if (field.type == SchemaField::Type::text) return *bytes;
    if (bytes->size() != size) {
      return bad(field, absl::StrCat("needs ", size, " bytes, not ", bytes->size()));
    }
    return *bytes;
  }
  if (std::holds_alternative<float>(value.storage()) || value.storage().index() > 3) {
    return bad(field, "needs a number or byte string");
  }
  uint64_t number = value.number();
  // A negative number of a signed field arrives as a large one; its low bits are what counts.
  const bool negative = field.width < 64 && (number >> (field.width == 0 ? 0 : field.width - 1)) ==
                                                (~uint64_t{0} >> (field.width == 0 ? 0 : field.width - 1));
  if (field.width < 64 && number >> field.width != 0 && !negative) {
    return bad(field, absl::StrCat("has ", field.width, " bits, too few for ", number));
  }
  std::string out(size, '\0');
  for (size_t i = size; i-- > 0; number >>= 8) out[i] = static_cast<char>(number & 0xff);
  if (negative && field.width % 8 != 0) out[0] = static_cast<char>(out[0] & ((1 << field.width % 8) - 1));
  return out;
}

absl::Status encode_list(const SchemaField& field, const FieldValue& value, bfrt_proto::DataField* out) {
  const auto& storage = value.storage();
  switch (field.type) {
    case SchemaField::Type::boolean:
      if (const auto* list = std::get_if<std::vector<bool>>(&storage)) {
        auto* values = out->mutable_bool_arr_val();
        for (bool flag : *list) values->add_val(flag);
        return absl::OkStatus();
      }
      return bad(field, "needs a list of bool");
    case SchemaField::Type::text:
      if (const auto* list = std::get_if<std::vector<std::string>>(&storage)) {
        auto* values = out->mutable_str_arr_val();
        for (const std::string& text : *list) values->add_val(text);
        return absl::OkStatus();
      }
      return bad(field, "needs a list of strings");
    case SchemaField::Type::bytes:
      if (const auto* list = std::get_if<std::vector<uint32_t>>(&storage)) {
        out->mutable_int_arr_val()->mutable_val()->Add(list->begin(), list->end());
        return absl::OkStatus();
      }
      if (const auto* bytes = std::get_if<std::string>(&storage)) {
        out->set_stream(*bytes);  // the packet generator's buffer
        return absl::OkStatus();
      }
      return bad(field, "needs a list of numbers");
    default:
      return bad(field, "cannot be written from here");
  }
}

absl::Status encode_field(const SchemaField& field, const FieldValue& value, bfrt_proto::DataField* out) {
  out->set_field_id(field.id);
  if (field.repeated || field.type == SchemaField::Type::container) return encode_list(field, value, out);
  switch (field.type) {
    case SchemaField::Type::boolean:
      out->set_bool_val(value.flag());
      return absl::OkStatus();
    case SchemaField::Type::real:
      if (const auto* real = std::get_if<float>(&value.storage())) {
        out->set_float_val(*real);
      } else {
        out->set_float_val(static_cast<float>(value.number()));
      }
      return absl::OkStatus();
    case SchemaField::Type::text:
      if (!std::holds_alternative<std::string>(value.storage())) return bad(field, "needs a string");
      out->set_str_val(value.text());
      return absl::OkStatus();
    default: {
      absl::StatusOr<std::string> bytes = to_bytes(field, value);
      if (!bytes.ok()) return bytes.status();
      out->set_stream(*std::move(bytes));
      return absl::OkStatus();
    }
  }
}

absl::Status encode_data(const SchemaTable& table, const Action& action, bfrt_proto::TableData* out) {
  const SchemaAction* known = nullptr;
  if (!action.name().empty()) {
    absl::StatusOr<const SchemaAction*> found = table.action(action.name());
    if (!found.ok()) return found.status();
    known = *found;
    out->set_action_id(known->id);
  }
  for (const auto& [name, value] : action.fields()) {
    absl::StatusOr<const SchemaField*> field = table.data_field(known, name);
    if (!field.ok()) return field.status();
    if (absl::Status status = encode_field(**field, value, out->add_fields()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status encode_cell(const SchemaTable& table, const Update& update, bfrt_proto::TableEntry* out) {
  if (table.key.size() != 1) return absl::InvalidArgumentError("not a table of cells");
  const Key index = Key{}.exact(table.key[0].name, update.index);
  if (absl::Status status = encode_key(table, index, out->mutable_key()); !status.ok()) return status;
  if (!update.action.fields().empty()) {  // a counter: only the fields it has
    Action known;
    for (const auto& [name, value] : update.action.fields()) {
      if (table.data_field(nullptr, name).ok()) known.param(name, value);
    }
    return encode_data(table, known, out->mutable_data());
  }
  for (size_t i = 0; i < update.cells.size() && i < table.data.size(); ++i) {
    absl::Status status = encode_field(table.data[i], update.cells[i], out->mutable_data()->add_fields());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

FieldValue decode_bytes(const SchemaField& field, const std::string& bytes) {
  if (field.type == SchemaField::Type::text || bytes.size() > 8) return FieldValue(bytes);
  uint64_t number = 0;
  for (unsigned char byte : bytes) number = number << 8 | byte;
  return FieldValue(number);
}

FieldValue decode_field(const SchemaField& field, const bfrt_proto::DataField& in) {
  using In = bfrt_proto::DataField;
  switch (in.value_case()) {
    case In::kStream:
      return decode_bytes(field, in.stream());
    case In::kFloatVal:
      return in.float_val();
    case In::kStrVal:
      return in.str_val();
    case In::kBoolVal:
      return in.bool_val();
    case In::kIntArrVal:
      return std::vector<uint32_t>(in.int_arr_val().val().begin(), in.int_arr_val().val().end());
    case In::kBoolArrVal:
      return std::vector<bool>(in.bool_arr_val().val().begin(), in.bool_arr_val().val().end());
    case In::kStrArrVal:
      return std::vector<std::string>(in.str_arr_val().val().begin(), in.str_arr_val().val().end());
    default:
      return {};
  }
}

}  // namespace

bfrt_proto::TargetDevice target_device(uint32_t device_id, uint32_t pipe) {
  bfrt_proto::TargetDevice out;
  out.set_device_id(device_id);
  out.set_pipe_id(pipe);
  out.set_direction(0xff);
  out.set_prsr_id(0xff);
  return out;
}

absl::Status encode_key(const SchemaTable& table, const Key& key, bfrt_proto::TableKey* out) {
  for (const KeyField& field : key.fields()) {
    absl::StatusOr<const SchemaField*> info = table.key_field(field.name);
    if (!info.ok()) return info.status();
    absl::StatusOr<std::string> value = to_bytes(**info, field.value);
    if (!value.ok()) return value.status();
    bfrt_proto::KeyField* const to = out->add_fields();
    to->set_field_id((*info)->id);
    switch (field.kind) {
      case KeyField::Kind::exact:
        to->mutable_exact()->set_value(*value);
        break;
      case KeyField::Kind::lpm:
        to->mutable_lpm()->set_value(*value);
        to->mutable_lpm()->set_prefix_len(field.prefix_length);
        break;
      case KeyField::Kind::optional:
        to->mutable_optional()->set_value(*value);
        to->mutable_optional()->set_is_valid(field.valid);
        break;
      default: {
        absl::StatusOr<std::string> other = to_bytes(**info, field.mask);
        if (!other.ok()) return other.status();
        if (field.kind == KeyField::Kind::ternary) {
          to->mutable_ternary()->set_value(*value);
          to->mutable_ternary()->set_mask(*other);
        } else {
          to->mutable_range()->set_low(*value);
          to->mutable_range()->set_high(*other);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status encode(const TargetSchema& schema, uint32_t device_id, const Update& update,
                    bfrt_proto::Update* out) {
  absl::StatusOr<const SchemaTable*> found = schema.table(update.table);
  if (!found.ok()) return found.status();
  const SchemaTable& table = **found;
  if (update.kind == Update::Kind::operation) {
    out->set_type(bfrt_proto::Update::INSERT);
    out->mutable_entity()->mutable_table_operation()->set_table_id(table.id);
    out->mutable_entity()->mutable_table_operation()->set_table_operations_type(update.action.name());
    return absl::OkStatus();
  }
  bfrt_proto::TableEntry* const entry = out->mutable_entity()->mutable_table_entry();
  entry->set_table_id(table.id);
  if (update.pipe) *entry->mutable_entry_tgt() = target_device(device_id, *update.pipe);
  bool keyed = true;
  bool with_data = true;
  switch (update.kind) {
    case Update::Kind::insert:
      out->set_type(bfrt_proto::Update::INSERT);
      break;
    case Update::Kind::upsert:
      out->set_type(bfrt_proto::Update::INSERT_OR_MODIFY);
      break;
    case Update::Kind::modify:
      out->set_type(bfrt_proto::Update::MODIFY);
      entry->mutable_table_flags()->set_reset_ttl(true);
      break;  // statistics are kept
    case Update::Kind::add_members:
    case Update::Kind::remove_members:
      out->set_type(bfrt_proto::Update::MODIFY_INC);
      entry->mutable_table_flags()->set_mod_del(update.kind == Update::Kind::remove_members);
      break;
    case Update::Kind::remove:
      out->set_type(bfrt_proto::Update::DELETE);
      with_data = false;
      break;
    case Update::Kind::clear:
      out->set_type(bfrt_proto::Update::DELETE);
      return absl::OkStatus();
    case Update::Kind::set_default:
      out->set_type(bfrt_proto::Update::MODIFY);
      entry->set_is_default_entry(true);
      keyed = false;
      break;
    case Update::Kind::reset_default:
      out->set_type(bfrt_proto::Update::DELETE);
      entry->set_is_default_entry(true);
      return absl::OkStatus();
    case Update::Kind::write_cell:
      out->set_type(bfrt_proto::Update::MODIFY);
      return encode_cell(table, update, entry);
    case Update::Kind::operation:
      break;
  }
  if (keyed) {
    entry->mutable_key();
    if (absl::Status status = encode_key(table, update.key, entry->mutable_key()); !status.ok())
      return status;
  }
  return with_data ? encode_data(table, update.action, entry->mutable_data()) : absl::OkStatus();
}

absl::Status encode_wanted(const SchemaTable& table, const ReadOptions& options,
                           bfrt_proto::TableEntry* out) {
  out->set_table_id(table.id);
  out->mutable_table_flags()->set_from_hw(options.from_hardware);
  out->mutable_table_flags()->set_key_only(options.key_only);
  const SchemaAction* action = nullptr;
  if (!options.action.empty()) {
    absl::StatusOr<const SchemaAction*> found = table.action(options.action);
    if (!found.ok()) return found.status();
    action = *found;
    out->mutable_data()->set_action_id(action->id);
  }
  for (const std::string& name : options.fields) {
    absl::StatusOr<const SchemaField*> field = table.data_field(action, name);
    if (!field.ok()) return field.status();
    out->mutable_data()->add_fields()->set_field_id((*field)->id);
  }
  return absl::OkStatus();
}

Key decode_key(const SchemaTable& table, const bfrt_proto::TableKey& in) {
  Key key;
  for (const bfrt_proto::KeyField& field : in.fields()) {
    const SchemaField* const info = table.key_field(field.field_id());
    if (info == nullptr) continue;
    KeyField out;
    out.name = info->name;
    switch (field.match_type_case()) {
      case bfrt_proto::KeyField::kTernary:
        out.kind = KeyField::Kind::ternary;
        out.value = decode_bytes(*info, field.ternary().value());
        out.mask = decode_bytes(*info, field.ternary().mask());
        break;
      case bfrt_proto::KeyField::kLpm:
        out.kind = KeyField::Kind::lpm;
        out.value = decode_bytes(*info, field.lpm().value());
        out.prefix_length = field.lpm().prefix_len();
        break;
      case bfrt_proto::KeyField::kRange:
        out.kind = KeyField::Kind::range;
        out.value = decode_bytes(*info, field.range().low());
        out.mask = decode_bytes(*info, field.range().high());
        break;
      case bfrt_proto::KeyField::kOptional:
        out.kind = KeyField::Kind::optional;
        out.value = decode_bytes(*info, field.optional().value());
        out.valid = field.optional().is_valid();
        break;
      default:
        out.value = decode_bytes(*info, field.exact().value());
    }
    key.add(std::move(out));
  }
  return key;
}

Data decode_data(const SchemaTable& table, const bfrt_proto::TableData& in) {
  const SchemaAction* const action = table.action(in.action_id());
  Data out = action == nullptr ? Data{} : Data{action->name};
  for (const bfrt_proto::DataField& field : in.fields()) {
    if (const SchemaField* info = table.data_field(in.action_id(), field.field_id())) {
      out.param(info->name, decode_field(*info, field));
    }
  }
  return out;
}

Row decode_row(const SchemaTable& table, const bfrt_proto::TableEntry& in) {
  return {decode_key(table, in.key()), decode_data(table, in.data()), in.is_default_entry()};
}

Data decode_record(const SchemaDigest& digest, const bfrt_proto::TableData& in) {
  Data out;
  for (const bfrt_proto::DataField& field : in.fields()) {
    for (const SchemaField& info : digest.fields) {
      if (info.id == field.field_id()) out.param(info.name, decode_field(info, field));
    }
  }
  return out;
}

}  // namespace l3dml::control::target
