#include "tools/member/l3dml_join.h"

#include <exception>

#include "tools/host/udp_transport.h"
#include "tools/member/membership.h"

extern "C" l3dml_job* l3dml_join(const char* controller, const char* name, const char* token, int rank) {
  using namespace l3dml;
  try {
    member::MemberOptions options = member::options_from_environment();
    if (controller) options.controller = controller;
    if (name) options.job = name;
    if (token) options.token = token;
    options.rank = rank;
    auto member = member::Membership::join(options);
    absl::Status status = member.status();
    if (member.ok()) {
      auto job = host::Job::create((*member)->config(), std::make_unique<host::UdpTransport>());
      status = job.status();
      if (job.ok()) {
        status = (*member)->attend(job->get());
        if (status.ok()) return new l3dml_job{*std::move(job), *std::move(member)};
        member->reset();  // before the job
      }
    }
    host::set_last_error(std::string(status.message()));
  } catch (const std::exception& error) {  // memory, threads: nothing thrown may cross into C
    host::set_last_error(error.what());
  }
  return nullptr;
}
