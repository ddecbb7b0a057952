// What leaves a pipe for other reasons than a packet's own way: the packet generator's SYNCs, and copies by
// mirror session, as the control plane set them.
#include <gtest/gtest.h>

#include "dataplane/blocks/context.h"
#include "dataplane/pipeline/testing/rig.h"
#include "dataplane/tna/mirror.h"
#include "dataplane/tna/packet_generator.h"

namespace l3dml::pipeline::testing {
namespace {

using base::DropReason;
using wire::Type;

constexpr uint16_t kNeighborOfChild0 = 33, kNeighborOfChild1 = 34;
const char* const kGenerated = "pipe.Ingress.admission.generated";

tna::Entry speak_for(unsigned packet, uint16_t neighbor, uint16_t port) {
  tna::Entry entry;
  entry.key = {Rig::exact(Rig::u(packet, 16))};
  entry.action = "Ingress.admission.speak_for";
  entry.params = {Rig::u(neighbor, 16),       Rig::u(port, 9),           Rig::u(7, 16), Rig::u(3, 8),
                  Rig::u(wire::kFlagDown, 8), Rig::u(base::kUdpPort, 16)};
  return entry;
}

tna::PacketGeneratorApp two_packets_each_millisecond() {
  tna::PacketGeneratorApp app;
  app.enabled = true;
  app.timer_ns = base::kMillisecond;
  app.pkt_len = wire::kHeadSize;
  app.packets_per_batch = 1;
  app.source_port = base::kRecirculationPort;
  return app;
}

class Copies : public ::testing::Test {
 protected:
  Rig rig;
  tna::GeneratorTwin& generator() { return *rig.device->generator(); }
  // Completes a number, so that something was sent to both children.
  void complete() {
    rig.send(rig.up(0, rig.c.first_number, 1));
    rig.send(rig.up(1, rig.c.first_number, 1));
  }
  // Child 0 shows a hole.
  std::vector<Sent> hole() {
    auto packet = rig.up(0, rig.c.first_number, 1);
    packet.l3dml().seq.set(9);
    return rig.send(packet);
  }
};

TEST_F(Copies, the_generator_makes_each_segment_say_what_it_sends_next) {
  complete();
  rig.insert(kGenerated, speak_for(0, kNeighborOfChild0, 1));
  rig.insert(kGenerated, speak_for(1, kNeighborOfChild1, 2));
  rig.tick(10 * base::kSecond);  // SYNCs of the sender's own clock are over by then
  rig.tick(20 * base::kSecond);
  rig.tick(30 * base::kSecond);
  generator().configure(0, 4, two_packets_each_millisecond());
  EXPECT_TRUE(rig.tick(40 * base::kSecond).empty()) << "no port generates yet";
  generator().enable(0, true, false);
  EXPECT_EQ(rig.device->pipe(0).next_deadline_ns(), 0) << "the wish waits for a tick";
  const int64_t start = 50 * base::kSecond;
  EXPECT_TRUE(rig.tick(start).empty()) << "its timer begins to run";
  EXPECT_EQ(rig.device->pipe(0).next_deadline_ns(), start + base::kMillisecond);
  for (int round = 1; round <= 3; ++round) {
    const auto sent = rig.tick(start + round * base::kMillisecond);
    ASSERT_EQ(sent.size(), 2u);
    for (unsigned child : {0u, 1u}) {
      EXPECT_EQ(sent[child].port, 1 + child);
      EXPECT_EQ(sent[child].l3dml().type(), Type::sync);
      EXPECT_EQ(sent[child].l3dml().flags, wire::kFlagDown);
      EXPECT_EQ(sent[child].l3dml().child, child);
      EXPECT_EQ(sent[child].l3dml().seq.load(), 1u) << "read, not counted";
      EXPECT_EQ(sent[child].head().ipv6.dst_addr, Rig::child_address(static_cast<uint16_t>(child)));
    }
  }
  EXPECT_EQ(generator().counters(0, 4).packets, 6u);
  generator().configure(0, 4, {});
  EXPECT_TRUE(rig.tick(start + base::kSecond).empty());
}

TEST_F(Copies, what_the_generator_would_make_for_nobody_is_not_made) {
  generator().configure(0, 0, two_packets_each_millisecond());
  generator().enable(0, true, false);
  rig.tick(0);
  EXPECT_TRUE(rig.tick(base::kMillisecond).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_job), 0u);
  EXPECT_EQ(generator().counters(0, 0).packets, 2u) << "it counts them as the chip does";
}

TEST_F(Copies, a_port_that_goes_down_makes_the_generator_speak) {
  rig.insert(kGenerated, speak_for(0, kNeighborOfChild0, 1));
  tna::PacketGeneratorApp app = two_packets_each_millisecond();
  app.trigger = tna::PacketGeneratorApp::Trigger::port_down;
  app.packets_per_batch = 0;
  generator().enable(0, true, false);
  generator().configure(0, 1, app);
  EXPECT_TRUE(rig.tick(1000).empty());
  rig.device->set_port(5, false, false);
  const auto sent = rig.tick(2000);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].l3dml().type(), Type::sync);
  rig.device->set_port(5, false, false);  // it is down already
  EXPECT_TRUE(rig.tick(3000).empty());
}

TEST_F(Copies, a_segment_that_a_speaker_cannot_have_is_refused) {
  EXPECT_THROW(rig.insert(kGenerated,
                          [] {
                            tna::Entry entry = speak_for(0, 1, 1);
                            entry.params[5] = Rig::u(80, 16);
                            return entry;
                          }()),
               std::invalid_argument);
  rig.insert(kGenerated, speak_for(0, 60'000, 1));
  generator().enable(0, true, false);
  tna::PacketGeneratorApp app = two_packets_each_millisecond();
  app.packets_per_batch = 0;
  generator().configure(0, 0, app);
  rig.tick(0);
  EXPECT_TRUE(rig.tick(base::kMillisecond).empty());
  EXPECT_EQ(rig.drops(DropReason::unknown_replica), 1u);
}

TEST_F(Copies, a_nack_leaves_by_its_neighbours_port_until_a_session_says_otherwise) {
  const uint16_t sid = blocks::kMirrorSession + 1;
  auto sent = hole();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, 1);
  EXPECT_EQ(sent[0].l3dml().type(), Type::nack);

  tna::MirrorSession session;
  session.ucast_egress_port = 7;
  session.max_pkt_len = 93;  // mirror header and headers
  ASSERT_TRUE(rig.device->mirrors()->set(sid, session));
  auto again = rig.up(0, rig.c.first_number, 1);
  again.l3dml().seq.set(20);
  sent = rig.send(again);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].port, 7);

  session.mcast_grp_a = 5;  // a copy for a second neighbour besides
  rig.device->replication()->set_group(5, {{kNeighborOfChild1, false, 0, {2}}});
  rig.device->mirrors()->set(sid, session);
  again.l3dml().seq.set(30);
  sent = rig.send(again);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].port, 7);
  EXPECT_EQ(sent[0].l3dml().child, 0);
  EXPECT_EQ(sent[1].port, 2);
  EXPECT_EQ(sent[1].l3dml().child, 1) << "a replica is its RID's";

  session.direction = tna::Gress::egress;
  rig.device->mirrors()->set(sid, session);
  again.l3dml().seq.set(40);
  EXPECT_TRUE(rig.send(again).empty());
  session.direction = tna::Gress::both;
  session.max_pkt_len = 92;
  rig.device->mirrors()->set(sid, session);
  again.l3dml().seq.set(50);
  EXPECT_TRUE(rig.send(again).empty());
  EXPECT_EQ(rig.drops(DropReason::truncated), 1u);
  session.enabled = false;
  rig.device->mirrors()->set(sid, session);
  again.l3dml().seq.set(60);
  EXPECT_TRUE(rig.send(again).empty());
  rig.device->mirrors()->remove(sid);
  again.l3dml().seq.set(70);
  EXPECT_EQ(rig.send(again).size(), 1u);
}

}  // namespace
}  // namespace l3dml::pipeline::testing
