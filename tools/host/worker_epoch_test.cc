// Epoch changes in mid-flight, driven by a coordinator of a few lines (the real one lives in control/jobs).
#include <cstring>
#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "tools/host/testing/test_bed.h"

namespace l3dml::host {
namespace {

using kernels::ElementType;
using testing::BedOptions;
using testing::TestBed;

class EpochChange {
 public:
  explicit EpochChange(const BedOptions& options) : options_(options), bed_(options) {}

  // Every rank submits `count` integers whose values tell rank and place.
  void submit(size_t count, uint64_t id) {
    auto& tensors = tensors_.emplace_back(bed_.world());
    for (unsigned rank = 0; rank < bed_.world(); ++rank) {
      tensors[rank].resize(count);
      for (size_t i = 0; i < count; ++i) tensors[rank][i] = value(rank, id, i);
      submit_one(rank, tensors[rank], id);
    }
  }
  void submit_one(unsigned rank, std::vector<int32_t>& x, uint64_t id) {
    Collective c;
    c.id = id;
    c.input = c.output = x.data();
    c.count = x.size();
    c.type = ElementType::kInt32;
    ASSERT_TRUE(bed_.worker(rank).submit(c).ok());
  }
  static int32_t value(unsigned rank, uint64_t id, size_t i) {
    return static_cast<int32_t>((rank + 1) * 1'000'003 + id * 7919 + i);
  }

  // Steps 1 to 4 of DESIGN section 5 among the ranks that are not stopped.
  void change(uint32_t window) {
    std::vector<unsigned> members;
    for (unsigned rank = 0; rank < bed_.world(); ++rank) {
      if (!bed_.stopped[rank]) members.push_back(rank);
    }
    std::map<uint32_t, unsigned> holders;  // final number -> who holds it; per position at most one is newest
    std::vector<std::optional<uint32_t>> final(options_.window);
    for (const unsigned rank : members) {
      bed_.worker(rank).pause();
      const StripeReport report = bed_.worker(rank).report();
      ASSERT_EQ(report.held.size(), options_.window);
      for (uint32_t p = 0; p < options_.window; ++p) {
        if (!report.held[p]) continue;
        holders[*report.held[p]] = rank;
        if (!final[p] || base::serial_newer(*report.held[p], *final[p])) final[p] = report.held[p];
      }
    }
    for (const auto& number : final) {
      if (!number) continue;
      const auto copy = bed_.worker(holders[*number]).copy(*number);
      ASSERT_TRUE(copy.has_value());
      for (const unsigned rank : members) {
        const absl::Status status = bed_.worker(rank).install(*copy);
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_TRUE(bed_.worker(rank).install(*copy).ok()) << "twice is once";
      }
    }
    options_.window = window;
    options_.ring = 0;
    options_.first_number += 1u << 20;
    options_.first_number &= ~((2 * std::max(window, options_.shards * 2)) - 1);
    options_.members = members;
    ++options_.epoch;
    bed_.new_epoch(options_);
    for (unsigned child = 0; child < members.size(); ++child) {
      const absl::Status status = bed_.worker(members[child]).resume(testing::make_stripe(options_, child));
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  // Survivors hold the same; each value is the sum of all, or of those that survived (`lost` is not among
  // them).
  void check(std::optional<unsigned> lost) {
    for (uint64_t id = 0; id < tensors_.size(); ++id) {
      const unsigned judge = lost == 0u ? 1 : 0;
      for (size_t i = 0; i < tensors_[id][0].size(); ++i) {
        int32_t all = 0;
        for (unsigned rank = 0; rank < bed_.world(); ++rank) all += value(rank, id, i);
        const int32_t got = tensors_[id][judge][i];
        const bool without = lost && got == all - value(*lost, id, i);
        ASSERT_TRUE(got == all || without) << "collective " << id << " element " << i;
        for (unsigned rank = 0; rank < bed_.world(); ++rank) {
          if (lost == rank) continue;
          ASSERT_EQ(tensors_[id][rank][i], got) << "collective " << id << " element " << i;
        }
      }
    }
    for (const std::string& complaint : bed_.aggregator().complaints) ADD_FAILURE() << complaint;
  }

  TestBed& bed() { return bed_; }

 private:
  BedOptions options_;
  TestBed bed_;
  std::deque<std::vector<std::vector<int32_t>>> tensors_;  // by collective, by rank
};

TEST(WorkerEpoch, changes_in_mid_flight_lose_and_double_nothing) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    BedOptions o{.world = 2 + static_cast<unsigned>(random() % 3),
                 .window = 8u << random() % 3,
                 .look_ahead = 64,
                 .shards = 1u << random() % 3};
    o.first_number = 4096;
    o.loss = 0.03 * static_cast<double>(random() % 3);
    o.duplication = 0.05;
    o.jitter_ns = 1'500'000;
    o.seed = seed;
    EpochChange e(o);
    for (uint64_t id = 0; id < 4; ++id) e.submit(1 + random() % 6000, id);
    for (int changes = 0; changes < 3; ++changes) {
      e.bed().run_until([] { return false; }, static_cast<int64_t>(random() % 15'000'000));
      e.change(8u << random() % 4);
      if (HasFatalFailure()) return;
    }
    ASSERT_TRUE(e.bed().run());
    e.check(std::nullopt);
    if (HasFatalFailure()) return;
  }
}

TEST(WorkerEpoch, survivors_agree_after_a_member_is_lost) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed * 77);
    BedOptions o{
        .world = 3, .window = 16, .look_ahead = 16, .loss = 0.05, .jitter_ns = 1'500'000, .seed = seed};
    o.first_number = 4096;
    EpochChange e(o);
    for (uint64_t id = 0; id < 3; ++id) e.submit(3000, id);
    e.bed().run_until([] { return false; }, static_cast<int64_t>(random() % 30'000'000));
    const auto lost = static_cast<unsigned>(random() % 3);
    e.bed().stopped[lost] = true;
    e.change(16);
    if (HasFatalFailure()) return;
    ASSERT_TRUE(e.bed().run());
    e.check(lost);
    if (HasFatalFailure()) return;
  }
}

TEST(WorkerEpoch, refuses_everything_until_it_resumes) {
  BedOptions o{.world = 2, .window = 8};
  o.first_number = 4096;
  EpochChange e(o);
  e.submit(64 * 100, 0);
  e.bed().run_until([] { return false; }, 3'500'000);
  for (unsigned rank = 0; rank < 2; ++rank) e.bed().worker(rank).pause();
  const uint64_t before = e.bed().worker(0).stats().downs, refused = e.bed().worker(0).stats().refused;
  const StripeReport report = e.bed().worker(0).report();
  e.bed().run_until([] { return false; }, 5'000'000);
  EXPECT_EQ(e.bed().worker(0).stats().downs, before);
  EXPECT_GT(e.bed().worker(0).stats().refused, refused);
  EXPECT_EQ(e.bed().worker(0).next_deadline_ns(), base::kNever);
  EXPECT_EQ(e.bed().worker(0).report().held, report.held);
  EXPECT_EQ(report.collectives_begun, 1u);
  EXPECT_EQ(report.collectives_finished, 0u);
  EXPECT_EQ(report.chunks_begun, 100u);
}

// What a result to be repeated told stays: the chunk is not asked about again in the new epoch.
TEST(WorkerEpoch, results_to_be_repeated_are_results) {
  BedOptions o{.world = 2, .window = 4, .look_ahead = 4};
  o.first_number = 4096;
  EpochChange e(o);
  std::vector<std::vector<float>> x(2, std::vector<float>(64 * 4, 1.5f));
  for (unsigned rank = 0; rank < 2; ++rank) {
    Collective c;
    c.input = c.output = x[rank].data();
    c.count = x[rank].size();
    ASSERT_TRUE(e.bed().worker(rank).submit(c).ok());
  }
  e.bed().run_until([&] { return e.bed().worker(0).stats().repeats == 4; }, 10'000'000);  // asked and told
  e.change(2);
  ASSERT_TRUE(e.bed().run());
  EXPECT_EQ(e.bed().worker(0).stats().asked, 4u);
  for (const float v : x[0]) ASSERT_EQ(v, 3.0f);
  EXPECT_EQ(x[0], x[1]);
}

TEST(WorkerEpoch, does_not_begin_what_it_must_not) {
  BedOptions o{.world = 2, .window = 8};
  o.first_number = 4096;
  EpochChange e(o);
  for (unsigned rank = 0; rank < 2; ++rank) e.bed().worker(rank).set_stop_before(1);
  e.submit(64 * 3, 0);
  e.submit(64 * 30, 1);
  EXPECT_FALSE(e.bed().run(1'000'000'000));
  EXPECT_EQ(e.bed().worker(0).report().collectives_begun, 1u);
  EXPECT_EQ(e.bed().worker(0).report().collectives_finished, 1u);
  for (unsigned rank = 0; rank < 2; ++rank) e.bed().worker(rank).set_stop_before(std::nullopt);
  ASSERT_TRUE(e.bed().run());
  e.check(std::nullopt);
}

TEST(WorkerEpoch, says_why_it_will_not) {
  BedOptions o{.world = 2, .window = 8};
  TestBed bed(o);
  WorkerCore& w = bed.worker(0);
  EXPECT_EQ(w.resume(testing::make_stripe(o, 0)).message(), "resume: the stripe is not paused");
  ResultCopy copy{1, 0, 0, 0, std::vector<uint32_t>(64)};
  EXPECT_EQ(w.install(copy).message(), "install: the stripe is not paused");
  w.pause();
  EXPECT_EQ(w.install(copy).message(), "install: number 1 was not sent here");
  copy.lanes.resize(3);
  EXPECT_EQ(w.install(copy).message(), "install: result 1 has 3 lanes, the stripe 64");
  BedOptions other = o;
  other.lanes = 128;
  EXPECT_EQ(w.resume(testing::make_stripe(other, 0)).message(),
            "resume: job, lanes and look_ahead stay the same for the life of a job");
}

}  // namespace
}  // namespace l3dml::host
