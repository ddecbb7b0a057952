#include "dataplane/pipeline/sleeper.h"

#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dataplane/base/clock.h"

namespace l3dml::pipeline {

Sleeper::Sleeper()
    : epoll_fd_(epoll_create1(EPOLL_CLOEXEC)), event_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  if (epoll_fd_ < 0 || event_fd_ < 0 || epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, event_fd_, &event) != 0)
    std::abort();
}

Sleeper::~Sleeper() {
  close(event_fd_);
  close(epoll_fd_);
}

void Sleeper::add(io::Port& port) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &port;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, port.wake_fd(),
            &event);  // EEXIST: two queues of one descriptor, either will do
}

void Sleeper::sleep(int64_t timeout_ns) {
  epoll_event events[64];
  const timespec timeout = {.tv_sec = timeout_ns / base::kSecond, .tv_nsec = timeout_ns % base::kSecond};
  int count = epoll_pwait2(epoll_fd_, events, 64, timeout_ns == base::kNever ? nullptr : &timeout, nullptr);
  if (count < 0 && errno == ENOSYS)  // before Linux 5.11: milliseconds, rounded down
    count = epoll_wait(epoll_fd_, events, 64,
                       timeout_ns == base::kNever ? -1 : static_cast<int>(timeout_ns / base::kMillisecond));
  for (int i = 0; i < count; ++i) {
    if (auto* port = static_cast<io::Port*>(events[i].data.ptr)) {
      port->wake();
      continue;
    }
    uint64_t calls;
    [[maybe_unused]] const ssize_t got = read(event_fd_, &calls, sizeof calls);
  }
}

void Sleeper::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t put = write(event_fd_, &one, sizeof one);
}

}  // namespace l3dml::pipeline
