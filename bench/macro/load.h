// Prepared UP packets for a device of the test rig, and what they cost: in the whole pipeline, and in a bare
// loop that adds the same payloads into the same slots in the same order.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "bench/macro/compare.h"
#include "dataplane/kernels/lanes.h"
#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::bench {

constexpr uint32_t kLoadRing = 8192;      // slots in all: 8 MB at 256 lanes
constexpr size_t kFrameMemory = 2048;     // bytes
constexpr uint32_t kBatchNumbers = 1024;  // made ready together, then timed

struct LoadShape {
  unsigned children = 4;
  uint16_t lanes = 256;
  unsigned jobs = 1;
};

// Frames stay with the load: what the pipeline releases needs no taking back.
class KeepPool final : public base::PacketPool {
 public:
  base::Packet* alloc() override { return nullptr; }
  void recycle(base::Packet*) override {}
};

class Load {
 public:
  explicit Load(const LoadShape& shape)
      : shape_(shape),
        job_ring_(kLoadRing / shape.jobs),
        batch_numbers_(kBatchNumbers * 4 / std::max(4u, shape.children)) {
    rig_ = std::make_unique<pipeline::testing::Rig>(rig_config(0));
    for (unsigned job = 1; job < shape_.jobs; ++job)
      rig_->add_job(rig_config(job).job, static_cast<uint16_t>(1 + job), rig_config(job));
    for (unsigned child = 0; child < shape_.children; ++child) {
      template_.push_back(
          rig_->build(wire::Type::up, child, 0, std::vector<uint32_t>(shape_.lanes, child + 1)));
      seq_.emplace_back(shape_.jobs, 0);
    }
    frames_.resize(batch_numbers_ * shape_.children);
    for (size_t i = 0; i < frames_.size(); ++i) {
      Frame& f = frames_[i];
      f.memory = std::make_unique<uint8_t[]>(kFrameMemory);
      std::memcpy(f.memory.get() + 128, template_[i / batch_numbers_].frame.data(),
                  template_[i / batch_numbers_].frame.size());
    }
    slots_.resize(size_t{kLoadRing} * shape_.lanes);
    next_ = kLoadRing;  // the first number of every job: newer than the zero stamps
  }

  // Seconds a packet costs in the pipeline, over one round of the ring. With `flood`, each burst is followed
  // by one of as many packets of as many bytes for jobs that nobody knows; they are not counted, their time
  // is.
  double pipeline_packet_seconds(bool flood = false) {
    if (flood && flood_.empty()) make_flood();
    double spent = 0;
    size_t packets = 0;
    for (uint32_t done = 0; done < kLoadRing; done += batch_numbers_) {
      make_ready();
      spent += seconds([&] { process(flood); });
      packets += frames_.size();
    }
    return spent / static_cast<double>(packets);
  }
  double bare_packet_seconds() {
    const kernels::LaneKernels& kernels = kernels::lane_kernels();
    double spent = 0;
    size_t packets = 0;
    for (uint32_t done = 0; done < kLoadRing; done += batch_numbers_) {
      make_ready();  // the same traces in the caches
      spent += seconds([&] {
        for (size_t i = 0; i < frames_.size(); ++i)
          kernels.add(&slots_[size_t{done + i % batch_numbers_} % kLoadRing * shape_.lanes],
                      frames_[i].memory.get() + 128 + wire::kHeadSize, shape_.lanes);
      });
      packets += frames_.size();
    }
    return spent / static_cast<double>(packets);
  }

  // For peers that take the frames themselves: the next batch_numbers() numbers of every child.
  void make_ready();
  size_t packets_per_round() const {
    return (kLoadRing + batch_numbers_ - 1) / batch_numbers_ * frames_.size();
  }
  uint32_t batch_numbers() const { return batch_numbers_; }
  size_t frame_count() const { return frames_.size(); }
  uint8_t* frame(size_t i) { return frames_[i].memory.get() + 128; }
  uint32_t frame_size() const { return static_cast<uint32_t>(wire::kHeadSize + 4u * shape_.lanes); }
  uint64_t dropped(base::DropReason reason) const { return rig_->drops(reason); }

 private:
  struct Frame {
    std::unique_ptr<uint8_t[]> memory;
    base::Packet packet;
  };

  pipeline::testing::RigConfig rig_config(unsigned job) const {
    pipeline::testing::RigConfig config;
    config.children = shape_.children;
    config.lanes = shape_.lanes;
    config.job = static_cast<uint16_t>(7 + job);
    config.ring = job_ring_;
    config.slot_base = job * job_ring_;
    config.seq_ring = 64;
    config.device_slots = kLoadRing;
    config.device_lanes = shape_.lanes;
    config.device_neighbors = 32 * (shape_.jobs + 2);
    config.sync_idle_ns = base::kSecond;
    return config;
  }

  void make_flood() {
    flood_.resize(base::kBurst * 32);
    for (size_t i = 0; i < flood_.size(); ++i) {
      Frame& f = flood_[i];
      f.memory = std::make_unique<uint8_t[]>(kFrameMemory);
      std::memcpy(f.memory.get() + 128, template_[0].frame.data(), template_[0].frame.size());
      f.packet = {};
      f.packet.buffer = f.memory.get();
      f.packet.capacity = 2048;
      f.packet.data = f.packet.buffer + 128;
      f.packet.size = frame_size();
      f.packet.port = 30;
      f.packet.pool = &keep_;
      auto& head = *reinterpret_cast<wire::Head*>(f.packet.data);
      const auto job = static_cast<uint16_t>(10'000 + i);
      head.ipv6.dst_addr =
          wire::aggregation_address(pipeline::testing::kPrefix, pipeline::testing::kOwnLocator, 0, job, 0);
      head.l3dml.job.set(job);
    }
  }

  [[gnu::noinline]] void process(bool flood) {  // by name: bench/instructions_test.py counts in here

    base::Packet* burst[base::kBurst];
    for (size_t i = 0; i < frames_.size(); i += base::kBurst) {
      const size_t count = std::min(base::kBurst, frames_.size() - i);
      for (size_t j = 0; j < count; ++j) burst[j] = &frames_[i + j].packet;
      rig_->device->pipe(0).process({burst, count}, 0, out_);
      base::release_bulk(out_.packets());
      out_.clear();
      if (!flood) continue;
      for (size_t j = 0; j < count; ++j) burst[j] = &flood_[(i + j) % flood_.size()].packet;
      rig_->device->pipe(0).process({burst, count}, 0, out_);
    }
  }

  LoadShape shape_;
  uint32_t job_ring_, batch_numbers_;
  std::unique_ptr<pipeline::testing::Rig> rig_;
  KeepPool keep_;
  std::vector<pipeline::testing::Rig::Build> template_;  // by child
  std::vector<std::vector<uint32_t>> seq_;               // by child and job
  std::vector<Frame> frames_;                            // child after child
  std::vector<Frame> flood_;
  std::vector<uint32_t> slots_;  // of the bare loop
  uint32_t next_;
  pipeline::Outbox out_;
};

inline void Load::make_ready() {
  for (size_t i = 0; i < frames_.size(); ++i) {
    const auto child = static_cast<unsigned>(i / batch_numbers_);
    const uint32_t index =
        next_ + static_cast<uint32_t>(i % batch_numbers_);  // of kLoadRing numbers over all jobs
    const unsigned job = index % shape_.jobs;
    const uint32_t number = kLoadRing + index / shape_.jobs;
    Frame& f = frames_[i];
    base::Packet& p = f.packet;
    p = {};
    p.buffer = f.memory.get();
    p.capacity = 2048;
    p.data = p.buffer + 128;
    p.size = static_cast<uint32_t>(wire::kHeadSize + 4u * shape_.lanes);
    p.port = static_cast<uint16_t>(1 + child);
    p.pool = &keep_;
    auto& head = *reinterpret_cast<wire::Head*>(p.data);
    std::memcpy(&head, template_[child].frame.data(), sizeof head);
    head.ipv6.dst_addr =
        wire::aggregation_address(pipeline::testing::kPrefix, pipeline::testing::kOwnLocator, 0,
                                  static_cast<uint16_t>(7 + job), static_cast<uint16_t>(child));
    head.l3dml.job.set(static_cast<uint16_t>(7 + job));
    head.l3dml.number.set(number);
    head.l3dml.slot.set(job * job_ring_ + (number & (job_ring_ - 1)));
    head.l3dml.seq.set(seq_[child][job]++);
  }
  next_ += batch_numbers_;
}

}  // namespace l3dml::bench
