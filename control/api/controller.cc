#include "control/api/controller.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "control/api/controller_state.h"
#include "control/routing/routes.h"
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

}  // namespace

Controller::Controller(std::unique_ptr<Store> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {
  if (!options_.forms) options_.forms = std::make_shared<FormChooser>();
}
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
  routes_ = baseline_routes(topology_);
  for (size_t site = 0; site < sites_.size(); ++site) connect_device(static_cast<SiteId>(site));
  auto stored_jobs = store_->read("job");
  if (!stored_jobs.ok()) return stored_jobs.status();
  for (const Store::Record& stored : *stored_jobs)
    if (absl::Status s = load_job(stored); !s.ok()) return s;
  for (size_t site = 0; site < devices_.size(); ++site)
    for (const std::string& name : refresh(static_cast<SiteId>(site)))
      tell_coordinators(*jobs_.at(name), SwitchReturned{static_cast<SwitchId>(site), true});
  for (const auto& [name, job] : jobs_)
    for (size_t i = 0; i < job->stripes.size(); ++i)
      if (was_to_change(*job, i)) job->stripes[i].coordinator->handle(ChangeWanted{}, options_.now_ns());
  for (const auto& [name, job] : jobs_) carry(*job);
  return absl::OkStatus();
}

// A controller before us died between storing why the stripe must change and telling anybody.
bool Controller::was_to_change(const Job& job, size_t index) const {
  if (job.stripes[index].next) return true;
  if (!job.record.attended) return false;
  const StripePlan& plan = job.plan.stripes[index];
  for (size_t rank = 0; rank < plan.members.size(); ++rank)
    if (plan.members[rank].aggregator >= 0 && job.record.members[rank].lost) return true;
  return std::any_of(plan.tree.aggregators.begin(), plan.tree.aggregators.end(),
                     [this](const Aggregator& node) { return !topology_.sites()[node.site].aggregates; });
}

absl::Status Controller::load_job(const Store::Record& stored) {
  auto record = parse<JobRecord>(stored.value);
  if (!record.ok()) return record.status();
  auto job = std::make_unique<Job>();
  job->record = *std::move(record);
  if (job->live()) {
    auto plan = plan_from_json(job->record.plan);
    if (!plan.ok()) return plan.status();
    job->plan = *std::move(plan);
    job->stripes.resize(job->plan.stripes.size());
    for (size_t i = 0; i < job->stripes.size(); ++i) {
      Job::Stripe& stripe = job->stripes[i];
      const StripePlan* taken = &job->plan.stripes[i];
      if (i < job->record.next.size() && !job->record.next[i].empty()) {
        // Killed between planning an epoch and starting it: the old one has been removed everywhere, or is to
        // be.
        auto next = plan_from_json(job->record.next[i]);
        if (!next.ok()) return next.status();
        stripe.next = next->stripes.front();
        stripe.withdrawn = true;
        taken = &*stripe.next;
      }
      if (!reserve_stripe(*taken, &resources_))
        return absl::DataLossError(absl::StrCat("job ", stored.key, " overlaps another in the store"));
      next_job_ = std::max(next_job_, static_cast<uint16_t>(taken->job + 1));
    }
    make_coordinators(*job);
    job->sized_bps = rate_of(*job, topology_, present_members(*job), running_form(*job));
    job->revise = true;  // the network may have changed while nobody looked
    compile(*job);
  }
  // Nobody could renew while we were away: everybody gets a whole lease.
  job->attendants.resize(job->record.members.size());
  job->deadlines_ns.resize(job->record.members.size());
  for (uint32_t rank = 0; rank < job->deadlines_ns.size(); ++rank) renew_lease(*job, rank);
  jobs_.emplace(stored.key, std::move(job));
  return absl::OkStatus();
}

absl::Status Controller::apply(const std::string& kind, const std::string& value) {
  if (kind == "site") {
    auto site = parse<SiteRecord>(value);
    if (!site.ok()) return site.status();
    auto id = topology_.add_site(site->name, !site->router && !site->address.empty());
    if (!id.ok()) return id.status();
    if (site->drained || site->removed) topology_.set_aggregates(*id, false);
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
    topology_.set_present(*id, !host->removed);
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
  take_figures(*link, *id);
  links_.push_back(*link);
  return absl::OkStatus();
}

absl::Status Controller::remember(const std::string& kind, const std::string& key, const std::string& value) {
  return store_->write({{kind, key, &value}});
}

void Controller::event(const std::string& kind, const std::string& subject, const std::string& text) {
  events_.push_back({++event_count_, options_.unix_time_s(), kind, subject, text});
  if (events_.size() > kKeptEvents) events_.pop_front();
  ++version_;
  changed_.notify_all();
}

uint64_t Controller::wait_change(uint64_t version, int64_t timeout_ms) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return version_ > version; });
  return version_;
}

}  // namespace l3dml::control
