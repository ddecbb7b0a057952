// Where an idle worker waits: on the wake-up descriptors of its ports, a time-out in nanoseconds, and an
// eventfd by which other threads call it. sleep() and look() belong to the worker; wake() to anybody.
#pragma once

#include <cstdint>

#include "dataplane/io/port.h"

namespace l3dml::pipeline {

class Sleeper {
 public:
  Sleeper();
  ~Sleeper();
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  void add(io::Port& port);        // wakes on port.wake_fd(), tells port.wake()
  void sleep(int64_t timeout_ns);  // base::kNever: until something happens
  void look() { sleep(0); }        // tells the ports, does not wait
  void wake();

 private:
  int epoll_fd_;
  int event_fd_;
};

}  // namespace l3dml::pipeline
