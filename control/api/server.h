// l3dml.v1 over gRPC: the controller on the network, and the thread that lets it tick.
//   ApiServer server(controller.get());
//   server.start({.addresses = {"127.0.0.1:50061"}});
// Threads: start and stop from one. Failure: absl::Status from start. Plaintext is served on loopback and
// unix sockets only; anywhere else clients must show a certificate.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace grpc {
class Server;
}

namespace l3dml::control {

class Controller;
class Telemetry;
class ApiServices;

struct ApiOptions {
  std::vector<std::string> addresses{"127.0.0.1:50061"};  // "host:port", "unix:/path"; port 0: any free one
  // PEM texts; all three or none. With them every address but unix sockets speaks TLS.
  std::string certificate, private_key;
  std::string client_authority;        // that signed the clients' certificates
  std::vector<std::string> operators;  // common names that may change things; empty: every certificate.
                                       // Members need their job's token instead
  int64_t tick_ms = 50;                // 0: never
  int64_t telemetry_ms = 1'000;        // between two samples; 0: never
};

class ApiServer {
 public:
  ApiServer(Controller* controller, Telemetry* telemetry);  // both outlive it
  ~ApiServer();

  absl::Status start(const ApiOptions& options);
  const std::vector<std::string>& addresses() const { return addresses_; }  // with the ports that were bound
  void stop();                                                              // ends all streams; idempotent

 private:
  void loop(int64_t period_ms, const std::function<void()>& work);

  Controller* controller_;
  Telemetry* telemetry_;
  std::unique_ptr<ApiServices> services_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
  std::thread ticker_, sampler_;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
};

}  // namespace l3dml::control
