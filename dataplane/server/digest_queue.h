// Digests between the program and its subscribers: records are checked against the schema, gathered between
// two ticks, and sent as one list per learn filter. Threads: any. Records beyond the capacity are dropped and
// counted, as a chip's learn buffer drops them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "bfruntime.pb.h"
#include "dataplane/server/schema.h"
#include "dataplane/tna/twin.h"

namespace l3dml::server {

class DigestQueue {
 public:
  static constexpr size_t kCapacity = 65536;  // records that wait for the next tick
  static constexpr int kRecordsPerList = 1024;

  struct Counters {
    uint64_t records = 0;   // sent
    uint64_t refused = 0;   // of no known filter, or of wrong fields
    uint64_t overflow = 0;  // dropped for want of room
  };

  DigestQueue(const Schema& program, uint32_t device) : program_(program), device_(device) {}
  // NOT_FOUND: no such filter. INVALID_ARGUMENT: wrong fields. RESOURCE_EXHAUSTED: no room.
  absl::Status push(const tna::Digest& digest);
  std::vector<bfrt_proto::StreamMessageResponse> take();  // what waits, as lists
  Counters counters() const;

 private:
  const Schema& program_;
  const uint32_t device_;
  mutable std::mutex mutex_;
  std::vector<std::pair<const LearnFilterInfo*, bfrt_proto::TableData>> waiting_;
  Counters counters_;
};

}  // namespace l3dml::server
