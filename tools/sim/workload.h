// The collectives of a job: what each member puts in, and what must come out. Inputs are functions of (seed,
// member, collective, element), so nothing has to be kept to know what the sum ought to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/host/collective.h"
#include "tools/sim/ledger.h"
#include "tools/sim/random.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

class Workload {
 public:
  Workload(const JobSpec& spec, uint32_t job, uint32_t world, uint64_t seed);

  size_t size_bytes(size_t collective) const;
  void fill(uint32_t member, size_t collective, void* input) const;
  void fill_residual(uint32_t member, size_t collective, float* residual) const;  // left over from before

  // The members of each epoch; an element's sum is that over one of these sets.
  void add_members(const std::vector<uint32_t>& members);

  // A member died or was cut off: what it alone holds binds nobody. The results of a collective are compared
  // among those that are left.
  void member_leaves(uint32_t member);

  // Compares a member's result with the first one (same_result) and that with the sums that are possible
  // (exact_sum). What all members left out must be what the sum lacks (exact_residual).
  std::optional<Violation> check(uint32_t member, size_t collective, const void* output,
                                 const std::vector<float>& residual, const host::CollectiveResult& result);

  const std::vector<CollectiveSpec>& collectives() const { return spec_.collectives; }

 private:
  struct First {                    // the first result of a collective
    std::vector<uint32_t> holders;  // members with this result that are still there; none: not known
    bool finite = true;
    std::vector<uint8_t> output;
    std::vector<double> told;  // over members that finished: input and old residual less new residual
    uint32_t told_by = 0;
  };
  double value(uint32_t member, size_t collective, size_t element) const;  // of a float type
  int32_t integer(uint32_t member, size_t collective, size_t element) const;
  bool holds_bad(uint32_t member, size_t collective) const;  // the member with the element that is not finite
  std::optional<std::string> wrong_sum(size_t collective, const void* output) const;
  std::optional<std::string> wrong_integer(const CollectiveSpec& c, size_t collective,
                                           const void* output) const;
  double summand(uint32_t member, size_t collective, size_t element) const;  // as the tensor holds it
  std::optional<std::string> wrong_residual(uint32_t member, size_t collective,
                                            const std::vector<float>& residual);
  double tolerance(const CollectiveSpec& c, double sum) const;

  JobSpec spec_;
  uint32_t job_, world_;
  uint64_t seed_;
  int largest_magnitude_ = 0;
  std::vector<std::vector<uint32_t>> member_sets_;
  std::vector<First> firsts_;
  std::vector<bool> gone_;  // by member
};

// Element `i` of a tensor of some floating type.
double load_element(kernels::ElementType type, const void* tensor, size_t i);
void store_element(kernels::ElementType type, void* tensor, size_t i, double value);

}  // namespace l3dml::sim
