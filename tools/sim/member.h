// One member of a job: the real worker core, its host's network stack (frames, ports), and the code above it
// that submits collectives and answers the coordinator. One thread; lives as long as the world.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "control/jobs/epoch_messages.h"
#include "tools/host/worker_core.h"
#include "tools/sim/frame.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

class Job;

class Member final : public host::PacketSink {
 public:
  Member(Job* job, uint32_t index, const MemberSpec& spec, uint16_t udp_port);

  // Comes into being, paused, with a configuration that the first ResumeMember replaces.
  void start(const host::StripeConfig& config, uint32_t world);
  void receive(const Frame& frame);  // a frame for our port; already seen to be one of ours
  void timer();
  void obey(const control::Command& command);
  void die();

  uint8_t* reserve(unsigned shard, size_t size_bytes) override;
  void commit(size_t size_bytes) override;

  uint32_t host() const { return spec_.host; }
  uint16_t udp_port() const { return udp_port_; }
  bool alive() const { return core_ != nullptr; }
  bool started() const { return started_; }
  bool failed() const { return failed_; }
  bool done() const;                         // nothing more is to be expected of it
  uint64_t first() const { return first_; }  // collective it began with
  uint64_t finished() const { return finished_; }
  const host::WorkerCore* core() const { return core_.get(); }
  int64_t next_deadline_ns() const { return core_ ? core_->next_deadline_ns() : base::kNever; }
  const std::vector<std::pair<int64_t, int64_t>>& times() const {
    return times_;
  }  // per collective: submitted, finished

 private:
  struct Tensors {
    std::vector<uint8_t> input, output;
    std::vector<float> residual;
    const void* out() const { return output.empty() ? input.data() : output.data(); }
  };

  void obey(const control::PauseMember& command);
  void obey(const control::FetchCopies& command);
  void obey(const control::DeliverCopies& command);
  void obey(const control::ResumeMember& command);
  void obey(const control::FailMember& command);
  void obey(const control::RemoveAdmission&) {}
  void obey(const control::InstallAdmission&) {}

  void submit_ready();
  void on_result(const host::CollectiveResult& result);
  void poll();
  void tell_drained();
  void make_exponent_odd(wire::L3dmlHeader* header) const;
  bool stale(uint32_t change);  // a command of a change that a later one overtook

  Job& job_;
  uint32_t index_;
  MemberSpec spec_;
  uint16_t udp_port_;
  std::unique_ptr<host::WorkerCore> core_;
  host::StripeConfig config_;
  bool started_ = false, failed_ = false, resumed_ = false;
  uint32_t change_ = 0;
  std::optional<uint64_t> stop_before_;
  uint64_t first_ = 0, submitted_ = 0, finished_ = 0;  // collectives, counted from the job's first
  int64_t not_before_ns_ = 0;                          // computing until then
  bool waking_ = false;
  std::map<uint64_t, Tensors> tensors_;  // by collective
  std::vector<std::pair<int64_t, int64_t>> times_;
  base::Packet* packet_ = nullptr;  // between reserve and commit
  unsigned shard_ = 0;              // of that packet
};

}  // namespace l3dml::sim
