#include "tools/gen/testing/tested_switch.h"

#include "dataplane/wire/address.h"

namespace l3dml::gen::testing {

using pipeline::testing::kHostMac;
using pipeline::testing::kOwnLocator;
using pipeline::testing::kPrefix;
using pipeline::testing::kSwitchMac;
using pipeline::testing::Rig;
using pipeline::testing::RigConfig;

TestedSwitch::TestedSwitch(unsigned workers, const std::vector<TestedJob>& jobs, uint32_t ring) {
  const auto config = [&](size_t index) {
    RigConfig c;
    c.children = workers;
    c.job = static_cast<uint16_t>(7 + index);
    c.lanes = jobs[index].lanes;
    c.ring = ring;
    c.slot_base = static_cast<uint32_t>(index) * ring;
    c.device_slots = static_cast<uint32_t>(std::bit_ceil(jobs.size())) * ring;
    c.device_neighbors = static_cast<uint32_t>(32 * (jobs.size() + 2));
    c.seq_ring = 2 * ring;
    return c;
  };
  rig_ = std::make_unique<Rig>(config(0));
  for (size_t i = 1; i < jobs.size(); ++i)
    rig_->add_job(config(i).job, static_cast<uint16_t>(1 + i), config(i));
  for (unsigned i = 0; i < workers; ++i)
    ports_.push_back(
        std::make_unique<io::MemoryPort>("worker" + std::to_string(i), io::MemoryPort::Kind::ends, 65536));
  for (size_t index = 0; index < jobs.size(); ++index) {
    const RigConfig c = config(index);
    JobTraffic job;
    job.share = jobs[index].share;
    for (unsigned child = 0; child < workers; ++child) {
      host::StripeConfig s;
      s.job = c.job;
      s.epoch = c.epoch;
      s.child = static_cast<uint8_t>(child);
      s.lanes = c.lanes;
      s.window = s.look_ahead = ring / 2;
      s.first_number = c.first_number;
      s.slot_base = c.slot_base;
      s.ring = ring;
      s.aggregator = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, s.child);
      s.result_source = wire::aggregation_address(kPrefix, kOwnLocator, 0, s.job, wire::kChildSwitch);
      s.local_address = Rig::child_address(s.child);
      s.local_port = base::kUdpPort;  // as the rig's replicas say
      job.members.push_back({s, kHostMac, kSwitchMac, child});
    }
    traffic_.push_back(std::move(job));
  }
}

PortSet TestedSwitch::ports() {
  PortSet set;
  for (auto& port : ports_) set.ports.push_back(port.get());
  set.pool = &pool_;
  return set;
}

void TestedSwitch::deliver() {
  for (base::Packet* packet : out_.packets()) {
    std::vector<uint8_t> frame(packet->data, packet->data + packet->size);
    if (packet->tail) frame.insert(frame.end(), packet->tail->data, packet->tail->data + packet->tail->size);
    const uint16_t port = packet->port;
    base::release(packet);
    if ((tap && tap(false, frame)) || port == 0 || port > ports_.size()) continue;
    base::Packet* copy = pool_.alloc();
    std::memcpy(copy->data, frame.data(), frame.size());
    copy->size = static_cast<uint32_t>(frame.size());
    ports_[port - 1u]->inject(copy);
  }
  out_.clear();
}

void TestedSwitch::pump(int64_t at_ns) {
  pipeline::Pipe& pipe = rig_->device->pipe(0);
  for (size_t i = 0; i < ports_.size(); ++i) {
    while (base::Packet* packet = ports_[i]->take_sent()) {
      if (tap) {
        std::vector<uint8_t> frame(packet->data, packet->data + packet->size);
        if (tap(true, frame)) {
          base::release(packet);
          continue;
        }
      }
      packet->port = static_cast<uint16_t>(1 + i);
      pipe.process({&packet, 1}, at_ns, out_);
      deliver();
    }
  }
  if (pipe.next_deadline_ns() <= at_ns) {
    pipe.tick(at_ns, out_);
    deliver();
  }
}

}  // namespace l3dml::gen::testing
