// Match-action tables, direct and indirect: actions with parameters (or a reference to a member or group of
// an action profile), a default entry, and what hangs on an entry: direct counter, meter, filter, register,
// idle time-out. Files: match_table.cc (entries and what hangs on them), match_table_idle.cc (ageing). See
// Table for threads and failure.
#pragma once

#include "dataplane/server/entry_table.h"
#include "dataplane/server/idle_timer.h"

namespace l3dml::server {

class MatchTable final : public EntryTable {
 public:
  MatchTable(const TableInfo& info, const Device& device);

  absl::Status set_default(WriteContext& context, const Data& data) override;
  absl::Status reset_default(WriteContext& context) override;
  absl::Status read_default(const ReadQuery& query, const Emit& emit) override;
  absl::Status operation(WriteContext& context, std::string_view name) override;
  void wipe(WriteContext& context) override;
  bool ticks() const override { return ages_; }
  void tick(int64_t now_ns) override;

 protected:
  absl::StatusOr<Data> complete(const WriteContext&, const Data& given, const Data* old) const override;
  bool normalizes() const override { return !masks_.empty(); }
  void normalize(Key& key) const override;
  absl::Status check_row(const Key&, const Data& data, const Row* old) override;
  void stored(WriteContext& context, tna::Handle handle, const Row& row, const Data* old) override;
  void removed(WriteContext& context, tna::Handle handle, const Row& row) override;
  bool presents() const override;
  void present(const ReadQuery& query, tna::Handle handle, const Key& key, Data& data) override;
  std::vector<tna::CounterValue> fetch_counters(const std::vector<tna::Handle>& handles) const override;
  void present_counters(const tna::CounterValue& value, Data& data) const override;
  absl::Status check_attribute(const bfrt_proto::TableAttribute& attribute) override;
  void attribute_changed(WriteContext& context) override;

 private:
  // The default entry that the compiled program starts with, where its text tells.
  std::optional<Data> program_default() const;
  // Holds on to (or lets go of) the member or group that an entry refers to.
  absl::Status check_reference(const Data& data) const;
  void refer(WriteContext& context, const Data& data, bool hold) const;
  void write_counters(WriteContext& context, tna::Handle handle, const Data& data) const;
  void per_pipe(const WriteContext& context, const Data& given, const Data* old, Data& full) const;
  // Idle time-outs.
  void restart_timer(WriteContext& context, tna::Handle handle, const Data& data);
  std::vector<bool> take_hits(const std::vector<tna::Handle>& handles) const;
  void announce(const IdleTimer::Event& event) const;
  void reconfigure_timer(WriteContext& context);

  const FieldInfo* const bytes_;    // direct counter, else null
  const FieldInfo* const packets_;  // the same
  const FieldInfo* const ttl_;
  const FieldInfo* const hit_state_;
  const FieldInfo* const member_;
  const FieldInfo* const group_;
  const bool ages_;  // the program gave the table idle time-outs
  bool has_registers_ = false;
  const bool live_counters_;  // counted by the pipeline

  std::optional<Data> default_;     // holds the program's own at first
  std::vector<std::string> masks_;  // by key field, where a client masked the key; empty text: not masked
  IdleTimer timer_;
};

}  // namespace l3dml::server
