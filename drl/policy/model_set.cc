#include "drl/policy/model_set.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "drl/env/bundle.h"

namespace l3dml::drl {
namespace {

constexpr absl::string_view kSuffix = ".model";

double score(const Model& m) {
  const auto it = m.info.scores.find("mean");
  return it == m.info.scores.end() ? kUnlimited : it->second;
}

}  // namespace

void ModelSet::add(Model model) {
  std::erase_if(models_, [&](const auto& m) { return m->info.name == model.info.name; });
  models_.push_back(std::make_shared<const Model>(std::move(model)));
}

absl::StatusOr<ModelSet> ModelSet::load(const std::string& directory, std::vector<std::string>& refused) {
  ModelSet set;
  for (const BundledFile& file : bundled_files()) {
    const std::string name(file.name);
    if (!absl::EndsWith(name, kSuffix)) continue;
    auto model = parse_model(std::string(file.text));
    if (model.ok())
      set.add(*std::move(model));
    else
      refused.push_back(absl::StrCat(name, ": ", model.status().message()));
  }
  if (directory.empty()) return set;
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error))
    if (absl::EndsWith(it->path().string(), kSuffix)) files.push_back(it->path().string());
  if (error) return absl::NotFoundError(absl::StrCat("model directory ", directory, ": ", error.message()));
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    auto model = read_model(file);
    if (model.ok())
      set.add(*std::move(model));
    else
      refused.emplace_back(model.status().message());
  }
  return set;
}

Gate ModelSet::pick(const Problem& problem) const {
  const double sites = static_cast<double>(problem.sites.size());
  const double children = static_cast<double>(problem.children.size());
  Gate gate;
  std::vector<std::string> reasons;
  for (const auto& m : models_) {
    const ModelInfo& i = m->info;
    const auto refuse = [&](const char* what, double is, const Range& range) {
      reasons.push_back(
          absl::StrFormat("%s knows %s %g to %g, this has %g", i.name, what, range.low, range.high, is));
    };
    if (!i.sites.holds(sites))
      refuse("sites", sites, i.sites);
    else if (!i.children.holds(children))
      refuse("children", children, i.children);
    else if (!i.bytes.holds(problem.job.bytes))
      refuse("bytes", problem.job.bytes, i.bytes);
    else if (!gate.model || score(*m) < score(*gate.model))
      gate.model = m;
  }
  if (gate.model)
    gate.why = absl::StrFormat("%s: %g sites, %g children and %.3g bytes are in its regime",
                               gate.model->info.name, sites, children, problem.job.bytes);
  else
    gate.why = reasons.empty() ? "no model" : absl::StrCat("no model: ", absl::StrJoin(reasons, "; "));
  return gate;
}

}  // namespace l3dml::drl
