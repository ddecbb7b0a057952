// The last packets and events of a run, one line each, for the report of a violation. A ring: a run of
// millions of packets keeps only its end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <string>

#include "dataplane/base/packet.h"

namespace l3dml::sim {

class PacketTrace {
 public:
  // `job`: only packets of this one (wire number), 0: all. `keep`: lines.
  PacketTrace(size_t keep, uint16_t job) : keep_(keep), job_(job) {}

  void packet(int64_t now_ns, const std::string& where, const base::Packet& packet);
  void note(int64_t now_ns, const std::string& text);
  void print(std::FILE* to) const;

 private:
  void add(std::string line);
  size_t keep_;
  uint16_t job_;
  std::deque<std::string> lines_;
};

std::string format_packet(const base::Packet& packet);  // L3DML fields, or "other"

}  // namespace l3dml::sim
