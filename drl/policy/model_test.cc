#include "drl/policy/model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "drl/env/random.h"
#include "drl/env/test_networks.h"
#include "drl/policy/model_set.h"
#include "drl/policy/testing.h"

namespace l3dml::drl {
namespace {

TEST(Model, survives_the_way_to_disk_and_back) {
  const std::vector<float> weights = random_weights(8, 1);
  ModelInfo info = info_of("m", 8);
  info.children = {3, 12};
  info.scores = {{"mean", 1.02}};
  const auto model = parse_model(format_model(info, weights));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->network.weights(), weights);
  EXPECT_EQ(model->info.name, "m");
  EXPECT_EQ(model->info.children.high, 12);
  EXPECT_EQ(model->info.scores.at("mean"), 1.02);
}

TEST(Model, refuses_every_cut_and_every_flipped_byte) {
  const std::string text = format_model(info_of("m", 2), random_weights(2, 1));
  for (size_t cut = 0; cut < text.size(); cut += 7)
    EXPECT_FALSE(parse_model(text.substr(0, cut)).ok()) << cut;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string broken = text;
    broken[at] ^= 1;
    EXPECT_FALSE(parse_model(broken).ok()) << at;
  }
}

TEST(Model, of_another_version_is_named_as_such) {
  std::string text = format_model(info_of("m", 2), random_weights(2, 1));
  text[std::string("l3dml-policy ").size()] = '9';
  const auto model = parse_model(text);
  EXPECT_NE(model.status().message().find("version 9"), std::string::npos) << model.status();
}

TEST(Model, with_weights_that_are_no_numbers_is_refused) {
  std::vector<float> weights = random_weights(4, 1);
  weights[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(parse_model(format_model(info_of("m", 4), weights)).ok());
  weights.resize(20);
  EXPECT_FALSE(parse_model(format_model(info_of("m", 4), weights)).ok());
}

TEST(Network, scores_do_not_depend_on_the_order_of_links_or_candidates) {
  const auto network = Network::create(16, random_weights(16, 3));
  ASSERT_TRUE(network.ok());
  const Observation o = random_observation(7, 5, 4);
  Observation swapped = o;  // candidates 0 and 1, links 2 and 6
  for (int f = 0; f < kCandidateFeatures; ++f)
    std::swap(swapped.candidate[f], swapped.candidate[kCandidateFeatures + f]);
  for (auto* rows : {&swapped.takes, &swapped.cost}) {
    for (int e = 0; e < 7; ++e) std::swap((*rows)[e], (*rows)[7 + e]);
    for (int c = 0; c < 5; ++c) std::swap((*rows)[c * 7 + 2], (*rows)[c * 7 + 6]);
  }
  for (int f = 0; f < kLinkFeatures; ++f)
    std::swap(swapped.link[2 * kLinkFeatures + f], swapped.link[6 * kLinkFeatures + f]);
  Network::Scratch scratch;
  std::vector<float> a, b;
  network->scores(o, scratch, a);
  network->scores(swapped, scratch, b);
  std::swap(b[0], b[1]);
  for (int c = 0; c < 5; ++c) EXPECT_NEAR(a[c], b[c], 1e-4);
}

// The network as one would write it down: a row, a column and a link at a time.
std::vector<float> plain_scores(const Network& network, const Observation& o) {
  std::map<std::string, std::pair<const float*, Parameter>> parts;
  const float* at = network.weights().data();
  for (const Parameter& p : network_parameters(network.hidden())) {
    parts[p.name] = {at, p};
    at += p.rows * p.columns;
  }
  using Row = std::vector<float>;
  const int h = network.hidden();
  const auto add = [&](Row& y, const Row& x, const std::string& name) {
    const auto& [w, p] = parts.at(name);
    for (int j = 0; j < p.columns; ++j)
      for (int i = 0; i < p.rows; ++i) y[j] += x[i] * w[i * p.columns + j];
  };
  const auto row_of = [&](const std::string& name) {
    return Row(parts.at(name).first, parts.at(name).first + h);
  };
  const auto normal = [&](const float* x, int n, const std::string& kind) {
    Row out;
    for (int i = 0; i < n; ++i)
      out.push_back(std::clamp(
          (x[i] - parts.at("norm." + kind + "_mean").first[i]) * parts.at("norm." + kind + "_scale").first[i],
          -8.0f, 8.0f));
    return out;
  };
  const auto relu = [](Row& y) {
    for (float& v : y) v = std::max(0.0f, v);
  };
  const Row global = normal(o.global.data(), kGlobalFeatures, "global");
  const auto with_mean = [&](const std::vector<Row>& rows) {
    Row out(h, 0);
    for (const Row& r : rows)
      for (int j = 0; j < h; ++j) out[j] += r[j];
    for (float& v : out) v /= static_cast<float>(rows.size());
    out.insert(out.end(), global.begin(), global.end());
    return out;
  };
  std::vector<Row> h1, h2, z1;
  for (int e = 0; e < o.links; ++e) {
    h1.push_back(row_of("link1.b"));
    add(h1.back(), normal(&o.link[e * kLinkFeatures], kLinkFeatures, "link"), "link1.w");
    relu(h1.back());
  }
  for (int e = 0; e < o.links; ++e) {
    h2.push_back(row_of("link2.b"));
    add(h2.back(), with_mean(h1), "link2.context_w");
    add(h2.back(), h1[e], "link2.w");
    relu(h2.back());
  }
  for (int c = 0; c < o.candidates; ++c) {
    Row x = normal(&o.candidate[c * kCandidateFeatures], kCandidateFeatures, "candidate");
    for (const std::vector<float>* weights : {&o.takes, &o.cost})
      for (int j = 0; j < h; ++j) {
        float sum = 0;
        for (int e = 0; e < o.links; ++e) sum += (*weights)[c * o.links + e] * h2[e][j];
        x.push_back(sum);
      }
    z1.push_back(row_of("candidate1.b"));
    add(z1.back(), with_mean(h2), "candidate1.context_w");
    add(z1.back(), x, "candidate1.w");
    relu(z1.back());
  }
  Row rivals(h, 0), out;
  for (const Row& z : z1)
    for (int j = 0; j < h; ++j) rivals[j] += z[j] / static_cast<float>(o.candidates);
  for (const Row& z : z1) {
    Row y = row_of("candidate2.b");
    add(y, rivals, "candidate2.rivals_w");
    add(y, z, "candidate2.w");
    relu(y);
    float score = 0;
    for (int j = 0; j < h; ++j) score += y[j] * parts.at("score.w").first[j];
    out.push_back(score);
  }
  return out;
}

TEST(Network, scores_have_the_bits_of_the_plain_network) {
  Network::Scratch scratch;
  std::vector<float> scores;
  for (const int hidden : {2, 4, 7, 8, 13, 32})
    for (const int candidates : {1, 3, 4, 12}) {
      const auto network = Network::create(hidden, random_weights(hidden, 5));
      ASSERT_TRUE(network.ok());
      const Observation o = random_observation(9 + hidden, candidates, 7 * hidden + candidates);
      network->scores(o, scratch, scores);
      EXPECT_EQ(scores, plain_scores(*network, o)) << hidden << " " << candidates;
    }
}

TEST(ModelSet, gate_says_why_a_job_is_not_for_a_model) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "gate_models";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  const auto put = [&](ModelInfo info) {
    std::ofstream(dir / (info.name + ".model")) << format_model(info, random_weights(info.hidden, 1));
  };
  ModelInfo large = info_of("large", 4);
  large.children = {10, 31};
  large.scores = {{"mean", 0.5}};
  put(large);
  std::ofstream(dir / "broken.model") << "l3dml-policy 1 0000000000000000\n{}\n";
  std::vector<std::string> refused;
  const auto set = ModelSet::load(dir, refused);
  ASSERT_TRUE(set.ok());
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].find("broken.model: damaged"), std::string::npos) << refused[0];
  const auto named = [&](const Problem& p) {
    const Gate gate = set->pick(p);
    return gate.model ? gate.model->info.name : std::string();
  };
  EXPECT_EQ(named(star_problem(12)), "large");
  EXPECT_NE(named(star_problem(5)), "large");
  EXPECT_FALSE(set->pick(star_problem(12)).why.empty());
  EXPECT_FALSE(ModelSet::load(dir / "missing", refused).ok());
}

}  // namespace
}  // namespace l3dml::drl
