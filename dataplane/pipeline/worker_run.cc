// The life of a worker around run_once(): wiring, sleeping, standing still for the driver.
#include <algorithm>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

#include "dataplane/pipeline/worker.h"

namespace l3dml::pipeline {

void Worker::watch(io::Port* port) {
  if (std::find(ports_.begin(), ports_.end(), port) != ports_.end()) return;
  ports_.push_back(port);
  port_waits_for_wake_ |= port->waits_for_wake();
  if (port->wake_fd() >= 0) sleeper_.add(*port);
}

void Worker::add(const PipeWiring& wiring) {
  auto lane = std::make_unique<Lane>();
  lane->pipe = wiring.pipe;
  lane->inputs = wiring.inputs;
  for (const PipeWiring::Input& input : wiring.inputs) watch(input.port);
  lane->steer = wiring.steer;
  const auto output = [&](io::Port* port) -> Output* {
    if (port == nullptr) return nullptr;
    lane->storage.push_back(std::make_unique<Output>());
    lane->storage.back()->port = port;
    return lane->storage.back().get();
  };
  for (size_t i = 0; i < kDevicePorts; ++i) lane->outputs[i] = output(wiring.outputs[i]);
  for (size_t i = 0; i < kPipes; ++i) lane->to_pipes[i] = output(wiring.to_pipes[i]);
  lanes_.push_back(std::move(lane));
}

void Worker::add(const Forward& forward) {
  forwards_.push_back(forward);
  watch(forward.from);
}

void Worker::run(const base::Clock& clock, Stand& stand) {
  prctl(PR_SET_TIMERSLACK, 1000);  // nanoseconds; the default of 50 us would show in link delays
  if (options_.cpu >= 0) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(options_.cpu), &cpus);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
  }
  while (true) {
    if (asked_.load(std::memory_order_acquire)) {
      asked_.store(false);  // first: whoever asks from here on is seen in the next round
      if (stop_asked_.load()) return;
      if (stand_asked_.exchange(false)) stand.stand();
      continue;
    }
    const int64_t now_ns = clock.now_ns();
    if (run_once(now_ns)) last_busy_ns_ = now_ns;
    rest(clock, now_ns);
  }
}

// Sleeps if there is nothing to do. One look at the wake-up descriptors, without sleep, where a port waits
// for it.
void Worker::rest(const base::Clock& clock, int64_t now_ns) {
  const int64_t idle_ns = now_ns - last_busy_ns_;
  const int64_t deadline_ns = next_deadline_ns();
  const bool awake = options_.poll || idle_ns <= options_.spin_ns || deadline_ns - options_.spin_ns <= now_ns;
  if (awake || !std::all_of(ports_.begin(), ports_.end(), [](io::Port* port) { return port->arm(); })) {
    if (port_waits_for_wake_) sleeper_.look();
    return;  // what is armed stays so: the next sleep arms it again, a needless interrupt does no harm
  }
  int64_t timeout_ns = base::kNever;
  for (const io::Port* port : ports_)  // a port that cannot wake us is looked at less and less often
    if (port->needs_wake_fd() && port->wake_fd() < 0) timeout_ns = std::min(io::kBlindSleep, idle_ns / 8);
  sleeping_.exchange(true);  // then look again: whoever gave us work before seeing this did not wake us
  if (!asked_.load() && next_deadline_ns() >= deadline_ns) {
    if (deadline_ns != base::kNever)
      timeout_ns =
          std::min(timeout_ns, std::max<int64_t>(0, deadline_ns - options_.spin_ns - clock.now_ns()));
    ++stats_.sleeps;
    sleeper_.sleep(timeout_ns);
  }
  sleeping_.store(false);
  for (io::Port* port : ports_) port->disarm();
}

void Worker::wake() {
  // An exchange on both sides: either this one sees that the worker sleeps, or the worker's sees what we gave
  // it.
  if (sleeping_.exchange(false)) sleeper_.wake();
}

void Worker::ask_to_stand() {
  stand_asked_.store(true);
  asked_.store(true);
  wake();
}

void Worker::stop() {
  stop_asked_.store(true);
  asked_.store(true);
  wake();
}

}  // namespace l3dml::pipeline
