// Control messages that nobody meant: stale, doubled, forged, in storms. What a worker does because of one is
// bounded.
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tools/host/testing/test_bed.h"

namespace l3dml::host {
namespace {

class CountingSink final : public PacketSink {
 public:
  uint8_t* reserve(unsigned, size_t) override { return buffer_; }
  void commit(size_t) override { ++sent[reinterpret_cast<const wire::L3dmlHeader*>(buffer_)->type()]; }
  std::map<wire::Type, unsigned> sent;

 private:
  uint8_t buffer_[4096];
};

// One worker of two with a full window in flight: 64 numbers, nobody answers.
class Storm : public ::testing::Test {
 protected:
  Storm()
      : bed_({.world = 2, .window = 64}),
        config_(bed_.worker(0).config()),
        tensor_(size_t{64} * config_.lanes) {
    core_ = std::make_unique<WorkerCore>(config_, 2, [](const CollectiveResult&) {});
    Collective c;
    c.input = c.output = tensor_.data();
    c.count = tensor_.size();
    c.type = kernels::ElementType::kInt32;
    EXPECT_TRUE(core_->submit(c).ok());
    core_->poll(0, sink_);
    EXPECT_EQ(sink_.sent[wire::Type::up], 64u);
    sink_.sent.clear();
  }
  base::DropReason hear(wire::Type type, uint8_t flags, uint32_t seq, uint32_t number,
                        int64_t now_ns = 1000) {
    wire::L3dmlHeader header{};
    header.set_type(type);
    header.flags = flags;
    header.job.set(config_.job);
    header.epoch = config_.epoch;
    header.child = config_.child;
    header.seq.set(seq);
    header.number.set(number);
    const base::DropReason reason = core_->on_packet(header, nullptr, 0, 0, false, now_ns);
    core_->poll(now_ns, sink_);
    return reason;
  }

  testing::TestBed bed_;
  StripeConfig config_;
  std::vector<int32_t> tensor_;
  CountingSink sink_;
  std::unique_ptr<WorkerCore> core_;
};

TEST_F(Storm, nacks_of_what_was_never_sent_or_is_forgotten_cost_nothing) {
  EXPECT_EQ(hear(wire::Type::nack, 0, 64, 65), base::DropReason::nack_empty);
  EXPECT_EQ(hear(wire::Type::nack, 0, 0, 1u << 31), base::DropReason::nack_empty);
  EXPECT_EQ(hear(wire::Type::nack, 0, 5, 5), base::DropReason::nack_empty);
  EXPECT_EQ(hear(wire::Type::nack, wire::kFlagDown, 0, 5), base::DropReason::unknown_flag);
  EXPECT_EQ(sink_.sent[wire::Type::up], 0u);
}

TEST_F(Storm, an_enormous_range_is_clipped_and_each_number_sent_once) {
  EXPECT_EQ(hear(wire::Type::nack, 0, 64 - 1'000'000'000u, 64), base::DropReason::none);
  EXPECT_EQ(sink_.sent[wire::Type::up], 64u);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(hear(wire::Type::nack, 0, 0, 64), base::DropReason::nack_not_held) << "answered already";
  EXPECT_EQ(sink_.sent[wire::Type::up], 64u);
}

TEST_F(Storm, nacks_that_follow_the_resends_run_out_of_their_ration) {
  for (uint32_t next = 64; next < 64 * 1000; next += 64) hear(wire::Type::nack, 0, next - 64, next);
  // 64 to begin with and one for each of the 64 first transmissions.
  EXPECT_LE(sink_.sent[wire::Type::up], 128u);
  EXPECT_EQ(core_->stats().nacked, 128u);
}

TEST_F(Storm, a_storm_of_syncs_makes_one_nack_for_each_new_hole) {
  for (int i = 0; i < 1000; ++i) hear(wire::Type::sync, wire::kFlagDown, 10, 0);
  EXPECT_EQ(sink_.sent[wire::Type::nack], 1u);
  for (uint32_t i = 11; i < 1011; ++i) hear(wire::Type::sync, wire::kFlagDown, i, 0);
  EXPECT_EQ(sink_.sent[wire::Type::nack], 1001u) << "one out per packet in";
}

TEST_F(Storm, answers_to_no_probe_of_ours_are_refused) {
  for (uint32_t i = 0; i < 1000; ++i)
    EXPECT_EQ(hear(wire::Type::probe, wire::kFlagDown, 0, config_.first_number + i % 64),
              base::DropReason::stale);
  EXPECT_EQ(sink_.sent[wire::Type::up], 0u);
}

}  // namespace
}  // namespace l3dml::host
