#include "drl/env/topology.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "drl/env/bundle.h"

namespace l3dml::drl {
namespace {

constexpr double kDetour = 1.3;
constexpr double kFibre_km_per_s = 200000;

double distance_km(const Site& a, const Site& b) {
  const double rad = std::numbers::pi / 180;
  const double dlat = (b.latitude - a.latitude) * rad, dlon = (b.longitude - a.longitude) * rad;
  const double h = std::pow(std::sin(dlat / 2), 2) +
                   std::cos(a.latitude * rad) * std::cos(b.latitude * rad) * std::pow(std::sin(dlon / 2), 2);
  return 2 * 6371 * std::asin(std::min(1.0, std::sqrt(h)));
}

bool parse_rate(std::string_view text, double* bps) {
  double unit = 1;
  if (text.ends_with("G")) unit = 1e9;
  if (text.ends_with("M")) unit = 1e6;
  if (unit > 1) text.remove_suffix(1);
  if (!absl::SimpleAtod({text.data(), text.size()}, bps)) return false;
  *bps *= unit;
  return *bps >= 0 && *bps <= 1e15;
}

bool parse_delay(std::string_view text, double* seconds) {
  if (!text.ends_with("ms")) return false;
  text.remove_suffix(2);
  if (!absl::SimpleAtod({text.data(), text.size()}, seconds)) return false;
  *seconds /= 1e3;
  return *seconds >= 0 && *seconds <= 10;
}

int find_site(const Topology& t, std::string_view name) {
  for (size_t i = 0; i < t.sites.size(); ++i)
    if (t.sites[i].name == name) return static_cast<int>(i);
  return -1;
}

void add_link(Topology& t, int a, int b, double bps, double delay_s) {
  t.links.push_back({a, b, bps, bps, delay_s});
  t.links.push_back({b, a, bps, bps, delay_s});
}

std::string parse_line(const std::vector<std::string>& words,
                       Topology& t) {  // returns what is wrong, or nothing
  if (words[0] == "topology" && words.size() == 2) {
    t.name = words[1];
    return "";
  }
  if (words[0] == "site" && (words.size() == 4 || (words.size() == 5 && words[4] == "router"))) {
    Site site;
    site.name = words[1];
    site.aggregates = words.size() == 4;
    if (find_site(t, site.name) >= 0) return "a second site of that name";
    if (!absl::SimpleAtod(words[2], &site.latitude) || !absl::SimpleAtod(words[3], &site.longitude) ||
        !(std::abs(site.latitude) <= 90 && std::abs(site.longitude) <= 180))
      return "latitude and longitude must be degrees";
    t.sites.push_back(std::move(site));
    return "";
  }
  if (words[0] == "link" && (words.size() == 4 || words.size() == 5)) {
    const int a = find_site(t, words[1]), b = find_site(t, words[2]);
    if (a < 0 || b < 0 || a == b) return "must join two different sites declared above";
    for (const Link& l : t.links)
      if (l.from == a && l.to == b) return "a second link between the same sites";
    double bps = 0, delay_s = fibre_delay_s(t.sites[a], t.sites[b]);
    if (!parse_rate(words[3], &bps)) return "rate must look like 10G or 400M";
    if (words.size() == 5 && !parse_delay(words[4], &delay_s))
      return "delay must look like 12.5ms, at most 10 s";
    add_link(t, a, b, bps, delay_s);
    return "";
  }
  return "expected: topology NAME | site NAME LATITUDE LONGITUDE [router] | link SITE SITE RATE [DELAY]";
}

}  // namespace

double fibre_delay_s(const Site& a, const Site& b) { return distance_km(a, b) * kDetour / kFibre_km_per_s; }

absl::StatusOr<Topology> parse_topology(std::string_view text) {
  Topology t;
  int number = 0;
  const std::vector<std::string> lines = absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  for (std::string line : lines) {
    ++number;
    line = line.substr(0, line.find('#'));
    const std::vector<std::string> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    if (const std::string wrong = parse_line(words, t); !wrong.empty())
      return absl::InvalidArgumentError(absl::StrCat("topology line ", number, ": ", wrong));
  }
  if (t.sites.empty()) return absl::InvalidArgumentError("topology: no sites");
  return t;
}

absl::StatusOr<Topology> bundled_topology(std::string_view name) {
  for (const BundledFile& file : bundled_files())
    if (file.name == std::string(name) + ".topo") return parse_topology(file.text);
  return absl::NotFoundError(absl::StrCat("no bundled topology '", std::string(name), "'; there are ",
                                          absl::StrJoin(bundled_topologies(), ", ")));
}

std::vector<std::string> bundled_topologies() {
  std::vector<std::string> names;
  for (const BundledFile& file : bundled_files())
    if (file.name.ends_with(".topo")) names.emplace_back(file.name.substr(0, file.name.size() - 5));
  return names;
}

absl::StatusOr<Topology> read_topology(const std::string& name_or_file) {
  std::ifstream in(name_or_file);
  if (!in || name_or_file.find_first_of("./") == std::string::npos) return bundled_topology(name_or_file);
  std::stringstream text;
  text << in.rdbuf();
  return parse_topology(text.str());
}

Topology random_topology(int sites, Random& random, double routers) {
  Topology t;
  t.name = absl::StrCat("random", sites);
  for (int i = 0; i < sites; ++i) {
    Site s;
    s.name = absl::StrCat("s", i);
    s.latitude = random.between(30, 55);
    s.longitude = random.between(-110, -50);
    s.aggregates = i < 2 || !random.chance(routers);
    t.sites.push_back(s);
  }
  const double rates[] = {10e9, 10e9, 20e9, 40e9};
  const auto join = [&](int a, int b) {
    add_link(t, a, b, rates[random.below(4)], fibre_delay_s(t.sites[a], t.sites[b]));
  };
  const auto joined = [&](int a, int b) {
    return std::any_of(t.links.begin(), t.links.end(),
                       [&](const Link& l) { return l.from == a && l.to == b; });
  };
  for (int i = 1; i < sites; ++i) {  // to the nearest earlier site
    int nearest = 0;
    for (int j = 1; j < i; ++j)
      if (distance_km(t.sites[i], t.sites[j]) < distance_km(t.sites[i], t.sites[nearest])) nearest = j;
    join(i, nearest);
  }
  const int want = sites + random.below(sites / 2 + 2);  // cables; the tree has sites - 1
  for (int attempt = 0; attempt < 200 * sites && static_cast<int>(t.links.size()) / 2 < want; ++attempt) {
    const int a = random.below(sites), b = random.below(sites);
    if (a == b || joined(a, b)) continue;
    if (random.chance(std::exp(-distance_km(t.sites[a], t.sites[b]) / 1200))) join(a, b);
  }
  return t;
}

}  // namespace l3dml::drl
