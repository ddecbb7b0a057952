#include "tools/sim/packet_trace.h"

#include <fmt/format.h>

#include "tools/sim/frame.h"

namespace l3dml::sim {

std::string format_packet(const base::Packet& packet) {
  static constexpr const char* kTypes[] = {"?0", "UP", "DOWN", "NACK", "SYNC", "RECIRC", "PROBE"};
  const Frame frame = look_at(packet);
  if (!frame.head) return fmt::format("other, {} bytes", packet.frame_size());
  const wire::L3dmlHeader& h = frame.head->l3dml;
  const auto type = static_cast<size_t>(h.type());
  return fmt::format(
      "{}{}{}{} job {} epoch {} child {} number {} slot {} seq {} exp {} next_exp {} weight {} lanes {}{}",
      type < std::size(kTypes) ? kTypes[type] : "?", h.flags & wire::kFlagRetx ? "+retx" : "",
      h.flags & wire::kFlagDown ? "+down" : "", h.flags & wire::kFlagEce ? "+ece" : "", h.job.load(), h.epoch,
      h.child, h.number.load(), h.slot.load(), h.seq.load(), h.exp, h.next_exp, h.weight.load(),
      frame.lane_count,
      frame.lane_count ? fmt::format(" hash {:08x}", lane_hash(frame.lanes, frame.lane_count)) : "");
}

void PacketTrace::packet(int64_t now_ns, const std::string& where, const base::Packet& packet) {
  if (job_) {
    const Frame frame = look_at(packet);
    if (!frame.head || frame.head->l3dml.job.load() != job_) return;
  }
  add(fmt::format("{:14.3f} us  {:<28} {}", static_cast<double>(now_ns) / 1000, where,
                  format_packet(packet)));
}

void PacketTrace::note(int64_t now_ns, const std::string& text) {
  add(fmt::format("{:14.3f} us  {}", static_cast<double>(now_ns) / 1000, text));
}

void PacketTrace::add(std::string line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > keep_) lines_.pop_front();
}

void PacketTrace::print(std::FILE* to) const {
  for (const std::string& line : lines_) std::fprintf(to, "%s\n", line.c_str());
}

}  // namespace l3dml::sim
