#include "dataplane/server/sessions.h"

#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

bool wanted(const Subscriptions& wants, const bfrt_proto::StreamMessageResponse& message) {
  using Message = bfrt_proto::StreamMessageResponse;
  switch (message.update_case()) {
    case Message::kDigest:
      return wants.learn;
    case Message::kIdleTimeoutNotification:
      return wants.idle_timeout &&
             (message.idle_timeout_notification().type() == bfrt_proto::IdleTimeoutNotification::ENTRY_IDLE ||
              wants.entry_active);
    case Message::kPortStatusChangeNotification:
      return wants.port_status;
    case Message::kSelectorUpdateChangeNotification:
      return wants.selector_update;
    default:
      return true;
  }
}

}  // namespace

absl::Status Sessions::add(const Client& client, Outbox* outbox) {
  std::lock_guard lock(mutex_);
  Session& session = sessions_[client.id];
  if (session.outbox != nullptr) {
    return absl::InvalidArgumentError(concat("two clients cannot have the same id ", client.id));
  }
  const std::string program = session.client.device == client.device ? session.client.program : "";
  session = Session{client, outbox, {}};
  session.client.program = program;
  return absl::OkStatus();
}

void Sessions::remove(const Outbox* outbox) {
  std::lock_guard lock(mutex_);
  std::erase_if(sessions_, [&](const auto& item) { return item.second.outbox == outbox; });
}

absl::Status Sessions::bind(uint32_t client_id, uint32_t device, const std::string& program) {
  std::lock_guard lock(mutex_);
  if (program != "$SHARED") {
    for (auto& [id, session] : sessions_) {
      if (id == client_id || session.client.device != device || session.client.program != program) continue;
      if (session.outbox != nullptr) {
        return absl::AlreadyExistsError(concat("program ", program, " is bound by client ", id));
      }
      session.client.program.clear();
    }
  }
  Session& session = sessions_[client_id];
  session.client.id = client_id;
  session.client.device = device;
  session.client.program = program;
  return absl::OkStatus();
}

absl::StatusOr<Sessions::Client> Sessions::bound(uint32_t client_id, uint32_t device) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) {
    return absl::UnavailableError(concat("client ", client_id, " is unknown: subscribe first"));
  }
  const Client& client = found->second.client;
  if (client.program.empty() || client.device != device) {
    return absl::FailedPreconditionError(
        concat("client ", client_id, " is not bound to a program of device ", device));
  }
  return client;
}

absl::StatusOr<Sessions::Client> Sessions::find(uint32_t client_id) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(client_id);
  if (found == sessions_.end()) return absl::NotFoundError(concat("no client ", client_id));
  return found->second.client;
}

void Sessions::notify(uint32_t device, const bfrt_proto::StreamMessageResponse& message) {
  const auto shared = std::make_shared<const bfrt_proto::StreamMessageResponse>(message);
  std::lock_guard lock(mutex_);
  for (auto& [id, session] : sessions_) {
    if (session.outbox != nullptr && session.client.device == device &&
        wanted(session.client.wants, message)) {
      session.outbox->send(message.has_digest() ? session.digests.send(message, now_ns_) : shared);
    }
  }
}

void Sessions::acknowledge(const Outbox* outbox, uint32_t digest_id, uint32_t list_id) {
  std::lock_guard lock(mutex_);
  for (auto& [id, session] : sessions_) {
    if (session.outbox == outbox) (void)session.digests.acknowledge(digest_id, list_id);
  }
}

void Sessions::tick(int64_t now_ns) {
  std::lock_guard lock(mutex_);
  now_ns_ = now_ns;
  for (auto& [id, session] : sessions_) {
    if (session.outbox == nullptr) continue;
    for (DigestLedger::Message& message : session.digests.overdue(now_ns))
      session.outbox->send(std::move(message));
  }
}

void Sessions::cut_off(uint32_t device, const std::string& program) {
  std::lock_guard lock(mutex_);
  for (auto& [id, session] : sessions_) {
    if (session.outbox != nullptr && session.client.device == device && session.client.program == program) {
      session.outbox->cut_off(absl::CancelledError(concat("program ", program, " was removed")));
    }
  }
}

size_t Sessions::count() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

}  // namespace l3dml::server
