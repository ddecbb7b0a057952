// How failures of single updates and entities reach the client: one gRPC status for the whole call with one
// bfrt_proto.Error per update in its details. Pure functions.
#pragma once

#include <string>
#include <vector>

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "bfruntime.pb.h"
#include "dataplane/server/driver.h"

namespace l3dml::server {

// OK if every outcome is. Else UNKNOWN with a google.rpc.Status in the error details, whose details[i] is the
// Error of update i (trailing successes are left out). Where so many details would not fit a client's header
// limit, the code and text of the first failure instead: UNKNOWN without details means something else to
// clients.
grpc::Status to_grpc(const std::vector<Outcome>& outcomes, const std::string& message);

// A failure of the whole call.
grpc::Status to_grpc(const absl::Status& status);

bfrt_proto::Error to_error(const Outcome& outcome);

}  // namespace l3dml::server
