#include "control/app/print.h"

#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/app/quantity.h"

namespace l3dml::control {
namespace {

std::string rate(double bps) { return bps > 0 ? rate_text(bps) : "-"; }
std::string delay(double seconds) { return absl::StrFormat("%g ms", 1e3 * seconds); }

// People read commas and plurals, not lists of one.
std::string count(size_t n, const char* what) { return absl::StrCat(n, " ", what, n == 1 ? "" : "s"); }

void add_node(const api::Stripe& stripe, int index, int depth, std::string* out) {
  const api::Aggregator& node = stripe.aggregators(index);
  const std::string indent(static_cast<size_t>(4 + 2 * depth), ' ');
  absl::StrAppendFormat(
      out, "%s%s sums %s, slots %d to %d\n", indent, node.site(),
      absl::StrCat(node.children_size(), node.children_size() == 1 ? " child" : " children"),
      node.slot_base(), node.slot_base() + stripe.ring() - 1);
  for (const std::string& child : node.children()) {
    int inner = -1;
    for (int i = index + 1; i < stripe.aggregators_size(); ++i)
      if (stripe.aggregators(i).site() == child && stripe.aggregators(i).parent() == node.site()) inner = i;
    if (inner >= 0)
      add_node(stripe, inner, depth + 1, out);
    else
      absl::StrAppend(out, indent, "  worker ", child, "\n");
  }
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i)
      absl::StrAppend(&text, row[i],
                      std::string(i + 1 < row.size() ? widths[i] - row[i].size() + 2 : 0, ' '));
    absl::StrAppend(&out, text.substr(0, text.find_last_not_of(' ') + 1), "\n");
  }
  return out;
}

std::string print(const api::Topology& topology) {
  std::vector<std::vector<std::string>> sites{{"SITE", "SWITCH", "DEVICE", "HOSTS"}};
  for (const api::Site& site : topology.sites()) {
    std::vector<std::string> hosts;
    for (const api::Host& host : topology.hosts())
      if (host.site() == site.name()) hosts.push_back(host.name());
    sites.push_back({site.name(), site.address().empty() ? "-" : site.address(),
                     site.router() ? "router" : absl::StrCat(site.device_id()), absl::StrJoin(hosts, " ")});
  }
  std::vector<std::vector<std::string>> hosts{{"HOST", "SITE", "PORT", "IPV6", "IPV4", "RATE", "DELAY"}};
  for (const api::Host& host : topology.hosts())
    hosts.push_back({host.name(), host.site(), absl::StrCat(host.port()), host.ipv6(), host.ipv4(),
                     rate(host.rate_bps()), delay(host.delay_s())});
  return table(sites) + "\n" + table(hosts) + "\n" + print_links(topology);
}

std::string print_links(const api::Topology& topology) {
  std::vector<std::vector<std::string>> rows{{"LINK", "BETWEEN", "PORTS", "RATE", "DELAY", "LOSS", "STATE"}};
  for (const api::Link& link : topology.links())
    rows.push_back({link.name(), absl::StrCat(link.a(), " ", link.b()),
                    absl::StrCat(link.port_a(), " ", link.port_b()), rate(link.rate_bps()),
                    delay(link.delay_s()), absl::StrFormat("%g %%", 100 * link.loss()),
                    link.down() ? "down" : "up"});
  return table(rows);
}

std::string print(const api::ListDevicesResponse& devices) {
  std::vector<std::vector<std::string>> rows{
      {"SITE", "SWITCH", "STATE", "PIPES", "LANES", "SLOTS", "ENTRIES", "PROBLEM"}};
  for (const api::Device& d : devices.devices())
    rows.push_back({d.site().name(), absl::StrCat(d.site().address(), " device ", d.site().device_id()),
                    absl::StrCat(d.connected() ? "connected" : "unreachable", d.drained() ? ", drained" : ""),
                    absl::StrCat(d.pipes()), absl::StrCat(d.lanes()),
                    absl::StrCat(d.slots() - d.free_slots(), "/", d.slots()), absl::StrCat(d.entries()),
                    d.problem()});
  return table(rows);
}

std::string print_slots(const api::ListDevicesResponse& devices, const api::ListJobsResponse& jobs) {
  std::vector<std::vector<std::string>> rows{{"SITE", "SLOTS", "JOB", "STRIPE", "EPOCH"}};
  for (const api::Device& d : devices.devices()) {
    for (const api::Job& job : jobs.jobs()) {
      if (job.state() == "ended") continue;
      for (const api::Stripe& stripe : job.stripes())
        for (const api::Aggregator& node : stripe.aggregators())
          if (node.site() == d.site().name())
            rows.push_back({d.site().name(),
                            absl::StrCat(node.slot_base(), "-", node.slot_base() + stripe.ring() - 1),
                            job.name(), absl::StrCat(stripe.job()), absl::StrCat(stripe.epoch())});
    }
    rows.push_back({d.site().name(), absl::StrCat(d.free_slots(), " free")});
  }
  return table(rows);
}

std::string print(const api::ListJobsResponse& jobs) {
  std::vector<std::vector<std::string>> rows{
      {"JOB", "STATE", "MEMBERS", "STRIPES", "EPOCH", "GOODPUT", "LIMITED BY"}};
  for (const api::Job& job : jobs.jobs())
    rows.push_back({job.name(), job.state(), absl::StrCat(job.joined(), "/", job.world()),
                    absl::StrCat(job.stripes_size()),
                    job.stripes_size() > 0 ? absl::StrCat(job.stripes(0).epoch()) : "-",
                    rate(job.goodput_bps()), job.state() == "ended" ? job.reason() : job.limit()});
  return table(rows);
}

std::string print(const api::GetRoutesResponse& routes) {
  std::vector<std::vector<std::string>> rows{{"SITE", "DESTINATION", "PORT", "NEXT"}};
  for (const api::Route& r : routes.routes())
    rows.push_back({r.site(), r.destination(), r.next().empty() ? "-" : absl::StrCat(r.port()),
                    r.next().empty() ? "itself" : r.next()});
  return table(rows);
}

std::string print(const api::Statistics& statistics) {
  std::vector<std::vector<std::string>> segments{{"SITE", "JOB", "STRIPE", "PEER", "MISSING", "REPAIRED"}};
  for (const auto& s : statistics.segments())
    segments.push_back({s.site(), s.job(), absl::StrCat(s.stripe()), s.peer(),
                        absl::StrCat(s.missing_packets()), absl::StrCat(s.repaired_packets())});
  std::vector<std::vector<std::string>> ports{
      {"SITE", "PORT", "NAME", "STATE", "RECEIVED", "SENT", "BYTES IN", "BYTES OUT"}};
  for (const auto& p : statistics.ports())
    ports.push_back({p.site(), absl::StrCat(p.port()), p.name(), p.up() ? "up" : "down",
                     absl::StrCat(p.received_packets()), absl::StrCat(p.sent_packets()),
                     absl::StrCat(p.received_bytes()), absl::StrCat(p.sent_bytes())});
  std::vector<std::vector<std::string>> drops{{"SITE", "DROPPED BECAUSE", "PACKETS"}};
  for (const auto& d : statistics.drops()) drops.push_back({d.site(), d.reason(), absl::StrCat(d.packets())});
  return table(ports) + "\n" + table(segments) + "\n" + table(drops);
}

std::string print(const api::TelemetryFigures& figures) {
  std::vector<std::vector<std::string>> links{
      {"SITE", "PORT", "TO", "SENT", "RECEIVED", "USED", "QUEUE", "MOST", "DROPS/S"}};
  for (const auto& l : figures.links())
    links.push_back(
        {l.site(), absl::StrCat(l.port()), l.name(), rate(l.sent_bps()), rate(l.received_bps()),
         absl::StrFormat("%.0f %%", 100 * l.utilisation()), absl::StrFormat("%.0f B", l.queue_bytes()),
         absl::StrFormat("%.0f B", l.queue_most_bytes()), absl::StrFormat("%.3g", l.drops_per_s())});
  std::vector<std::vector<std::string>> segments{
      {"SITE", "JOB", "STRIPE", "CHILD", "PACKETS/S", "LOST", "BEHIND"}};
  for (const auto& s : figures.segments())
    segments.push_back({s.site(), s.job(), absl::StrCat(s.stripe()), s.peer(),
                        absl::StrFormat("%.0f", s.packets_per_s()),
                        absl::StrFormat("%.3g %%", 100 * s.loss()), delay(s.skew_s())});
  std::vector<std::vector<std::string>> slots{{"SITE", "JOB", "STRIPE", "SLOTS WAITING", "FOR"}};
  for (const auto& a : figures.aggregators())
    slots.push_back({a.site(), a.job(), absl::StrCat(a.stripe()), absl::StrFormat("%.0f", a.waiting_slots()),
                     delay(a.dwell_s())});
  std::vector<std::vector<std::string>> members{{"JOB", "RANK", "HOST", "ROUND TRIP", "RESULT AFTER"}};
  for (const auto& m : figures.members())
    members.push_back(
        {m.job(), absl::StrCat(m.rank()), m.host(), delay(m.round_trip_s()), delay(m.result_s())});
  return absl::StrFormat("over %.3g s\n\n", figures.interval_s()) + table(links) + "\n" + table(segments) +
         "\n" + table(slots) + "\n" + table(members);
}

std::string print(const api::Event& event) {
  const auto seconds = static_cast<time_t>(event.unix_time_s());
  tm utc{};
  gmtime_r(&seconds, &utc);
  char time[32];
  strftime(time, sizeof time, "%F %T", &utc);
  return absl::StrCat(time, "  ", event.kind(), "  ", event.subject(), event.text().empty() ? "" : "  ",
                      event.text(), "\n");
}

std::string line(const api::Job& job) {
  std::vector<std::string> epochs;
  for (const api::Stripe& stripe : job.stripes()) epochs.push_back(absl::StrCat(stripe.epoch()));
  return absl::StrCat(job.name(), ": ", job.state(), ", ", job.joined(), " of ", job.world(),
                      " members, epoch ", absl::StrJoin(epochs, " "), job.reason().empty() ? "" : ", ",
                      job.reason(), "\n");
}

std::string explain(const api::Job& job) {
  std::string out = absl::StrFormat(
      "%s: %s%s, %d of %d members, %s of %d lanes\n  goodput to expect: %s of gradients; limited by %s\n"
      "  on loss of a member: %s; epoch changes: %d\n",
      job.name(), job.state(), job.reason().empty() ? "" : absl::StrCat(" (", job.reason(), ")"),
      job.joined(), job.world(), count(static_cast<size_t>(job.stripes_size()), "stripe"), job.lanes(),
      rate_text(job.goodput_bps()), job.limit(),
      job.on_loss() == api::CONTINUE ? "goes on without it" : "ends", job.changes());
  if (!job.form_source().empty())
    absl::StrAppend(&out, "  stripes chosen by ", job.form_source(), ": ", job.form_why(), "\n");
  for (const api::Stripe& stripe : job.stripes()) {
    absl::StrAppendFormat(
        &out,
        "  stripe %d: %.0f %% of the chunks, epoch %d (%s), round trip %.1f ms, %s a worker, window "
        "%d, ring %d, shards %d\n",
        stripe.job(), 100 * stripe.share(), stripe.epoch(), stripe.phase().empty() ? "ended" : stripe.phase(),
        1e3 * stripe.rtt_s(), rate_text(stripe.rate_bps()), stripe.window(), stripe.ring(), stripe.shards());
    if (stripe.aggregators_size() > 0) add_node(stripe, 0, 0, &out);
  }
  for (const api::Member& member : job.members())
    absl::StrAppend(&out, "  rank ", member.rank(), " on host ", member.host(), ": ", member.state(), "\n");
  return out;
}

}  // namespace l3dml::control
