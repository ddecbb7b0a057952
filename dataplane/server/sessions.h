// Who is connected: one session per StreamChannel. Keeps client ids unique, programs owned by one client
// each, and carries notifications. Threads: any. A session ends with its stream, and its claims with it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfruntime.pb.h"
#include "dataplane/server/digest_ledger.h"
#include "dataplane/server/table.h"

namespace l3dml::server {

// The sending half of a client's stream. send() queues and never blocks; a client that does not read loses
// messages.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(std::shared_ptr<const bfrt_proto::StreamMessageResponse> message) = 0;
  virtual void cut_off(absl::Status reason) = 0;
};

class Sessions {
 public:
  struct Client {
    uint32_t id = 0;
    uint32_t device = 0;
    Subscriptions wants;
    std::string program;  // bound to; empty: none
  };

  absl::Status add(const Client& client, Outbox* outbox);  // INVALID_ARGUMENT: the id is in use
  void remove(const Outbox* outbox);                       // outbox is not used afterwards

  // One owner per (device, program); a claim without a stream gives way to any other.
  absl::Status bind(uint32_t client_id, uint32_t device, const std::string& program);
  // The client if it is bound to a program of the device: UNAVAILABLE if unknown, FAILED_PRECONDITION if not
  // bound.
  absl::StatusOr<Client> bound(uint32_t client_id, uint32_t device) const;
  absl::StatusOr<Client> find(uint32_t client_id) const;  // NOT_FOUND

  // To every client of the device that asked for this kind of message.
  void notify(uint32_t device, const bfrt_proto::StreamMessageResponse& message);
  // What a client says about a digest list; nothing happens where none such is outstanding.
  void acknowledge(const Outbox* outbox, uint32_t digest_id, uint32_t list_id);
  // Sends digest lists again that were not acknowledged in time.
  void tick(int64_t now_ns);
  // Ends the streams of clients bound to a program that is gone.
  void cut_off(uint32_t device, const std::string& program);
  size_t count() const;

 private:
  struct Session {
    Client client;
    Outbox* outbox = nullptr;  // null: a claim made without a stream
    DigestLedger digests;
  };
  mutable std::mutex mutex_;
  std::map<uint32_t, Session> sessions_;  // by client id
  int64_t now_ns_ = 0;                    // of the last tick
};

}  // namespace l3dml::server
