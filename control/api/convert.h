// Between the controller's plain values and the messages of l3dml.v1.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/api/controller.h"
#include "control/api/telemetry.h"
#include "grpcpp/grpcpp.h"
#include "l3dml.pb.h"

namespace l3dml::control {

namespace api = ::l3dml::v1;

grpc::Status to_grpc(const absl::Status& status);

SiteRecord from_proto(const api::Site& site);
HostRecord from_proto(const api::Host& host);
LinkRecord from_proto(const api::Link& link);
JobSpecification from_proto(const api::CreateJobRequest& request);
JoinCall from_proto(const api::JoinRequest& request);
// What a member reports on its stream; INVALID_ARGUMENT: not a report, or positions and numbers differ in
// count.
absl::StatusOr<Report> from_proto(const api::MemberMessage& message, uint32_t rank);

void to_proto(const SiteRecord& record, api::Site* site);
void to_proto(const HostRecord& record, const Topology& topology, api::Host* host);
void to_proto(const LinkRecord& record, api::Link* link);
void to_proto(const DeviceView& view, api::Device* device);
void to_proto(const JobView& view, const Topology& topology, api::Job* job);
void to_proto(const StatisticsView& view, api::Statistics* statistics);
void to_proto(const TelemetryView& view, api::TelemetryFigures* figures);
void to_proto(const EventRecord& record, api::Event* event);
void to_proto(const Controller::ToMember& message, api::ControllerMessage* out);

std::string big_endian(const std::vector<uint32_t>& words);
std::vector<uint32_t> words_of(const std::string& bytes);

}  // namespace l3dml::control
