// What the packet generator's packets stand for: p4/admission.p4, table pipe.Ingress.admission.generated. The
// generator numbers its packets; each number speaks for a segment that this switch sends on, and becomes the
// segment's SYNC. An array indexed by number.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "dataplane/tna/shape.h"
#include "dataplane/tna/twin.h"

namespace l3dml::blocks {

struct Generated {
  bool known = false;
  uint16_t neighbor = 0;
  uint16_t port = 0;  // device port that leads to it
  uint16_t job = 0;
  uint8_t epoch = 0;
  uint8_t flags = 0;
  uint8_t shard = 0;
};

class GeneratedTable final : public tna::TableTwin {
 public:
  // Null: it stands for nothing.
  const Generated* lookup(uint16_t packet) const {
    return packet < rows_.size() && rows_[packet].known ? &rows_[packet] : nullptr;
  }
  static tna::TableShape shape() {
    return {.key = {16}, .actions = {{"Ingress.admission.speak_for", {16, 9, 16, 8, 8, 16}}}};
  }
  absl::Status check(const tna::Entry& entry) const override;
  void insert(tna::Handle handle, const tna::Entry& entry) override;
  void modify(tna::Handle handle, const tna::Entry& entry) override;
  void remove(tna::Handle handle) override;
  void set_default(const tna::Entry&) override {}

 private:
  std::vector<Generated> rows_;
  absl::flat_hash_map<tna::Handle, uint16_t> numbers_;  // handle -> place in rows_
};

}  // namespace l3dml::blocks
