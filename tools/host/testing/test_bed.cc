#include "tools/host/testing/test_bed.h"

#include <algorithm>

#include "dataplane/wire/address.h"
#include "fmt/format.h"

namespace l3dml::host::testing {

constexpr int64_t kSyncGapNs = 200'000;
constexpr uint64_t kPrefix = 0xfd0000000000;

std::string describe(const BedOptions& o) {
  return fmt::format(
      "world {} window {} look_ahead {} shards {} lanes {} loss {} duplication {} jitter {} ns seed {}",
      o.world, o.window, o.look_ahead, o.shards, o.lanes, o.loss, o.duplication, o.jitter_ns, o.seed);
}

StripeConfig make_stripe(const BedOptions& o, unsigned child) {
  StripeConfig s;
  s.job = 5;
  s.epoch = o.epoch;
  s.child = static_cast<uint8_t>(child);
  s.lanes = o.lanes;
  s.window = o.window;
  s.look_ahead = o.look_ahead ? o.look_ahead : o.window;
  s.shards = o.shards;
  s.ring = o.ring ? o.ring : 2 * o.window / o.shards;
  s.slot_base = s.ring * 3;
  s.first_number = o.first_number ? o.first_number : s.ring * s.shards;
  s.rate_bps = o.rate_bps;
  s.aggregator = wire::aggregation_address(kPrefix, 0x0101, 0, s.job, s.child);
  s.result_source = wire::aggregation_address(kPrefix, 0x0101, 0, s.job, wire::kChildSwitch);
  s.local_address = wire::host_address(kPrefix, 0x0101, 1 + child);
  s.local_port = static_cast<uint16_t>(19600 + child);
  return s;
}

class TestBed::Sink final : public PacketSink {
 public:
  Sink(TestBed* bed, unsigned rank) : bed_(bed), rank_(rank) {}
  uint8_t* reserve(unsigned shard, size_t size_bytes) override {
    packet_.bytes.assign(size_bytes, 0xee);
    packet_.shard = shard;
    return packet_.bytes.data();
  }
  void commit(size_t size_bytes) override {
    packet_.bytes.resize(size_bytes);
    bed_->send(true, rank_, packet_);
  }

 private:
  TestBed* bed_;
  unsigned rank_;
  Datagram packet_;
};

TestBed::TestBed(const BedOptions& options)
    : stopped(options.world), options_(options), random_(options.seed) {
  results_.resize(options.world);
  new_epoch(options);
  for (unsigned rank = 0; rank < options.world; ++rank) {
    workers_.push_back(std::make_unique<WorkerCore>(
        make_stripe(options, rank), options.world,
        [this, rank](const CollectiveResult& result) { results_[rank].push_back(result); }));
  }
}

void TestBed::new_epoch(const BedOptions& options) {
  options_ = options;
  const auto children =
      static_cast<unsigned>(options.members.empty() ? options.world : options.members.size());
  aggregator_ =
      std::make_unique<FakeAggregator>(make_stripe(options, 0), children, [this](unsigned child, Datagram p) {
        if (p.header().type() == wire::Type::down) {
          syncs_left_ = 3;
          sync_due_ns_ = now_ns_ + kSyncGapNs;
        }
        send(false, options_.members.empty() ? child : options_.members[child], std::move(p));
      });
}

void TestBed::send(bool up, unsigned rank, Datagram packet) {
  if (tap && tap(up, rank, packet)) return;
  std::uniform_real_distribution<double> chance(0, 1);
  const int copies = chance(random_) < options_.duplication ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    if (chance(random_) < options_.loss) continue;
    const int64_t jitter = options_.jitter_ns ? static_cast<int64_t>(random_() % options_.jitter_ns) : 0;
    events_[{now_ns_ + options_.delay_ns + jitter, order_++}] = {up, rank, packet};
  }
}

void TestBed::poll(unsigned rank) {
  if (stopped[rank]) return;
  Sink sink(this, rank);
  workers_[rank]->poll(now_ns_, sink);
}

bool TestBed::run(int64_t limit_ns) {
  return run_until(
      [this] {
        for (unsigned rank = 0; rank < world(); ++rank) {
          if (!stopped[rank] && !workers_[rank]->idle()) return false;
        }
        return true;
      },
      limit_ns);
}

bool TestBed::run_until(const std::function<bool()>& done, int64_t limit_ns) {
  const int64_t end_ns = now_ns_ + limit_ns;
  for (unsigned rank = 0; rank < world(); ++rank) poll(rank);
  while (!done()) {
    int64_t next = events_.empty() ? base::kNever : events_.begin()->first.first;
    if (syncs_left_) next = std::min(next, sync_due_ns_);
    for (unsigned rank = 0; rank < world(); ++rank) {
      if (!stopped[rank]) next = std::min(next, workers_[rank]->next_deadline_ns());
    }
    if (next > end_ns) return false;
    now_ns_ = std::max(now_ns_, next);
    while (!events_.empty() && events_.begin()->first.first <= now_ns_) {
      Event event = std::move(events_.begin()->second);
      events_.erase(events_.begin());
      if (event.up) {
        aggregator_->receive(event.packet);
      } else if (!stopped[event.rank]) {
        workers_[event.rank]->on_packet(event.packet.header(), event.packet.bytes.data() + wire::kL3dmlSize,
                                        event.packet.lane_count(), event.packet.shard, event.packet.ce,
                                        now_ns_);
      }
    }
    if (syncs_left_ && sync_due_ns_ <= now_ns_) {
      --syncs_left_;
      sync_due_ns_ = now_ns_ + (kSyncGapNs << 2 * (3 - syncs_left_));
      aggregator_->send_syncs();
    }
    for (unsigned rank = 0; rank < world(); ++rank) poll(rank);
  }
  return true;
}

}  // namespace l3dml::host::testing
