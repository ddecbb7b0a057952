#include "drl/app/problem_file.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace l3dml::drl {
namespace {

using nlohmann::json;

int site_named(const Problem& p, const std::string& name) {
  for (size_t i = 0; i < p.sites.size(); ++i)
    if (p.sites[i].name == name) return static_cast<int>(i);
  throw std::runtime_error(absl::StrCat("no site is named ", name));
}

void fill(Problem& p, const json& j) {
  for (const json& s : j.at("sites")) {
    Site site;
    site.name = s.at("name").get<std::string>();
    site.aggregates = s.value("aggregates", true);
    site.slots = s.value("slots", kUnlimited);
    p.sites.push_back(site);
  }
  const auto add_link = [&](const json& l, const char* from, const char* to) {
    Link link;
    link.from = site_named(p, l.at(from).get<std::string>());
    link.to = site_named(p, l.at(to).get<std::string>());
    link.capacity_bps = l.at("capacity_bps").get<double>();
    link.available_bps = l.value("available_bps", link.capacity_bps);
    link.delay_s = l.at("delay_s").get<double>();
    p.links.push_back(link);
  };
  for (const json& l : j.at("links")) add_link(l, "from", "to");
  const size_t given = p.links.size();  // a link without its reverse counts for both directions
  for (size_t i = 0; i < given; ++i) {
    bool both = false;
    for (size_t k = 0; k < given; ++k)
      both = both || (p.links[k].from == p.links[i].to && p.links[k].to == p.links[i].from);
    if (!both) add_link(j.at("links")[i], "to", "from");
  }
  for (const json& c : j.at("children")) {
    Child child;
    child.site = site_named(p, c.at("site").get<std::string>());
    child.workers = c.value("workers", 1);
    child.ready_s = c.value("ready_s", 0.0);
    child.access_bps = c.value("access_bps", kUnlimited);
    child.summed_at_site = p.sites[child.site].aggregates;
    p.children.push_back(child);
  }
  p.job.bytes = j.at("job").at("bytes").get<double>();
  p.job.payload_bytes = j.at("job").value("payload_bytes", p.job.payload_bytes);
  p.job.max_stripes = j.at("job").value("max_stripes", p.job.max_stripes);
}

}  // namespace

absl::StatusOr<Problem> parse_problem(const std::string& text) {
  Problem p;
  try {
    fill(p, json::parse(text));
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(e.what());
  }
  if (absl::Status s = validate(p); !s.ok()) return s;
  return p;
}

absl::StatusOr<Problem> read_problem(const std::string& file) {
  std::ifstream in(file);
  if (!in) return absl::NotFoundError(absl::StrCat(file, ": cannot be read"));
  std::stringstream text;
  text << in.rdbuf();
  auto p = parse_problem(text.str());
  if (!p.ok()) return absl::Status(p.status().code(), absl::StrCat(file, ": ", p.status().message()));
  return p;
}

}  // namespace l3dml::drl
