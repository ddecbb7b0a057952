// The shadow of one table: what a client wrote, with the rules of its type. Subclasses implement what their
// type supports; everything else answers UNIMPLEMENTED, as a Tofino's driver does. Threads: called under the
// driver's lock only (writes exclusive, reads shared). A method that fails has changed nothing. Changes of
// the live pipeline go through the Transaction.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfruntime.pb.h"
#include "dataplane/base/clock.h"
#include "dataplane/server/schema.h"
#include "dataplane/server/transaction.h"
#include "dataplane/server/value.h"

namespace l3dml::server {

inline constexpr uint32_t kAllPipes = 0xffff;

struct Target {
  uint32_t device = 0;
  uint32_t pipe = kAllPipes;
  uint32_t direction = 0xff;
  uint32_t parser = 0xff;
};

// What a client asked to be told; attributes that need a notification are refused without it.
struct Subscriptions {
  bool learn = false;
  bool idle_timeout = false;
  bool port_status = false;
  bool entry_active = false;
  bool selector_update = false;
};

struct WriteContext {
  Transaction& transaction;
  Target target;
  bool keep_ttl = false;        // MODIFY without reset_ttl
  bool keep_stats = false;      // MODIFY without reset_stats
  bool remove_members = false;  // MODIFY_INC: take away instead of add
  Subscriptions client;
};

// One entry on its way out. Pointers are valid during the call.
struct RowView {
  const Key* key = nullptr;  // null: default entry
  const Data* data = nullptr;
  tna::Handle handle = 0;
  int pipe = -1;  // lowest pipe it belongs to, where pipes have entries of their own
};
using Emit = std::function<void(const RowView&)>;

struct ReadQuery {
  Target target;
  uint32_t action_id = 0;  // only entries with this action; 0: all
  bool from_hw = false;
  bool key_only = false;
};

// What tables share: the device under them, and the other tables (the replication tables refer to each
// other).
class Table;
class PortDriver;
struct Device {
  uint32_t id = 0;
  tna::DeviceTwin* twin = nullptr;
  PortDriver* ports = nullptr;
  const base::Clock* clock = nullptr;
  const Schema* program = nullptr;
  unsigned pipes = 4;
  std::function<Table*(std::string_view name)> table;  // fixed tables
  std::function<Table*(uint32_t id)> table_with_id;    // null if there is none
  // Sends a notification to the clients that asked for it.
  std::function<void(const bfrt_proto::StreamMessageResponse&)> notify;
  tna::Executor* executor() const { return twin == nullptr ? nullptr : &twin->executor(); }
  // Runs a function between bursts, or at once when there is no pipeline.
  void run(const std::function<void()>& function) const {
    tna::Executor* const pipeline = executor();
    pipeline == nullptr ? function() : pipeline->run(function);
  }
};

class Table {
 public:
  Table(const TableInfo& info, const Device& device) : info_(info), device_(device) {}
  virtual ~Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const TableInfo& info() const { return info_; }

  virtual absl::Status insert(WriteContext&, Key, const Data&) { return unsupported("insert"); }
  virtual absl::Status modify(WriteContext&, const Key&, const Data&) { return unsupported("modify"); }
  virtual absl::Status modify_inc(WriteContext&, const Key&, const Data&) {
    return unsupported("modify_inc");
  }
  virtual absl::Status remove(WriteContext&, const Key&) { return unsupported("delete"); }
  virtual absl::Status reset(WriteContext&, const Key&) { return unsupported("reset"); }
  virtual absl::Status clear(WriteContext&) { return unsupported("clear"); }
  virtual absl::Status set_default(WriteContext&, const Data&) { return unsupported("a default entry"); }
  virtual absl::Status reset_default(WriteContext&) { return absl::OkStatus(); }
  virtual bool contains(const Target&, const Key&) const { return false; }

  virtual absl::Status read(const ReadQuery&, const Key&, const Emit&) { return unsupported("get"); }
  virtual absl::Status read_all(const ReadQuery&, const Emit&) { return unsupported("get"); }
  // Emits nothing when there is no default entry.
  virtual absl::Status read_default(const ReadQuery&, const Emit&) { return absl::OkStatus(); }
  virtual absl::StatusOr<uint32_t> usage(const Target&) { return unsupported("usage"); }
  virtual absl::StatusOr<tna::Handle> handle_of(const Target&, const Key&) { return unsupported("handles"); }
  virtual absl::StatusOr<Key> key_of(tna::Handle) { return unsupported("handles"); }

  // `name` is one of the table's supported_operations. Values are read live, so there is nothing to wait for.
  virtual absl::Status operation(WriteContext&, std::string_view) { return absl::OkStatus(); }
  absl::Status set_attribute(WriteContext& context, const bfrt_proto::TableAttribute& attribute);
  // `attribute` names the wanted one by its oneof case and gets the value (a default until it was set).
  absl::Status get_attribute(bfrt_proto::TableAttribute* attribute) const;

  // Work that time brings (idle time-outs, link changes), under the write lock; only if ticks() says so.
  virtual bool ticks() const { return false; }
  virtual void tick(int64_t /*now_ns*/) {}

  // Back to the state after loading; what the pipeline must forget goes into the transaction.
  virtual void wipe(WriteContext&) = 0;

 protected:
  // May this attribute be set like that now? Called before it is stored.
  virtual absl::Status check_attribute(const bfrt_proto::TableAttribute&) { return absl::OkStatus(); }
  virtual void attribute_changed(WriteContext&) {}
  // Null until it was set.
  const bfrt_proto::TableAttribute* attribute(bfrt_proto::TableAttribute::AttributeCase which) const;
  void forget_attributes() { attributes_.clear(); }

  // The table of this kind that the schema says this one depends on, or null.
  Table* dependency(TableKind kind) const;
  absl::Status unsupported(std::string_view what) const;
  absl::Status error(absl::StatusCode code, std::string_view what) const;
  const TableInfo& info_;
  const Device& device_;

 private:
  absl::Status check_supported(bfrt_proto::TableAttribute::AttributeCase which) const;
  std::map<int, bfrt_proto::TableAttribute> attributes_;  // by oneof case
};

// The right kind of table for a description; both must outlive it. Only fixed tables have special ones.
std::unique_ptr<Table> make_program_table(const TableInfo& info, const Device& device);
std::unique_ptr<Table> make_fixed_table(const TableInfo& info, const Device& device);

}  // namespace l3dml::server
