// Tables without a key (register parameters, hash configuration, device configuration): one default entry
// that always exists. Fields not given keep their value; a reset brings back the schema's defaults. See Table
// for threads and failure.
#pragma once

#include "dataplane/server/table.h"

namespace l3dml::server {

class SingleTable : public Table {
 public:
  SingleTable(const TableInfo& info, const Device& device);

  absl::Status set_default(WriteContext& context, const Data& data) override;
  absl::Status reset_default(WriteContext& context) override;
  absl::Status clear(WriteContext& context) override { return reset_default(context); }
  absl::Status read_all(const ReadQuery&, const Emit&) override { return absl::OkStatus(); }
  absl::Status read_default(const ReadQuery& query, const Emit& emit) override;
  void wipe(WriteContext&) override {
    value_ = initial_;
    forget_attributes();
  }

 protected:
  void set_initial(uint32_t field_id, Value value);  // what the device itself says
  const Data& value() const { return value_; }

 private:
  Data initial_;
  Data value_;
};

}  // namespace l3dml::server
