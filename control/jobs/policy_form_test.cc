#include "control/jobs/policy_form.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "control/jobs/testing.h"
#include "gtest/gtest.h"

namespace l3dml::control {
namespace {

using testing::Star;

std::unique_ptr<drl::Policy> policy() { return *drl::Policy::create(); }

// Four switches in a ring, a worker at each; the cable between `slow` and the next one has a tenth of the
// rate.
struct Ring {
  Topology t;
  std::vector<SiteId> sites;
  std::vector<HostId> members;
  explicit Ring(int slow = -1) {
    for (int i = 0; i < 4; ++i) sites.push_back(*t.add_site("s" + std::to_string(i)));
    for (int i = 0; i < 4; ++i) {
      (void)t.add_link("l" + std::to_string(i), sites[i], sites[(i + 1) % 4], i == slow ? 10e6 : 100e6, 0.010,
                       0);
      members.push_back(*t.add_host("w" + std::to_string(i), sites[i], 0, 0));
    }
  }
};

TEST(PolicyForm, is_never_slower_than_the_arithmetic) {
  const auto p = policy();
  const FormOptions options{.bytes = 1e8};
  for (const bool hub : {false, true}) {
    const Star n(hub);
    const auto form = choose_form_by_policy(n.t, n.members, {}, options, *p);
    ASSERT_TRUE(form.ok()) << form.status();
    const auto running =
        revise_form(n.t, n.members, {}, options, *p, *choose_form(n.t, n.members, {}, options), 0);
    EXPECT_LE(form->time_s, running->time_s * (1 + 1e-9));
    EXPECT_FALSE(form->why.empty());
  }
}

TEST(PolicyForm, sees_sites_links_and_children_as_they_are) {
  Topology t;
  const SiteId a = *t.add_site("a"), b = *t.add_site("b"), r = *t.add_site("router", false);
  (void)t.add_link("slow", a, b, 1e8, 0.030, 0);
  (void)t.add_link("fast", a, b, 1e9, 0.010, 0);
  const LinkId down = *t.add_link("down", b, r, 0, 0.001, 0);
  std::vector<HostId> members;
  for (const SiteId s : {a, a, b, r, r})
    members.push_back(*t.add_host("h" + std::to_string(members.size()), s, 5e8, 0));
  auto p = problem_of(t, members, {}, 1e6);
  EXPECT_TRUE(drl::validate(p).ok()) << drl::validate(p);
  ASSERT_EQ(p.links.size(), 4u);
  EXPECT_EQ(p.links[0].delay_s, 0.010);
  ASSERT_EQ(p.children.size(), 4u);  // the two of a are summed there, those behind the router are not
  EXPECT_EQ(p.children[0].workers, 2);
  EXPECT_FALSE(p.children[3].summed_at_site);
  t.set_link_up(down, false);
  EXPECT_EQ(problem_of(t, members, {}, 1e6).links.size(), 2u);
}

TEST(PolicyForm, answers_as_the_arithmetic_where_the_policy_cannot) {
  Topology t;
  const SiteId hub = *t.add_site("hub");
  std::vector<HostId> members;
  const SiteId far = *t.add_site("far", false);
  (void)t.add_link("l", hub, far, 1e9, 0.01, 0);
  for (int i = 0; i < 40; ++i)
    members.push_back(*t.add_host("h" + std::to_string(i), i < 20 ? hub : far, 0, 0));
  const auto plain = choose_form(t, members, {});
  const auto form = choose_form_by_policy(t, members, {}, {}, *policy());
  ASSERT_EQ(plain.ok(), form.ok());
  if (form.ok()) {
    EXPECT_FALSE(form->why.empty());
  }
  Topology apart;
  const SiteId a = *apart.add_site("a"), b = *apart.add_site("b");
  const std::vector<HostId> two{*apart.add_host("x", a, 0, 0), *apart.add_host("y", b, 0, 0)};
  EXPECT_FALSE(choose_form_by_policy(apart, two, {}, {}, *policy()).ok());
}

TEST(PolicyForm, stays_with_what_runs_until_a_rate_changes_much) {
  const auto p = policy();
  const FormOptions options{.bytes = 1e8};
  const Ring before;
  const auto form = choose_form_by_policy(before.t, before.members, {}, options, *p);
  ASSERT_TRUE(form.ok());
  const auto same = revise_form(before.t, before.members, {}, options, *p, form->stripes);
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->source, "running") << same->why;
  EXPECT_EQ(same->stripes.size(), form->stripes.size());
  // A root behind a cable that lost nine tenths of its rate is left.
  const Ring after(0);
  const auto changed =
      revise_form(after.t, after.members, {}, options, *p, {{after.sites[1], 1, {true, 2}}}, 0.1);
  ASSERT_TRUE(changed.ok());
  const auto alone =
      revise_form(after.t, after.members, {}, options, *p, {{after.sites[1], 1, {true, 2}}}, 1e9);
  EXPECT_LE(changed->time_s, alone->time_s) << changed->why;
}

TEST(PolicyForm, is_chosen_by_name_and_survives_broken_models) {
  std::vector<std::string> refused;
  const Star n(false);
  for (const char* name : {"drl", "arithmetic", "shortest", "greedy", "spread"}) {
    const auto chooser = policy_chooser(name, "", &refused);
    ASSERT_TRUE(chooser.ok()) << chooser.status();
    const auto form = (*chooser)->choose(n.t, n.members, {}, {});
    ASSERT_TRUE(form.ok()) << form.status();
    EXPECT_FALSE(form->stripes.empty());
    if (std::string(name) == "shortest") {
      EXPECT_EQ(form->source, "shortest") << form->why;
      EXPECT_EQ(form->stripes.size(), 1u);
    }
  }
  EXPECT_TRUE(refused.empty());
  EXPECT_EQ(policy_chooser("fastest", "", &refused).status().code(), absl::StatusCode::kInvalidArgument);

  const std::string folder = ::testing::TempDir() + "/l3dml_models_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/general.model") << "l3dml-policy 1 0123456789abcdef\n{}\nAAAA\n";
  const auto with_broken = policy_chooser("drl", folder, &refused);
  ASSERT_TRUE(with_broken.ok()) << with_broken.status();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("general.model"), std::string::npos) << refused[0];
  EXPECT_EQ(refused[0].find('\n'), std::string::npos);
  EXPECT_TRUE((*with_broken)->choose(n.t, n.members, {}, {}).ok());
  EXPECT_TRUE(policy_chooser("drl", folder + "/nowhere", &refused).ok());
  EXPECT_EQ(refused.size(), 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace l3dml::control
