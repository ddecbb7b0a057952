// The driver without sockets: schema, keys, errors, rollback, and what a pipeline sees of it.
#include "dataplane/server/driver.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace l3dml::server {
namespace {

using bfrt_proto::Update;
using bfrt_proto::WriteRequest;

std::string sample_json() {
  std::ostringstream text;
  text << std::ifstream(L3DML_TESTDATA "/sample-bf-rt.json").rdbuf();
  return text.str();
}

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    auto driver = Driver::create({.program_name = "sample", .program_json = sample_json()});
    ASSERT_TRUE(driver.ok()) << driver.status();
    driver_ = *std::move(driver);
  }

  const TableInfo& info(std::string_view name) {
    const TableInfo* table = driver_->program().table(name);
    return table != nullptr ? *table : *driver_->fixed().table(name);
  }

  bfrt_proto::TableEntry* add(WriteRequest& request, Update::Type type, std::string_view table) {
    request.mutable_target()->set_pipe_id(kAllPipes);
    Update* update = request.add_updates();
    update->set_type(type);
    bfrt_proto::TableEntry* entry = update->mutable_entity()->mutable_table_entry();
    entry->set_table_id(info(table).id);
    return entry;
  }

  void add_register(WriteRequest& request, uint32_t index, uint32_t value) {
    bfrt_proto::TableEntry* entry = add(request, Update::INSERT, "pipe.Ig.stamp");
    bfrt_proto::KeyField* key = entry->mutable_key()->add_fields();
    key->set_field_id(65557);
    key->mutable_exact()->set_value(from_uint(index, 4));
    bfrt_proto::DataField* data = entry->mutable_data()->add_fields();
    data->set_field_id(1);
    data->set_stream(from_uint(value, 4));
  }

  std::vector<bfrt_proto::Entity> read(std::string_view table) {
    bfrt_proto::ReadRequest request;
    request.mutable_target()->set_pipe_id(kAllPipes);
    request.add_entities()->mutable_table_entry()->set_table_id(info(table).id);
    std::vector<bfrt_proto::ReadResponse> responses;
    for (const Outcome& outcome : driver_->read(request, responses))
      EXPECT_TRUE(outcome.status.ok()) << outcome.status;
    std::vector<bfrt_proto::Entity> out;
    for (const auto& response : responses)
      out.insert(out.end(), response.entities().begin(), response.entities().end());
    return out;
  }

  std::unique_ptr<Driver> driver_;
};

TEST_F(DriverTest, loads_every_table_of_a_real_schema) {
  EXPECT_EQ(driver_->program().tables().size(), 93u);
  EXPECT_EQ(info("pipe.Ig.admission").kind, TableKind::match);
  EXPECT_TRUE(info("pipe.Ig.admission").has_priority);
  EXPECT_EQ(info("$pre.mgid").id, 0xff020001u);
}

TEST_F(DriverTest, refuses_a_schema_that_is_none) {
  EXPECT_FALSE(Driver::create({.program_name = "x", .program_json = "[]"}).ok());
  EXPECT_FALSE(Driver::create({.program_name = "x", .program_json = "{\"tables\": [{}]}"}).ok());
}

TEST_F(DriverTest, register_holds_a_value_per_pipe) {
  WriteRequest request;
  add_register(request, 5, 77);
  ASSERT_TRUE(driver_->write(request, {})[0].status.ok());
  const auto entities = read("pipe.Ig.stamp");
  ASSERT_EQ(entities.size(), info("pipe.Ig.stamp").size);
  const auto& fields = entities[5].table_entry().data().fields();
  ASSERT_EQ(fields.size(), 4);
  for (const auto& field : fields) EXPECT_EQ(to_uint(field.stream()), 77u);
}

TEST_F(DriverTest, rollback_undoes_all_of_a_failed_request) {
  WriteRequest request;
  add_register(request, 1, 11);
  ASSERT_TRUE(driver_->write(request, {})[0].status.ok());
  WriteRequest failing;
  failing.set_atomicity(WriteRequest::ROLLBACK_ON_ERROR);
  add_register(failing, 1, 22);
  add_register(failing, 1u << 30, 33);
  const std::vector<Outcome> outcomes = driver_->write(failing, {});
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[1].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(to_uint(read("pipe.Ig.stamp")[1].table_entry().data().fields(0).stream()), 11u);
}

TEST_F(DriverTest, continues_after_an_error_when_asked_to) {
  WriteRequest request;
  add_register(request, 1u << 30, 33);
  add_register(request, 2, 44);
  const std::vector<Outcome> outcomes = driver_->write(request, {});
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_FALSE(outcomes[0].status.ok());
  EXPECT_TRUE(outcomes[1].status.ok());
  EXPECT_EQ(to_uint(read("pipe.Ig.stamp")[2].table_entry().data().fields(0).stream()), 44u);
}

}  // namespace
}  // namespace l3dml::server
