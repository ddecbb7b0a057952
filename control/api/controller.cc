#include "control/api/controller.h"

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/store/plan_json.h"

namespace l3dml::control {
namespace {

constexpr size_t kKeptEvents = 10'000;

template <typename Record>
absl::StatusOr<Record> parse(const std::string& value) {
  try {
    return nlohmann::json::parse(value).get<Record>();
  } catch (const nlohmann::json::exception& e) {
    return absl::DataLossError(absl::StrCat("a stored record cannot be read: ", e.what()));
  }
}

template <typename Record>
std::string dump(const Record& record) {
  return nlohmann::json(record).dump();
}

// Adding what is already there is fine if it is the same.
template <typename Record>
absl::StatusOr<bool> is_known(const std::vector<Record>& records, const Record& record, const char* what) {
  for (const Record& known : records) {
    if (known.name != record.name) continue;
    if (dump(known) == dump(record)) return true;
    return absl::AlreadyExistsError(
        absl::StrCat("there is a ", what, " ", record.name, " already, and it is another: ", dump(known)));
  }
  return false;
}

}  // namespace

Controller::Controller(std::unique_ptr<Store> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {}
Controller::~Controller() = default;

absl::StatusOr<std::unique_ptr<Controller>> Controller::create(std::unique_ptr<Store> store,
                                                               Options options) {
  std::unique_ptr<Controller> controller(new Controller(std::move(store), std::move(options)));
  const std::lock_guard lock(controller->mutex_);
  if (absl::Status s = controller->load(); !s.ok()) return s;
  return controller;
}

absl::Status Controller::load() {
  auto topology = store_->read("topology");
  if (!topology.ok()) return topology.status();
  for (const Store::Record& record : *topology)
    if (absl::Status s = apply(record.key.substr(0, record.key.find(':')), record.value); !s.ok()) return s;
  auto capabilities = store_->read("capability");
  if (!capabilities.ok()) return capabilities.status();
  for (const Store::Record& stored : *capabilities) {
    auto capability = parse<Capability>(stored.value);
    if (!capability.ok()) return capability.status();
    if (const SiteId site = topology_.find_site(stored.key); site >= 0) {
      resources_[site] = DeviceResources(*capability);
      devices_[site]->known = true;
    }
  }
  for (size_t site = 0; site < sites_.size(); ++site) connect_device(static_cast<SiteId>(site));
  auto stored_jobs = store_->read("job");
  if (!stored_jobs.ok()) return stored_jobs.status();
  for (const Store::Record& stored : *stored_jobs) {
    auto record = parse<JobRecord>(stored.value);
    if (!record.ok()) return record.status();
    auto job = std::make_unique<Job>();
    job->record = *std::move(record);
    if (job->live()) {
      auto plan = plan_from_json(job->record.plan);
      if (!plan.ok()) return plan.status();
      job->plan = *std::move(plan);
      if (!reserve_job(job->plan, &resources_))
        return absl::DataLossError(absl::StrCat("job ", stored.key, " overlaps another in the store"));
      for (const StripePlan& stripe : job->plan.stripes)
        next_job_ = std::max(next_job_, static_cast<uint16_t>(stripe.job + 1));
    }
    // Nobody could renew while we were away: everybody gets a whole lease.
    job->deadlines_ns.assign(
        job->record.members.size(),
        options_.now_ns() + static_cast<int64_t>(job->record.specification.lease_s * 1e9));
    jobs_.emplace(stored.key, std::move(job));
  }
  refresh_all();
  return absl::OkStatus();
}

absl::Status Controller::apply(const std::string& kind, const std::string& value) {
  if (kind == "site") {
    auto site = parse<SiteRecord>(value);
    if (!site.ok()) return site.status();
    auto id = topology_.add_site(site->name, !site->router && !site->address.empty());
    if (!id.ok()) return id.status();
    sites_.push_back(*site);
    devices_.push_back(std::make_unique<Device>());
    resources_.emplace_back(Capability{});
    return absl::OkStatus();
  }
  if (kind == "host") {
    auto host = parse<HostRecord>(value);
    if (!host.ok()) return host.status();
    const SiteId site = topology_.find_site(host->site);
    if (site < 0) return absl::NotFoundError(absl::StrCat("there is no site ", host->site));
    auto id = topology_.add_host(host->name, site, host->rate_bps, host->delay_s, host->port);
    if (!id.ok()) return id.status();
    hosts_.push_back(*host);
    return absl::OkStatus();
  }
  auto link = parse<LinkRecord>(value);
  if (!link.ok()) return link.status();
  const SiteId a = topology_.find_site(link->a), b = topology_.find_site(link->b);
  if (a < 0 || b < 0)
    return absl::NotFoundError(absl::StrCat("there is no site ", a < 0 ? link->a : link->b));
  auto id = topology_.add_link(link->name, a, b, link->rate_bps, link->delay_s, link->loss, link->port_a,
                               link->port_b);
  if (!id.ok()) return id.status();
  topology_.set_link_up(*id, !link->down);
  links_.push_back(*link);
  return absl::OkStatus();
}

absl::Status Controller::remember(const std::string& kind, const std::string& key, const std::string& value) {
  return store_->write({{kind, key, &value}});
}

absl::Status Controller::add_site(const SiteRecord& site) {
  const std::lock_guard lock(mutex_);
  const auto known = is_known(sites_, site, "site");
  if (!known.ok() || *known) return known.status();
  if (site.name.empty()) return absl::InvalidArgumentError("a site needs a name");
  if (absl::Status s = apply("site", dump(site)); !s.ok()) return s;  // refuses before it changes anything
  if (absl::Status s = remember("topology", absl::StrCat("site:", site.name), dump(site)); !s.ok()) return s;
  connect_device(static_cast<SiteId>(sites_.size()) - 1);
  refresh_all();
  return absl::OkStatus();
}

absl::Status Controller::add_host(const HostRecord& host) {
  const std::lock_guard lock(mutex_);
  const auto known = is_known(hosts_, host, "host");
  if (!known.ok() || *known) return known.status();
  if (absl::Status s = apply("host", dump(host)); !s.ok()) return s;  // refuses before it changes anything
  if (absl::Status s = remember("topology", absl::StrCat("host:", host.name), dump(host)); !s.ok()) return s;
  refresh_all();
  return absl::OkStatus();
}

absl::Status Controller::add_link(const LinkRecord& link) {
  const std::lock_guard lock(mutex_);
  const auto known = is_known(links_, link, "link");
  if (!known.ok() || *known) return known.status();
  if (absl::Status s = apply("link", dump(link)); !s.ok()) return s;
  if (absl::Status s = remember("topology", absl::StrCat("link:", link.name), dump(link)); !s.ok()) return s;
  refresh_all();
  return absl::OkStatus();
}

absl::Status Controller::set_link(const std::string& name, bool down) {
  const std::lock_guard lock(mutex_);
  const LinkId id = topology_.find_link(name);
  if (id < 0) return absl::NotFoundError(absl::StrCat("there is no link ", name));
  if (links_[id].down == down) return absl::OkStatus();
  LinkRecord changed = links_[id];
  changed.down = down;
  if (absl::Status s = remember("topology", absl::StrCat("link:", name), dump(changed)); !s.ok()) return s;
  links_[id] = changed;
  topology_.set_link_up(id, !down);
  event("link_changed", name, down ? "down" : "up");
  refresh_all();
  return absl::OkStatus();
}

std::vector<SiteRecord> Controller::sites() const {
  const std::lock_guard lock(mutex_);
  return sites_;
}
std::vector<HostRecord> Controller::hosts() const {
  const std::lock_guard lock(mutex_);
  std::vector<HostRecord> hosts = hosts_;
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i].port = topology_.hosts()[i].port;
  return hosts;
}
std::vector<LinkRecord> Controller::links() const {
  const std::lock_guard lock(mutex_);
  std::vector<LinkRecord> links = links_;
  for (size_t i = 0; i < links.size(); ++i)
    links[i].port_a = topology_.links()[i].port_a, links[i].port_b = topology_.links()[i].port_b;
  return links;
}
Topology Controller::topology() const {
  const std::lock_guard lock(mutex_);
  return topology_;
}

std::vector<EventRecord> Controller::events(uint64_t after) const {
  const std::lock_guard lock(mutex_);
  std::vector<EventRecord> newer;
  for (const EventRecord& e : events_)
    if (e.number > after) newer.push_back(e);
  return newer;
}

void Controller::event(const std::string& kind, const std::string& subject, const std::string& text) {
  events_.push_back({++event_count_, options_.unix_time_s(), kind, subject, text});
  if (events_.size() > kKeptEvents) events_.pop_front();
}

}  // namespace l3dml::control
