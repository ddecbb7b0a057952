// Digests: records that a deparser packs for the control plane, at most 48 bytes each. One pipe writes, the
// driver takes them between two bursts; what does not fit is counted and lost, as on the chip. A learn filter
// of bf-rt.json says what the bytes mean.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3dml::tna {

class DigestQueue {
 public:
  static constexpr size_t kBytes = 48;  // of a record

  explicit DigestQueue(size_t limit) : limit_(limit) {}

  // The fields one after another, big-endian, as the program packed them.
  void pack(std::string_view fields) {
    if (records_.size() >= limit_ || fields.size() > kBytes)
      ++lost_;
    else
      records_.emplace_back(fields);
  }
  std::vector<std::string> take() { return std::exchange(records_, {}); }
  size_t waiting() const { return records_.size(); }
  uint64_t lost() const { return lost_; }

 private:
  size_t limit_;
  std::vector<std::string> records_;
  uint64_t lost_ = 0;
};

}  // namespace l3dml::tna
