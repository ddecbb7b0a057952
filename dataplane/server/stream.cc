#include "dataplane/server/stream.h"

#include "dataplane/server/errors.h"

namespace l3dml::server {
namespace {

constexpr size_t kMaxQueued = 1 << 16;  // messages; a client that does not read loses what is beyond

}  // namespace

ClientStream::ClientStream(Sessions& sessions, const Devices& devices, grpc::CallbackServerContext* context)
    : sessions_(sessions), devices_(devices), context_(context) {
  StartRead(&request_);
}

absl::Status ClientStream::subscribe(const bfrt_proto::StreamMessageRequest& request) {
  const bfrt_proto::Subscribe& subscribe = request.subscribe();
  if (absl::StatusOr<std::shared_ptr<Driver>> device = devices_.get_even_if_changing(subscribe.device_id());
      !device.ok()) {
    return device.status();
  }
  const auto& asked = subscribe.notifications();
  Sessions::Client client;
  client.id = request.client_id();
  client.device = subscribe.device_id();
  client.wants = {.learn = asked.enable_learn_notifications(),
                  .idle_timeout = asked.enable_idletimeout_notifications(),
                  .port_status = asked.enable_port_status_change_notifications(),
                  .entry_active = asked.enable_entry_active_notifications(),
                  .selector_update = asked.enable_selector_update_change_notifications()};
  if (absl::Status status = sessions_.add(client, this); !status.ok()) return status;
  subscribed_ = true;
  auto answer = std::make_shared<bfrt_proto::StreamMessageResponse>();
  *answer->mutable_subscribe() = subscribe;
  answer->mutable_subscribe()->mutable_status()->set_code(0);
  send(std::move(answer));
  return absl::OkStatus();
}

void ClientStream::OnReadDone(bool ok) {
  if (!ok) {
    end(grpc::Status::OK);
    return;
  }
  if (request_.has_digest_ack()) {
    sessions_.acknowledge(this, request_.digest_ack().digest_id(), request_.digest_ack().list_id());
  } else if (!request_.has_subscribe()) {
    end(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the stream takes subscribe and digest_ack only"));
    return;
  } else if (!subscribed_) {
    if (absl::Status status = subscribe(request_); !status.ok()) {
      end(to_grpc(status));
      return;
    }
  }
  request_.Clear();
  StartRead(&request_);
}

void ClientStream::write_next() {
  if (!queue_.empty()) {
    StartWrite(queue_.front().get());
  } else if (ending_ && !finished_) {
    finished_ = true;
    Finish(final_status_);
  }
}

void ClientStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  queue_.pop_front();
  if (!ok) queue_.clear();
  write_next();
}

void ClientStream::OnCancel() { end(grpc::Status::CANCELLED); }

void ClientStream::end(const grpc::Status& status) {
  sessions_.remove(this);  // the client's claims end here, not when gRPC has cleaned up
  std::lock_guard lock(mutex_);
  if (ending_) return;
  ending_ = true;
  final_status_ = status;
  if (queue_.size() > 1) queue_.erase(queue_.begin() + 1, queue_.end());
  if (queue_.empty()) write_next();
}

void ClientStream::send(std::shared_ptr<const bfrt_proto::StreamMessageResponse> message) {
  std::lock_guard lock(mutex_);
  if (ending_ || queue_.size() >= kMaxQueued) return;
  queue_.push_back(std::move(message));
  if (queue_.size() == 1) write_next();
}

// Called with the sessions locked, so the removal is left to the end of the stream.
void ClientStream::cut_off(absl::Status reason) {
  {
    std::lock_guard lock(mutex_);
    if (ending_) return;
    ending_ = true;
    final_status_ = to_grpc(reason);
    if (queue_.empty()) write_next();
  }
}

void ClientStream::OnDone() {
  sessions_.remove(this);
  delete this;
}

}  // namespace l3dml::server
