// Packets that nobody meant, in numbers: stale, doubled, forged. What leaves the switch because of one is at
// most one packet per neighbour (repairs excepted, which are rationed), and each is counted by its reason.
#include <gtest/gtest.h>

#include "dataplane/pipeline/testing/rig.h"

namespace l3dml::pipeline::testing {
namespace {

using base::DropReason;
using wire::Type;

constexpr uint32_t kN = 1 << 20;
constexpr unsigned kStorm = 1000;

// Sends `packet` kStorm times, each time changed by `change`; the number of packets that left.
template <typename Change>
size_t storm(Rig& rig, Rig::Build packet, Change change) {
  size_t sent = 0;
  for (unsigned i = 0; i < kStorm; ++i) {
    change(packet, i);
    sent += rig.send(packet).size();
  }
  return sent;
}
void unchanged(Rig::Build&, unsigned) {}

TEST(Storm, of_stale_ups_makes_nothing) {
  Rig rig;
  rig.send(rig.up(0, kN + 64, 1));
  EXPECT_EQ(storm(rig, rig.up(1, kN, 1), unchanged), 0u);
  EXPECT_EQ(rig.drops(DropReason::stale), kStorm);
  EXPECT_EQ(rig.pool.alive(), 0u);
}

TEST(Storm, of_duplicates_makes_nothing_before_the_sum_and_one_answer_each_after) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  const auto again = rig.up(0, kN, 1);
  EXPECT_EQ(storm(rig, again, unchanged), 0u);
  EXPECT_EQ(rig.drops(DropReason::duplicate), kStorm);
  rig.send(rig.up(1, kN, 2));
  EXPECT_EQ(storm(rig, again, unchanged), kStorm) << "the result, to that child alone";
  EXPECT_EQ(rig.device->register_array("pipe.Ingress.aggregator.weight")->read(0, 64)[0], 2u);
}

TEST(Storm, of_nacks_for_what_was_never_sent_makes_nothing) {
  Rig rig;
  rig.send(rig.up(0, kN, 1)), rig.send(rig.up(1, kN, 1));
  const size_t sent =
      storm(rig, rig.control(Type::nack, wire::kFlagDown, 0, kN),
            [](Rig::Build& b, unsigned i) { b.l3dml().seq.set(1 + i), b.l3dml().number.set(2 + 2 * i); });
  EXPECT_EQ(sent, 0u);
  EXPECT_EQ(rig.drops(DropReason::nack_empty), kStorm);
}

TEST(Storm, of_nacks_of_another_job_makes_nothing) {
  Rig rig;
  RigConfig other = rig.c;
  other.slot_base = 128, other.children = 1;
  rig.add_job(8, 0, other);
  rig.send(rig.up(0, kN, 1)), rig.send(rig.up(1, kN, 1));
  auto nack = rig.control(Type::nack, wire::kFlagDown, 1, kN);
  nack.l3dml().seq.set(0), nack.l3dml().number.set(1);
  ASSERT_EQ(rig.send(nack).size(), 1u) << "as a member of its own job";
  nack.l3dml().job.set(8);
  EXPECT_EQ(storm(rig, nack, unchanged), 0u);
  EXPECT_EQ(rig.drops(DropReason::address_mismatch), kStorm);
  nack.head().ipv6.dst_addr = wire::aggregation_address(kPrefix, kOwnLocator, 0, 8, 0);
  nack.l3dml().child = 0;  // whose it is not
  EXPECT_EQ(storm(rig, nack, unchanged), 0u);
  EXPECT_EQ(rig.drops(DropReason::wrong_source), kStorm);
}

TEST(Storm, of_nacks_for_enormous_ranges_looks_at_the_ring_and_no_further) {
  Rig rig;
  for (uint32_t i = 0; i < 200; ++i) rig.send(rig.up(0, kN + i, 1)), rig.send(rig.up(1, kN + i, 1));
  // The ring remembers the last 64 of 200; all of them still lie in their slots.
  auto nack = rig.control(Type::nack, wire::kFlagDown, 0, kN);
  nack.l3dml().seq.set(200 - 0x70000000u), nack.l3dml().number.set(200);
  EXPECT_EQ(rig.send(nack).size(), 64u);
  const uint64_t before = rig.drops(DropReason::nack_not_held);
  rig.send(rig.up(0, kN + 264, 1));  // restarts one of these slots
  nack.l3dml().seq.set(264 - 0x70000000u), nack.l3dml().number.set(264);
  rig.send(nack);
  EXPECT_LE(rig.drops(DropReason::nack_not_held) - before, 64u);
  const size_t repairs = storm(rig, nack, [](Rig::Build& b, unsigned i) {
    b.l3dml().seq.set(b.l3dml().number.load() - 0x70000000u - i);
  });
  EXPECT_LE(repairs, 64u) << "what first transmissions allowed";
  EXPECT_GT(rig.drops(DropReason::nack_limited), 0u);
}

TEST(Storm, of_syncs_makes_at_most_one_nack_each) {
  Rig rig;
  rig.send(rig.up(0, kN, 1));
  auto sync = rig.control(Type::sync, 0, 0, 0);
  sync.l3dml().seq.set(1000);
  EXPECT_EQ(storm(rig, sync, unchanged), 1u) << "one hole, one NACK";
  EXPECT_EQ(rig.drops(DropReason::sync_in_order), kStorm - 1);
  EXPECT_EQ(storm(rig, sync, [](Rig::Build& b, unsigned i) { b.l3dml().seq.set(1001 + i); }), kStorm);
  EXPECT_EQ(storm(rig, sync, [](Rig::Build& b, unsigned i) { b.l3dml().seq.set(2000 - i); }), 0u);
}

TEST(Storm, of_probes_makes_one_answer_each_and_one_sum_to_the_parent) {
  Rig rig({.inner = true});
  rig.send(rig.up(0, kN, 1));
  EXPECT_EQ(storm(rig, rig.control(Type::probe, 0, 0, kN), unchanged), kStorm);
  rig.send(rig.up(1, kN, 2));
  EXPECT_EQ(storm(rig, rig.control(Type::probe, 0, 0, kN), unchanged), 2 * kStorm);
  rig.send(rig.down(kN, 3));
  EXPECT_EQ(storm(rig, rig.control(Type::probe, 0, 0, kN), unchanged), kStorm) << "the result";
  EXPECT_EQ(rig.pool.alive(), 0u);
}

}  // namespace
}  // namespace l3dml::pipeline::testing
