// The closed loop, replays, the search, and the command line.
#include <gtest/gtest.h>

#include "dataplane/pipeline/testing/pcapng.h"
#include "tools/gen/options.h"
#include "tools/gen/replay.h"
#include "tools/gen/search.h"
#include "tools/gen/testing/tested_switch.h"
#include "tools/gen/windowed.h"

namespace l3dml::gen {
namespace {

using base::kMicrosecond;
using base::kMillisecond;
using testing::TestedSwitch;

WindowedOptions windowed_options() {
  WindowedOptions o;
  o.duration_ns = 5 * kMillisecond;
  o.chunks = 100;
  return o;
}

TEST(Windowed, sums_are_right_and_every_worker_does_the_same) {
  TestedSwitch tested(3, {{64}, {128}});
  Windowed engine(tested.traffic(), tested.ports(), windowed_options());
  engine.begin(tested.now_ns);
  ASSERT_TRUE(tested.run(engine, 10 * kMicrosecond));
  const WindowedResult r = engine.finish(tested.now_ns);
  EXPECT_EQ(r.wrong, 0u) << r.first_wrong;
  EXPECT_GT(r.collectives, 6u);
  EXPECT_EQ(r.collectives % 3, 0u);
  EXPECT_EQ(r.chunks, r.collectives * 100);
  EXPECT_EQ(r.stats.retransmitted, 0u);
  EXPECT_EQ(r.round_trip.count(), r.chunks);
}

TEST(Windowed, repairs_what_is_lost_while_bad_frames_come) {
  TestedSwitch tested(3, {{64}});
  std::mt19937_64 random(4);
  tested.tap = [&](bool, std::vector<uint8_t>&) { return random() % 50 == 0; };
  WindowedOptions o = windowed_options();
  for (unsigned kind = 0; kind < kBadKinds; ++kind) o.floods.push_back({static_cast<Bad>(kind), 0.2});
  Windowed engine(tested.traffic(), tested.ports(), o);
  engine.begin(tested.now_ns);
  ASSERT_TRUE(tested.run(engine, 10 * kMicrosecond));
  const WindowedResult r = engine.finish(tested.now_ns);
  EXPECT_FALSE(r.timed_out);
  EXPECT_EQ(r.wrong, 0u) << r.first_wrong;
  EXPECT_EQ(r.chunks, r.collectives * 100);
  EXPECT_GT(r.stats.retransmitted, 0u);
  EXPECT_GT(r.bad_sent, r.chunks);
}

TEST(Windowed, finds_a_wrong_sum) {
  TestedSwitch tested(2, {{64}});
  uint64_t downs = 0;
  tested.tap = [&](bool up, std::vector<uint8_t>& frame) {
    if (!up && frame.size() > 300 && ++downs == 150) frame.back() ^= 4;
    return false;
  };
  Windowed engine(tested.traffic(), tested.ports(), windowed_options());
  engine.begin(tested.now_ns);
  ASSERT_TRUE(tested.run(engine, 10 * kMicrosecond));
  EXPECT_EQ(engine.finish(tested.now_ns).wrong, 1u);
}

TEST(Windowed, gives_up_when_nothing_comes_back) {
  TestedSwitch tested(2, {{64}});
  tested.tap = [](bool up, std::vector<uint8_t>&) { return !up; };
  Windowed engine(tested.traffic(), tested.ports(), windowed_options());
  engine.begin(tested.now_ns);
  ASSERT_TRUE(tested.run(engine, kMillisecond));
  EXPECT_TRUE(engine.finish(tested.now_ns).timed_out);
}

// --- the search

TrialResult fake(double rate, double capacity, double generator = 1e12) {
  TrialResult r;
  r.offered_per_s = rate;
  r.sent_per_s = std::min(rate, generator);
  r.sent = 1000;
  r.lost = r.sent_per_s > capacity ? 1 : 0;
  r.received = r.sent - r.lost;
  return r;
}

TEST(Search, ends_within_the_resolution_below_the_highest_lossless_rate) {
  for (const double capacity : {1e4, 123'456.0, 777'777.0, 999'999.0}) {
    const SearchResult found =
        search_throughput({1e6, 0.001}, [&](double rate) { return fake(rate, capacity); });
    EXPECT_LE(found.throughput_per_s, capacity);
    EXPECT_GE(found.throughput_per_s, capacity - 1000);
    ASSERT_NE(found.best, nullptr);
    EXPECT_EQ(found.best->lost, 0u);
    EXPECT_EQ(found.best->offered_per_s, found.throughput_per_s);
    EXPECT_FALSE(found.generator_limited);
    EXPECT_LE(found.steps.size(), 12u);
  }
}

TEST(Search, one_trial_is_enough_where_the_highest_rate_passes) {
  const SearchResult found = search_throughput({1e6, 0.01}, [](double rate) { return fake(rate, 2e6); });
  EXPECT_EQ(found.throughput_per_s, 1e6);
  EXPECT_EQ(found.steps.size(), 1u);
}

TEST(Search, says_when_only_the_generator_was_too_slow) {
  const SearchResult found = search_throughput({1e6, 0.01}, [](double rate) { return fake(rate, 2e6, 3e5); });
  EXPECT_TRUE(found.generator_limited);
  EXPECT_NEAR(found.throughput_per_s, 3e5, 1e4);
}

TEST(Search, finds_nothing_where_nothing_passes) {
  const SearchResult found = search_throughput({1e6, 0.01}, [](double rate) { return fake(rate, -1); });
  EXPECT_EQ(found.throughput_per_s, 0);
  EXPECT_EQ(found.best, nullptr);
}

TEST(Search, believes_a_rate_after_as_many_trials_as_asked_for) {
  unsigned trials = 0;
  const SearchResult found =
      search_throughput({1e6, 0.6, 3}, [&](double rate) { return fake(rate, ++trials == 3 ? 0 : 2e6); });
  EXPECT_EQ(found.throughput_per_s, 5e5);  // the third at the highest rate lost one
  EXPECT_EQ(found.steps.size(), 6u);
}

TEST(Search, over_a_real_device_in_virtual_time) {
  TestedSwitch tested(2, {{64}});
  // A switch that takes one packet per microsecond and loses what is more.
  int64_t budget_at = 0;
  double budget = 0;
  tested.tap = [&](bool up, std::vector<uint8_t>&) {
    if (!up) return false;
    budget = std::min(64.0, budget + static_cast<double>(tested.now_ns - budget_at) / 1000);
    budget_at = tested.now_ns;
    return (budget -= 1) < 0 ? (budget += 1, true) : false;
  };
  OpenLoop loop(tested.traffic(), tested.ports(), {});
  const SearchResult found = search_throughput({4e6, 0.02}, [&](double rate) {
    loop.begin({rate, 10 * kMillisecond, kMillisecond}, tested.now_ns);
    EXPECT_TRUE(tested.run(loop, 5 * kMicrosecond));
    return loop.finish();
  });
  EXPECT_NEAR(found.throughput_per_s, 1e6, 8e4);
}

// --- captures

std::vector<pipeline::testing::Captured> captured() {
  std::vector<pipeline::testing::Captured> frames;
  for (int i = 0; i < 10; ++i)
    frames.push_back({static_cast<uint16_t>(i % 2), 5'000'000'000 + i * kMillisecond,
                      std::string(60 + static_cast<size_t>(i), static_cast<char>('a' + i))});
  return frames;
}

// pcap of one Ethernet frame, in the byte order and time unit asked for.
std::string pcap(bool swapped, bool nano) {
  std::string file;
  const auto put = [&](uint32_t value) {
    if (swapped) value = base::swap_bytes(value);
    file.append(reinterpret_cast<const char*>(&value), 4);
  };
  put(nano ? 0xa1b23c4d : 0xa1b2c3d4);
  put(swapped ? 0x00020004 : 0x00040002);  // version 2.4, as two 16-bit fields
  put(0), put(0), put(65535), put(1);
  put(3), put(5), put(4), put(4);
  return file + "abcd";
}

TEST(Capture, reads_pcapng) {
  const auto frames = parse_capture(pipeline::testing::to_pcapng(captured()));
  ASSERT_TRUE(frames.ok()) << frames.status();
  ASSERT_EQ(frames->size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ((*frames)[i].bytes, captured()[i].frame);
    EXPECT_EQ((*frames)[i].time_ns, captured()[i].time_ns);
    EXPECT_EQ((*frames)[i].interface, i % 2);
  }
}

TEST(Capture, reads_pcap_of_either_byte_order_and_unit) {
  for (const bool swapped : {false, true})
    for (const bool nano : {false, true}) {
      const auto frames = parse_capture(pcap(swapped, nano));
      ASSERT_TRUE(frames.ok()) << frames.status();
      ASSERT_EQ(frames->size(), 1u);
      EXPECT_EQ(frames->front().bytes, "abcd");
      EXPECT_EQ(frames->front().time_ns, 3'000'000'000 + (nano ? 5 : 5000));
    }
}

TEST(Capture, what_is_cut_or_bent_is_an_error_or_less_frames_never_more) {
  for (const std::string& whole : {pipeline::testing::to_pcapng(captured()), pcap(false, true)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const auto frames = parse_capture(whole.substr(0, size));
      EXPECT_TRUE(!frames.ok() || frames->size() < 10u);
    }
    for (size_t at = 0; at < whole.size(); ++at)
      for (const char value : {'\0', '\x7f', '\xff'}) {
        std::string bent = whole;
        bent[at] = value;
        const auto frames = parse_capture(bent);
        EXPECT_TRUE(frames.ok() || !frames.status().message().empty());
      }
  }
}

TEST(Replay, keeps_the_pace_and_the_ports_of_the_capture) {
  const auto frames = parse_capture(pipeline::testing::to_pcapng(captured()));
  ASSERT_TRUE(frames.ok());
  base::HeapPool pool(64);
  io::MemoryPort a("a"), b("b");
  Replay replay(*frames, {{&a, &b}, &pool}, {.speed = 2, .loops = 2, .drain_ns = 0});
  replay.begin(0);
  std::vector<int64_t> times;
  for (int64_t now = 0; now < 30 * kMillisecond; now += kMillisecond / 4) {
    const size_t before = a.sent_count() + b.sent_count();
    const bool more = replay.step(now);
    for (size_t i = before; i < a.sent_count() + b.sent_count(); ++i) times.push_back(now);
    if (!more) break;
  }
  ASSERT_EQ(times.size(), 20u);
  EXPECT_EQ(a.sent_count(), 10u);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(times[i], static_cast<int64_t>(i) * kMillisecond / 2);
  const ReplayResult r = replay.finish();
  EXPECT_EQ(r.sent, 20u);
  base::Packet* first = a.take_sent();
  EXPECT_EQ(std::string(reinterpret_cast<char*>(first->data), first->size), captured()[0].frame);
  base::release(first);
}

TEST(Replay, what_no_buffer_holds_is_counted) {
  const std::vector<CapturedFrame> frames = {{0, 0, std::string(3000, 'x')}, {0, 0, "short"}};
  base::HeapPool pool(1);
  io::MemoryPort port("a");
  Replay replay(frames, {{&port}, &pool}, {.packets_per_s = 1000, .loops = 2, .drain_ns = 0});
  replay.begin(0);
  for (int64_t now = 0; replay.step(now); now += kMillisecond) {
  }
  const ReplayResult r = replay.finish();
  EXPECT_EQ(r.too_long, 1u);  // the second time the only buffer lies in the port
  EXPECT_EQ(r.sent, 1u);
  EXPECT_EQ(r.no_buffer, 2u);
}

// --- the command line

TEST(Options, rates_are_bits_on_the_wire_or_packets) {
  EXPECT_EQ(*packets_per_s("2.5Mpps", 1110), 2.5e6);
  EXPECT_EQ(*packets_per_s("30kpps", 1110), 3e4);
  EXPECT_NEAR(*packets_per_s("10Gbit", 1110), 10e9 / 8 / 1134, 1);
  EXPECT_NEAR(*packets_per_s("10Gbit", 42), 10e9 / 8 / 84, 1);  // padded to the shortest frame
  EXPECT_EQ(*packets_per_s("", 100), 0);
  for (const char* wrong : {"fast", "-1Mpps", "0Gbit", "1Mpp", "0pps"})
    EXPECT_FALSE(packets_per_s(wrong, 1110).ok()) << wrong;
}

TEST(Options, a_mix_names_lanes_and_shares) {
  Options o;
  o.workers = 3;
  o.mix = "64:1,256:2.5";
  const auto shapes = shapes_of(o, 128);
  ASSERT_TRUE(shapes.ok());
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[1].lanes, 256u);
  EXPECT_EQ((*shapes)[1].share, 2.5);
  EXPECT_EQ((*shapes)[1].workers, 3u);
  for (const char* wrong : {"65:1", "64:0", "64:1:1", "x", "384:1", ","}) {
    o.mix = wrong;
    EXPECT_FALSE(shapes_of(o, 128).ok()) << wrong;
  }
}

TEST(Options, floods_are_kinds_with_ratios) {
  const auto floods = parse_floods({"unknown-job", "jumbo:0.1"});
  ASSERT_TRUE(floods.ok());
  EXPECT_EQ((*floods)[0].kind, Bad::unknown_job);
  EXPECT_EQ((*floods)[0].per_gradient, 1);
  EXPECT_EQ((*floods)[1].per_gradient, 0.1);
  for (const char* wrong : {"nonsense", "jumbo:0", "jumbo:-1", "jumbo:1:2", ""})
    EXPECT_FALSE(parse_floods({wrong}).ok()) << wrong;
}

}  // namespace
}  // namespace l3dml::gen
