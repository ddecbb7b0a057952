// l3dmlctl's connection to the controller: channel, deadlines, errors as one line.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/app/config.h"
#include "grpcpp/grpcpp.h"
#include "l3dml.grpc.pb.h"

namespace l3dml::control {

namespace api = ::l3dml::v1;

struct ClientOptions {
  std::string address = "127.0.0.1:50061";
  TlsFiles tls;
  std::string server_name;  // expected in the controller's certificate; empty: the host of the address
  double timeout_s = 10;
};

class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> create(const ClientOptions& options);

  std::unique_ptr<api::Network::Stub> network;
  std::unique_ptr<api::Jobs::Stub> jobs;
  std::unique_ptr<api::Events::Stub> events;

  // One call with the deadline; the error says who was asked.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                                const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(static_cast<int64_t>(1e3 * options_.timeout_s)));
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    if (!status.ok()) return explain(status);
    return response;
  }
  absl::Status explain(const grpc::Status& status) const;

 private:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}
  ClientOptions options_;
};

}  // namespace l3dml::control
