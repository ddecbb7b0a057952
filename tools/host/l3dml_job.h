// What a handle of the C interface holds. Private to l3dml.cc and to libraries that make such handles in
// another way (tools/member).
#pragma once

#include <memory>
#include <string>

#include "tools/host/job.h"

namespace l3dml::host {

// Whoever keeps a job's membership while it runs.
class Agent {
 public:
  virtual ~Agent() = default;
  virtual void leave() = 0;  // the job was closed in peace
};

}  // namespace l3dml::host

namespace l3dml::host {
// What l3dml_last_error() tells this thread from now on.
void set_last_error(const std::string& text);
}  // namespace l3dml::host

struct l3dml_job {
  std::unique_ptr<l3dml::host::Job> job;
  std::unique_ptr<l3dml::host::Agent> agent;  // null: none; ends before the job
};
