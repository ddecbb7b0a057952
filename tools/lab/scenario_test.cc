#include "tools/lab/scenario.h"

#include <filesystem>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tools/lab/explain.h"

namespace l3dml::lab {
namespace {

constexpr const char* kGood = R"(name: two
sites:
  west: {workers: 2}
  east: {workers: [e0, {name: slow, delay: 5ms}]}
access: {rate: 1Gbit}
links:
  - {between: [west, east], rate: 100Mbit, delay: 25ms, loss: 0.1%}
job: {lanes: 320, roots: {west: 2, east: 1}}
workload: {steps: 5}
)";

TEST(Scenario, reads_sites_links_job_and_workload) {
  const auto s = parse_scenario(kGood, "x.yaml");
  ASSERT_TRUE(s.ok()) << s.status();
  ASSERT_EQ(s->topology.hosts().size(), 4u);
  EXPECT_EQ(s->topology.hosts()[1].name, "west1");
  EXPECT_DOUBLE_EQ(s->topology.hosts()[3].delay_s, 0.005);
  EXPECT_DOUBLE_EQ(s->topology.hosts()[3].rate_bps, 1e9);
  EXPECT_EQ(s->access[3].scalars.size(), 2u) << "rate of access, delay of its own";
  ASSERT_EQ(s->topology.links().size(), 1u);
  EXPECT_EQ(s->topology.links()[0].name, "west-east");
  EXPECT_DOUBLE_EQ(s->topology.links()[0].rate_bps, 100e6);
  EXPECT_DOUBLE_EQ(s->topology.links()[0].loss, 0.001);
  ASSERT_EQ(s->job.roots.size(), 2u);
  EXPECT_DOUBLE_EQ(s->job.roots[0].second, 2);
  EXPECT_EQ(s->workload.options.at("steps"), "5");
  EXPECT_EQ(s->backend, Backend::l3dml);
}

struct Bad {
  const char* what;
  std::string from, to;
  const char* error;
};

TEST(Scenario, refuses_with_line_key_and_what_would_be_right) {
  const Bad cases[] = {
      {"unknown key",
       "workload:", "worklod:", "x.yaml:9: worklod: is not known here; did you mean workload?"},
      {"no name", "name: two", "seed: 2",
       "x.yaml:1: name: is missing: a word for this lab, for example two-sites"},
      {"no such site", "[west, east]", "[west, eats]",
       "x.yaml:7: links[0].between[1]: there is no site \"eats\"; there are west, east"},
      {"rate", "100Mbit", "fast", "x.yaml:7: links[0].rate: "},
      {"loss", "0.1%", "110%", "x.yaml:7: links[0].loss: "},
      {"one end", "[west, east]", "[west]",
       "x.yaml:7: links[0].between: must name the two sites that the link joins, for example [west, east]"},
      {"link key", "delay: 25ms", "dealy: 25ms", "x.yaml:7: links[0].dealy: \"dealy\" is no link parameter"},
      {"lanes", "lanes: 320", "lanes: 100", "x.yaml:8: job.lanes: must be 64, 128, 192, 256 or 320"},
      {"lanes mtu", "name: two", "name: two\nmtu: 1300",
       "x.yaml:9: job.lanes: does not fit an MTU of 1300: at most 256"},
      {"job key", "roots:", "root:", "x.yaml:8: job.root: is not known here; did you mean roots?"},
      {"on_loss", "roots: {", "on_loss: ignore, roots: {",
       "x.yaml:8: job.on_loss: \"ignore\" must be end or continue"},
      {"workers", "workers: 2", "workers: -1",
       "x.yaml:3: sites.west.workers: \"-1\" must be a whole number from 0 to 60"},
      {"same worker", "e0", "west0", "x.yaml:4: sites.east.workers[0]: worker west0 is there twice"},
      {"too few", "workers: 2", "workers: 0", nullptr},
      {"not yaml", "sites:", "sites: [", "x.yaml:"},
      {"backend", "name: two", "name: two\nbackend: nccl",
       "x.yaml:2: backend: \"nccl\" must be l3dml, gloo or ps"},
      {"tcp", "name: two", "name: two\ntcp: none", "x.yaml:2: tcp: this kernel has no \"none\"; it has "},
      {"command", "{steps: 5}", "{steps: 5, command: [true]}",
       "x.yaml:9: workload: steps is an option of the training script"},
  };
  for (const Bad& bad : cases) {
    const std::string text = absl::StrReplaceAll(kGood, {{bad.from, bad.to}});
    const auto s = parse_scenario(text, "x.yaml");
    if (bad.error == nullptr) continue;
    ASSERT_FALSE(s.ok()) << bad.what;
    EXPECT_TRUE(s.status().message().substr(0, std::string(bad.error).size()) == bad.error)
        << bad.what << ": " << s.status();
    EXPECT_EQ(s.status().message().find('\n'), std::string::npos);
  }
}

TEST(Scenario, refuses_a_lab_without_enough_workers) {
  const auto s = parse_scenario("name: x\nsites:\n  a: {workers: 1}\n", "x.yaml");
  EXPECT_EQ(s.status().message(), "x.yaml:2: sites: there must be at least 2 workers in all, there are 1");
}

TEST(Scenario, trace_must_go_forward_and_change_something) {
  const auto lab = [](const std::string& trace) {
    return parse_scenario(
               "name: x\nsites: {a: {workers: 1}, b: {workers: 1}}\nlinks:\n  - between: [a, b]\n    "
               "trace: " +
                   trace + "\n",
               "x.yaml")
        .status();
  };
  EXPECT_TRUE(lab("[{at: 1s, rate: 1Mbit}, {at: 2s, up: false}]").ok());
  EXPECT_EQ(lab("[{at: 2s, rate: 1Mbit}, {at: 2s, up: false}]").message(),
            "x.yaml:5: links[0].trace[1].at: must be later than the change before it");
  EXPECT_EQ(lab("[{at: 2s}]").message(),
            "x.yaml:5: links[0].trace[0]: changes nothing: add for example rate: 50Mbit");
}

TEST(Labs, all_that_come_along_are_good_and_can_be_planned) {
  int count = 0;
  for (const auto& item : std::filesystem::directory_iterator(L3DML_LABS)) {
    const auto s = load_scenario(item.path().string());
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(s->name, item.path().stem().string());
    const auto text = explain(*s);
    EXPECT_TRUE(text.ok()) << item.path() << ": " << text.status();
    ++count;
  }
  EXPECT_GE(count, 7);
}

}  // namespace
}  // namespace l3dml::lab
