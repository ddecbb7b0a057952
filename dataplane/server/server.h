// The BfRuntime server: hosts the drivers of one process's devices and serves them over gRPC. This is the
// class an application uses:
//   auto driver = Driver::create({.program_name = "l3dml", .program_json = text, .twin = &device});
//   BfrtServer server;
//   server.add_device(*std::move(driver));
//   server.start({.address = "127.0.0.1:50052"});
// Threads: add_device before start; stop from any thread but a gRPC one. Failure: absl::Status from start.
#pragma once

#include <condition_variable>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "dataplane/server/devices.h"
#include "dataplane/server/driver.h"
#include "dataplane/server/sessions.h"

namespace grpc {
class Server;
}

namespace l3dml::server {

class Service;

struct ServerOptions {
  std::string address = "127.0.0.1:50052";  // port 0: any free one
  // PEM texts. All three or none; none is refused unless the address is loopback.
  std::string certificate;
  std::string private_key;
  std::string client_authority;  // clients must show a certificate that it signed
  int keepalive_ms =
      10'000;  // silence after which a client is asked whether it lives, and half of it to answer
  uint64_t tick_ns = 5'000'000;  // how often links, time-outs and digests are looked at; 0: only by tick()
  const base::Clock* clock = nullptr;  // null: the machine's
};

class BfrtServer {
 public:
  BfrtServer();
  ~BfrtServer();

  absl::Status add_device(std::unique_ptr<Driver> driver);
  absl::Status start(const ServerOptions& options);
  absl::Status start(const std::string& address) { return start(ServerOptions{.address = address}); }
  int port() const { return port_; }  // the bound port, 0 before start
  void stop();                        // ends all streams; idempotent
  void tick();                        // one look at links, time-outs and digests

  // Pass to a device's notifier, or call to tell clients something by hand.
  void notify(uint32_t device, const bfrt_proto::StreamMessageResponse& message) {
    sessions_.notify(device, message);
  }
  std::shared_ptr<Driver> driver(uint32_t device) const;  // null: no such device

 private:
  void tick_loop(uint64_t tick_ns);

  Devices devices_;
  Sessions sessions_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  const base::Clock* clock_ = nullptr;

  std::thread ticker_;
  std::mutex stop_mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
};

}  // namespace l3dml::server
