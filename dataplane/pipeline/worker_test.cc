#include "dataplane/pipeline/worker.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "dataplane/base/heap_pool.h"
#include "dataplane/io/crossing.h"
#include "dataplane/io/link_port.h"
#include "dataplane/io/memory_port.h"
#include "dataplane/pipeline/worker_group.h"

namespace l3dml::pipeline {
namespace {

// Forwards from port p to port p ^ 1; a frame whose first byte is 'm' goes to ports 0..3; 'x' goes nowhere
// wired.
class FakePipe final : public Pipe {
 public:
  explicit FakePipe(base::PacketPool& pool) : pool_(pool) {}
  void process(std::span<base::Packet* const> burst, int64_t now_ns, Outbox& out) override {
    for (base::Packet* packet : burst) {
      last_port = packet->port;
      EXPECT_EQ(packet->time_ns, now_ns);
      if (packet->data[0] == 'm') {
        for (uint16_t port = 0; port < 4; ++port) {
          base::Packet* copy = pool_.alloc();
          copy->size = packet->size;
          out.send(copy, port);
        }
        base::release(packet);
      } else {
        out.send(packet, packet->data[0] == 'x' ? 300 : packet->port ^ 1);
      }
    }
  }
  void tick(int64_t now_ns, Outbox&) override {
    ++ticks;
    deadline_ns = base::kNever;
    EXPECT_GE(now_ns, 0);
  }
  int64_t next_deadline_ns() const override { return deadline_ns; }
  uint64_t drops(base::DropReason) const override { return 0; }

  std::atomic<int> ticks = 0;
  int64_t deadline_ns = base::kNever;
  uint16_t last_port = 0;

 private:
  base::PacketPool& pool_;
};

class WorkerTest : public testing::Test {
 protected:
  base::HeapPool pool_{4096};
  FakePipe pipe_{pool_};
  io::MemoryPort a_{"a"}, b_{"b"}, c_{"c"}, d_{"d"};

  base::Packet* make(char kind = 'f') {
    base::Packet* packet = pool_.alloc();
    packet->size = 64;
    packet->data[0] = static_cast<uint8_t>(kind);
    return packet;
  }
  PipeWiring wiring() {
    PipeWiring result;
    result.pipe = &pipe_;
    io::Port* ports[] = {&a_, &b_, &c_, &d_};
    for (uint16_t i = 0; i < 4; ++i) {
      result.inputs.push_back({ports[i], i});
      result.outputs[i] = ports[i];
    }
    return result;
  }
};

TEST_F(WorkerTest, carries_bursts_from_port_to_port) {
  Worker worker({});
  worker.add(wiring());
  for (int i = 0; i < 100; ++i) a_.inject(make());
  int rounds = 0;
  while (worker.run_once(rounds)) ++rounds;
  EXPECT_EQ(rounds, 4);  // 32 at a time
  EXPECT_EQ(b_.sent_count(), 100u);
  EXPECT_EQ(worker.stats().packets, 100u);
  EXPECT_EQ(pipe_.last_port, 0);
}

TEST_F(WorkerTest, spreads_more_copies_than_a_burst_holds) {
  Worker worker({});
  worker.add(wiring());
  for (int i = 0; i < 32; ++i) b_.inject(make('m'));
  EXPECT_TRUE(worker.run_once(0));
  for (io::MemoryPort* port : {&a_, &b_, &c_, &d_}) EXPECT_EQ(port->sent_count(), 32u);
}

TEST_F(WorkerTest, counts_packets_for_ports_that_are_not_there) {
  Worker worker({});
  worker.add(wiring());
  a_.inject(make('x'));
  worker.run_once(0);
  EXPECT_EQ(worker.stats().unwired, 1u);
  EXPECT_EQ(pool_.alive(), 0u);
}

TEST_F(WorkerTest, ticks_when_the_deadline_has_come_and_not_before) {
  Worker worker({});
  worker.add(wiring());
  pipe_.deadline_ns = 500;
  EXPECT_EQ(worker.next_deadline_ns(), 500);
  worker.run_once(499);
  EXPECT_EQ(pipe_.ticks, 0);
  worker.run_once(500);
  EXPECT_EQ(pipe_.ticks, 1);
  EXPECT_EQ(worker.next_deadline_ns(), base::kNever);
}

TEST_F(WorkerTest, next_deadline_is_that_of_the_link) {
  io::Link there({.delay_ns = 1000}, 1), back({.delay_ns = 2000}, 2);
  io::LinkPort near("near", there, back), far("far", back, there);
  Worker worker({});
  PipeWiring wires;
  wires.pipe = &pipe_;
  wires.inputs = {{&near, 0}, {&far, 1}, {&a_, 2}};
  wires.outputs[3] = &near;
  wires.outputs[0] = &b_;
  worker.add(wires);
  a_.inject(make());  // 2 -> 3 = near, over the link to far = 1 -> 0
  EXPECT_TRUE(worker.run_once(100));
  EXPECT_EQ(worker.next_deadline_ns(), 1100);
  EXPECT_FALSE(worker.run_once(1099));
  EXPECT_TRUE(worker.run_once(1100));
  EXPECT_EQ(b_.sent_count(), 1u);
}

TEST_F(WorkerTest, steers_packets_to_the_pipe_that_serves_them) {
  FakePipe other(pool_);
  io::MemoryPort queue("to pipe 1", io::MemoryPort::Kind::loop);
  Worker worker({});
  PipeWiring first = wiring();
  first.steer = [](const base::Packet& packet) { return packet.data[1]; };
  first.to_pipes[1] = &queue;
  worker.add(first);
  PipeWiring second;
  second.pipe = &other;
  second.inputs = {{&queue, PipeWiring::kKeepPort}};
  second.outputs[3] = &d_;
  worker.add(second);
  for (uint8_t pipe : {0, 1}) {
    base::Packet* packet = make();
    packet->data[1] = pipe;
    c_.inject(packet);  // 2 -> 3
  }
  worker.run_once(0);
  EXPECT_EQ(d_.sent_count(), 2u);
  EXPECT_EQ(other.last_port, 2);
}

struct Eye final : io::Capture {
  int in = 0, out = 0;
  void see(const base::Packet&, Direction direction, int64_t) override {
    ++(direction == Direction::in ? in : out);
  }
};

TEST_F(WorkerTest, shows_packets_to_a_capture) {
  Eye eye;
  b_.set_capture(&eye);
  Worker worker({});
  worker.add(wiring());
  a_.inject(make());
  b_.inject(make());
  worker.run_once(0);
  EXPECT_EQ(eye.in, 1);
  EXPECT_EQ(eye.out, 1);
}

struct Witness final : io::Capture {
  std::string story;
  void see(const base::Packet& packet, Direction direction, int64_t) override {
    story += direction == Direction::in ? 'i' : 'o';
    story += static_cast<char>(packet.data[1]);
  }
  bool one_by_one() const override { return true; }
  void done() override { story += '.'; }
};

TEST_F(WorkerTest, tells_a_capture_what_became_of_each_packet) {
  Witness witness;
  a_.set_capture(&witness);
  Worker worker({});
  PipeWiring wires = wiring();
  wires.outputs[1] = &a_;  // answers leave where they came in
  worker.add(wires);
  for (uint8_t name : {'1', '2', '3'}) {
    base::Packet* packet = make(name == '2' ? 'x' : 'f');
    packet->data[1] = name;
    a_.inject(packet);
  }
  worker.run_once(0);
  EXPECT_EQ(witness.story, "i1o1.i2.i3o3.");
}

// --- threads ---

TEST_F(WorkerTest, sleeps_when_idle_and_wakes_for_a_crossing) {
  base::MonotonicClock clock;
  WorkerGroup group(clock);
  Worker& worker = group.add({});
  io::Crossing crossing("to worker", worker);
  PipeWiring wires;
  wires.pipe = &pipe_;
  wires.inputs = {{&crossing, 0}};
  wires.outputs[1] = &b_;
  worker.add(wires);
  group.start();
  const auto sleeps = [&] {
    uint64_t count = 0;
    group.run([&] { count = worker.stats().sleeps; });
    return count;
  };
  const auto sent = [&] {
    size_t count = 0;
    group.run([&] { count = b_.sent_count(); });
    return count;
  };
  for (size_t i = 1; i <= 50; ++i) {
    base::Packet* packet = nullptr;
    group.run([&] { packet = make(); });
    crossing.tx_burst({&packet, 1}, 0);
    while (sent() != i) std::this_thread::yield();
  }
  // Each look above is one wake-up; a worker that never slept would have looped far more often than it slept.
  EXPECT_GT(sleeps(), 0u);
  uint64_t loops = 0;
  group.run([&] { loops = worker.stats().loops; });
  std::this_thread::yield();
  uint64_t later = 0;
  group.run([&] { later = worker.stats().loops; });
  EXPECT_LE(later - loops, 2u) << "an idle worker keeps looping";
  group.stop();
}

TEST_F(WorkerTest, polls_when_told_to) {
  base::MonotonicClock clock;
  WorkerGroup group(clock);
  Worker& worker = group.add({.poll = true});
  worker.add(wiring());
  group.start();
  uint64_t loops = 0;
  while (loops < 1000) group.run([&] { loops = worker.stats().loops; });
  group.run([&] { EXPECT_EQ(worker.stats().sleeps, 0u); });
  group.stop();
}

TEST_F(WorkerTest, wakes_for_the_deadline_of_a_pipe) {
  base::MonotonicClock clock;
  WorkerGroup group(clock);
  group.add({}).add(wiring());
  pipe_.deadline_ns = clock.now_ns() + base::kMillisecond;
  group.start();
  while (pipe_.ticks == 0) std::this_thread::yield();
  group.stop();
}

TEST_F(WorkerTest, run_finds_every_worker_standing) {
  base::MonotonicClock clock;
  WorkerGroup group(clock);
  std::vector<std::unique_ptr<FakePipe>> pipes;
  for (int i = 0; i < 3; ++i) {
    pipes.push_back(std::make_unique<FakePipe>(pool_));
    PipeWiring wires;
    wires.pipe = pipes.back().get();
    group.add({.poll = i != 0}).add(wires);
  }
  int value = 0;
  group.run([&] { value = 1; });  // before start: at once
  group.start();
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) group.run([&] { group.run([&] { ++value; }); });
    });
  for (std::thread& caller : callers) caller.join();
  group.stop();
  EXPECT_EQ(value, 801);
  group.run([&] { value = 0; });
  EXPECT_EQ(value, 0);
}

TEST_F(WorkerTest, goes_on_after_a_function_that_throws) {
  base::MonotonicClock clock;
  WorkerGroup group(clock);
  group.add({}).add(wiring());
  group.start();
  EXPECT_THROW(group.run([] { throw 1; }), int);
  int value = 0;
  group.run([&] { value = 1; });
  EXPECT_EQ(value, 1);
}

}  // namespace
}  // namespace l3dml::pipeline
