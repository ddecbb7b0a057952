#include "control/api/services.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "control/api/convert.h"
#include "grpc/grpc_security_constants.h"

namespace l3dml::control {
namespace {

constexpr int64_t kLookMs = 200;  // how soon a watch notices that its client has gone

grpc::Status not_found(const std::string& what) { return {grpc::StatusCode::NOT_FOUND, what}; }

template <typename Records>
auto find_named(const Records& records, const std::string& name) {
  return std::find_if(records.begin(), records.end(), [&](const auto& r) { return r.name == name; });
}

}  // namespace

grpc::Status Gate::check_operator(const grpc::ServerContext& context) const {
  const auto who = context.auth_context();
  if (operators_.empty() || !who || !who->IsPeerAuthenticated()) return grpc::Status::OK;
  std::string names;
  for (const char* property : {GRPC_X509_CN_PROPERTY_NAME, GRPC_X509_SAN_PROPERTY_NAME})
    for (const grpc::string_ref& ref : who->FindPropertyValues(property)) {
      const std::string name(ref.data(), ref.size());
      if (std::find(operators_.begin(), operators_.end(), name) != operators_.end()) return grpc::Status::OK;
      absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    }
  return {grpc::StatusCode::PERMISSION_DENIED,
          absl::StrCat("this certificate (", names,
                       ") may not change things: its name is not among the controller's operators")};
}

// ---- network

grpc::Status NetworkService::GetTopology(grpc::ServerContext*, const api::GetTopologyRequest*,
                                         api::Topology* out) {
  const Topology topology = controller_.topology();
  for (const SiteRecord& site : controller_.sites()) to_proto(site, out->add_sites());
  for (const HostRecord& host : controller_.hosts()) to_proto(host, topology, out->add_hosts());
  for (const LinkRecord& link : controller_.links()) to_proto(link, out->add_links());
  return grpc::Status::OK;
}

grpc::Status NetworkService::AddSite(grpc::ServerContext* context, const api::Site* site, api::Site* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  if (absl::Status s = controller_.add_site(from_proto(*site)); !s.ok()) return to_grpc(s);
  *out = *site;
  return grpc::Status::OK;
}

grpc::Status NetworkService::AddHost(grpc::ServerContext* context, const api::Host* host, api::Host* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  if (absl::Status s = controller_.add_host(from_proto(*host)); !s.ok()) return to_grpc(s);
  const auto hosts = controller_.hosts();
  if (const auto found = find_named(hosts, host->name()); found != hosts.end())
    to_proto(*found, controller_.topology(), out);
  return grpc::Status::OK;
}

grpc::Status NetworkService::AddLink(grpc::ServerContext* context, const api::Link* link, api::Link* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  if (absl::Status s = controller_.add_link(from_proto(*link)); !s.ok()) return to_grpc(s);
  const auto links = controller_.links();
  if (const auto found = find_named(links, link->name()); found != links.end()) to_proto(*found, out);
  return grpc::Status::OK;
}

grpc::Status NetworkService::SetLink(grpc::ServerContext* context, const api::SetLinkRequest* request,
                                     api::Link* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  LinkChange change{request->down(), {}, {}, {}};
  if (request->has_rate_bps()) change.rate_bps = request->rate_bps();
  if (request->has_delay_s()) change.delay_s = request->delay_s();
  if (request->has_loss()) change.loss = request->loss();
  if (absl::Status s = controller_.set_link(request->name(), change); !s.ok()) return to_grpc(s);
  const auto links = controller_.links();
  if (const auto found = find_named(links, request->name()); found != links.end()) to_proto(*found, out);
  return grpc::Status::OK;
}

grpc::Status NetworkService::Remove(grpc::ServerContext* context, const api::RemoveRequest* request,
                                    api::RemoveResponse*) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  switch (request->what_case()) {
    case api::RemoveRequest::kSite:
      return to_grpc(controller_.remove_site(request->site()));
    case api::RemoveRequest::kHost:
      return to_grpc(controller_.remove_host(request->host()));
    case api::RemoveRequest::kLink:
      return to_grpc(controller_.remove_link(request->link()));
    default:
      return {grpc::StatusCode::INVALID_ARGUMENT, "name a site, a host or a link to remove"};
  }
}

grpc::Status NetworkService::ListDevices(grpc::ServerContext*, const api::ListDevicesRequest*,
                                         api::ListDevicesResponse* out) {
  for (const DeviceView& device : controller_.devices()) to_proto(device, out->add_devices());
  return grpc::Status::OK;
}

grpc::Status NetworkService::DrainDevice(grpc::ServerContext* context, const api::DrainDeviceRequest* request,
                                         api::Device* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  if (absl::Status s = controller_.drain(request->site(), request->drained()); !s.ok()) return to_grpc(s);
  for (const DeviceView& device : controller_.devices())
    if (device.site.name == request->site()) to_proto(device, out);
  return grpc::Status::OK;
}

grpc::Status NetworkService::GetRoutes(grpc::ServerContext*, const api::GetRoutesRequest* request,
                                       api::GetRoutesResponse* out) {
  for (const RouteView& view : controller_.routes(request->site())) {
    api::Route* route = out->add_routes();
    route->set_site(view.site);
    route->set_destination(view.destination);
    route->set_port(view.port);
    route->set_next(view.next);
  }
  return grpc::Status::OK;
}

grpc::Status NetworkService::GetStatistics(grpc::ServerContext*, const api::GetStatisticsRequest* request,
                                           api::Statistics* out) {
  to_proto(controller_.statistics(request->site()), out);
  return grpc::Status::OK;
}

grpc::Status NetworkService::GetTelemetry(grpc::ServerContext*, const api::GetTelemetryRequest* request,
                                          api::TelemetryFigures* out) {
  to_proto(telemetry_.now(request->site()), out);
  return grpc::Status::OK;
}

// ---- jobs

grpc::Status JobsService::Create(grpc::ServerContext* context, const api::CreateJobRequest* request,
                                 api::CreateJobResponse* out) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  const auto view = controller_.create_job(from_proto(*request));
  if (!view.ok()) return to_grpc(view.status());
  to_proto(*view, controller_.topology(), out->mutable_job());
  out->set_token(view->token);
  return grpc::Status::OK;
}

grpc::Status JobsService::Get(grpc::ServerContext*, const api::GetJobRequest* request, api::Job* out) {
  const auto view = controller_.job(request->name());
  if (!view.ok()) return to_grpc(view.status());
  to_proto(*view, controller_.topology(), out);
  return grpc::Status::OK;
}

grpc::Status JobsService::List(grpc::ServerContext*, const api::ListJobsRequest*,
                               api::ListJobsResponse* out) {
  const Topology topology = controller_.topology();
  for (const JobView& view : controller_.jobs()) to_proto(view, topology, out->add_jobs());
  return grpc::Status::OK;
}

grpc::Status JobsService::Watch(grpc::ServerContext* context, const api::WatchJobsRequest* request,
                                grpc::ServerWriter<api::Job>* writer) {
  if (!request->name().empty() && !controller_.job(request->name()).ok())
    return not_found(absl::StrCat("there is no job ", request->name()));
  std::map<std::string, uint64_t> told;
  for (uint64_t version = 0; !context->IsCancelled() && !stopping_;) {
    const uint64_t now = controller_.wait_change(version, kLookMs);
    if (now == version) continue;
    version = now;
    const Topology topology = controller_.topology();
    for (const JobView& view : controller_.jobs()) {
      if (!request->name().empty() && view.name != request->name()) continue;
      if (uint64_t& last = told[view.name]; last != view.version) {
        last = view.version;
        api::Job job;
        to_proto(view, topology, &job);
        if (!writer->Write(job)) return grpc::Status::OK;
      }
    }
  }
  return grpc::Status::OK;
}

grpc::Status JobsService::End(grpc::ServerContext* context, const api::EndJobRequest* request,
                              api::EndJobResponse*) {
  if (grpc::Status s = gate_.check_operator(*context); !s.ok()) return s;
  return to_grpc(controller_.end_job(request->name(), request->forget()));
}

grpc::Status JobsService::Join(grpc::ServerContext*, const api::JoinRequest* request,
                               api::JoinResponse* out) {
  const auto membership = controller_.join(from_proto(*request));
  if (!membership.ok()) return to_grpc(membership.status());
  out->set_rank(membership->rank);
  out->set_world(membership->world);
  out->set_config(membership->config);
  out->set_lease_s(membership->lease_s);
  out->set_host(membership->host);
  out->set_paused(membership->paused);
  return grpc::Status::OK;
}

grpc::Status JobsService::Renew(grpc::ServerContext*, const api::MemberRequest* request, api::Job* out) {
  const auto view = controller_.renew(request->job(), request->token(), request->rank());
  if (!view.ok()) return to_grpc(view.status());
  to_proto(*view, controller_.topology(), out);
  return grpc::Status::OK;
}

grpc::Status JobsService::Leave(grpc::ServerContext*, const api::MemberRequest* request,
                                api::LeaveResponse*) {
  return to_grpc(controller_.leave(request->job(), request->token(), request->rank()));
}

// ---- events

grpc::Status EventsService::Watch(grpc::ServerContext* context, const api::WatchEventsRequest* request,
                                  grpc::ServerWriter<api::Event>* writer) {
  uint64_t after = request->after(), version = 0;
  const bool follow = !request->has_follow() || request->follow();
  while (!context->IsCancelled() && !stopping_) {
    for (const EventRecord& record : controller_.events(after)) {
      api::Event event;
      to_proto(record, &event);
      if (!writer->Write(event)) return grpc::Status::OK;
      after = record.number;
    }
    if (!follow) break;
    version = controller_.wait_change(version, kLookMs);
  }
  return grpc::Status::OK;
}

}  // namespace l3dml::control
