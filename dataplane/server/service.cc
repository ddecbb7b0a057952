#include "dataplane/server/service.h"

#include "dataplane/server/errors.h"
#include "dataplane/server/stream.h"
#include "dataplane/server/text.h"

namespace l3dml::server {
namespace {

using SetRequest = bfrt_proto::SetForwardingPipelineConfigRequest;

bool flag_set(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found != context.client_metadata().end() && found->second == "1";
}

}  // namespace

absl::StatusOr<Service::Access> Service::access(const bfrt_proto::TargetDevice& target, uint32_t client_id,
                                                const std::string& p4_name) const {
  absl::StatusOr<std::shared_ptr<Driver>> driver = devices_.get(target.device_id());
  if (!driver.ok()) return driver.status();
  if (!p4_name.empty()) {
    if (p4_name != (*driver)->program_name() && p4_name != "$SHARED") {
      return absl::NotFoundError(concat("device ", target.device_id(), " does not run program ", p4_name));
    }
    absl::StatusOr<Sessions::Client> client = sessions_.find(client_id);
    return Access{*driver, client.ok() ? *client : Sessions::Client{}};
  }
  absl::StatusOr<Sessions::Client> client = sessions_.bound(client_id, target.device_id());
  if (!client.ok()) return client.status();
  return Access{*std::move(driver), *std::move(client)};
}

grpc::Status Service::Write(grpc::ServerContext* context, const bfrt_proto::WriteRequest* request,
                            bfrt_proto::WriteResponse* response) {
  absl::StatusOr<Access> to = access(request->target(), request->client_id(), request->p4_name());
  if (!to.ok()) return to_grpc(to.status());
  const std::vector<Outcome> outcomes = to->driver->write(
      *request, {.client = to->client.wants, .ignore_not_found = flag_set(*context, "ignore_not_found")});
  bool report = flag_set(*context, "error_in_resp");
  for (const Outcome& outcome : outcomes) report = report || outcome.code != 0;
  if (report) {
    for (const Outcome& outcome : outcomes) *response->add_status() = to_error(outcome);
  }
  return to_grpc(outcomes, "Write Error Status");
}

grpc::Status Service::Read(grpc::ServerContext* context, const bfrt_proto::ReadRequest* request,
                           grpc::ServerWriter<bfrt_proto::ReadResponse>* writer) {
  absl::StatusOr<Access> from = access(request->target(), request->client_id(), request->p4_name());
  if (!from.ok()) return to_grpc(from.status());
  std::vector<bfrt_proto::ReadResponse> responses;
  const std::vector<Outcome> outcomes = from->driver->read(*request, responses);
  if (responses.empty()) responses.emplace_back();
  if (flag_set(*context, "error_in_resp")) {
    for (const Outcome& outcome : outcomes) *responses.back().add_status() = to_error(outcome);
  }
  for (bfrt_proto::ReadResponse& response : responses) {
    if (!writer->Write(response)) return grpc::Status::CANCELLED;
    response.Clear();
  }
  return to_grpc(outcomes, "Read Error Status");
}

uint32_t Service::device_of(uint32_t named, uint32_t client_id) const {
  if (named != 0) return named;
  const absl::StatusOr<Sessions::Client> client = sessions_.find(client_id);
  return client.ok() ? client->device : 0;
}

absl::Status Service::bind(const SetRequest& request, uint32_t device) {
  if (request.config_size() != 1 || request.config(0).p4_name().empty()) {
    return absl::InvalidArgumentError("a bind names exactly one program");
  }
  absl::StatusOr<std::shared_ptr<Driver>> driver = devices_.get(device);
  if (!driver.ok()) return driver.status();
  const std::string& name = request.config(0).p4_name();
  if (name != (*driver)->program_name() && name != "$SHARED") {
    return absl::NotFoundError(
        concat("device ", device, " does not run program ", name, " but ", (*driver)->program_name()));
  }
  return sessions_.bind(request.client_id(), device, name);
}

void Service::announce(uint32_t device, bfrt_proto::SetForwardingPipelineConfigResponseType what) {
  bfrt_proto::StreamMessageResponse message;
  message.mutable_set_forwarding_pipeline_config_response()->set_set_forwarding_pipeline_config_response_type(
      what);
  sessions_.notify(device, message);
}

grpc::Status Service::SetForwardingPipelineConfig(grpc::ServerContext*, const SetRequest* request,
                                                  bfrt_proto::SetForwardingPipelineConfigResponse* response) {
  const uint32_t device = device_of(request->device_id(), request->client_id());
  absl::Status status;
  bool begin = false;
  bool end = false;
  switch (request->action()) {
    case SetRequest::BIND:
      return to_grpc(bind(*request, device));
    case SetRequest::VERIFY:
      return grpc::Status::OK;
    case SetRequest::VERIFY_AND_WARM_INIT_BEGIN:
      begin = true;
      break;
    case SetRequest::VERIFY_AND_WARM_INIT_BEGIN_AND_END:
      begin = end = true;
      break;
    case SetRequest::WARM_INIT_END:
      end = true;
      break;
    default:
      return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "this action is not supported");
  }
  if (begin) {
    if (request->config_size() != 1) {
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "a device runs exactly one program");
    }
    const auto& config = request->config(0);
    status = devices_.begin_change(device, config.p4_name(), config.bfruntime_info());
    if (!status.ok()) return to_grpc(status);
    response->set_set_forwarding_pipeline_config_response_type(bfrt_proto::WARM_INIT_STARTED);
    announce(device, bfrt_proto::WARM_INIT_STARTED);
  } else if (request->config_size() != 0) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the end of a warm init takes no configuration");
  }
  if (end) {
    absl::StatusOr<std::string> gone = devices_.end_change(device);
    if (!gone.ok()) return to_grpc(gone.status());
    response->set_set_forwarding_pipeline_config_response_type(bfrt_proto::WARM_INIT_FINISHED);
    announce(device, bfrt_proto::WARM_INIT_FINISHED);
    if (!gone->empty()) sessions_.cut_off(device, *gone);
  }
  return grpc::Status::OK;
}

grpc::Status Service::GetForwardingPipelineConfig(
    grpc::ServerContext*, const bfrt_proto::GetForwardingPipelineConfigRequest* request,
    bfrt_proto::GetForwardingPipelineConfigResponse* response) {
  absl::StatusOr<std::shared_ptr<Driver>> driver =
      devices_.get(device_of(request->device_id(), request->client_id()));
  if (!driver.ok()) return to_grpc(driver.status());
  bfrt_proto::ForwardingPipelineConfig* const config = response->add_config();
  config->set_p4_name((*driver)->program_name());
  config->set_bfruntime_info((*driver)->program_json());
  bfrt_proto::ForwardingPipelineConfig::Profile* const profile = config->add_profiles();
  profile->set_profile_name("pipe");
  for (unsigned pipe = 0; pipe < (*driver)->pipes(); ++pipe) profile->add_pipe_scope(pipe);
  const std::string_view fixed = fixed_tables_json();
  response->mutable_non_p4_config()->set_bfruntime_info(fixed.data(), fixed.size());
  return grpc::Status::OK;
}

grpc::ServerBidiReactor<bfrt_proto::StreamMessageRequest, bfrt_proto::StreamMessageResponse>*
Service::StreamChannel(grpc::CallbackServerContext* context) {
  return new ClientStream(sessions_, devices_, context);  // deletes itself
}

}  // namespace l3dml::server
