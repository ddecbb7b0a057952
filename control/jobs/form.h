// Which stripes a job should have where nobody says so: one root at the best switch, or a root at each
// member's site. The baseline that a trained policy is measured against; it enumerates, it does not learn.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/jobs/plan.h"

namespace l3dml::control {

struct FormOptions {
  int stripes = 0;  // 0: as many as is best
  bool inner = true;
  double bytes = 4e6;  // of a typical collective: what one round trip more is worth
};

// What was decided, and by whom.
struct ChosenForm {
  std::vector<StripeRequest> stripes;
  double time_s = 0;   // of one collective, by sizing.h
  std::string source;  // a model, a rule, "arithmetic" (choose_form), "owner" or "running"
  std::string why;     // for people, one line
};

// Decides on stripes where a job's owner does not. Any thread.
class FormChooser {
 public:
  virtual ~FormChooser() = default;
  virtual absl::StatusOr<ChosenForm> choose(const Topology& topology, const std::vector<HostId>& members,
                                            const SizingOptions& sizing, const FormOptions& options) const;
};

// Of given stripes; infinite where one of their trees cannot be built.
double form_time_s(const Topology& topology, const std::vector<HostId>& members,
                   const std::vector<StripeRequest>& stripes, const SizingOptions& sizing, double bytes);

// Keeps `running` unless `form` is shorter by more than the part `hysteresis`.
ChosenForm keep_unless_clearly_faster(const Topology& topology, const std::vector<HostId>& members,
                                      const SizingOptions& sizing, double bytes, ChosenForm form,
                                      const std::vector<StripeRequest>& running, double hysteresis);

// Time for one collective of `bytes`, by the arithmetic of sizing.h: transfer plus one round trip.
double collective_time_s(const JobSize& size, double bytes);

// Errors: no aggregating switch reaches all members.
absl::StatusOr<std::vector<StripeRequest>> choose_form(const Topology& topology,
                                                       const std::vector<HostId>& members,
                                                       const SizingOptions& sizing,
                                                       const FormOptions& options = {});

}  // namespace l3dml::control
