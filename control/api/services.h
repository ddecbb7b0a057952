// The calls of l3dml.v1, each a few lines around the controller. Private to server.cc and services.cc.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "control/api/controller.h"
#include "control/api/telemetry.h"
#include "grpcpp/grpcpp.h"
#include "l3dml.grpc.pb.h"

namespace l3dml::control {

namespace api = ::l3dml::v1;

// Who may call what. Operators by the name in their certificate, or whoever is local.
class Gate {
 public:
  explicit Gate(std::vector<std::string> operators) : operators_(std::move(operators)) {}
  grpc::Status check_operator(const grpc::ServerContext& context) const;

 private:
  std::vector<std::string> operators_;
};

class NetworkService final : public api::Network::Service {
 public:
  NetworkService(Controller* controller, const Telemetry* telemetry, const Gate* gate)
      : controller_(*controller), telemetry_(*telemetry), gate_(*gate) {}
  grpc::Status GetTopology(grpc::ServerContext*, const api::GetTopologyRequest*, api::Topology*) override;
  grpc::Status AddSite(grpc::ServerContext*, const api::Site*, api::Site*) override;
  grpc::Status AddHost(grpc::ServerContext*, const api::Host*, api::Host*) override;
  grpc::Status AddLink(grpc::ServerContext*, const api::Link*, api::Link*) override;
  grpc::Status SetLink(grpc::ServerContext*, const api::SetLinkRequest*, api::Link*) override;
  grpc::Status Remove(grpc::ServerContext*, const api::RemoveRequest*, api::RemoveResponse*) override;
  grpc::Status ListDevices(grpc::ServerContext*, const api::ListDevicesRequest*,
                           api::ListDevicesResponse*) override;
  grpc::Status DrainDevice(grpc::ServerContext*, const api::DrainDeviceRequest*, api::Device*) override;
  grpc::Status GetRoutes(grpc::ServerContext*, const api::GetRoutesRequest*,
                         api::GetRoutesResponse*) override;
  grpc::Status GetStatistics(grpc::ServerContext*, const api::GetStatisticsRequest*,
                             api::Statistics*) override;
  grpc::Status GetTelemetry(grpc::ServerContext*, const api::GetTelemetryRequest*,
                            api::TelemetryFigures*) override;

 private:
  Controller& controller_;
  const Telemetry& telemetry_;
  const Gate& gate_;
};

// Members come by the thousand, so their streams have no thread of their own (member_stream.cc).
class JobsService final : public api::Jobs::WithCallbackMethod_Attend<api::Jobs::Service> {
 public:
  JobsService(Controller* controller, const Gate* gate, const std::atomic<bool>* stopping)
      : controller_(*controller), gate_(*gate), stopping_(*stopping) {}
  grpc::Status Create(grpc::ServerContext*, const api::CreateJobRequest*, api::CreateJobResponse*) override;
  grpc::Status Get(grpc::ServerContext*, const api::GetJobRequest*, api::Job*) override;
  grpc::Status List(grpc::ServerContext*, const api::ListJobsRequest*, api::ListJobsResponse*) override;
  grpc::Status Watch(grpc::ServerContext*, const api::WatchJobsRequest*,
                     grpc::ServerWriter<api::Job>*) override;
  grpc::Status End(grpc::ServerContext*, const api::EndJobRequest*, api::EndJobResponse*) override;
  grpc::Status Join(grpc::ServerContext*, const api::JoinRequest*, api::JoinResponse*) override;
  grpc::Status Renew(grpc::ServerContext*, const api::MemberRequest*, api::Job*) override;
  grpc::Status Leave(grpc::ServerContext*, const api::MemberRequest*, api::LeaveResponse*) override;
  grpc::ServerBidiReactor<api::MemberMessage, api::ControllerMessage>* Attend(
      grpc::CallbackServerContext*) override;

 private:
  Controller& controller_;
  const Gate& gate_;
  const std::atomic<bool>& stopping_;
};

class EventsService final : public api::Events::Service {
 public:
  EventsService(Controller* controller, const std::atomic<bool>* stopping)
      : controller_(*controller), stopping_(*stopping) {}
  grpc::Status Watch(grpc::ServerContext*, const api::WatchEventsRequest*,
                     grpc::ServerWriter<api::Event>*) override;

 private:
  Controller& controller_;
  const std::atomic<bool>& stopping_;
};

class ApiServices {
 public:
  ApiServices(Controller* controller, const Telemetry* telemetry, std::vector<std::string> operators)
      : gate(std::move(operators)),
        network(controller, telemetry, &gate),
        jobs(controller, &gate, &stopping),
        events(controller, &stopping) {}
  std::atomic<bool> stopping{false};
  Gate gate;
  NetworkService network;
  JobsService jobs;
  EventsService events;
};

}  // namespace l3dml::control
