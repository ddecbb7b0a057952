// Learning where the answer is known: a trivial environment is solved, equal seeds give equal weights, a
// checkpoint goes on as if nothing had happened, and the hand-written network agrees with libtorch's.
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "drl/agent/learner.h"
#include "drl/agent/train.h"
#include "drl/env/test_networks.h"
#include "drl/policy/testing.h"

namespace l3dml::drl {
namespace {

// The right candidate is marked by a feature; a step pays 1 for it. Episodes are cut after four steps.
class Marked : public Environment {
 public:
  explicit Marked(uint64_t seed) : random_(seed) {}
  void reset() override {
    steps_ = 0;
    draw();
  }
  const Observation& observation() const override { return observation_; }
  Outcome step(int action) override {
    const Outcome out{action == right_ ? 1.0 : 0.0, false, ++steps_ == 4};
    draw();
    return out;
  }

 private:
  void draw() {
    observation_ = random_observation(3, 2 + random_.below(4), random_.bits());
    right_ = random_.below(observation_.candidates);
    for (int c = 0; c < observation_.candidates; ++c)
      observation_.candidate[c * kCandidateFeatures + 2] = c == right_ ? 2 : 0;
  }
  Random random_;
  Observation observation_;
  int right_ = 0, steps_ = 0;
};

std::vector<Actor> marked_actors() {
  std::vector<Actor> actors;
  for (uint64_t i = 0; i < 16; ++i) actors.push_back({std::make_unique<Marked>(i), Random(i + 100), true});
  return actors;
}

double train_marked(Learner& learner, std::vector<Actor>& actors, int updates) {
  PpoOptions options;
  options.gamma = 0.9;
  options.learning_rate = 3e-3;
  double reward = 0;
  for (int u = 0; u < updates; ++u) {
    const auto experience = roll_out(*Network::create(16, learner.weights()), actors, 32);
    reward = 0;
    for (const Trajectory& t : experience)
      for (const Transition& x : t) reward += x.reward / (16.0 * 32);
    learner.update(experience, options);
  }
  return reward;
}

TEST(Agent, solves_a_trivial_environment) {
  const auto learner = Learner::create(16, 1);
  auto actors = marked_actors();
  EXPECT_LT(train_marked(*learner, actors, 1), 0.6);
  EXPECT_GT(train_marked(*learner, actors, 25), 0.95);
}

TEST(Agent, same_seed_gives_the_same_weights_and_another_seed_others) {
  const auto run = [](uint64_t seed) {
    const auto learner = Learner::create(16, seed);
    auto actors = marked_actors();
    train_marked(*learner, actors, 3);
    return learner->weights();
  };
  const auto first = run(7);
  EXPECT_EQ(first, run(7));
  EXPECT_NE(first, run(8));
}

TEST(Agent, goes_on_from_a_checkpoint_as_if_it_had_not_stopped) {
  const std::string file = testing::TempDir() + "/agent_checkpoint";
  std::vector<Lesson> lessons;
  for (uint64_t i = 0; i < 64; ++i) {
    Lesson l{random_observation(4, 3, i), {0.2f, 0.5f, 0.3f}, 0.1f};
    lessons.push_back(std::move(l));
  }
  const auto learner = Learner::create(8, 5);
  learner->imitate(lessons, 16, 1e-3);
  ASSERT_TRUE(learner->save(file).ok());
  learner->imitate(lessons, 16, 1e-3);
  const auto other = Learner::create(8, 5);
  ASSERT_TRUE(other->restore(file).ok());
  other->imitate(lessons, 16, 1e-3);
  EXPECT_EQ(learner->weights(), other->weights());
  std::ofstream(file) << "rubbish";
  EXPECT_FALSE(other->restore(file).ok());
  EXPECT_FALSE(other->restore(file + ".missing").ok());
}

TEST(Agent, hand_written_network_agrees_with_torch) {
  for (const int hidden : {8, 32}) {
    const auto learner = Learner::create(hidden, 1);
    ASSERT_TRUE(learner->set_weights(random_weights(hidden, 9)).ok());
    const auto network = Network::create(hidden, learner->weights());
    ASSERT_TRUE(network.ok());
    std::vector<Observation> observations;
    for (uint64_t i = 0; i < 20; ++i)
      observations.push_back(
          random_observation(3 + static_cast<int>(i), 1 + static_cast<int>(i) % kMaxCandidates, i));
    std::vector<const Observation*> pointers;
    for (const Observation& o : observations) pointers.push_back(&o);
    const auto torch_scores = learner->scores(pointers);
    Network::Scratch scratch;
    std::vector<float> scores;
    for (size_t i = 0; i < observations.size(); ++i) {
      network->scores(observations[i], scratch, scores);
      ASSERT_EQ(scores.size(), torch_scores[i].size());
      for (size_t c = 0; c < scores.size(); ++c)
        EXPECT_NEAR(scores[c], torch_scores[i][c], 1e-4 * (1 + std::abs(scores[c])));
    }
  }
}

TEST(Agent, normalisation_belongs_to_the_weights) {
  std::vector<Observation> observations;
  for (uint64_t i = 0; i < 50; ++i) observations.push_back(random_observation(5, 4, i));
  for (Observation& o : observations)
    for (size_t i = 3; i < o.link.size(); i += kLinkFeatures) o.link[i] = 10 + 2 * o.link[i];
  std::vector<const Observation*> pointers;
  for (const Observation& o : observations) pointers.push_back(&o);
  const auto learner = Learner::create(4, 1);
  learner->set_normalisation(pointers);
  const std::vector<float> weights = learner->weights();
  EXPECT_NEAR(weights[3], 10, 0.5);
  EXPECT_NEAR(weights[kLinkFeatures + 3], 0.5, 0.1);
  const auto network = Network::create(4, weights);
  EXPECT_NEAR(network->strangeness(observations[0]), 0.8, 0.3);
}

TEST(Advantages, of_a_cut_episode_take_up_the_value_of_what_follows) {
  Trajectory t(3);
  for (Transition& x : t) x.reward = 1;
  t[1].terminated = true;
  t[2].cut = true;
  const Advantages a = estimate_advantages(t, {0.5f, 0.25f, 0.75f}, {0, 0, 2}, 0.5, 0.8);
  EXPECT_FLOAT_EQ(a.advantage[2], 1 + 0.5f * 2 - 0.75f);
  EXPECT_FLOAT_EQ(a.advantage[1], 1 - 0.25f);  // nothing follows
  EXPECT_FLOAT_EQ(a.advantage[0], 1 + 0.5f * 0.25f - 0.5f + 0.5f * 0.8f * 0.75f);
  EXPECT_FLOAT_EQ(a.value_target[0], a.advantage[0] + 0.5f);
}

TEST(Rollout, rewards_of_an_episode_sum_to_what_was_gained) {
  Random random(1);
  const auto pool = draw_pool({{"abilene"}, 0, 0, 8}, 3);
  ASSERT_TRUE(pool.ok()) << pool.status();
  RoutingEnvironment environment(*pool, 8, 1);
  for (int episode = 0; episode < 5; ++episode) {
    environment.reset();
    double sum = 0;
    for (int step = 0;; ++step) {
      ASSERT_LT(step, 8);
      ASSERT_GT(environment.observation().candidates, 0);
      const auto out = environment.step(random.below(environment.observation().candidates));
      sum += out.reward;
      if (out.terminated) break;
    }
    EXPECT_GE(sum, -0.5);
    EXPECT_LT(sum, 5);
  }
}

TEST(Train, is_the_same_for_the_same_seed_and_improves_on_chance) {
  TrainOptions options;
  options.problems = {{"abilene"}, 2, 6, 24};
  options.lessons = 120;
  options.updates = 1;
  options.steps_per_update = 128;
  options.hidden = 8;
  options.steps = 4;
  const auto run = [&] {
    auto trained = train(options, {}, {});
    EXPECT_TRUE(trained.ok()) << trained.status();
    return trained->weights;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace l3dml::drl
