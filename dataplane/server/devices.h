// The devices of one process, by id, and what program each runs. A change of program takes a device out of
// service until it is finished. Threads: any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/server/driver.h"

namespace l3dml::server {

class Devices {
 public:
  absl::Status add(std::unique_ptr<Driver> driver);  // ALREADY_EXISTS: the id is taken
  // NOT_FOUND: no such device. UNAVAILABLE: its program is being changed.
  absl::StatusOr<std::shared_ptr<Driver>> get(uint32_t device) const;
  absl::StatusOr<std::shared_ptr<Driver>> get_even_if_changing(uint32_t device) const;
  std::vector<std::shared_ptr<Driver>> all() const;

  // A reload in two steps. begin: checks the program (a device with a pipeline only takes its own again) and
  // takes the device out of service. end: wipes it or puts the new driver in its place; returns the name of a
  // program that is gone, or nothing. UNAVAILABLE: begin while changing, or end without begin.
  absl::Status begin_change(uint32_t device, const std::string& program_name,
                            const std::string& program_json);
  absl::StatusOr<std::string> end_change(uint32_t device);

 private:
  struct Slot {
    std::shared_ptr<Driver> driver;
    std::shared_ptr<Driver> next;  // null while changing: the same program again
    bool changing = false;
  };
  absl::StatusOr<Slot*> find(uint32_t device);
  mutable std::mutex mutex_;
  std::map<uint32_t, Slot> slots_;
};

}  // namespace l3dml::server
