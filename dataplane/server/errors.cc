#include "dataplane/server/errors.h"

#include "dataplane/server/text.h"
#include "google/rpc/status.pb.h"

namespace l3dml::server {
namespace {

constexpr size_t kMaxDetailBytes = 6000;  // gRPC clients take 8 KiB of headers, and base64 may not be needed

}  // namespace

bfrt_proto::Error to_error(const Outcome& outcome) {
  bfrt_proto::Error error;
  error.set_canonical_code(static_cast<int32_t>(outcome.status.code()));
  error.set_message(std::string(outcome.status.message()));
  error.set_code(outcome.code);
  return error;
}

grpc::Status to_grpc(const std::vector<Outcome>& outcomes, const std::string& message) {
  size_t first = outcomes.size();
  size_t last = 0;
  size_t failures = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status.ok()) continue;
    if (failures++ == 0) first = i;
    last = i;
  }
  if (failures == 0) return grpc::Status::OK;
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::UNKNOWN);
  status.set_message(message);
  size_t bytes = 0;
  for (size_t i = 0; i <= last; ++i) {
    google::protobuf::Any detail;
    detail.PackFrom(to_error(outcomes[i]));
    bytes += detail.ByteSizeLong() + 3;
    if (bytes > kMaxDetailBytes && i > first) break;  // the client learns of the first ones
    *status.add_details() = std::move(detail);
  }
  if (bytes > kMaxDetailBytes && status.details_size() == static_cast<int>(first) + 1) {
    const absl::Status& cause = outcomes[first].status;
    return grpc::Status(
        static_cast<grpc::StatusCode>(cause.code()),
        concat("update ", first, " of ", outcomes.size(), ": ", cause.message(), " (", failures, " failed)"));
  }
  return grpc::Status(grpc::StatusCode::UNKNOWN, message, status.SerializeAsString());
}

grpc::Status to_grpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace l3dml::server
