#include "control/api/job_request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace l3dml::control {
namespace {

constexpr double kTypicalBytes = 4e6;  // of a collective: what one round trip more is worth

// What is wished for, or less where a switch holds less: the plan says how many it became.
uint32_t lanes_for_all(const std::vector<DeviceResources>& devices, uint32_t lanes) {
  for (const DeviceResources& device : devices) lanes = std::min(lanes, device.capability.lanes);
  return lanes;
}

}  // namespace

FormOptions form_options(const JobSpecification& specification) {
  return {.stripes = static_cast<int>(specification.stripes),
          .inner = specification.inner,
          .bytes = kTypicalBytes};
}

absl::StatusOr<JobRequest> request_of(const Topology& topology, const std::vector<DeviceResources>& devices,
                                      const JobSpecification& specification, const FormChooser* forms,
                                      ChosenForm* form) {
  JobRequest request;
  request.name = specification.name;
  request.sizing.lanes = lanes_for_all(devices, specification.lanes);
  for (const std::string& name : specification.hosts) {
    const HostId host = topology.find_host(name);
    if (host < 0 || !topology.hosts()[host].present)
      return absl::NotFoundError(absl::StrCat("there is no host ", name));
    request.members.push_back(host);
  }
  for (const auto& [name, share] : specification.roots) {
    const SiteId site = topology.find_site(name);
    if (site < 0) return absl::NotFoundError(absl::StrCat("there is no site ", name));
    request.stripes.push_back({site, share > 0 ? share : 1, {specification.inner, 2}});
  }
  ChosenForm chosen{request.stripes, 0, "owner", "the roots were given"};
  if (request.stripes.empty()) {
    static const FormChooser arithmetic;
    auto found = (forms ? *forms : arithmetic)
                     .choose(topology, request.members, request.sizing, form_options(specification));
    if (!found.ok()) return found.status();
    chosen = *std::move(found);
    request.stripes = chosen.stripes;
  }
  if (form) *form = std::move(chosen);
  return request;
}

}  // namespace l3dml::control
