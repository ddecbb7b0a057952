#include "tools/lab/scenario.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataplane/io/link_parameters.h"
#include "dataplane/io/units.h"
#include "tools/lab/status.h"
#include "tools/lab/yaml_reader.h"

namespace l3dml::lab {
namespace {

using control::SiteId;

// A link as the planner sees it, and as the switch will be told.
struct LinkFigures {
  LinkSpec spec;
  io::LinkParameters parameters;
};

absl::Status read_scalar(const Field& field, const std::string& name, io::LinkPatch* patch,
                         std::vector<std::pair<std::string, std::string>>* scalars) {
  auto value = field.text();
  if (!value.ok()) return value.status();
  if (absl::Status s = patch->set(name, *value); !s.ok()) return field.error(s.message());
  scalars->emplace_back(name, *std::move(value));
  return absl::OkStatus();
}

absl::Status read_trace(const Field& trace, LinkFigures* link) {
  L3DML_RETURN_IF_ERROR(trace.expect_list("[{at: 10s, rate: 50Mbit}]"));
  int64_t last_ns = -1;
  for (const Field& item : trace.items()) {
    L3DML_RETURN_IF_ERROR(item.expect_map("{at: 10s, rate: 50Mbit}"));
    LinkSpec::Change change;
    io::LinkPatch patch;
    for (const auto& [name, value] : item.members()) {
      if (name == "at") {
        auto text = value.text();
        if (!text.ok()) return text.status();
        const auto at_ns = io::parse_duration(*text);
        if (!at_ns.ok()) return value.error(at_ns.status().message());
        if (*at_ns <= last_ns) return value.error("must be later than the change before it");
        last_ns = *at_ns;
        change.at = *std::move(text);
      } else {
        L3DML_RETURN_IF_ERROR(read_scalar(value, name, &patch, &change.scalars));
      }
    }
    if (change.at.empty()) return item["at"].error("is missing: when the change happens, for example 10s");
    if (change.scalars.empty()) return item.error("changes nothing: add for example rate: 50Mbit");
    link->spec.trace.push_back(std::move(change));
  }
  return absl::OkStatus();
}

// Everything in `field` but the keys in `others`, which are the caller's.
absl::Status read_link(const Field& field, std::initializer_list<absl::string_view> others,
                       LinkFigures* link) {
  io::LinkPatch patch;
  for (const auto& [name, value] : field.members()) {
    if (std::find(others.begin(), others.end(), name) != others.end()) continue;
    if (name == "trace") {
      L3DML_RETURN_IF_ERROR(read_trace(value, link));
    } else if (name == "repeat") {
      auto text = value.text();
      if (!text.ok()) return text.status();
      if (const auto ns = io::parse_duration(*text); !ns.ok()) return value.error(ns.status().message());
      link->spec.repeat = *std::move(text);
    } else if (name == "loss" && value.is_map()) {
      for (const auto& [key, part] : value.members()) {
        auto text = part.text();
        if (!text.ok()) return text.status();
        link->spec.loss.emplace_back(key, *std::move(text));
      }
      if (absl::Status s = patch.set_loss(link->spec.loss); !s.ok()) return value.error(s.message());
    } else {
      L3DML_RETURN_IF_ERROR(read_scalar(value, name, &patch, &link->spec.scalars));
    }
  }
  if (!link->spec.repeat.empty() && link->spec.trace.empty())
    return field["repeat"].error("repeats nothing: there is no trace");
  patch.apply(link->parameters);
  if (absl::Status s = link->parameters.validate(); !s.ok()) return field.error(s.message());
  return absl::OkStatus();
}

bool usable_name(absl::string_view name) {
  if (name.empty() || name.size() > 24) return false;
  for (const char c : name)
    if (!(('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' || c == '_'))
      return false;
  return true;
}

class Reader {
 public:
  explicit Reader(Field root) : root_(std::move(root)) {}

  absl::StatusOr<Scenario> read() {
    L3DML_RETURN_IF_ERROR(root_.expect_map("{sites: {...}, links: [...]}"));
    L3DML_RETURN_IF_ERROR(root_.expect_keys(
        {"name", "seed", "sites", "access", "links", "job", "workload", "backend", "tcp", "mtu"}));
    L3DML_RETURN_IF_ERROR(root_["name"].read(&out_.name));
    if (!usable_name(out_.name))
      return root_["name"].error(out_.name.empty() ? "is missing: a word for this lab, for example two-sites"
                                                   : "must be at most 24 letters, digits, - and _");
    int64_t seed = 1, mtu = 1500;
    L3DML_RETURN_IF_ERROR(root_["seed"].read(&seed, 0, INT64_MAX));
    L3DML_RETURN_IF_ERROR(root_["mtu"].read(&mtu, 1280, 9216));
    out_.seed = static_cast<uint64_t>(seed);
    out_.mtu = static_cast<uint32_t>(mtu);
    L3DML_RETURN_IF_ERROR(read_sites());
    L3DML_RETURN_IF_ERROR(read_links());
    L3DML_RETURN_IF_ERROR(read_job());
    L3DML_RETURN_IF_ERROR(read_workload());
    L3DML_RETURN_IF_ERROR(read_backend());
    return std::move(out_);
  }

 private:
  absl::Status read_sites() {
    if (const Field access = root_["access"]; access.present()) {
      L3DML_RETURN_IF_ERROR(access.expect_map("{rate: 1Gbit, delay: 0.1ms}"));
      L3DML_RETURN_IF_ERROR(read_link(access, {}, &access_));
    }
    const Field sites = root_["sites"];
    L3DML_RETURN_IF_ERROR(sites.expect_map("{west: {workers: 2}, east: {workers: 2}}"));
    for (const auto& [name, site] : sites.members()) {
      if (!usable_name(name)) return site.error("a site's name must be at most 24 letters, digits, - and _");
      if (site.present()) L3DML_RETURN_IF_ERROR(site.expect_map("{workers: 2}"));
      L3DML_RETURN_IF_ERROR(site.expect_keys({"workers", "aggregate"}));
      bool aggregates = true;
      L3DML_RETURN_IF_ERROR(site["aggregate"].read(&aggregates));
      const auto id = out_.topology.add_site(name, aggregates);
      if (!id.ok()) return site.error(id.status().message());
      L3DML_RETURN_IF_ERROR(read_workers(name, site["workers"], *id));
    }
    if (out_.topology.hosts().size() < 2)
      return sites.error(
          absl::StrCat("there must be at least 2 workers in all, there are ", out_.topology.hosts().size()));
    return absl::OkStatus();
  }

  absl::Status read_workers(const std::string& site_name, const Field& workers, SiteId site) {
    if (workers.is_list()) {
      for (const Field& worker : workers.items()) {
        LinkFigures own = access_;
        std::string name;
        if (worker.is_scalar()) {
          L3DML_RETURN_IF_ERROR(worker.read(&name));
        } else {
          L3DML_RETURN_IF_ERROR(worker.expect_map("{name: slow, delay: 5ms}"));
          L3DML_RETURN_IF_ERROR(worker["name"].read(&name));
          own.spec = {};  // a worker's own parameters come on top of `access`
          LinkFigures merged;
          L3DML_RETURN_IF_ERROR(read_link(worker, {"name"}, &own));
          merged.spec = access_.spec;
          for (const auto& scalar : own.spec.scalars) set_scalar(&merged.spec, scalar);
          if (!own.spec.loss.empty()) merged.spec.loss = own.spec.loss;
          if (!own.spec.trace.empty())
            merged.spec.trace = own.spec.trace, merged.spec.repeat = own.spec.repeat;
          own.spec = merged.spec;
        }
        L3DML_RETURN_IF_ERROR(add_worker(name, worker, site, own));
      }
      return absl::OkStatus();
    }
    int64_t count = 0;
    L3DML_RETURN_IF_ERROR(workers.read(&count, 0, 60));
    for (int64_t i = 0; i < count; ++i)
      L3DML_RETURN_IF_ERROR(add_worker(absl::StrCat(site_name, i), workers, site, access_));
    return absl::OkStatus();
  }

  static void set_scalar(LinkSpec* spec, const std::pair<std::string, std::string>& scalar) {
    for (auto& existing : spec->scalars)
      if (existing.first == scalar.first) {
        existing.second = scalar.second;
        return;
      }
    spec->scalars.push_back(scalar);
  }

  absl::Status add_worker(const std::string& name, const Field& field, SiteId site,
                          const LinkFigures& access) {
    if (!usable_name(name)) return field.error("a worker's name must be at most 24 letters, digits, - and _");
    const io::LinkParameters& p = access.parameters;
    const auto id = out_.topology.add_host(name, site, static_cast<double>(p.rate_bps),
                                           static_cast<double>(p.delay_ns) / 1e9);
    if (!id.ok()) return field.error(id.status().message());
    out_.access.push_back(access.spec);
    return absl::OkStatus();
  }

  absl::StatusOr<SiteId> site_named(const Field& field) const {
    auto name = field.text();
    if (!name.ok()) return name.status();
    if (const SiteId id = out_.topology.find_site(*name); id >= 0) return id;
    std::string known;
    for (const control::Site& s : out_.topology.sites())
      absl::StrAppend(&known, known.empty() ? "" : ", ", s.name);
    return field.error(absl::StrCat("there is no site \"", *name, "\"; there are ", known));
  }

  absl::Status read_links() {
    const Field links = root_["links"];
    if (links.present())
      L3DML_RETURN_IF_ERROR(links.expect_list("[{between: [west, east], rate: 100Mbit, delay: 25ms}]"));
    for (const Field& item : links.items()) {
      L3DML_RETURN_IF_ERROR(item.expect_map("{between: [west, east], rate: 100Mbit, delay: 25ms}"));
      const Field between = item["between"];
      L3DML_RETURN_IF_ERROR(between.expect_list("[west, east]"));
      const std::vector<Field> ends = between.items();
      if (ends.size() != 2)
        return between.error("must name the two sites that the link joins, for example [west, east]");
      const auto a = site_named(ends[0]), b = site_named(ends[1]);
      if (!a.ok()) return a.status();
      if (!b.ok()) return b.status();
      LinkFigures link;
      L3DML_RETURN_IF_ERROR(read_link(item, {"name", "between"}, &link));
      const auto& sites = out_.topology.sites();
      std::string name = absl::StrCat(sites[*a].name, "-", sites[*b].name);
      L3DML_RETURN_IF_ERROR(item["name"].read(&name));
      const io::LinkParameters& p = link.parameters;
      const auto id = out_.topology.add_link(name, *a, *b, static_cast<double>(p.rate_bps),
                                             static_cast<double>(p.delay_ns) / 1e9, p.loss.mean());
      if (!id.ok()) return item.error(id.status().message());
      out_.links.push_back(std::move(link.spec));
    }
    return absl::OkStatus();
  }

  absl::Status read_job() {
    const Field job = root_["job"];
    if (!job.present()) return absl::OkStatus();
    L3DML_RETURN_IF_ERROR(job.expect_map("{lanes: 256, roots: [west]}"));
    L3DML_RETURN_IF_ERROR(
        job.expect_keys({"lanes", "format", "roots", "stripes", "inner", "timeout", "lease", "on_loss"}));
    int64_t lanes = out_.job.lanes;
    L3DML_RETURN_IF_ERROR(job["lanes"].read(&lanes, 64, 320));
    if (lanes % 64 != 0) return job["lanes"].error("must be 64, 128, 192, 256 or 320");
    if (lanes > (static_cast<int64_t>(out_.mtu) - 72) / 4)
      return job["lanes"].error(
          absl::StrCat("does not fit an MTU of ", out_.mtu, ": at most ", (out_.mtu - 72) / 4 / 64 * 64));
    out_.job.lanes = static_cast<uint32_t>(lanes);
    L3DML_RETURN_IF_ERROR(job["format"].read(&out_.job.format));
    if (out_.job.format != "fixed32" && out_.job.format != "fixed16x2" && out_.job.format != "fixed8x4")
      return job["format"].error(
          absl::StrCat("\"", out_.job.format, "\" must be fixed32, fixed16x2 or fixed8x4"));
    L3DML_RETURN_IF_ERROR(job["inner"].read(&out_.job.inner));
    L3DML_RETURN_IF_ERROR(job["stripes"].read(&out_.job.stripes, 0, 31));
    L3DML_RETURN_IF_ERROR(job["timeout"].read(&out_.job.timeout_s, 1, 86400));
    L3DML_RETURN_IF_ERROR(job["lease"].read(&out_.job.lease_s, 1, 86400));
    std::string on_loss = "end";
    L3DML_RETURN_IF_ERROR(job["on_loss"].read(&on_loss));
    if (on_loss != "end" && on_loss != "continue")
      return job["on_loss"].error(absl::StrCat("\"", on_loss, "\" must be end or continue"));
    out_.job.go_on = on_loss == "continue";
    const Field roots = job["roots"];
    if (roots.present() && job["stripes"].present())
      return job["stripes"].error("goes without roots: each root is a stripe");
    if (roots.is_map()) {  // site: share
      for (const auto& [site, share] : roots.members()) {
        double value = 1;
        L3DML_RETURN_IF_ERROR(share.read(&value, 1e-6, 1e6));
        const SiteId id = out_.topology.find_site(site);
        if (id < 0) return share.error(absl::StrCat("there is no site \"", site, "\""));
        out_.job.roots.emplace_back(id, value);
      }
    } else if (roots.present()) {
      L3DML_RETURN_IF_ERROR(roots.expect_list("[west, east], or shares {west: 2, east: 1}"));
      for (const Field& item : roots.items()) {
        const auto id = site_named(item);
        if (!id.ok()) return id.status();
        out_.job.roots.emplace_back(*id, 1.0);
      }
    }
    for (const auto& [site, share] : out_.job.roots)
      if (!out_.topology.sites()[site].aggregates)
        return roots.error(absl::StrCat("site ", out_.topology.sites()[site].name,
                                        " does not aggregate, it cannot be a root"));
    return absl::OkStatus();
  }

  absl::Status read_workload() {
    const Field workload = root_["workload"];
    if (!workload.present()) return absl::OkStatus();
    L3DML_RETURN_IF_ERROR(workload.expect_map("{steps: 50}, or {command: [iperf3, -s]}"));
    for (const auto& [name, value] : workload.members()) {
      if (name == "command") {
        L3DML_RETURN_IF_ERROR(value.expect_list("[python3, train.py]"));
        for (const Field& word : value.items()) {
          auto text = word.text();
          if (!text.ok()) return text.status();
          out_.workload.command.push_back(*std::move(text));
        }
        if (out_.workload.command.empty()) return value.error("is empty: name a program");
      } else if (name == "environment") {
        L3DML_RETURN_IF_ERROR(value.expect_map("{OMP_NUM_THREADS: 1}"));
        for (const auto& [variable, setting] : value.members()) {
          auto text = setting.text();
          if (!text.ok()) return text.status();
          out_.workload.environment[variable] = *std::move(text);
        }
      } else {
        auto text = value.text();
        if (!text.ok()) return text.status();
        out_.workload.options[name] = *std::move(text);
      }
    }
    if (!out_.workload.command.empty() && !out_.workload.options.empty())
      return workload.error(
          absl::StrCat(out_.workload.options.begin()->first,
                       " is an option of the training script; with a command, put it there"));
    return absl::OkStatus();
  }

  absl::Status read_backend() {
    std::string backend = "l3dml";
    L3DML_RETURN_IF_ERROR(root_["backend"].read(&backend));
    const auto parsed = parse_backend(backend);
    if (!parsed.ok()) return root_["backend"].error(parsed.status().message());
    out_.backend = *parsed;
    L3DML_RETURN_IF_ERROR(root_["tcp"].read(&out_.tcp));
    if (absl::Status s = check_tcp(out_.tcp); !s.ok()) return root_["tcp"].error(s.message());
    return absl::OkStatus();
  }

  Field root_;
  Scenario out_;
  LinkFigures access_;
};

absl::StatusOr<Scenario> finish(absl::StatusOr<Field> root, const std::string& file) {
  if (!root.ok()) return root.status();
  auto scenario = Reader(*std::move(root)).read();
  if (scenario.ok()) scenario->file = file;
  return scenario;
}

}  // namespace

absl::StatusOr<Scenario> load_scenario(const std::string& file) { return finish(Field::load(file), file); }
absl::StatusOr<Scenario> parse_scenario(const std::string& text, const std::string& file) {
  return finish(Field::parse(text, file), file);
}

const char* name(Backend backend) {
  switch (backend) {
    case Backend::l3dml:
      return "l3dml";
    case Backend::gloo:
      return "gloo";
    case Backend::ps:
      return "ps";
  }
  return "";
}

absl::StatusOr<Backend> parse_backend(const std::string& text) {
  if (text == "l3dml") return Backend::l3dml;
  if (text == "gloo") return Backend::gloo;
  if (text == "ps") return Backend::ps;
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" must be l3dml, gloo or ps"));
}

absl::Status check_tcp(const std::string& congestion_control) {
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  for (const std::string& word : words)
    if (word == congestion_control) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("this kernel has no \"", congestion_control, "\"; it has ", line));
}

}  // namespace l3dml::lab
