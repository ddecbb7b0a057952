#include "dataplane/server/codec.h"

#include <algorithm>

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

using tna::MatchField;
using tna::MatchKind;

absl::Status bad(const TableInfo& table, const FieldInfo& field, std::string_view what) {
  return absl::InvalidArgumentError(concat(table.name, ": field ", field.name, ": ", what));
}

// Bits above the field's width in its first byte; values with any of them set are refused.
bool spare_bits_set(const FieldInfo& field, const std::string& value) {
  const unsigned spare = static_cast<unsigned>(field.byte_count() * 8 - field.width);
  return spare != 0 && (static_cast<unsigned char>(value[0]) >> (8 - spare)) != 0;
}

absl::Status check_bytes(const TableInfo& table, const FieldInfo& field, const std::string& value) {
  if (value.size() != field.byte_count()) {
    return bad(table, field, concat("has ", value.size(), " bytes, needs ", field.byte_count()));
  }
  if (spare_bits_set(field, value)) return bad(table, field, concat("is wider than ", field.width, " bits"));
  return absl::OkStatus();
}

void mask_prefix(std::string& value, unsigned spare, int prefix_length) {
  unsigned keep = spare + static_cast<unsigned>(prefix_length);
  for (char& byte : value) {
    const unsigned bits = std::min(keep, 8u);
    byte = static_cast<char>(static_cast<unsigned char>(byte) & (0xff00u >> bits));
    keep -= bits;
  }
}

bool all_zero(const std::string& value) {
  return std::all_of(value.begin(), value.end(), [](char byte) { return byte == 0; });
}

std::string all_ones(const FieldInfo& field) {
  std::string out(field.byte_count(), '\xff');
  const unsigned spare = static_cast<unsigned>(field.byte_count() * 8 - field.width);
  out[0] = static_cast<char>(0xffu >> spare);
  return out;
}

MatchField dont_care(const FieldInfo& field) {
  MatchField out;
  out.kind = field.match;
  out.present = false;
  out.value.assign(field.byte_count(), '\0');
  if (field.match == MatchKind::ternary) out.mask.assign(field.byte_count(), '\0');
  if (field.match == MatchKind::range) out.mask = all_ones(field);
  return out;
}

absl::StatusOr<MatchField> decode_exact(const TableInfo& table, const FieldInfo& field,
                                        const std::string& value) {
  if (field.type == FieldType::text) {
    if (!field.choices.empty() &&
        std::find(field.choices.begin(), field.choices.end(), value) == field.choices.end()) {
      return bad(table, field, concat("'", value, "' is not one of its choices"));
    }
  } else if (field.type == FieldType::boolean) {
    if (value.size() != 1) return bad(table, field, "needs one byte");
  } else if (absl::Status status = check_bytes(table, field, value); !status.ok()) {
    return status;
  }
  MatchField out;
  out.value = value;
  return out;
}

absl::StatusOr<MatchField> decode_match(const TableInfo& table, const FieldInfo& field,
                                        const bfrt_proto::KeyField& in) {
  using In = bfrt_proto::KeyField;
  MatchField out;
  out.kind = field.match;
  switch (field.match) {
    case MatchKind::exact:
      if (in.match_type_case() != In::kExact) return bad(table, field, "needs an exact match");
      return decode_exact(table, field, in.exact().value());
    case MatchKind::ternary:
      if (in.match_type_case() != In::kTernary) return bad(table, field, "needs a ternary match");
      out.value = in.ternary().value();
      out.mask = in.ternary().mask();
      for (const std::string* part : {&out.value, &out.mask}) {
        if (absl::Status status = check_bytes(table, field, *part); !status.ok()) return status;
      }
      for (size_t i = 0; i < out.value.size(); ++i)
        out.value[i] = static_cast<char>(out.value[i] & out.mask[i]);
      out.present = !all_zero(out.mask);
      return out;
    case MatchKind::lpm:
      if (in.match_type_case() != In::kLpm) return bad(table, field, "needs a longest-prefix match");
      out.value = in.lpm().value();
      out.prefix_length = in.lpm().prefix_len();
      if (absl::Status status = check_bytes(table, field, out.value); !status.ok()) return status;
      if (out.prefix_length < 0 || static_cast<unsigned>(out.prefix_length) > field.width) {
        return bad(table, field, concat("prefix length ", out.prefix_length, " is not in 0..", field.width));
      }
      mask_prefix(out.value, static_cast<unsigned>(field.byte_count() * 8 - field.width), out.prefix_length);
      out.present = out.prefix_length > 0;
      return out;
    case MatchKind::range:
      if (in.match_type_case() != In::kRange) return bad(table, field, "needs a range match");
      out.value = in.range().low();
      out.mask = in.range().high();
      for (const std::string* part : {&out.value, &out.mask}) {
        if (absl::Status status = check_bytes(table, field, *part); !status.ok()) return status;
      }
      if (out.value > out.mask) return bad(table, field, "low end is above its high end");
      out.present = !(all_zero(out.value) && out.mask == all_ones(field));
      return out;
    case MatchKind::optional:
      if (in.match_type_case() != In::kOptional) return bad(table, field, "needs an optional match");
      if (!in.optional().is_valid()) return dont_care(field);
      out.value = in.optional().value();
      if (absl::Status status = check_bytes(table, field, out.value); !status.ok()) return status;
      return out;
  }
  return absl::InternalError("unknown match kind");
}

// Values have a fixed width per field except text, so lengths need only separate texts.
void append_index(const FieldInfo& info, const MatchField& field, std::string& index) {
  if (info.type == FieldType::text) index += from_uint(field.value.size(), 4);
  index += field.value;
  index += field.mask;
  if (field.kind == MatchKind::lpm) index += from_uint(static_cast<uint64_t>(field.prefix_length), 2);
  if (field.kind == MatchKind::optional) index += field.present ? '\1' : '\0';
}

absl::StatusOr<Value> decode_value(const TableInfo& table, const FieldInfo& info,
                                   const bfrt_proto::DataField& in);

absl::StatusOr<Value> decode_containers(const TableInfo& table, const FieldInfo& info,
                                        const bfrt_proto::DataField& in) {
  std::vector<Fields> out;
  for (const auto& container : in.container_arr_val().container()) {
    Fields fields;
    for (const auto& item : container.val()) {
      const auto found =
          std::find_if(info.members.begin(), info.members.end(),
                       [&](const FieldInfo& candidate) { return candidate.id == item.field_id(); });
      if (found == info.members.end()) {
        return absl::NotFoundError(
            concat(table.name, ": field ", info.name, " has no member with id ", item.field_id()));
      }
      absl::StatusOr<Value> value = decode_value(table, *found, item);
      if (!value.ok()) return value.status();
      fields.push_back({item.field_id(), *std::move(value)});
    }
    out.push_back(std::move(fields));
  }
  return out;
}

absl::StatusOr<Value> decode_repeated(const TableInfo& table, const FieldInfo& info,
                                      const bfrt_proto::DataField& in) {
  using In = bfrt_proto::DataField;
  switch (info.type) {
    case FieldType::boolean:
      if (in.value_case() != In::kBoolArrVal) return bad(table, info, "needs a list of bool");
      return std::vector<bool>(in.bool_arr_val().val().begin(), in.bool_arr_val().val().end());
    case FieldType::text:
      if (in.value_case() != In::kStrArrVal) return bad(table, info, "needs a list of strings");
      return std::vector<std::string>(in.str_arr_val().val().begin(), in.str_arr_val().val().end());
    default:
      // A list of bytes is written as one stream and read back as numbers.
      if (in.value_case() == In::kStream && info.type == FieldType::bytes && info.width == 8) {
        std::vector<uint32_t> out;
        for (unsigned char byte : in.stream()) out.push_back(byte);
        return out;
      }
      if (in.value_case() != In::kIntArrVal) return bad(table, info, "needs a list of integers");
      for (uint32_t number : in.int_arr_val().val()) {
        if (info.width < 32 && number >> info.width != 0) {
          return bad(table, info, concat(number, " is wider than ", info.width, " bits"));
        }
      }
      return std::vector<uint32_t>(in.int_arr_val().val().begin(), in.int_arr_val().val().end());
  }
}

absl::StatusOr<Value> decode_value(const TableInfo& table, const FieldInfo& info,
                                   const bfrt_proto::DataField& in) {
  using In = bfrt_proto::DataField;
  if (info.type == FieldType::container) {
    if (in.value_case() != In::kContainerArrVal) return bad(table, info, "needs a list of containers");
    return decode_containers(table, info, in);
  }
  if (info.repeated) return decode_repeated(table, info, in);
  switch (info.type) {
    case FieldType::boolean:
      if (in.value_case() != In::kBoolVal) return bad(table, info, "needs a bool");
      return in.bool_val();
    case FieldType::real:
      if (in.value_case() != In::kFloatVal) return bad(table, info, "needs a float");
      return in.float_val();
    case FieldType::text:
      if (in.value_case() != In::kStrVal) return bad(table, info, "needs a string");
      if (!info.choices.empty() &&
          std::find(info.choices.begin(), info.choices.end(), in.str_val()) == info.choices.end()) {
        return bad(table, info, concat("'", in.str_val(), "' is not one of its choices"));
      }
      return in.str_val();
    default:
      if (in.value_case() != In::kStream) return bad(table, info, "needs a byte string");
      if (absl::Status status = check_bytes(table, info, in.stream()); !status.ok()) return status;
      return in.stream();
  }
}

}  // namespace

absl::StatusOr<Key> decode_key(const TableInfo& table, const bfrt_proto::TableKey& in) {
  Key key;
  std::vector<bool> seen(table.key.size());
  bool priority_seen = false;
  key.fields.resize(table.key.size());
  for (const auto& field : in.fields()) {
    if (field.field_id() == kMatchPriorityId && table.has_priority) {
      if (priority_seen) return absl::InvalidArgumentError(concat(table.name, ": two match priorities"));
      if (field.exact().value().size() != 4) {
        return absl::InvalidArgumentError(concat(table.name, ": $MATCH_PRIORITY needs 4 bytes"));
      }
      key.priority = static_cast<uint32_t>(to_uint(field.exact().value()));
      priority_seen = true;
      continue;
    }
    const auto info = std::find_if(table.key.begin(), table.key.end(), [&](const FieldInfo& candidate) {
      return candidate.id == field.field_id();
    });
    if (info == table.key.end()) {
      return absl::NotFoundError(concat(table.name, ": no key field with id ", field.field_id()));
    }
    const size_t position = static_cast<size_t>(info - table.key.begin());
    if (seen[position]) return bad(table, *info, "is given twice");
    seen[position] = true;
    absl::StatusOr<MatchField> decoded = decode_match(table, *info, field);
    if (!decoded.ok()) return decoded.status();
    key.fields[position] = *std::move(decoded);
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) {
      const FieldInfo& field = table.key[i];
      if (field.match == MatchKind::exact) {
        const auto* const fallback = std::get_if<std::string>(&field.initial);
        if (field.mandatory || !field.has_default || fallback == nullptr)
          return bad(table, field, "is missing from the key");
        key.fields[i].value = *fallback;
        continue;
      }
      key.fields[i] = dont_care(table.key[i]);
    }
  }
  key.index = canonical_index(table, key);
  return key;
}

std::string canonical_index(const TableInfo& table, const Key& key) {
  std::string index;
  for (size_t i = 0; i < table.key.size(); ++i) append_index(table.key[i], key.fields[i], index);
  if (table.has_priority) index += from_uint(key.priority, 4);
  return index;
}

void encode_key(const TableInfo& table, const Key& key, bfrt_proto::TableKey* out) {
  for (size_t i = 0; i < table.key.size(); ++i) {
    const MatchField& field = key.fields[i];
    bfrt_proto::KeyField* to = out->add_fields();
    to->set_field_id(table.key[i].id);
    switch (field.kind) {
      case MatchKind::exact:
        to->mutable_exact()->set_value(field.value);
        break;
      case MatchKind::ternary:
        to->mutable_ternary()->set_value(field.value);
        to->mutable_ternary()->set_mask(field.mask);
        break;
      case MatchKind::lpm:
        to->mutable_lpm()->set_value(field.value);
        to->mutable_lpm()->set_prefix_len(field.prefix_length);
        break;
      case MatchKind::range:
        to->mutable_range()->set_low(field.value);
        to->mutable_range()->set_high(field.mask);
        break;
      case MatchKind::optional:
        to->mutable_optional()->set_value(field.value);
        to->mutable_optional()->set_is_valid(field.present);
        break;
    }
  }
  if (table.has_priority) {
    bfrt_proto::KeyField* to = out->add_fields();
    to->set_field_id(kMatchPriorityId);
    to->mutable_exact()->set_value(from_uint(key.priority, 4));
  }
}

absl::StatusOr<Data> decode_data(const TableInfo& table, const bfrt_proto::TableData& in) {
  Data data;
  data.action_id = in.action_id();
  if (data.action_id != 0 && table.action(data.action_id) == nullptr) {
    return absl::NotFoundError(concat(table.name, ": no action with id ", data.action_id));
  }
  data.fields.reserve(static_cast<size_t>(in.fields_size()));
  for (const auto& field : in.fields()) {
    const FieldInfo* info = table.data_field(data.action_id, field.field_id());
    if (info == nullptr) {
      return absl::NotFoundError(concat(table.name, ": no data field with id ", field.field_id()));
    }
    if (find_field(data.fields, info->id) != nullptr) return bad(table, *info, "is given twice");
    if (info->read_only) return bad(table, *info, "is read-only");
    absl::StatusOr<Value> value = decode_value(table, *info, field);
    if (!value.ok()) return value.status();
    data.fields.push_back({info->id, *std::move(value)});
  }
  return data;
}

void encode_field(const FieldInfo& info, const FieldValue& field, bfrt_proto::DataField* out) {
  out->set_field_id(field.id);
  struct Encode {
    const FieldInfo& info;
    bfrt_proto::DataField* out;
    void operator()(std::monostate) const {}
    void operator()(const std::string& value) const {
      info.type == FieldType::text ? out->set_str_val(value) : out->set_stream(value);
    }
    void operator()(bool value) const { out->set_bool_val(value); }
    void operator()(float value) const { out->set_float_val(value); }
    void operator()(const std::vector<uint32_t>& list) const {
      out->mutable_int_arr_val()->mutable_val()->Add(list.begin(), list.end());
    }
    void operator()(const std::vector<bool>& list) const {
      auto* values = out->mutable_bool_arr_val();
      for (bool value : list) values->add_val(value);
    }
    void operator()(const std::vector<std::string>& list) const {
      auto* values = out->mutable_str_arr_val();
      for (const std::string& value : list) values->add_val(value);
    }
    void operator()(const std::vector<Fields>& list) const {
      auto* containers = out->mutable_container_arr_val();
      for (const Fields& fields : list) {
        auto* container = containers->add_container();
        for (const FieldValue& item : fields) {
          for (const FieldInfo& member : info.members) {
            if (member.id == item.id) encode_field(member, item, container->add_val());
          }
        }
      }
    }
  };
  std::visit(Encode{info, out}, field.value);
}

void encode_data(const TableInfo& table, const Data& data, const std::vector<uint32_t>& wanted,
                 bfrt_proto::TableData* out) {
  out->set_action_id(data.action_id);
  for (const FieldValue& field : data.fields) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), field.id) == wanted.end()) continue;
    const FieldInfo* info = table.data_field(data.action_id, field.id);
    if (info != nullptr) encode_field(*info, field, out->add_fields());
  }
}

absl::StatusOr<Fields> complete_fields(const TableInfo& table, const Data& given, const Fields* old) {
  Fields out;
  auto pick = [&](const FieldInfo& info, bool required) -> absl::Status {
    if (const Value* value = find_field(given.fields, info.id)) {
      out.push_back({info.id, *value});
    } else if (const Value* kept = old == nullptr ? nullptr : find_field(*old, info.id)) {
      out.push_back({info.id, *kept});
    } else if (required) {
      return bad(table, info, "is missing and has no default");
    } else {
      out.push_back({info.id, info.initial});
    }
    return absl::OkStatus();
  };
  if (const ActionInfo* action = table.action(given.action_id)) {
    for (const FieldInfo& info : action->data) {
      if (absl::Status status = pick(info, info.mandatory); !status.ok()) return status;
    }
  }
  for (const FieldInfo& info : table.data) {
    if (info.choice_group >= 0) {
      const bool rival_given = std::any_of(table.data.begin(), table.data.end(), [&](const FieldInfo& other) {
        return other.choice_group == info.choice_group && other.id != info.id &&
               find_field(given.fields, other.id) != nullptr;
      });
      const bool known = find_field(given.fields, info.id) != nullptr ||
                         (old != nullptr && find_field(*old, info.id) != nullptr);
      if (rival_given || !known) continue;
    }
    if (absl::Status status = pick(info, false); !status.ok()) return status;
  }
  return out;
}

}  // namespace l3dml::server
