// The digest lists that one client was sent and has not acknowledged. A client that never acknowledges (those
// written for a Tofino do not) gets each list once. From its first acknowledgement on, a list that stays
// unacknowledged is sent again. Used under the sessions' lock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "bfruntime.pb.h"

namespace l3dml::server {

class DigestLedger {
 public:
  using Message = std::shared_ptr<const bfrt_proto::StreamMessageResponse>;
  static constexpr int64_t kTimeoutNs = 1'000'000'000;  // until a list is sent again
  static constexpr int kTries = 4;                      // then it is given up
  static constexpr size_t kOutstanding = 1024;          // lists remembered; older ones are given up

  // The list with this client's next number for its digest, from 1.
  Message send(const bfrt_proto::StreamMessageResponse& list, int64_t now_ns);
  bool acknowledge(uint32_t digest_id, uint32_t list_id);  // false: nothing of that kind is outstanding
  std::vector<Message> overdue(int64_t now_ns);            // to be sent again now

 private:
  struct Sent {
    Message message;
    int64_t at_ns;
    int tries = 1;
  };
  bool acknowledges_ = false;
  std::map<uint32_t, uint32_t> next_;  // list id, by digest
  std::deque<Sent> sent_;
};

}  // namespace l3dml::server
