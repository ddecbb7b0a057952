#include "control/app/config.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "control/app/quantity.h"
#include "yaml-cpp/yaml.h"

namespace l3dml::control {
namespace {

// One map of the file. Remembers the first error of the whole file.
class Map {
 public:
  Map(const YAML::Node& node, std::string where, absl::Status* status)
      : node_(node), where_(std::move(where)), status_(*status) {
    if (!node_.IsMap() && !node_.IsNull()) fail(node_, "must be a map");
  }
  ~Map() {
    if (!node_.IsMap()) return;
    for (const auto& item : node_) {
      const auto key = item.first.as<std::string>("");
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        fail(item.first, absl::StrCat("\"", key, "\" is not a key here: ", absl::StrJoin(known_, ", ")));
    }
  }
  YAML::Node get(const char* key) {
    known_.emplace_back(key);
    return node_.IsMap() ? node_[key] : YAML::Node(YAML::NodeType::Undefined);
  }
  void text(const char* key, std::string* value, bool required = false) {
    const YAML::Node found = get(key);
    if (!found) {
      if (required) fail(node_, absl::StrCat(key, " is missing"));
      return;
    }
    if (!found.IsScalar()) return fail(found, absl::StrCat(key, " must be a text"));
    *value = found.as<std::string>();
  }
  void texts(const char* key, std::vector<std::string>* values) {
    const YAML::Node found = get(key);
    if (!found) return;
    values->clear();
    if (found.IsScalar()) return values->push_back(found.as<std::string>());
    if (!found.IsSequence()) return fail(found, absl::StrCat(key, " must be a list"));
    for (const YAML::Node& item : found) values->push_back(item.as<std::string>(""));
  }
  template <typename Parse>
  void quantity(const char* key, double* value, Parse parse) {
    const YAML::Node found = get(key);
    if (!found) return;
    const auto parsed = parse(found.as<std::string>(""));
    if (!parsed.ok()) return fail(found, absl::StrCat(key, " ", parsed.status().message()));
    *value = *parsed;
  }
  template <typename Int>
  void integer(const char* key, Int* value, int64_t least, int64_t most) {
    const YAML::Node found = get(key);
    if (!found) return;
    int64_t number = 0;
    if (!absl::SimpleAtoi(found.as<std::string>(""), &number) || number < least || number > most)
      return fail(found, absl::StrCat(key, " must be a whole number from ", least, " to ", most));
    *value = static_cast<Int>(number);
  }
  void flag(const char* key, bool* value) {
    const YAML::Node found = get(key);
    if (!found) return;
    try {
      *value = found.as<bool>();
    } catch (const YAML::Exception&) {
      fail(found, absl::StrCat(key, " must be true or false"));
    }
  }
  void fail(const YAML::Node& at, const std::string& what) {
    if (!status_.ok()) return;
    const int line = at.Mark().line + 1;
    status_ = absl::InvalidArgumentError(absl::StrCat("line ", line, ", ", where_, ": ", what));
  }

 private:
  YAML::Node node_;
  std::string where_;
  absl::Status& status_;
  std::vector<std::string> known_;
};

void read_tls(Map* file, const char* key, TlsFiles* tls, absl::Status* status) {
  const YAML::Node node = file->get(key);
  if (!node) return;
  Map map(node, key, status);
  map.text("certificate", &tls->certificate, true);
  map.text("key", &tls->key, true);
  map.text("authority", &tls->authority, true);
}

template <typename Read>
void each(Map* map, const char* key, absl::Status* status, Read read) {
  const YAML::Node list = map->get(key);
  if (!list) return;
  if (!list.IsSequence()) return map->fail(list, absl::StrCat(key, " must be a list"));
  for (const YAML::Node& item : list) {
    Map one(item, key, status);
    read(&one);
  }
}

void read_network(Map* file, NetworkRecords* network, absl::Status* status) {
  each(file, "sites", status, [&](Map* map) {
    SiteRecord site;
    map->text("name", &site.name, true);
    map->text("switch", &site.address);
    map->integer("device", &site.device_id, 0, 65535);
    map->flag("router", &site.router);
    map->text("port_speed", &site.speed);
    map->text("port_fec", &site.fec);
    network->sites.push_back(site);
  });
  each(file, "hosts", status, [&](Map* map) {
    HostRecord host;
    map->text("name", &host.name, true);
    map->text("site", &host.site, true);
    map->quantity("rate", &host.rate_bps, parse_rate);
    map->quantity("delay", &host.delay_s, parse_duration);
    map->integer("port", &host.port, 0, 511);
    network->hosts.push_back(host);
  });
  each(file, "links", status, [&](Map* map) {
    LinkRecord link;
    std::vector<std::string> ends;
    map->texts("between", &ends);
    if (ends.size() == 2)
      link.a = ends[0], link.b = ends[1];
    else
      map->fail(map->get("between"), "between must name two sites");
    link.name = absl::StrCat(link.a, "-", link.b);
    map->text("name", &link.name);
    map->quantity("rate", &link.rate_bps, parse_rate);
    map->quantity("delay", &link.delay_s, parse_duration);
    map->quantity("loss", &link.loss, parse_share);
    std::vector<std::string> ports;
    map->texts("ports", &ports);
    if (!ports.empty() && (ports.size() != 2 || !absl::SimpleAtoi(ports[0], &link.port_a) ||
                           !absl::SimpleAtoi(ports[1], &link.port_b)))
      map->fail(map->get("ports"), "ports must be two device ports, in the order of `between`");
    network->links.push_back(link);
  });
}

}  // namespace

absl::StatusOr<ControllerConfig> parse_config(const std::string& text, const std::string& file) {
  ControllerConfig config;
  absl::Status status;
  try {
    const YAML::Node root = YAML::Load(text);
    {
      Map map(root, "the file", &status);
      map.texts("listen", &config.listen);
      map.text("store", &config.store);
      map.flag("standby", &config.standby);
      map.quantity("store_lease", &config.store_lease_s, parse_duration);
      read_tls(&map, "store_tls", &config.store_tls, &status);
      map.text("metrics", &config.metrics);
      read_tls(&map, "tls", &config.tls, &status);
      read_tls(&map, "switch_tls", &config.switch_tls, &status);
      map.texts("operators", &config.operators);
      map.text("policy", &config.policy);
      map.text("models", &config.models);
      map.quantity("telemetry", &config.telemetry_interval_s, parse_duration);
      map.quantity("policy_hysteresis", &config.policy_hysteresis, parse_share);
      map.quantity("detach_grace", &config.detach_grace_s, parse_duration);
      map.quantity("switch_grace", &config.switch_grace_s, parse_duration);
      read_network(&map, &config.network, &status);
      if (config.listen.empty()) map.fail(map.get("listen"), "listen must name an address");
    }
  } catch (const YAML::Exception& e) {
    status = absl::InvalidArgumentError(absl::StrCat("line ", e.mark.line + 1, ": ", e.msg));
  }
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
  return config;
}

absl::StatusOr<std::string> read_file(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return absl::NotFoundError(absl::StrCat("cannot read ", file));
  return text.str();
}

absl::StatusOr<ControllerConfig> load_config(const std::string& file) {
  auto text = read_file(file);
  if (!text.ok()) return text.status();
  return parse_config(*text, file);
}

}  // namespace l3dml::control
