#include "dataplane/app/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace l3dml::app {
namespace {

constexpr size_t kMaxLine = 1 << 20;  // bytes

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string path;  // of a UNIX socket
};

absl::StatusOr<Address> resolve(const std::string& text) {
  Address result;
  if (text.starts_with("unix:")) {
    result.path = text.substr(5);
    auto* address = reinterpret_cast<sockaddr_un*>(&result.storage);
    if (result.path.empty() || result.path.size() >= sizeof address->sun_path)
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\": the path must have 1 to 107 characters"));
    address->sun_family = AF_UNIX;
    std::memcpy(address->sun_path, result.path.data(), result.path.size());
    result.size = sizeof *address;
    return result;
  }
  const size_t colon = text.rfind(':');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
  if (colon == std::string::npos ||
      getaddrinfo(text.substr(0, colon).c_str(), text.substr(colon + 1).c_str(), &hints, &found) != 0)
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not HOST:PORT (numbers) or unix:PATH"));
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.size = found->ai_addrlen;
  freeaddrinfo(found);
  return result;
}

std::string bound_address(int fd, const std::string& text) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (text.starts_with("unix:") || getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0)
    return text;
  const uint16_t port = storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                                                      : reinterpret_cast<sockaddr_in*>(&storage)->sin_port;
  return absl::StrCat(text.substr(0, text.rfind(':')), ":", ntohs(port));
}

bool send_all(int fd, const std::string& text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t count = send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

void limit_waiting(int fd) {
  const timeval timeout = {.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::open(const std::string& text) {
  const auto address = resolve(text);
  if (!address.ok()) return address.status();
  const int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (!address->path.empty()) {  // a socket that a crashed run left behind answers nobody
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(probe, reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0 &&
        errno == ECONNREFUSED)
      unlink(address->path.c_str());
    close(probe);
  }
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address->storage), address->size) != 0 ||
      listen(fd, 16) != 0) {
    const int error = errno;
    close(fd);
    return absl::UnavailableError(absl::StrCat("cannot listen on ", text, ": ", std::strerror(error),
                                               error == EADDRINUSE ? " (is another switch running?)" : ""));
  }
  return std::unique_ptr<Listener>(new Listener(fd, bound_address(fd, text), address->path));
}

Listener::~Listener() {
  close(fd_);
  if (!path_.empty()) unlink(path_.c_str());
}

Endpoint::Endpoint(std::unique_ptr<Listener> control, std::unique_ptr<Listener> status, Answer answer)
    : control_(std::move(control)),
      status_(std::move(status)),
      answer_(std::move(answer)),
      stop_fd_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { serve(); }) {}

Endpoint::~Endpoint() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(stop_fd_, &one, sizeof one);
  thread_.join();
  for (const Client& client : clients_) close(client.fd);
  close(stop_fd_);
}

bool Endpoint::read(Client& client) {
  char bytes[4096];
  const ssize_t count = recv(client.fd, bytes, sizeof bytes, 0);
  if (count <= 0) return false;
  client.in.append(bytes, static_cast<size_t>(count));
  for (size_t end; (end = client.in.find('\n')) != std::string::npos; client.in.erase(0, end + 1)) {
    const std::string line = client.in.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string::npos && !send_all(client.fd, answer_(line) + "\n"))
      return false;
  }
  return client.in.size() <= kMaxLine;
}

void Endpoint::serve() {
  while (true) {
    std::vector<pollfd> fds = {{stop_fd_, POLLIN, 0},
                               {control_ ? control_->fd() : -1, POLLIN, 0},
                               {status_ ? status_->fd() : -1, POLLIN, 0}};
    for (const Client& client : clients_) fds.push_back({client.fd, POLLIN, 0});
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    if (fds[0].revents) return;
    for (size_t i = clients_.size(); i-- > 0;) {
      if (!fds[3 + i].revents || read(clients_[i])) continue;
      close(clients_[i].fd);
      clients_.erase(clients_.begin() + static_cast<ptrdiff_t>(i));
    }
    if (fds[1].revents) {
      const int fd = accept4(control_->fd(), nullptr, nullptr, SOCK_CLOEXEC);
      limit_waiting(fd);
      if (fd >= 0) clients_.push_back({fd, {}});
    }
    if (fds[2].revents) {
      const int fd = accept4(status_->fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) send_all(fd, "1");
      close(fd);
    }
  }
}

absl::StatusOr<std::string> ask(const std::string& text, const std::string& line) {
  const auto address = resolve(text);
  if (!address.ok()) return address.status();
  const int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  bool fine = fd >= 0 &&
              connect(fd, reinterpret_cast<const sockaddr*>(&address->storage), address->size) == 0 &&
              send_all(fd, line + "\n");
  while (fine && (answer.empty() || answer.back() != '\n')) {
    char bytes[65536];
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    fine = count > 0;
    if (fine) answer.append(bytes, static_cast<size_t>(count));
  }
  const int error = errno;
  close(fd);
  if (!fine)
    return absl::UnavailableError(absl::StrCat("no switch answers on ", text, ": ", std::strerror(error)));
  answer.pop_back();
  return answer;
}

}  // namespace l3dml::app
