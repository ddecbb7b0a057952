// Indexed meters, low-pass filters and WRED: an array of specifications, each checked as a whole. See Table
// for threads and failure.
#pragma once

#include "dataplane/server/cell_table.h"
#include "dataplane/server/specs.h"

namespace l3dml::server {

class MeterTable final : public CellTable {
 public:
  using CellTable::CellTable;

 protected:
  absl::Status check_cell(const Fields& fields) const override {
    const std::string mistake = spec_mistake(info_.data, fields);
    return mistake.empty() ? absl::OkStatus() : error(absl::StatusCode::kInvalidArgument, mistake);
  }
};

}  // namespace l3dml::server
