// One device's driver: the schema of its program and of the fixed tables, and the shadow of all of them.
// Everything a BfRuntime client can do to a device except sessions, which are the service's business.
//
// Threads: any; a lock lets reads run together and writes alone. Each WriteRequest is one Transaction, so the
// pipeline sees it as a whole. Ownership: the twin outlives the driver. Failure: per update or entity, as a
// Status with the canonical code a client of a Tofino would see.
#pragma once

#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "bfruntime.pb.h"
#include "dataplane/base/clock.h"
#include "dataplane/server/digest_queue.h"
#include "dataplane/server/schema.h"
#include "dataplane/server/table.h"
#include "dataplane/tna/twin.h"

namespace l3dml::server {

struct DriverOptions {
  uint32_t device_id = 0;
  std::string program_name;            // what clients bind to
  std::string program_json;            // text of its bf-rt.json
  tna::DeviceTwin* twin = nullptr;     // null: schema mode, the shadow is all there is
  PortDriver* ports = nullptr;         // null: ports hold state alone
  const base::Clock* clock = nullptr;  // null: the machine's; for idle time-outs
  unsigned pipes = 4;                  // used without a twin
};

// What became of one update or entity. `code` is the driver's own number where the protocol asks for one.
struct Outcome {
  absl::Status status;
  int32_t code = 0;
};

struct WriteOptions {
  Subscriptions client;
  bool ignore_not_found = false;  // DELETE of a missing entry is fine
};

class Driver {
 public:
  static absl::StatusOr<std::unique_ptr<Driver>> create(DriverOptions options);

  // A driver for the same device with another program. FAILED_PRECONDITION if there is a pipeline: it runs
  // one program.
  absl::StatusOr<std::unique_ptr<Driver>> with_program(const std::string& name,
                                                       const std::string& json) const;

  uint32_t device_id() const { return options_.device_id; }
  const std::string& program_name() const { return options_.program_name; }
  const std::string& program_json() const { return options_.program_json; }
  const Schema& program() const { return *program_; }
  const Schema& fixed() const { return *fixed_; }
  unsigned pipes() const { return device_.pipes; }

  // One outcome per update tried; with rollback the last one is the failure.
  std::vector<Outcome> write(const bfrt_proto::WriteRequest& request, const WriteOptions& options);
  // One outcome per entity; what was found is appended to `out` in responses of bounded size.
  std::vector<Outcome> read(const bfrt_proto::ReadRequest& request,
                            std::vector<bfrt_proto::ReadResponse>& out);

  // Back to the state after loading, pipeline included.
  void wipe();
  // Periodic work: link changes, idle time-outs, digests.
  void tick();

  // A digest for those who subscribed, sent at the next tick. The pipeline's own are fetched by the tick;
  // this is for programs without one.
  absl::Status learn(const tna::Digest& digest) { return digests_->push(digest); }
  DigestQueue::Counters digest_counters() const { return digests_->counters(); }

  // Where notifications go; called without the driver's lock being needed by the receiver.
  void set_notifier(std::function<void(const bfrt_proto::StreamMessageResponse&)> notifier);

 private:
  explicit Driver(DriverOptions options) : options_(std::move(options)) {}

  absl::StatusOr<Table*> find_table(uint32_t id) const;
  Outcome apply(const bfrt_proto::Update& update, const Target& target, const WriteOptions& options,
                Transaction& transaction);
  Outcome apply_entry(bfrt_proto::Update::Type type, const bfrt_proto::TableEntry& entry,
                      const Target& target, const WriteOptions& options, Transaction& transaction);
  absl::Status read_entity(const bfrt_proto::Entity& entity, const Target& target,
                           const std::function<bfrt_proto::Entity*()>& add) const;
  absl::Status read_entries(const bfrt_proto::TableEntry& wanted, const Target& target,
                            const std::function<bfrt_proto::Entity*()>& add) const;
  absl::Status read_object_id(const bfrt_proto::ObjectId& wanted, bfrt_proto::ObjectId* out) const;

  const DriverOptions options_;
  std::shared_ptr<const Schema> program_;
  std::shared_ptr<const Schema> fixed_;
  Device device_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<Table*> ticking_;
  std::unique_ptr<DigestQueue> digests_;
  absl::flat_hash_map<uint32_t, Table*> by_id_;
  absl::flat_hash_map<std::string, Table*> by_name_;  // fixed tables only
  std::function<void(const bfrt_proto::StreamMessageResponse&)> notifier_;
  mutable std::shared_mutex mutex_;  // guards the tables and notifier_
};

}  // namespace l3dml::server
