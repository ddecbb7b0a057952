// What happened to one packet, block by block: off unless somebody asks, then one line a block. The pipeline
// writes, a TraceSink (console, file, pcapng comment, test) reads. Mirrors what a Tofino model's log tells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace l3dml::base {

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  // `packet`: id of the packet, the same for all its copies; `block`: name as in BfRuntime; `text`: what it
  // did.
  virtual void line(uint64_t packet, std::string_view block, const std::string& text) = 0;
};

}  // namespace l3dml::base
