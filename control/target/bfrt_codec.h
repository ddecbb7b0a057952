// Between the controller's names and BfRuntime messages. Pure functions; errors name table and field.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfruntime.pb.h"
#include "control/target/batch.h"
#include "control/target/schema.h"
#include "control/target/switch_target.h"

namespace l3dml::control::target {

inline constexpr uint32_t kAllPipes = 0xffff;

bfrt_proto::TargetDevice target_device(uint32_t device_id, uint32_t pipe);

absl::Status encode(const TargetSchema& schema, uint32_t device_id, const Update& update,
                    bfrt_proto::Update* out);
absl::Status encode_key(const SchemaTable& table, const Key& key, bfrt_proto::TableKey* out);
absl::Status encode_wanted(const SchemaTable& table, const ReadOptions& options, bfrt_proto::TableEntry* out);

Key decode_key(const SchemaTable& table, const bfrt_proto::TableKey& in);
Data decode_data(const SchemaTable& table, const bfrt_proto::TableData& in);
Row decode_row(const SchemaTable& table, const bfrt_proto::TableEntry& in);
Data decode_record(const SchemaDigest& digest, const bfrt_proto::TableData& in);

}  // namespace l3dml::control::target
