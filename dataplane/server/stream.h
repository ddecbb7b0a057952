// One client's StreamChannel, on gRPC's callback API: no thread is held by an idle or abandoned stream. It
// deletes itself when gRPC is done with it. Threads: gRPC's, and any that sends.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include <grpcpp/grpcpp.h>

#include "bfruntime.grpc.pb.h"
#include "dataplane/server/devices.h"
#include "dataplane/server/sessions.h"

namespace l3dml::server {

class ClientStream final
    : public grpc::ServerBidiReactor<bfrt_proto::StreamMessageRequest, bfrt_proto::StreamMessageResponse>,
      public Outbox {
 public:
  ClientStream(Sessions& sessions, const Devices& devices, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void send(std::shared_ptr<const bfrt_proto::StreamMessageResponse> message) override;
  void cut_off(absl::Status reason) override;

 private:
  absl::Status subscribe(const bfrt_proto::StreamMessageRequest& request);
  void end(const grpc::Status& status);  // once nothing is being written
  void write_next();                     // under mutex_

  Sessions& sessions_;
  const Devices& devices_;
  grpc::CallbackServerContext* const context_;
  bfrt_proto::StreamMessageRequest request_;
  bool subscribed_ = false;  // reading side only

  std::mutex mutex_;
  std::deque<std::shared_ptr<const bfrt_proto::StreamMessageResponse>> queue_;  // front: being written
  bool ending_ = false;
  bool finished_ = false;
  grpc::Status final_status_;
};

}  // namespace l3dml::server
