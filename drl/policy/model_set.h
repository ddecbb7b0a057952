// The registry of policies and the gate that picks one. A set is immutable; the policy swaps whole sets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drl/policy/model.h"

namespace l3dml::drl {

struct Gate {
  std::shared_ptr<const Model> model;  // none: nothing was trained for this job
  std::string why;
};

class ModelSet {
 public:
  // The compiled-in models and, if named, every *.model of a directory (one of the same name replaces a
  // compiled-in one). Files that are refused are left out and named in `refused`.
  static absl::StatusOr<ModelSet> load(const std::string& directory, std::vector<std::string>& refused);

  // Among models whose regime holds the job (sites, children, bytes) the one with the best validation score.
  Gate pick(const Problem& problem) const;

  const std::vector<std::shared_ptr<const Model>>& models() const { return models_; }

 private:
  void add(Model model);
  std::vector<std::shared_ptr<const Model>> models_;
};

}  // namespace l3dml::drl
