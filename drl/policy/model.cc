#include "drl/policy/model.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace l3dml::drl {
namespace {

static_assert(std::endian::native == std::endian::little, "weights are stored as they lie in memory");

std::string hash_of(absl::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return absl::StrFormat("%016x", h);
}

absl::Status bad(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

Range range_of(const nlohmann::json& j, const char* name, Range otherwise) {
  if (!j.contains(name)) return otherwise;
  return {j.at(name).at(0).get<double>(), j.at(name).at(1).get<double>()};
}

}  // namespace

std::string format_model(const ModelInfo& info, const std::vector<float>& weights) {
  nlohmann::ordered_json j;
  j["name"] = info.name;
  j["steps"] = info.steps;
  j["hidden"] = info.hidden;
  j["features"] = {kLinkFeatures, kCandidateFeatures, kGlobalFeatures};
  j["regime"] = {{"sites", {info.sites.low, info.sites.high}},
                 {"children", {info.children.low, info.children.high}},
                 {"bytes", {info.bytes.low, info.bytes.high}},
                 {"strangeness", info.strangeness}};
  j["trained_on"] = info.trained_on;
  j["scores"] = info.scores;
  const absl::string_view raw(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float));
  const std::string body = absl::StrCat(j.dump(), "\n", absl::Base64Escape(raw), "\n");
  return absl::StrCat("l3dml-policy ", kModelVersion, " ", hash_of(body), "\n", body);
}

absl::StatusOr<Model> parse_model(absl::string_view text) {
  const size_t end = text.find('\n');
  const std::vector<std::string> head = absl::StrSplit(text.substr(0, end), ' ');
  if (end == absl::string_view::npos || head.size() != 3 || head[0] != "l3dml-policy")
    return bad("not a policy model");
  if (head[1] != absl::StrCat(kModelVersion))
    return bad(
        absl::StrCat("version ", head[1], ", this program reads ", kModelVersion, ": export it again"));
  const absl::string_view body = text.substr(end + 1);
  if (hash_of(body) != head[2]) return bad("damaged: its hash does not fit its content");
  const size_t middle = body.find('\n');
  if (middle == absl::string_view::npos) return bad("has no weights");
  Model model;
  try {
    const auto j = nlohmann::json::parse(std::string(body.substr(0, middle)));
    if (j.at("features") != nlohmann::json{kLinkFeatures, kCandidateFeatures, kGlobalFeatures})
      return bad("was trained on other features: train it again");
    const auto& regime = j.at("regime");
    ModelInfo& info = model.info;
    info.name = j.at("name").get<std::string>();
    info.steps = j.at("steps").get<int>();
    info.hidden = j.at("hidden").get<int>();
    info.sites = range_of(regime, "sites", info.sites);
    info.children = range_of(regime, "children", info.children);
    info.bytes = range_of(regime, "bytes", info.bytes);
    info.strangeness = regime.value("strangeness", 0.0f);
    info.trained_on = j.value("trained_on", std::vector<std::string>{});
    info.scores = j.value("scores", std::map<std::string, double>{});
    info.hash = head[2];
  } catch (const nlohmann::json::exception& e) {
    return bad(absl::StrCat("metadata: ", e.what()));
  }
  if (model.info.steps < 1 || model.info.steps > 1000) return bad("steps must lie in 1..1000");
  std::string raw;
  if (!absl::Base64Unescape(absl::StripTrailingAsciiWhitespace(body.substr(middle + 1)), &raw) ||
      raw.size() % sizeof(float))
    return bad("its weights are not base64 of float32");
  std::vector<float> weights(raw.size() / sizeof(float));
  std::memcpy(weights.data(), raw.data(), raw.size());
  auto network = Network::create(model.info.hidden, std::move(weights));
  if (!network.ok()) return network.status();
  model.network = *std::move(network);
  return model;
}

absl::StatusOr<Model> read_model(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat(file, ": cannot be read"));
  std::stringstream text;
  text << in.rdbuf();
  auto model = parse_model(text.str());
  if (!model.ok())
    return absl::Status(model.status().code(), absl::StrCat(file, ": ", model.status().message()));
  return model;
}

}  // namespace l3dml::drl
