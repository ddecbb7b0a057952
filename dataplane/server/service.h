// The five calls of BfRuntime on top of drivers and sessions. Read, Write and the pipeline calls run on
// gRPC's own threads, one per call; streams hold none. Failure: as a gRPC status; see errors.h for the
// per-update form.
#pragma once

#include <grpcpp/grpcpp.h>

#include "bfruntime.grpc.pb.h"
#include "dataplane/server/devices.h"
#include "dataplane/server/sessions.h"

namespace l3dml::server {

class Service final
    : public bfrt_proto::BfRuntime::WithCallbackMethod_StreamChannel<bfrt_proto::BfRuntime::Service> {
 public:
  Service(Devices& devices, Sessions& sessions) : devices_(devices), sessions_(sessions) {}

  grpc::Status Write(grpc::ServerContext* context, const bfrt_proto::WriteRequest* request,
                     bfrt_proto::WriteResponse* response) override;
  grpc::Status Read(grpc::ServerContext* context, const bfrt_proto::ReadRequest* request,
                    grpc::ServerWriter<bfrt_proto::ReadResponse>* writer) override;
  grpc::Status SetForwardingPipelineConfig(
      grpc::ServerContext* context, const bfrt_proto::SetForwardingPipelineConfigRequest* request,
      bfrt_proto::SetForwardingPipelineConfigResponse* response) override;
  grpc::Status GetForwardingPipelineConfig(
      grpc::ServerContext* context, const bfrt_proto::GetForwardingPipelineConfigRequest* request,
      bfrt_proto::GetForwardingPipelineConfigResponse* response) override;
  grpc::ServerBidiReactor<bfrt_proto::StreamMessageRequest, bfrt_proto::StreamMessageResponse>* StreamChannel(
      grpc::CallbackServerContext* context) override;

 private:
  struct Access {
    std::shared_ptr<Driver> driver;
    Sessions::Client client;
  };
  // The driver a Read or Write is for: the bound program's, or the one the request names.
  absl::StatusOr<Access> access(const bfrt_proto::TargetDevice& target, uint32_t client_id,
                                const std::string& p4_name) const;
  // A client that names no device means the one it subscribed to.
  uint32_t device_of(uint32_t named, uint32_t client_id) const;
  absl::Status bind(const bfrt_proto::SetForwardingPipelineConfigRequest& request, uint32_t device);
  void announce(uint32_t device, bfrt_proto::SetForwardingPipelineConfigResponseType what);

  Devices& devices_;
  Sessions& sessions_;
};

}  // namespace l3dml::server
