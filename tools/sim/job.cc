#include "tools/sim/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tools/sim/addresses.h"
#include "tools/sim/world.h"

namespace l3dml::sim {
namespace {

constexpr uint64_t kFromMember = uint64_t{1} << 32, kToMember = uint64_t{2} << 32,
                   kToSwitch = uint64_t{3} << 32;

std::set<control::MemberId> first_members(const JobSpec& spec) {
  std::set<control::MemberId> result;
  for (uint32_t i = 0; i < spec.members.size(); ++i) result.insert(i);
  return result;
}
std::set<control::SwitchId> all_devices(const Scenario& scenario) {
  std::set<control::SwitchId> result;
  for (uint32_t i = 0; i < scenario.devices; ++i) result.insert(i);
  return result;
}
control::CoordinatorConfig coordinator_config(const Scenario& scenario, const JobSpec& spec, uint8_t epoch) {
  control::CoordinatorConfig config;
  config.epoch = epoch;
  config.newest_number = spec.newest_number;
  config.stamps = {true, spec.newest_number, spec.newest_number};
  config.answer_time_ns = 6 * scenario.control_max_ns + base::kMillisecond;
  return config;
}

}  // namespace

Job::Job(World* world, uint32_t index, const JobSpec& spec, Random random)
    : world_(*world),
      index_(index),
      spec_(spec),
      random_(random),
      workload_(spec, index, static_cast<uint32_t>(spec.members.size() + spec.joiners.size()),
                world->scenario().seed),
      first_epoch_number_(static_cast<uint8_t>(random_.next())),
      coordinator_(coordinator_config(world->scenario(), spec, first_epoch_number_), this,
                   first_members(spec), all_devices(world->scenario())) {
  std::vector<MemberSpec> all = spec.members;
  all.insert(all.end(), spec.joiners.begin(), spec.joiners.end());
  for (uint32_t i = 0; i < all.size(); ++i) {
    const auto port = static_cast<uint16_t>(kFirstMemberPort + index * 1500 % 20000 + i);
    members_.push_back(std::make_unique<Member>(this, i, all[i], port));
    member_hosts_.push_back(all[i].host);
    member_ports_.push_back(port);
    world_.add_port(all[i].host, port, members_.back().get());
  }
  tree_ = std::make_shared<Tree>();
  silent_until_ns_.assign(members_.size(), 0);
}

void Job::start() {
  for (uint32_t i = 0; i < spec_.members.size(); ++i) members_[i]->start(first_config(i), scaled_world());
  coordinator_.start(world_.now_ns());
  carry_commands();
}

int64_t Job::gap(int64_t mean_ns) {
  return static_cast<int64_t>(static_cast<double>(mean_ns) * -std::log(1 - random_.uniform()));
}

// A member comes into being before any epoch: all that counts is that the configuration is valid.
host::StripeConfig Job::first_config(uint32_t member) const {
  host::StripeConfig config;
  config.job = job_number(index_);
  config.epoch = first_epoch_number_;
  config.lanes = spec_.lanes;
  config.window = spec_.window;
  config.look_ahead = spec_.window;
  config.shards = spec_.shards;
  config.ring = spec_.ring;
  config.first_number = spec_.ring * spec_.shards;
  config.local_address =
      host_address(member_hosts_[member], world_.network().host_device(member_hosts_[member]));
  config.local_port = member_ports_[member];
  config.rate_bps = spec_.rate_bps;
  config.aggregator = aggregation_address(0, index_, 0);
  config.result_source = aggregation_address(0, index_, wire::kChildSwitch);
  return config;
}

host::StripeConfig Job::stripe_config(uint32_t member, const Tree& tree, uint8_t epoch, uint32_t first_number,
                                      uint32_t window) const {
  host::StripeConfig config = first_config(member);
  const Place& place = tree.places[member];
  const uint32_t device = tree.aggregators[place.aggregator].device;
  config.epoch = epoch;
  config.child = place.child;
  config.window = window;
  config.first_number = first_number;
  config.slot_base = world_.at(device).resources[index_].slot_base;
  config.aggregator = aggregation_address(device, index_, place.child);
  config.result_source = aggregation_address(device, index_, wire::kChildSwitch);
  return config;
}

bool Job::done() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) { return member->done(); });
}

// ---- planning ----

std::optional<control::EpochPlan> Job::plan(const std::set<control::MemberId>& members,
                                            const std::set<control::SwitchId>& switches) {
  std::vector<uint32_t> devices;
  for (uint32_t device : switches) {
    if (world_.network().device_up(device)) devices.push_back(device);
  }
  if (devices.empty() || members.empty()) return std::nullopt;
  auto tree = std::make_shared<Tree>(draw_tree({members.begin(), members.end()}, devices));
  if (tree->aggregators.empty()) return std::nullopt;
  tree_ = tree;
  control::EpochPlan plan;
  plan.members.assign(members.begin(), members.end());
  for (const TreeAggregator& aggregator : tree_->aggregators) plan.switches.push_back(aggregator.device);
  plan.window = spec_.window;
  if (spec_.window_varies && !first_epoch_) {
    while (plan.window > spec_.shards && random_.chance(0.4)) plan.window /= 2;
  }
  plan.ring = spec_.ring;
  plan.shards = spec_.shards;
  plan_ = plan;
  return plan;
}

Tree Job::draw_tree(const std::vector<uint32_t>& members, const std::vector<uint32_t>& devices_given) {
  constexpr size_t kMost = 31;  // children
  if (!spec_.fixed_tree.aggregators.empty()) return spec_.fixed_tree;
  std::vector<uint32_t> devices = devices_given;
  random_.shuffle(devices);
  Tree tree;
  tree.places.resize(members_.size());
  // Aggregators, each under a random earlier one that is not too deep.
  std::vector<uint32_t> level;
  const size_t least = (members.size() + kMost - 1) / kMost;
  size_t wanted = 1 + random_.below(static_cast<uint32_t>(std::min<size_t>(devices.size(), 2 * spec_.depth)));
  wanted = std::min(devices.size(), std::max(wanted, least > 1 ? least + 1 + least / 8 : 1));
  for (size_t i = 0; i < wanted; ++i) {
    TreeAggregator aggregator;
    aggregator.device = devices[i];
    if (i > 0) {
      std::vector<uint32_t> parents;
      for (uint32_t p = 0; p < i; ++p) {
        if (level[p] + 1 < std::max<uint32_t>(spec_.depth, least > 1 ? 2 : 1) &&
            tree.aggregators[p].children.size() < kMost / 2)
          parents.push_back(p);
      }
      if (parents.empty()) break;
      aggregator.parent = static_cast<int>(parents[random_.below(static_cast<uint32_t>(parents.size()))]);
      TreeAggregator& parent = tree.aggregators[static_cast<size_t>(aggregator.parent)];
      aggregator.child = static_cast<uint8_t>(parent.children.size());
      parent.children.push_back({false, static_cast<uint32_t>(i)});
    }
    level.push_back(i ? level[static_cast<size_t>(aggregator.parent)] + 1 : 0);
    tree.aggregators.push_back(aggregator);
  }
  // Members: first one under every aggregator that has no children, then preferably near their own switch.
  std::vector<uint32_t> order = members;
  random_.shuffle(order);
  const auto place = [&](uint32_t member, uint32_t at) {
    tree.places[member] = {at, static_cast<uint8_t>(tree.aggregators[at].children.size())};
    tree.aggregators[at].children.push_back({true, member});
  };
  size_t next = 0;
  for (uint32_t a = 0; a < tree.aggregators.size(); ++a) {
    if (!tree.aggregators[a].children.empty()) continue;
    if (next == order.size()) return draw_tree(members, devices_given);  // more leaves than members: again
    place(order[next++], a);
  }
  for (; next < order.size(); ++next) {
    const uint32_t home = world_.network().host_device(member_hosts_[order[next]]);
    std::vector<uint32_t> near, open;
    for (uint32_t a = 0; a < tree.aggregators.size(); ++a) {
      if (tree.aggregators[a].children.size() >= kMost) continue;
      open.push_back(a);
      if (tree.aggregators[a].device == home) near.push_back(a);
    }
    if (open.empty()) return {};
    const std::vector<uint32_t>& from = !near.empty() && random_.chance(0.7) ? near : open;
    place(order[next], from[random_.below(static_cast<uint32_t>(from.size()))]);
  }
  return tree;
}

// ---- carrying messages ----

int64_t Job::arrival(uint64_t receiver) {
  const Scenario& s = world_.scenario();
  int64_t& last = last_arrival_ns_[receiver];
  last = std::max(last, world_.now_ns() + random_.between(s.control_min_ns, s.control_max_ns));
  return last;
}

void Job::tell(const control::Report& report, uint32_t sender) {
  if (sender < kSwitchSender && silent_until_ns_[sender] > world_.now_ns()) return;
  world_.network().call_at(arrival(kFromMember + sender), [this, report] { this->report(report); });
}

void Job::report(const control::Report& report) {
  coordinator_.handle(report, world_.now_ns());
  carry_commands();
}

void Job::timer() {
  timer_ns_ = base::kNever;
  coordinator_.tick(world_.now_ns());
  carry_commands();
}

void Job::carry_commands() {
  for (const control::Command& command : coordinator_.take_commands()) carry(command);
  const int64_t deadline = coordinator_.next_deadline_ns();
  if (deadline < timer_ns_) {
    timer_ns_ = deadline;
    world_.network().call_at(deadline, [this] { timer(); });
  }
}

void Job::carry(const control::Command& command) {
  if (const auto* install = std::get_if<control::InstallAdmission>(&command)) {
    if (!ledger_ || ledger_->shape().epoch != install->epoch)
      new_ledger(install->epoch, install->first_number);
    world_.network().call_at(arrival(kToSwitch + install->to),
                             [this, c = *install, tree = tree_] { at_switch(c, tree); });
  } else if (const auto* remove = std::get_if<control::RemoveAdmission>(&command)) {
    world_.network().call_at(arrival(kToSwitch + remove->to), [this, c = *remove] { at_switch(c); });
  } else {
    const uint32_t to = std::visit(
        [](const auto& c) -> uint32_t {
          if constexpr (requires { c.member; }) return c.member;
          if constexpr (requires { c.holder; }) return c.holder;
          return 0;
        },
        command);
    // That it is cut off a member learns in any case, if only when its connection is back.
    const bool fails = std::holds_alternative<control::FailMember>(command);
    if (fails) workload_.member_leaves(to);
    const int64_t at_ns = std::max(arrival(kToMember + to), fails ? silent_until_ns_[to] : 0);
    world_.network().call_at(at_ns, [this, to, command, fails, tree = tree_] {
      if (!fails && silent_until_ns_[to] > world_.now_ns()) return;
      member_tree_ = tree;
      members_[to]->obey(command);
    });
  }
}

void Job::at_switch(const control::RemoveAdmission& command) {
  World::Switch& device = world_.at(command.to);
  if (!world_.network().device_up(command.to)) return;
  World::Installed& installed = device.installed[index_];
  if (device.silent) {
    installed.left_out = installed.admitted;
    return;
  }
  if (command.change < switch_change_[command.to]) return;
  switch_change_[command.to] = command.change;
  device.program->remove(index_);
  installed = {};
  device.program->write_sequences(device.resources[index_], 0, kNeighborsPerJob, 0);
  tell(control::SwitchDone{command.change, command.to}, kSwitchSender + command.to);
}

void Job::at_switch(const control::InstallAdmission& command, const std::shared_ptr<const Tree>& tree) {
  World::Switch& device = world_.at(command.to);
  if (device.silent || !world_.network().device_up(command.to) || command.change < switch_change_[command.to])
    return;
  switch_change_[command.to] = command.change;
  for (uint32_t other = 0; other < world_.scenario().devices; ++other) {
    const World::Installed& there = world_.at(other).installed[index_];
    const bool left_out = there.left_out && other != command.to;
    if (!there.admitted || left_out || !world_.network().device_up(other) || there.epoch == command.epoch)
      continue;
    world_.violate(
        {"one_epoch", fmt::format("job {}: device {} takes epoch {} while device {} admits epoch {}",
                                  index_ + 1, command.to, command.epoch, other, there.epoch)});
  }
  const JobResources& own = device.resources[index_];
  if (command.overwrite_stamps) device.program->write_stamps(own, command.first_number - 1);
  world_.seen().stamps_overwritten += command.overwrite_stamps;
  AggregatorPart part;
  part.job = index_;
  part.epoch = command.epoch;
  part.tree = tree.get();
  part.member_hosts = &member_hosts_;
  part.member_ports = &member_ports_;
  part.own = &own;
  const std::vector<JobResources> resources = world_.resources(index_);
  part.resources = &resources;
  while (part.aggregator < tree->aggregators.size() &&
         tree->aggregators[part.aggregator].device != command.to)
    ++part.aggregator;
  if (part.aggregator == tree->aggregators.size()) return;
  // Between switches both ends may start anywhere; workers start at 0. Near the end of the range in some
  // scenarios.
  const TreeAggregator& node = tree->aggregators[part.aggregator];
  for (uint32_t c = 0; c < node.children.size(); ++c) {
    if (!node.children[c].member) device.program->write_sequences(own, c, 1, spec_.first_seq);
  }
  if (node.parent >= 0) device.program->write_sequences(own, kNeighborsPerJob - 1, 1, spec_.first_seq);
  device.program->install(part);
  device.installed[index_] = {true, false, command.epoch, part.aggregator};
  tell(control::SwitchDone{command.change, command.to}, kSwitchSender + command.to);
}

void Job::new_ledger(uint8_t epoch, uint32_t first_number) {
  first_epoch_ = false;
  Ledger::Shape shape;
  shape.job = job_number(index_);
  shape.epoch = epoch;
  shape.first_number = first_number;
  shape.window = plan_.window;
  shape.entries = spec_.ring * spec_.shards;
  shape.lanes = spec_.lanes;
  shape.members = plan_.members;
  shape.exponents_differ = spec_.odd_exponents > 0;
  if (ledger_) {
    wrapped_ |= ledger_->wrapped();
    world_.seen().windows_changed += ledger_->shape().window != plan_.window;
  }
  world_.seen().depths |= 1u << depth_of(*tree_);
  ledger_ = std::make_unique<Ledger>(shape, *tree_);
  workload_.add_members(plan_.members);
  ++epochs_;
  world_.note(fmt::format("job {}: epoch {} from number {}, window {}, {} members, {} aggregators",
                          index_ + 1, epoch, first_number, plan_.window, plan_.members.size(),
                          tree_->aggregators.size()));
}

// ---- trouble ----

void Job::member_dies(uint32_t member, int64_t noticed_after_ns) {
  if (!members_[member]->alive()) return;
  members_[member]->die();
  workload_.member_leaves(member);
  world_.network().call_at(world_.now_ns() + noticed_after_ns, [this, member] {
    report(control::MemberLost{member, "its lease ran out"});
  });
}

void Job::member_silent(uint32_t member, int64_t until_ns) { silent_until_ns_[member] = until_ns; }

void Job::member_joins(uint32_t joiner) {
  const size_t member = spec_.members.size() + joiner;
  if (joiner >= spec_.joiners.size() || members_[member]->started()) return;
  if (!world_.network().device_up(world_.network().host_device(member_hosts_[member]))) return;
  members_[member]->start(first_config(static_cast<uint32_t>(member)), scaled_world());
  tell(control::MemberJoins{static_cast<uint32_t>(member)}, static_cast<uint32_t>(member));
}

}  // namespace l3dml::sim
