// The protocol as a Tofino's driver speaks it, point by point, over a socket: sessions, ownership, pipeline
// configuration, the shape of errors, several devices and clients, and what a malformed request gets.
#include <grpcpp/generic/generic_stub.h>
#include <nlohmann/json.hpp>

#include "dataplane/server/testing/served.h"

namespace l3dml::server::testing {
namespace {

using bfrt_proto::SetForwardingPipelineConfigRequest;
using bfrt_proto::Update;
using grpc::StatusCode;

class ServiceTest : public Served {
 protected:
  bfrt_proto::GetForwardingPipelineConfigResponse get_config(Client& client, uint32_t device = 0) {
    bfrt_proto::GetForwardingPipelineConfigRequest request;
    request.set_device_id(device);
    bfrt_proto::GetForwardingPipelineConfigResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(client.stub().GetForwardingPipelineConfig(&context, request, &response).ok());
    return response;
  }
  grpc::Status set_config(Client& client, SetForwardingPipelineConfigRequest::Action action,
                          const std::string& program = "", const std::string& json = "") {
    SetForwardingPipelineConfigRequest request;
    request.set_action(action);
    if (!program.empty()) {
      request.add_config()->set_p4_name(program);
      request.mutable_config(0)->set_bfruntime_info(json);
    }
    bfrt_proto::SetForwardingPipelineConfigResponse response;
    grpc::ClientContext context;
    return client.stub().SetForwardingPipelineConfig(&context, request, &response);
  }
  static bfrt_proto::TableEntry exact(Client& client, uint64_t address) {
    return client.entry("exact", {{"hdr.eth.dst", address}, {"hdr.vlan.$valid", 0}}, "drop");
  }
};

TEST_F(ServiceTest, client_ids_are_unique_while_their_streams_live) {
  serve(wide_json());
  auto first = connect(4), second = connect(4);
  ASSERT_TRUE(first->subscribe().ok());
  EXPECT_EQ(second->subscribe().error_code(), StatusCode::INVALID_ARGUMENT);
  first->hang_up();
  EXPECT_TRUE(second->subscribe().ok());
}

TEST_F(ServiceTest, a_program_has_one_owner_until_it_leaves) {
  serve(wide_json());
  auto owner = bound(1), other = connect(2);
  ASSERT_TRUE(other->subscribe().ok());
  EXPECT_EQ(other->bind("nothing").error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(other->bind("").error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(other->bind("prog").error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_TRUE(other->bind("$SHARED").ok());
  owner->vanish();
  // The connection's end travels on its own: the program is free soon after.
  grpc::Status status = other->bind("prog");
  for (int i = 0; i < 10'000 && !status.ok(); ++i) status = other->bind("prog");
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(other->insert(exact(*other, 1)).ok());
}

TEST_F(ServiceTest, only_bound_clients_write_unless_they_name_the_program) {
  serve(wide_json());
  auto stranger = connect(9);
  EXPECT_EQ(stranger->insert(exact(*stranger, 1)).status.error_code(), StatusCode::UNAVAILABLE);
  ASSERT_TRUE(stranger->subscribe().ok());
  EXPECT_EQ(stranger->insert(exact(*stranger, 1)).status.error_code(), StatusCode::FAILED_PRECONDITION);
  bfrt_proto::WriteRequest named;
  named.set_p4_name("prog");
  *named.add_updates() = stranger->update(Update::INSERT, exact(*stranger, 1));
  EXPECT_TRUE(stranger->write(named).ok());
  named.set_p4_name("other");
  EXPECT_EQ(stranger->write(named).status.error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, the_configuration_holds_what_clients_parse) {
  serve(wide_json());
  auto client = connect();
  const auto config = get_config(*client);
  ASSERT_EQ(config.config_size(), 1);
  EXPECT_EQ(config.config(0).p4_name(), "prog");
  EXPECT_EQ(config.config(0).bfruntime_info(), wide_json());
  const auto fixed = nlohmann::json::parse(config.non_p4_config().bfruntime_info());
  for (const auto& table : fixed.at("tables")) {
    for (const char* member :
         {"name", "id", "table_type", "size", "key", "data", "attributes", "supported_operations"})
      EXPECT_TRUE(table.contains(member)) << table.at("name") << " has no " << member;
    for (const auto& data : table.at("data")) {
      EXPECT_TRUE(data.contains("mandatory") && data.contains("read_only")) << table.at("name");
      const bool single = data.contains("singleton");
      EXPECT_TRUE(!single || data.at("singleton").contains("repeated")) << table.at("name");
    }
  }
}

TEST_F(ServiceTest, errors_lie_at_the_index_of_their_update) {
  serve(wide_json());
  auto client = bound();
  Client& c = *client;
  ASSERT_TRUE(c.insert(exact(c, 1)).ok());
  const Result result = c.write({c.update(Update::INSERT, exact(c, 2)), c.update(Update::INSERT, exact(c, 1)),
                                 c.update(Update::INSERT, exact(c, 3))});
  EXPECT_EQ(result.status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(result.status.error_message(), "Write Error Status");
  ASSERT_EQ(result.errors.size(), 2u);
  EXPECT_EQ(result.code(0), StatusCode::OK);
  EXPECT_EQ(result.code(1), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(c.usage("exact"), 3u);
  const Result read = c.read(exact(c, 9));
  EXPECT_EQ(read.status.error_message(), "Read Error Status");
  EXPECT_EQ(read.code(), StatusCode::NOT_FOUND);
  // As many failures as would not fit into the headers a client takes: never UNKNOWN without details.
  std::vector<Update> many(5000, c.update(Update::DELETE, exact(c, 77)));
  const Result flood = c.write(many);
  EXPECT_TRUE(flood.status.error_code() != StatusCode::UNKNOWN || !flood.errors.empty());
}

TEST_F(ServiceTest, metadata_changes_how_errors_are_reported) {
  serve(wide_json());
  auto client = bound();
  Client& c = *client;
  c.metadata = {{"ignore_not_found", "1"}};
  const Result ignored = c.remove(exact(c, 5));
  ASSERT_TRUE(ignored.ok());
  ASSERT_EQ(ignored.response.status_size(), 1);
  EXPECT_EQ(ignored.response.status(0).code(), static_cast<int>(StatusCode::NOT_FOUND));
  EXPECT_EQ(ignored.response.status(0).canonical_code(), 0);
  c.metadata = {{"error_in_resp", "1"}};
  EXPECT_FALSE(c.remove(exact(c, 5)).ok());
  EXPECT_EQ(c.insert(exact(c, 5)).response.status_size(), 1);
}

TEST_F(ServiceTest, empty_requests_succeed) {
  serve(wide_json());
  auto client = bound();
  EXPECT_TRUE(client->write(std::vector<Update>{}).ok());
  EXPECT_TRUE(client->read(std::vector<bfrt_proto::Entity>{}).ok());
  EXPECT_TRUE(client->insert(client->entry("mgid", {{"$MGID", 1}})).ok());  // no data at all
  EXPECT_EQ(client->write({Update()}).code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client->read(std::vector{bfrt_proto::Entity()}).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, clearing_and_resetting_work_on_every_table_a_controller_lists) {
  serve(wide_json());
  auto client = bound();
  Client& c = *client;
  for (const TableInfo& info : server_.driver(0)->program().tables()) {
    const bool listed = info.kind == TableKind::match || info.kind == TableKind::register_array ||
                        info.kind == TableKind::counter || info.kind == TableKind::port_metadata;
    if (!listed) continue;
    EXPECT_TRUE(c.remove(c.entry(info.name)).ok()) << info.name;
    bfrt_proto::TableEntry fallback = c.entry(info.name);
    fallback.set_is_default_entry(true);
    EXPECT_TRUE(c.remove(fallback).ok()) << info.name;
  }
}

TEST_F(ServiceTest, reloading_wipes_the_state_and_tells_every_stream) {
  serve(wide_json());
  auto owner = bound(1), watcher = connect(2);
  ASSERT_TRUE(watcher->subscribe().ok());
  ASSERT_TRUE(owner->insert(exact(*owner, 1)).ok());
  ASSERT_TRUE(set_config(*owner, SetForwardingPipelineConfigRequest::VERIFY_AND_WARM_INIT_BEGIN_AND_END,
                         "prog", wide_json())
                  .ok());
  for (Client* client : {owner.get(), watcher.get()}) {
    for (const auto expected : {bfrt_proto::WARM_INIT_STARTED, bfrt_proto::WARM_INIT_FINISHED}) {
      const auto message = client->next();
      ASSERT_TRUE(message.has_set_forwarding_pipeline_config_response());
      EXPECT_EQ(
          message.set_forwarding_pipeline_config_response().set_forwarding_pipeline_config_response_type(),
          expected);
    }
  }
  EXPECT_EQ(owner->usage("exact"), 0u);
  EXPECT_TRUE(owner->insert(exact(*owner, 1)).ok());
}

TEST_F(ServiceTest, between_begin_and_end_the_device_is_not_available) {
  serve(wide_json());
  auto client = bound();
  using Request = SetForwardingPipelineConfigRequest;
  EXPECT_EQ(set_config(*client, Request::WARM_INIT_END).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(set_config(*client, Request::VERIFY, "prog", wide_json()).ok());
  EXPECT_EQ(set_config(*client, Request::RECONCILE_AND_WARM_INIT_END).error_code(),
            StatusCode::UNIMPLEMENTED);
  EXPECT_FALSE(set_config(*client, Request::VERIFY_AND_WARM_INIT_BEGIN, "other", "not json").ok());
  ASSERT_TRUE(set_config(*client, Request::VERIFY_AND_WARM_INIT_BEGIN, "prog", wide_json()).ok());
  EXPECT_EQ(client->read_all("exact").status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(set_config(*client, Request::WARM_INIT_END, "prog", wide_json()).error_code(),
            StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(set_config(*client, Request::WARM_INIT_END).ok());
  EXPECT_TRUE(client->read_all("exact").ok());
}

TEST_F(ServiceTest, a_new_program_replaces_the_old_one_and_its_owner) {
  serve(wide_json());
  auto client = bound(3);
  ASSERT_TRUE(set_config(*client, SetForwardingPipelineConfigRequest::VERIFY_AND_WARM_INIT_BEGIN_AND_END,
                         "trial", sample_json())
                  .ok());
  client->hang_up();  // its stream has been cut off
  auto next = connect(3);
  EXPECT_EQ(get_config(*next).config(0).p4_name(), "trial");
  ASSERT_TRUE(next->subscribe().ok());
  EXPECT_EQ(next->bind("prog").error_code(), StatusCode::NOT_FOUND);
  EXPECT_TRUE(next->bind("trial").ok());
}

TEST_F(ServiceTest, devices_of_one_process_are_apart) {
  serve(wide_json(), 2);
  auto first = bound(0, 0), second = bound(1, 1);
  ASSERT_TRUE(first->insert(exact(*first, 1)).ok());
  EXPECT_EQ(second->usage("exact"), 0u);
  EXPECT_TRUE(second->insert(exact(*second, 1)).ok());
  EXPECT_EQ(first->usage("exact"), 1u);
  auto nowhere = connect(5, 9);
  EXPECT_EQ(nowhere->subscribe().error_code(), StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, many_clients_that_stay_silent_do_not_stop_the_server) {
  serve(wide_json());
  std::vector<std::unique_ptr<Client>> idle;
  for (uint32_t id = 100; id < 140; ++id) {
    idle.push_back(connect(id));
    ASSERT_TRUE(idle.back()->subscribe().ok());
  }
  auto client = bound();
  std::vector<Update> updates;
  for (uint64_t i = 0; i < 4096; ++i) updates.push_back(client->update(Update::INSERT, exact(*client, i)));
  EXPECT_TRUE(client->write(updates).ok());
  EXPECT_EQ(client->read_all("exact").entries.size(), 4097u);
}

TEST_F(ServiceTest, requests_above_four_megabytes_pass) {
  serve(wide_json());
  auto client = bound();
  bfrt_proto::WriteRequest request;
  for (uint64_t i = 0; i < 120'000; ++i)
    *request.add_updates() = client->update(Update::INSERT_OR_MODIFY, exact(*client, i % 4096));
  ASSERT_GT(request.ByteSizeLong(), 4u << 20);
  EXPECT_TRUE(client->write(request).ok());
  EXPECT_EQ(client->usage("exact"), 4096u);
}

TEST_F(ServiceTest, bytes_that_are_no_message_end_the_call_and_change_nothing) {
  serve(wide_json());
  auto client = bound();
  ASSERT_TRUE(client->insert(exact(*client, 1)).ok());
  auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server_.port()), grpc::InsecureChannelCredentials());
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> raw(channel);
  grpc::Slice slice(std::string("\x0a\xff\xff\xff\xff\x7f garbage"));
  grpc::ByteBuffer request(&slice, 1);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto call = raw.PrepareUnaryCall(&context, "/bfrt_proto.BfRuntime/Write", request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(client->usage("exact"), 1u);
}

}  // namespace
}  // namespace l3dml::server::testing
