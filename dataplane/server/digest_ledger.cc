#include "dataplane/server/digest_ledger.h"

namespace l3dml::server {

DigestLedger::Message DigestLedger::send(const bfrt_proto::StreamMessageResponse& list, int64_t now_ns) {
  auto message = std::make_shared<bfrt_proto::StreamMessageResponse>(list);
  message->mutable_digest()->set_list_id(++next_[list.digest().digest_id()]);
  if (sent_.size() >= kOutstanding) sent_.pop_front();
  sent_.push_back({message, now_ns});
  return message;
}

bool DigestLedger::acknowledge(uint32_t digest_id, uint32_t list_id) {
  acknowledges_ = true;
  return std::erase_if(sent_, [&](const Sent& sent) {
           const bfrt_proto::DigestList& list = sent.message->digest();
           return list.digest_id() == digest_id && list.list_id() == list_id;
         }) > 0;
}

std::vector<DigestLedger::Message> DigestLedger::overdue(int64_t now_ns) {
  std::vector<Message> again;
  if (!acknowledges_) return again;
  std::erase_if(sent_,
                [&](const Sent& sent) { return sent.tries >= kTries && now_ns - sent.at_ns >= kTimeoutNs; });
  for (Sent& sent : sent_) {
    if (now_ns - sent.at_ns < kTimeoutNs) continue;
    sent.at_ns = now_ns;
    ++sent.tries;
    again.push_back(sent.message);
  }
  return again;
}

}  // namespace l3dml::server
