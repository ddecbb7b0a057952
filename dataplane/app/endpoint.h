// The sockets of the process that are not gRPC: JSON lines on TCP or a UNIX socket, and the status port that
// sends "1" to whoever connects, as bf_switchd does. One thread serves them all; a client that does not read
// is cut off.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace l3dml::app {

// A listening socket: "HOST:PORT" (port 0 takes a free one) or "unix:PATH".
class Listener {
 public:
  static absl::StatusOr<std::unique_ptr<Listener>> open(const std::string& address);
  ~Listener();
  int fd() const { return fd_; }
  const std::string& address() const { return address_; }  // with the real port

 private:
  Listener(int fd, std::string address, std::string path)
      : fd_(fd), address_(std::move(address)), path_(std::move(path)) {}
  int fd_;
  std::string address_;
  std::string path_;  // to unlink
};

class Endpoint {
 public:
  // A line in, a line out.
  using Answer = std::function<std::string(const std::string&)>;
  Endpoint(std::unique_ptr<Listener> control, std::unique_ptr<Listener> status,
           Answer answer);  // either may be null
  ~Endpoint();

 private:
  struct Client {
    int fd;
    std::string in;
  };
  void serve();
  bool read(Client& client);  // false: gone

  std::unique_ptr<Listener> control_, status_;
  Answer answer_;
  int stop_fd_;  // eventfd
  std::vector<Client> clients_;
  std::thread thread_;
};

// One request to the control socket of a running switch; its answer.
absl::StatusOr<std::string> ask(const std::string& address, const std::string& line);

}  // namespace l3dml::app
