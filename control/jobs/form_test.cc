#include "control/jobs/form.h"

#include "control/jobs/testing.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

using testing::Star;

std::vector<SiteId> roots(const absl::StatusOr<std::vector<StripeRequest>>& form) {
  std::vector<SiteId> result;
  if (form.ok())
    for (const StripeRequest& s : *form) result.push_back(s.root);
  return result;
}

TEST(Form, takes_one_root_at_a_hub_that_sums) {
  Star n(true);
  EXPECT_EQ(roots(choose_form(n.t, n.members, {})), std::vector{n.hub});
}

TEST(Form, takes_a_root_per_site_around_a_plain_router) {
  Star n(false);
  EXPECT_EQ(roots(choose_form(n.t, n.members, {})), n.sites);
}

TEST(Form, obeys_the_number_asked_for) {
  Star n(false);
  EXPECT_EQ(roots(choose_form(n.t, n.members, {}, {.stripes = 1})).size(), 1u);
  EXPECT_EQ(roots(choose_form(n.t, n.members, {}, {.stripes = 2})).size(), 2u);
  EXPECT_EQ(choose_form(n.t, n.members, {}, {.stripes = 5}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(Form, says_so_where_nobody_can_sum) {
  Topology t;
  const SiteId a = *t.add_site("a", false);
  const HostId h = *t.add_host("h", a, 0, 0);
  EXPECT_EQ(choose_form(t, {h}, {}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace l3dml::control
