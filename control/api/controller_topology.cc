// The controller's topology: added, changed, removed.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/api/controller_state.h"
#include "control/routing/routes.h"

namespace l3dml::control {
namespace {

template <typename Record>
std::string dump(const Record& record) {
  return nlohmann::json(record).dump();
}

// What is said of a thing when it is added, without what happened to it since.
SiteRecord as_added(SiteRecord r) { return r.drained = r.removed = false, r; }
HostRecord as_added(HostRecord r) { return r.removed = false, r; }
LinkRecord as_added(LinkRecord r) {
  r.down = r.removed = false;
  r.rate_now_bps = r.delay_now_s = r.loss_now = -1;
  return r;
}

// Where it is in the list, -1 if nowhere. Error: there is another one of this name.
template <typename Record>
absl::StatusOr<int> find_same(const std::vector<Record>& records, const Record& record, const char* what) {
  if (record.name.empty()) return absl::InvalidArgumentError(absl::StrCat("a ", what, " needs a name"));
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].name != record.name) continue;
    if (dump(as_added(records[i])) == dump(as_added(record))) return static_cast<int>(i);
    return absl::AlreadyExistsError(absl::StrCat("there is a ", what, " ", record.name,
                                                 " already, and it is another: ", dump(records[i])));
  }
  return -1;
}

}  // namespace

absl::StatusOr<bool> Controller::learn_site(const SiteRecord& site) {
  const auto known = find_same(sites_, site, "site");
  if (!known.ok()) return known.status();
  const std::string key = absl::StrCat("site:", site.name);
  if (*known >= 0) {
    SiteRecord& record = sites_[*known];
    if (!record.removed) return false;
    record.removed = false;
    topology_.set_aggregates(*known, !record.router && !record.address.empty() && !record.drained);
    if (absl::Status s = remember("topology", key, dump(record)); !s.ok()) return s;
    connect_device(*known);
    return true;
  }
  if (absl::Status s = apply("site", dump(site)); !s.ok()) return s;  // refuses before it changes anything
  if (absl::Status s = remember("topology", key, dump(site)); !s.ok()) return s;
  connect_device(static_cast<SiteId>(sites_.size()) - 1);
  return true;
}

absl::StatusOr<bool> Controller::learn_host(const HostRecord& host) {
  const auto known = find_same(hosts_, host, "host");
  if (!known.ok()) return known.status();
  const std::string key = absl::StrCat("host:", host.name);
  if (*known >= 0) {
    if (!hosts_[*known].removed) return false;
    hosts_[*known].removed = false;
    topology_.set_present(*known, true);
    if (absl::Status s = remember("topology", key, dump(hosts_[*known])); !s.ok()) return s;
    return true;
  }
  if (absl::Status s = apply("host", dump(host)); !s.ok()) return s;
  if (absl::Status s = remember("topology", key, dump(host)); !s.ok()) return s;
  return true;
}

absl::StatusOr<bool> Controller::learn_link(const LinkRecord& link) {
  const auto known = find_same(links_, link, "link");
  if (!known.ok()) return known.status();
  const std::string key = absl::StrCat("link:", link.name);
  if (*known >= 0) {
    if (!links_[*known].removed) return false;
    links_[*known].removed = false;
    topology_.set_link_up(*known, !links_[*known].down);
    if (absl::Status s = remember("topology", key, dump(links_[*known])); !s.ok()) return s;
    return true;
  }
  if (absl::Status s = apply("link", dump(link)); !s.ok()) return s;
  if (absl::Status s = remember("topology", key, dump(link)); !s.ok()) return s;
  return true;
}

absl::Status Controller::add_site(const SiteRecord& site) { return add_network({{site}, {}, {}}); }
absl::Status Controller::add_host(const HostRecord& host) { return add_network({{}, {host}, {}}); }
absl::Status Controller::add_link(const LinkRecord& link) { return add_network({{}, {}, {link}}); }

absl::Status Controller::add_network(const NetworkRecords& network) {
  const std::lock_guard lock(mutex_);
  bool any = false;
  absl::Status status;
  const auto learn = [&](const absl::StatusOr<bool>& is_new) {
    any |= is_new.ok() && *is_new;
    status = is_new.status();
    return is_new.ok();
  };
  for (size_t i = 0; i < network.sites.size() && status.ok(); ++i) learn(learn_site(network.sites[i]));
  for (size_t i = 0; i < network.hosts.size() && status.ok(); ++i) learn(learn_host(network.hosts[i]));
  for (size_t i = 0; i < network.links.size() && status.ok(); ++i) learn(learn_link(network.links[i]));
  if (any) topology_changed();
  return status;
}

// Every device's routes, and every job's ways over the links that are up.
void Controller::topology_changed() {
  routes_ = baseline_routes(topology_);
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device& device = *devices_[i];
    const auto site = static_cast<SiteId>(i);
    if (!device.target) continue;
    if (device.stale) {
      (void)refresh(site);
    } else if (absl::Status s = start_ports(site); !s.ok()) {
      failed(site, s);
    } else if (write(site, device.routes, routes_[i]).ok()) {
      device.routes = routes_[i];
    }
  }
  for (const auto& [name, job] : jobs_) {
    if (!job->live()) continue;
    job->revise = true;
    compile(*job);
    write_job(*job);
  }
}

void Controller::take_figures(const LinkRecord& link, LinkId id) {
  topology_.set_link_up(id, !link.down && !link.removed);
  topology_.set_link_figures(id, link.rate_now_bps >= 0 ? link.rate_now_bps : link.rate_bps,
                             link.delay_now_s >= 0 ? link.delay_now_s : link.delay_s,
                             link.loss_now >= 0 ? link.loss_now : link.loss);
}

absl::Status Controller::set_link(const std::string& name, const LinkChange& change) {
  const std::lock_guard lock(mutex_);
  const LinkId id = topology_.find_link(name);
  if (id < 0 || links_[id].removed) return absl::NotFoundError(absl::StrCat("there is no link ", name));
  for (const auto& [value, what] :
       {std::pair{change.rate_bps, "rate"}, {change.delay_s, "delay"}, {change.loss, "loss"}})
    if (value && !(*value >= 0 && std::isfinite(*value)))
      return absl::InvalidArgumentError(absl::StrCat("the ", what, " of a link cannot be ", *value));
  if (change.loss && *change.loss >= 1)
    return absl::InvalidArgumentError("a link that loses everything is down: say so");
  LinkRecord changed = links_[id];
  changed.down = change.down;
  if (change.rate_bps) changed.rate_now_bps = *change.rate_bps;
  if (change.delay_s) changed.delay_now_s = *change.delay_s;
  if (change.loss) changed.loss_now = *change.loss;
  if (dump(changed) == dump(links_[id])) return absl::OkStatus();
  if (absl::Status s = remember("topology", absl::StrCat("link:", name), dump(changed)); !s.ok()) return s;
  links_[id] = changed;
  take_figures(changed, id);
  const Link& now = topology_.links()[id];
  event("link_changed", name,
        absl::StrFormat("%s, %.4g Mb/s, %.4g ms, loss %.3g %%", changed.down ? "down" : "up",
                        now.rate_bps / 1e6, 1e3 * now.delay_s, 100 * now.loss));
  topology_changed();
  return absl::OkStatus();
}

absl::Status Controller::drain(const std::string& name, bool drained) {
  const std::lock_guard lock(mutex_);
  const SiteId id = topology_.find_site(name);
  if (id < 0 || sites_[id].removed || sites_[id].address.empty())
    return absl::NotFoundError(absl::StrCat("there is no switch of site ", name));
  if (sites_[id].drained == drained) return absl::OkStatus();
  SiteRecord changed = sites_[id];
  changed.drained = drained;
  if (absl::Status s = remember("topology", absl::StrCat("site:", name), dump(changed)); !s.ok()) return s;
  sites_[id] = changed;
  topology_.set_aggregates(id, !drained && !changed.router);
  event(drained ? "device_drained" : "device_in_use", name, "");
  topology_changed();
  if (!drained) return absl::OkStatus();
  for (const auto& [job_name, job] : jobs_)
    if (job->live() && job->record.attended) {
      for (size_t i = 0; i < job->stripes.size(); ++i)
        if (job->stripes[i].ranges.contains(id))
          job->stripes[i].coordinator->handle(ChangeWanted{}, options_.now_ns());
      carry(*job);
    }
  return absl::OkStatus();
}

absl::Status Controller::remove_site(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const SiteId id = topology_.find_site(name);
  if (id < 0 || sites_[id].removed) return absl::OkStatus();
  for (const HostRecord& host : hosts_)
    if (host.site == name && !host.removed)
      return absl::FailedPreconditionError(
          absl::StrCat("site ", name, " has host ", host.name, ": remove it first"));
  for (const LinkRecord& link : links_)
    if ((link.a == name || link.b == name) && !link.removed)
      return absl::FailedPreconditionError(
          absl::StrCat("site ", name, " has link ", link.name, ": remove it first"));
  SiteRecord changed = sites_[id];
  changed.removed = true;
  if (absl::Status s = remember("topology", absl::StrCat("site:", name), dump(changed)); !s.ok()) return s;
  sites_[id] = changed;
  topology_.set_aggregates(id, false);
  // Nothing of ours stays on it.
  if (Device& device = *devices_[id]; device.target) {
    (void)write(id, device.routes, {});
    device.target.reset();
    device.stale = true;
  }
  event("site_removed", name, "");
  topology_changed();
  return absl::OkStatus();
}

absl::Status Controller::remove_host(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const HostId id = topology_.find_host(name);
  if (id < 0 || hosts_[id].removed) return absl::OkStatus();
  for (const auto& [job_name, job] : jobs_)
    if (job->live())
      for (size_t rank = 0; rank < job->plan.members.size(); ++rank)
        if (const MemberRecord& member = job->record.members[rank];
            job->plan.members[rank] == id && !member.left && !member.lost)
          return absl::FailedPreconditionError(
              absl::StrCat("host ", name, " has rank ", rank, " of job ", job_name, ": end it first"));
  HostRecord changed = hosts_[id];
  changed.removed = true;
  if (absl::Status s = remember("topology", absl::StrCat("host:", name), dump(changed)); !s.ok()) return s;
  hosts_[id] = changed;
  topology_.set_present(id, false);
  event("host_removed", name, "");
  topology_changed();
  return absl::OkStatus();
}

absl::Status Controller::remove_link(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const LinkId id = topology_.find_link(name);
  if (id < 0 || links_[id].removed) return absl::OkStatus();
  LinkRecord changed = links_[id];
  changed.removed = true;
  if (absl::Status s = remember("topology", absl::StrCat("link:", name), dump(changed)); !s.ok()) return s;
  links_[id] = changed;
  topology_.set_link_up(id, false);
  event("link_removed", name, "");
  topology_changed();
  return absl::OkStatus();
}

}  // namespace l3dml::control
