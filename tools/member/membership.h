// A process's membership in a job, kept at the controller: joins, renews the lease, carries epoch changes
// between the controller's stream and the host library's Job, leaves.
//
//   auto member = Membership::join({.controller = "unix:/run/l3dml.sock", .job = "train", .token = t});
//   auto job = host::Job::create((*member)->config(), std::make_unique<host::UdpTransport>());
//   (*member)->attend(job->get());   ...   (*job)->close();  (*member)->leave();
//
// Threads: calls from one; two of its own while it attends. The job outlives the membership. Failure: a
// controller that is away is waited for, the job goes on meanwhile; what the controller refuses, and being
// given up by it, ends the job's calls with its words. Destroyed without leave(), the controller counts us as
// lost.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"
#include "l3dml.grpc.pb.h"
#include "tools/host/job.h"
#include "tools/host/l3dml_job.h"

namespace l3dml::member {

namespace api = ::l3dml::v1;

struct MemberOptions {
  std::string controller;  // "HOST:PORT" or "unix:PATH"; several, with commas: stand-bys
  std::string job, token;
  std::string host;    // empty: the controller finds it by our addresses
  int rank = -1;       // any
  std::string group;   // of processes that are started together, and again together (l3dml.proto)
  double wait_s = 30;  // for the controller, at the start
  // Files of PEM texts; all or none.
  std::string certificate, key, authority;
};

// L3DML_CONTROLLER, L3DML_JOB (the job's name), L3DML_TOKEN; L3DML_HOST, L3DML_CERT, L3DML_KEY,
// L3DML_AUTHORITY.
MemberOptions options_from_environment();

class Membership final : public host::Agent {
 public:
  static absl::StatusOr<std::unique_ptr<Membership>> join(const MemberOptions& options);
  ~Membership() override;

  const host::JobConfig& config() const { return config_; }
  // Begins to attend; before the first collective. A member that comes to a running job waits here until the
  // others have come to a collective that it may begin with, at most the job's time-out.
  absl::Status attend(host::Job* job);
  bool joins_running() const { return joins_running_; }
  // Of the job, the one that is this member's first: 0 unless it came to a running job.
  uint64_t first_collective() const { return first_collective_; }
  void leave() override;  // idempotent

 private:
  using Stream = grpc::ClientReaderWriter<api::MemberMessage, api::ControllerMessage>;
  struct Stripe {
    uint8_t epoch = 0;
    uint32_t change = 0;      // newest heard of
    uint32_t resumed_at = 0;  // change in which we resumed last
    bool paused = false;
    std::optional<uint64_t> stop_before;  // not yet drained
  };

  explicit Membership(MemberOptions options) : options_(std::move(options)) {}
  absl::Status connect();
  api::Jobs::Stub& stub() { return *stubs_[controller_ % stubs_.size()]; }
  absl::Status call_join();
  void read_loop();
  void renew_loop();
  absl::Status wait_to_begin();
  bool attend_once();  // one stream from its beginning to its end; false: it makes no sense to try again
  void hear(const api::ControllerMessage& message);
  void say(api::MemberMessage message);
  absl::Status resume(uint32_t index, const api::ControllerMessage& message);

  MemberOptions options_;
  std::string instance_;
  std::vector<std::unique_ptr<api::Jobs::Stub>> stubs_;  // the controller and its stand-bys
  std::atomic<size_t> controller_ = 0;                   // whom we speak to
  host::JobConfig config_;
  double lease_s_ = 10;
  bool joins_running_ = false;
  uint64_t first_collective_ = 0;
  host::Job* job_ = nullptr;

  std::mutex mutex_;  // guards what follows, and writes to the stream
  std::condition_variable changed_;
  std::vector<Stripe> stripes_;
  std::unique_ptr<grpc::ClientContext> context_;
  Stream* stream_ = nullptr;  // null: none now
  bool stop_ = false, left_ = false;
  std::thread reader_, renewer_;
};

}  // namespace l3dml::member
