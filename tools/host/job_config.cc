#include "tools/host/job_config.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "dataplane/base/limits.h"
#include "dataplane/base/mutation.h"
#include "dataplane/wire/address.h"
#include "nlohmann/json.hpp"

namespace l3dml::host {
namespace {

using nlohmann::json;

absl::Status bad(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("job configuration: ", where, " ", what));
}

// Reads the members of one JSON object; remembers the first error.
class Reader {
 public:
  Reader(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  template <typename Int>
  void integer(const char* key, Int* value, uint64_t least, uint64_t most, bool required) {
    const json* found = find(key, required);
    if (!found) return;
    if (!found->is_number_unsigned() || found->get<uint64_t>() < least || found->get<uint64_t>() > most)
      return fail(key,
                  absl::StrCat("must be an integer from ", least, " to ", most, ", not ", found->dump()));
    *value = static_cast<Int>(found->get<uint64_t>());
  }
  void number(const char* key, double* value) {
    if (const json* found = find(key, false)) {
      if (!found->is_number()) return fail(key, absl::StrCat("must be a number, not ", found->dump()));
      *value = found->get<double>();
    }
  }
  void text(const char* key, std::string* value) {
    if (const json* found = find(key, true)) {
      if (!found->is_string()) return fail(key, absl::StrCat("must be a string, not ", found->dump()));
      *value = found->get<std::string>();
    }
  }
  void address(const char* key, wire::Ipv6Address* value) {
    std::string spelled;
    text(key, &spelled);
    if (status_.ok() && !wire::parse_address(spelled, value))
      fail(key, absl::StrCat("must be an IPv6 address, not \"", spelled, "\""));
  }
  const json* find(const char* key, bool required) {
    known_.insert(key);
    const auto at = object_.find(key);
    if (at != object_.end()) return &*at;
    if (required) fail(key, "is missing");
    return nullptr;
  }
  // Call last: a key that nobody asked for is a misspelling.
  absl::Status finish() {
    for (const auto& [key, value] : object_.items())
      if (!known_.contains(key)) fail(key.c_str(), "is not a key of this file");
    return status_;
  }
  void fail(const char* key, const std::string& what) {
    if (status_.ok()) status_ = bad(absl::StrCat(path_, key), what);
  }

 private:
  const json& object_;
  std::string path_;
  std::set<std::string> known_;
  absl::Status status_;
};

constexpr uint64_t kMax16 = 0xffff, kMax32 = 0xffffffff;
constexpr uint64_t kMax64 = std::numeric_limits<int64_t>::max();

absl::StatusOr<StripeConfig> parse_stripe(const json& object, const std::string& path) {
  if (!object.is_object()) return bad(path, "must be an object");
  StripeConfig s;
  Reader r(object, path + ".");
  r.integer("job", &s.job, 0, kMax16, true);
  r.integer("epoch", &s.epoch, 0, 255, true);
  r.integer("child", &s.child, 0, base::kMaxChildren - 1, true);
  r.integer("lanes", &s.lanes, base::kLanesGranularity, base::kMaxLanes, true);
  r.integer("window", &s.window, 1, 1u << 30, true);
  r.integer("look_ahead", &s.look_ahead, 1, 1u << 30, true);
  r.integer("shards", &s.shards, 1, base::kMaxShards, true);
  r.integer("first_number", &s.first_number, 1, kMax32, true);
  r.integer("slot_base", &s.slot_base, 0, kMax32, true);
  r.integer("ring", &s.ring, 1, 1u << 31, true);
  r.address("aggregator", &s.aggregator);
  r.address("result_source", &s.result_source);
  r.address("local_address", &s.local_address);
  r.integer("local_port", &s.local_port, 1, kMax16, true);
  r.integer("rate_bps", &s.rate_bps, 0, kMax64, true);
  r.number("share", &s.share);
  r.integer("mtu", &s.mtu, 1280, 65535, false);
  if (absl::Status status = r.finish(); !status.ok()) return status;
  return s;
}

json to_json(const StripeConfig& s) {
  return json{{"job", s.job},
              {"epoch", s.epoch},
              {"child", s.child},
              {"lanes", s.lanes},
              {"window", s.window},
              {"look_ahead", s.look_ahead},
              {"shards", s.shards},
              {"first_number", s.first_number},
              {"slot_base", s.slot_base},
              {"ring", s.ring},
              {"aggregator", wire::format_address(s.aggregator)},
              {"result_source", wire::format_address(s.result_source)},
              {"local_address", wire::format_address(s.local_address)},
              {"local_port", s.local_port},
              {"rate_bps", s.rate_bps},
              {"share", s.share},
              {"mtu", s.mtu}};
}

}  // namespace

absl::Status validate(const StripeConfig& s, const std::string& where) {
  const auto power = [](uint64_t x) { return std::has_single_bit(x); };
  if (s.child >= base::kMaxChildren) return bad(where + ".child", "must be 0 to 30");
  if (s.lanes == 0 || s.lanes % base::kLanesGranularity || s.lanes > base::kMaxLanes)
    return bad(where + ".lanes", absl::StrCat("must be 64, 128, 192, 256 or 320, not ", s.lanes));
  if (s.lanes > (s.mtu - 72) / 4)
    return bad(where + ".lanes",
               absl::StrCat("must be at most (mtu - 72) / 4 = ", (s.mtu - 72) / 4, ", not ", s.lanes));
  if (!power(s.window)) return bad(where + ".window", absl::StrCat("must be a power of two, not ", s.window));
  if (!power(s.look_ahead) || s.look_ahead < s.window)
    return bad(where + ".look_ahead", absl::StrCat("must be a power of two and at least the window (",
                                                   s.window, "), not ", s.look_ahead));
  if (!power(s.shards) || s.shards > s.window || s.shards > base::kMaxShards)
    return bad(where + ".shards",
               absl::StrCat("must be a power of two, at most 64 and at most the window, not ", s.shards));
  const uint64_t entries = uint64_t{s.ring} * s.shards;
  const uint64_t least = L3DML_MUTATE(ring_of_one_window) ? s.window : 2 * uint64_t{s.window};
  if (!power(s.ring) || entries < least)
    return bad(where + ".ring", absl::StrCat("must be a power of two with ring x shards >= 2 x window (",
                                             2 * uint64_t{s.window}, "), not ", s.ring));
  if (s.slot_base % s.ring)
    return bad(where + ".slot_base",
               absl::StrCat("must be a multiple of the ring (", s.ring, "), not ", s.slot_base));
  if (s.first_number == 0 || s.first_number % entries)
    return bad(where + ".first_number", absl::StrCat("must be a multiple of ring x shards (", entries,
                                                     ") and not 0, not ", s.first_number));
  if (!(s.share > 0) || !std::isfinite(s.share)) return bad(where + ".share", "must be a positive number");
  const wire::Place place = wire::to_place(s.aggregator);
  if (place.function != wire::Function::aggregate || place.job != s.job || place.child != s.child)
    return bad(where + ".aggregator",
               absl::StrCat("must be an aggregation address of job ", s.job, " and child ", s.child, ", not ",
                            wire::format_address(s.aggregator)));
  return absl::OkStatus();
}

absl::Status validate(const JobConfig& c) {
  if (c.world == 0 || c.world > kMax16)
    return bad("world", absl::StrCat("must be 1 to 65535, not ", c.world));
  if (c.rank >= c.world)
    return bad("rank", absl::StrCat("must be below the world (", c.world, "), not ", c.rank));
  if (c.timeout_ns <= 0) return bad("timeout_ns", "must be positive");
  if (c.abstain_after_ns < 0) return bad("abstain_after_ns", "must not be negative");
  if (c.stripes.empty()) return bad("stripes", "must hold at least one stripe");
  std::set<uint16_t> jobs;
  for (size_t i = 0; i < c.stripes.size(); ++i) {
    const std::string where = absl::StrCat("stripes[", i, "]");
    if (absl::Status status = validate(c.stripes[i], where); !status.ok()) return status;
    if (!jobs.insert(c.stripes[i].job).second)
      return bad(where + ".job", absl::StrCat("must differ from the other stripes', not ", c.stripes[i].job));
  }
  return absl::OkStatus();
}

absl::StatusOr<JobConfig> parse_job_config(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (object.is_discarded()) return absl::InvalidArgumentError("job configuration: not JSON");
  if (!object.is_object()) return absl::InvalidArgumentError("job configuration: must be a JSON object");
  JobConfig c;
  Reader r(object, "");
  r.text("name", &c.name);
  r.integer("world", &c.world, 1, kMax16, true);
  r.integer("rank", &c.rank, 0, kMax16, true);
  r.integer("timeout_ns", &c.timeout_ns, 1, kMax64, false);
  r.integer("abstain_after_ns", &c.abstain_after_ns, 0, kMax64, false);
  const json* stripes = r.find("stripes", true);
  if (stripes && !stripes->is_array()) r.fail("stripes", "must be a list");
  if (absl::Status status = r.finish(); !status.ok()) return status;
  for (size_t i = 0; i < stripes->size(); ++i) {
    auto stripe = parse_stripe((*stripes)[i], absl::StrCat("stripes[", i, "]"));
    if (!stripe.ok()) return stripe.status();
    c.stripes.push_back(*stripe);
  }
  if (absl::Status status = validate(c); !status.ok()) return status;
  return c;
}

std::string format_job_config(const JobConfig& c) {
  json stripes = json::array();
  for (const StripeConfig& s : c.stripes) stripes.push_back(to_json(s));
  return json{{"name", c.name},
              {"world", c.world},
              {"rank", c.rank},
              {"timeout_ns", c.timeout_ns},
              {"abstain_after_ns", c.abstain_after_ns},
              {"stripes", stripes}}
             .dump(2) +
         "\n";
}

absl::StatusOr<JobConfig> load_job_config(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  auto config = parse_job_config(text.str());
  if (!config.ok())
    return absl::Status(config.status().code(), absl::StrCat(path, ": ", config.status().message()));
  return config;
}

absl::Status save_job_config(const JobConfig& config, const std::string& path) {
  std::ofstream out(path);
  if (!(out << format_job_config(config)) || !out.flush())
    return absl::PermissionDeniedError(absl::StrCat("cannot write ", path));
  return absl::OkStatus();
}

}  // namespace l3dml::host
