#include "tools/sim/workload.h"

#include <vector>

#include <gtest/gtest.h>

namespace l3dml::sim {
namespace {

// One collective of four 32-bit integers; three members.
class WorkloadTest : public testing::Test {
 protected:
  WorkloadTest() : workload_(spec(), 0, 3, 1) { workload_.add_members({0, 1, 2}); }

  static JobSpec spec() {
    JobSpec spec;
    spec.members.resize(3);
    spec.collectives.resize(1);
    spec.collectives[0].count = 4;
    spec.collectives[0].type = kernels::ElementType::kInt32;
    return spec;
  }
  std::vector<uint32_t> sum(const std::vector<uint32_t>& members) const {
    std::vector<uint32_t> result(4), input(4);
    for (uint32_t member : members) {
      workload_.fill(member, 0, input.data());
      for (size_t i = 0; i < 4; ++i) result[i] += input[i];
    }
    return result;
  }
  std::string check(uint32_t member, const std::vector<uint32_t>& output, bool finite = true) {
    host::CollectiveResult result;
    result.finite = finite;
    const auto violation = workload_.check(member, 0, output.data(), {}, result);
    return violation ? violation->name : "";
  }

  Workload workload_;
};

TEST_F(WorkloadTest, accepts_the_sum_and_finds_a_wrong_one) {
  EXPECT_EQ(check(0, sum({0, 1, 2})), "");
  EXPECT_EQ(check(1, sum({0, 1, 2})), "");
  EXPECT_EQ(check(2, sum({0, 1})), "same_result");
}

TEST_F(WorkloadTest, finds_a_sum_over_no_epochs_members) { EXPECT_EQ(check(0, sum({0, 1})), "exact_sum"); }

// Seed 2529: the root's site died with the only worker that held the last chunk of the old epoch.
TEST_F(WorkloadTest, what_only_a_lost_member_holds_binds_nobody) {
  EXPECT_EQ(check(0, sum({0, 1, 2})), "");
  workload_.member_leaves(0);
  workload_.add_members({1, 2});
  EXPECT_EQ(check(1, sum({1, 2})), "");
  EXPECT_EQ(check(2, sum({0, 1, 2})), "same_result");
}

TEST_F(WorkloadTest, what_a_survivor_holds_too_still_binds) {
  EXPECT_EQ(check(0, sum({0, 1, 2})), "");
  EXPECT_EQ(check(1, sum({0, 1, 2})), "");
  workload_.member_leaves(0);
  workload_.add_members({1, 2});
  EXPECT_EQ(check(2, sum({1, 2})), "same_result");
}

TEST_F(WorkloadTest, a_result_of_a_lost_member_is_compared_with_nothing_but_sums) {
  EXPECT_EQ(check(0, sum({0, 1, 2})), "");
  workload_.add_members({1, 2});
  workload_.member_leaves(2);
  EXPECT_EQ(check(2, sum({1, 2})), "");
  EXPECT_EQ(check(2, sum({1})), "exact_sum");
}

}  // namespace
}  // namespace l3dml::sim
