// Between protobuf messages and the driver's own keys and data, checked against the schema: what decode_*
// lets through is complete, of the right widths and in canonical form. Pure functions, any thread. Errors:
// NOT_FOUND for an id the table does not have, INVALID_ARGUMENT for anything else; texts name table and
// field.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfruntime.pb.h"
#include "dataplane/server/schema.h"
#include "dataplane/server/value.h"

namespace l3dml::server {

// Fields may come in any order; absent ternary, LPM, range and optional fields mean "don't care".
absl::StatusOr<Key> decode_key(const TableInfo& table, const bfrt_proto::TableKey& in);
std::string canonical_index(const TableInfo& table, const Key& key);  // what decode_key puts into Key::index
void encode_key(const TableInfo& table, const Key& key, bfrt_proto::TableKey* out);

// Checks ids, widths, choices and read-only; completeness is the table's business. Fields keep their order.
absl::StatusOr<Data> decode_data(const TableInfo& table, const bfrt_proto::TableData& in);

// `wanted` empty: every field, else only those ids.
void encode_data(const TableInfo& table, const Data& data, const std::vector<uint32_t>& wanted,
                 bfrt_proto::TableData* out);

// One list of fields to the wire, against their descriptions (digest records, containers).
void encode_field(const FieldInfo& info, const FieldValue& field, bfrt_proto::DataField* out);

// All fields of (table, action): those given, else the old entry's, else the default; action parameters
// first, both in schema order. A mandatory action parameter that is in neither is an error. Of a `oneof`, the
// given member wins.
absl::StatusOr<Fields> complete_fields(const TableInfo& table, const Data& given, const Fields* old);

}  // namespace l3dml::server
