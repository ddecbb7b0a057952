// $PORT: a port exists once it was added, by a client or by the device's configuration (as bf_switchd adds
// the ports of a model); a port that the configuration brought is taken over by the first INSERT. Settings
// are checked here and carried out by the PortDriver; without one, an enabled port is up. See Table for
// threads and failure.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "dataplane/server/entry_table.h"
#include "dataplane/server/port_driver.h"
#include "dataplane/server/port_map.h"

namespace l3dml::server {

class PortTable : public EntryTable {
 public:
  PortTable(const TableInfo& info, const Device& device);

  absl::Status insert(WriteContext& context, Key key, const Data& data) override;
  absl::Status read(const ReadQuery& query, const Key& key, const Emit& emit) override;
  absl::Status read_all(const ReadQuery& query, const Emit& emit) override;
  void wipe(WriteContext& context) override;
  bool ticks() const override { return true; }
  void tick(int64_t now_ns) override;  // tells clients of links that came or went

  bool added(uint32_t port) const;
  template <typename F>
  void each(F&& function) const {  // function(key)
    for (const auto& [handle, row] : rows()) function(row.key);
  }
  static uint32_t port_of(const Key& key) { return static_cast<uint32_t>(to_uint(key.fields[0].value)); }
  static Key key_of_port(uint32_t port);

 protected:
  absl::Status check_row(const Key& key, const Data& data, const Row* old) override;
  void stored(WriteContext& context, tna::Handle handle, const Row& row, const Data* old) override;
  void removed(WriteContext& context, tna::Handle handle, const Row& row) override;
  void attribute_changed(WriteContext& context) override;
  bool presents() const override { return true; }
  void present(const ReadQuery&, tna::Handle, const Key& key, Data& data) override;

 private:
  void add_given(WriteContext& context);
  void look() const;
  bool is_up(uint32_t port, const Fields& fields) const;
  bool notifies() const;
  void tell_changes();

  const PortMap map_;
  PortDriver* const driver_;                  // null: schema mode
  absl::flat_hash_set<uint32_t> given_;       // brought by the configuration, claimed by nobody yet
  absl::flat_hash_map<uint32_t, bool> told_;  // what clients believe of each port
  int64_t next_look_ns_ = 0;
};

}  // namespace l3dml::server
