// What the coordinator of an epoch change says and hears: plain structs, so that gRPC, the simulator and
// tests can all carry them. Every message names the change it belongs to; answers to an earlier change are
// ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "control/jobs/stamps.h"

namespace l3dml::control {

using MemberId = uint32_t;
using SwitchId = uint32_t;

// Who contributes, who sums, and in what window: made by a Planner from who is there.
struct EpochPlan {
  std::vector<MemberId> members;   // contribute in this epoch
  std::vector<SwitchId> switches;  // aggregators, each with one range of ring x shards stamps
  std::vector<SwitchId> moved;     // of these: whose range is another one than in the epoch before
  uint32_t window = 0;             // numbers in flight per member, a power of two
  uint32_t ring = 0;               // entries per shard
  uint32_t shards = 1;             // ring x shards >= 2 x window
};

// A result as a member holds it; the lanes are opaque here.
struct ResultCopy {
  uint32_t number = 0;
  uint8_t exp = 0, next_exp = 0;
  uint16_t weight = 0;
  std::vector<uint32_t> lanes;
};

// ---- what the coordinator says ----
struct PauseMember {  // stop sending, refuse every packet, answer MemberPaused
  uint32_t change;
  MemberId member;
};
struct RemoveAdmission {  // remove the job's old admission, then zero its `expected` and `tx_seq`; answer
                          // SwitchDone
  uint32_t change;
  SwitchId to;
};
struct InstallAdmission {  // write stamps where asked, then install the plan's part; answer SwitchDone
  uint32_t change;
  SwitchId to;
  uint8_t epoch;
  uint32_t first_number;
  bool overwrite_stamps;  // stamp = first_number - 1 over the range
};
struct FetchCopies {  // answer CopiesFetched with the results of these numbers of the old epoch
  uint32_t change;
  MemberId holder;
  std::vector<uint32_t> numbers;
};
struct DeliverCopies {  // take these as results of the old epoch, keep them as copies too; answer
                        // CopiesDelivered
  uint32_t change;
  MemberId member;
  std::vector<ResultCopy> copies;
};
struct ResumeMember {  // start again in the new epoch; answer MemberResumed
  uint32_t change;
  MemberId member;
  uint8_t epoch;
  uint32_t first_number;
  uint32_t window;
  uint64_t first_collective;  // a joiner starts with this one
  uint64_t first_chunk;       // and this is the place of its first chunk in the job's sequence
  std::optional<uint64_t>
      stop_before;  // do not begin this collective; answer MemberDrained when all before are done
};
struct FailMember {  // cut off: its calls end with this error
  MemberId member;
  std::string reason;
};
using Command = std::variant<PauseMember, RemoveAdmission, InstallAdmission, FetchCopies, DeliverCopies,
                             ResumeMember, FailMember>;

// ---- what it hears ----
struct MemberPaused {
  uint32_t change;
  MemberId member;
  uint8_t epoch;  // the epoch the report speaks of: the last one it resumed in
  std::vector<std::optional<uint32_t>>
      held;  // per position: newest number held, results to be repeated included
  uint64_t collectives_begun;
  uint64_t collectives_finished;
  uint64_t chunks_begun;  // of all collectives begun
};
struct SwitchDone {
  uint32_t change;
  SwitchId from;
};
struct CopiesFetched {
  uint32_t change;
  MemberId holder;
  std::vector<ResultCopy> copies;
};
struct CopiesDelivered {
  uint32_t change;
  MemberId member;
};
struct MemberResumed {
  uint32_t change;
  MemberId member;
};
struct MemberDrained {
  uint32_t change;
  MemberId member;
};
struct MemberLost {
  MemberId member;
  std::string reason;
};
struct MemberJoins {
  MemberId member;
};
struct SwitchLost {
  SwitchId from;
};
struct SwitchReturned {  // reachable again; restarted: its registers and tables are empty
  SwitchId from;
  bool restarted;
};
struct ChangeWanted {};  // the planner would answer differently now
using Report = std::variant<MemberPaused, SwitchDone, CopiesFetched, CopiesDelivered, MemberResumed,
                            MemberDrained, MemberLost, MemberJoins, SwitchLost, SwitchReturned, ChangeWanted>;

}  // namespace l3dml::control
