// Fixed tables whose entries are all there from the start, with defaults: ports and queues of the traffic
// manager, the packet generator, $pre.port. INSERT and MODIFY both change the fields given, there is no
// single DELETE, clearing brings the defaults back. Where the key holds numbers within a pipe, each pipe of
// the target has entries of its own. See Table for threads and failure.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "dataplane/server/table.h"

namespace l3dml::server {

class PresetTable : public Table {
 public:
  // `keys`: all of them, in reading order.
  PresetTable(const TableInfo& info, const Device& device, std::vector<Key> keys, bool per_pipe = false);

  absl::Status insert(WriteContext& context, Key key, const Data& data) override {
    return modify(context, key, data);
  }
  absl::Status modify(WriteContext& context, const Key& key, const Data& data) override;
  absl::Status clear(WriteContext& context) override;
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  void wipe(WriteContext& context) override;

  struct Place {  // an entry
    unsigned pipe = 0;
    size_t index = 0;  // into keys()
  };
  const std::vector<Key>& keys() const { return keys_; }
  const Data& row(Place place) const;

  // Keys made of one number each, e.g. all valid device ports.
  static std::vector<Key> number_keys(const std::vector<uint32_t>& numbers, size_t byte_count);

 protected:
  void set_initial(uint32_t field_id, Value value) { set_field(initial_.fields, field_id, std::move(value)); }
  // May the entry become this (after completion of its fields)? `given`: what the client wrote.
  virtual absl::Status check(Place, const Data& /*full*/, const Data& /*given*/) { return absl::OkStatus(); }
  virtual void changed(WriteContext&, Place) {}  // leave work in the transaction
  // Fills in values that only exist when asked for. Called while the pipeline stands.
  virtual void present(Place, Fields&) {}
  virtual bool presents() const { return false; }

 private:
  absl::StatusOr<size_t> index_of(const Key& key) const;
  absl::StatusOr<std::pair<unsigned, unsigned>> pipes_of(const Target& target, bool writing) const;
  uint64_t position(Place place) const { return place.pipe * keys_.size() + place.index; }
  void emit_all(const ReadQuery& query, const std::vector<Place>& places, const Emit& emit);

  const std::vector<Key> keys_;
  const bool per_pipe_;
  Data initial_;
  absl::flat_hash_map<std::string, size_t> index_;
  absl::flat_hash_map<uint64_t, Data> rows_;  // those that were written, by position
};

}  // namespace l3dml::server
