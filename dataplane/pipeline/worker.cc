#include "dataplane/pipeline/worker.h"

#include <algorithm>

namespace l3dml::pipeline {

Worker::Worker(const Options& options) : options_(options) {}

bool Worker::run_once(int64_t now_ns) {
  bool busy = false;
  ++stats_.loops;
  for (const Forward& forward : forwards_) {
    const unsigned count = forward.from->rx_burst(burst_.data(), base::kBurst, now_ns);
    if (count == 0) continue;
    send(*forward.to, {burst_.data(), count}, now_ns);
    busy = true;
  }
  for (const auto& lane : lanes_) {
    for (const PipeWiring::Input& input : lane->inputs) {
      const unsigned count = input.port->rx_burst(burst_.data(), base::kBurst, now_ns);
      if (count == 0) continue;
      receive(*lane, input, count, now_ns);
      busy = true;
    }
    if (lane->pipe->next_deadline_ns() <= now_ns) {
      lane->pipe->tick(now_ns, outbox_);
      dispatch(*lane, now_ns);
    }
  }
  return busy;
}

void Worker::receive(Lane& lane, const PipeWiring::Input& input, unsigned count, int64_t now_ns) {
  const bool fresh = input.device_port != PipeWiring::kKeepPort;
  for (unsigned i = 0; i < count; ++i) {
    if (fresh) burst_[i]->port = input.device_port;
    burst_[i]->time_ns = now_ns;
  }
  ++stats_.bursts;
  stats_.packets += count;
  io::Capture* const capture = input.port->capture();
  if (capture != nullptr && capture->one_by_one())
    return receive_singly(lane, *capture, count, fresh, now_ns);
  if (capture != nullptr)
    for (unsigned i = 0; i < count; ++i) capture->see(*burst_[i], io::Capture::Direction::in, now_ns);
  handle(lane, {burst_.data(), count}, fresh, now_ns);
}

void Worker::handle(Lane& lane, std::span<base::Packet*> packets, bool fresh, int64_t now_ns) {
  if (fresh && lane.steer) packets = packets.first(steer(lane, packets, now_ns));
  lane.pipe->process(packets, now_ns, outbox_);
  dispatch(lane, now_ns);
}

// For a capture that tells what became of each packet.
void Worker::receive_singly(Lane& lane, io::Capture& capture, unsigned count, bool fresh, int64_t now_ns) {
  const auto burst = burst_;
  for (unsigned i = 0; i < count; ++i) {
    burst_[0] = burst[i];
    capture.see(*burst_[0], io::Capture::Direction::in, now_ns);
    handle(lane, {burst_.data(), 1}, fresh, now_ns);
    capture.done();
  }
}

// Sends on what belongs to other pipes of the device; returns how many stay, at the front.
size_t Worker::steer(Lane& lane, std::span<base::Packet*> packets, int64_t now_ns) {
  size_t kept = 0;
  for (base::Packet* packet : packets) {
    Output* const away = lane.to_pipes[lane.steer(*packet) % kPipes];
    if (away == nullptr)
      packets[kept++] = packet;
    else
      gather(*away, packet, now_ns);
  }
  return kept;
}

void Worker::dispatch(Lane& lane, int64_t now_ns) {
  for (base::Packet* packet : outbox_.packets()) {
    Output* const output = packet->port < kDevicePorts ? lane.outputs[packet->port] : nullptr;
    if (output == nullptr) {
      ++stats_.unwired;
      base::release(packet);
      continue;
    }
    gather(*output, packet, now_ns);
  }
  outbox_.clear();
  for (Output* output : dirty_) flush(*output, now_ns);
  dirty_.clear();
}

void Worker::gather(Output& output, base::Packet* packet, int64_t now_ns) {
  if (output.count == 0) dirty_.push_back(&output);
  output.packets[output.count++] = packet;
  if (output.count == base::kBurst) flush(output, now_ns);
}

void Worker::flush(Output& output, int64_t now_ns) {
  if (output.count == 0) return;
  send(*output.port, {output.packets.data(), output.count}, now_ns);
  output.count = 0;
}

void Worker::send(io::Port& port, std::span<base::Packet* const> packets, int64_t now_ns) {
  if (io::Capture* capture = port.capture())
    for (const base::Packet* packet : packets) capture->see(*packet, io::Capture::Direction::out, now_ns);
  port.tx_burst(packets, now_ns);
}

int64_t Worker::next_deadline_ns() const {
  int64_t deadline_ns = base::kNever;
  for (const io::Port* port : ports_) deadline_ns = std::min(deadline_ns, port->next_deadline_ns());
  for (const auto& lane : lanes_) deadline_ns = std::min(deadline_ns, lane->pipe->next_deadline_ns());
  return deadline_ns;
}

}  // namespace l3dml::pipeline
