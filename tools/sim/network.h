// Devices, hosts and the cables between them under a virtual clock: places packets on links, wakes whoever
// has something to do, in order of time. It knows nothing of jobs. One thread; everything happens inside
// run().
//
// Links are those of dataplane/io, so the simulator and the lab lose and delay packets by the same code. A
// link needs one queued event however many packets it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dataplane/base/heap_pool.h"
#include "dataplane/base/packet.h"
#include "dataplane/io/link.h"
#include "tools/sim/event_queue.h"
#include "tools/sim/random.h"
#include "tools/sim/scenario.h"

namespace l3dml::sim {

struct End {  // where a cable ends
  bool host = false;
  uint32_t node = 0;  // device or host
  uint16_t port = 0;  // of the device; hosts have one
};

class Network {
 public:
  struct Handler {
    virtual ~Handler() = default;
    virtual void at_device(uint32_t device, std::span<base::Packet* const> packets) = 0;  // takes them
    virtual void at_host(uint32_t host, base::Packet* packet) = 0;                        // takes it
    virtual void device_timer(uint32_t device, unsigned pipe) = 0;
    virtual void host_timer(uint32_t host) = 0;
  };

  Network(const Scenario& scenario, Random random, Handler* handler);
  ~Network();

  int64_t now_ns() const { return now_ns_; }
  base::HeapPool& pool() { return pool_; }
  uint64_t events() const { return events_; }    // packets handled plus timers
  uint64_t packets() const { return packets_; }  // handled by devices and hosts
  size_t queued() const { return queue_.size(); }

  // Onto the cable at this device's port or at this host. Takes the packet.
  void send_from_device(uint32_t device, uint16_t port, base::Packet* packet);
  void send_from_host(uint32_t host, base::Packet* packet);

  // Wake-up calls; one pending per subject, an earlier one replaces a later one.
  void wake_device(uint32_t device, unsigned pipe, int64_t at_ns);
  void wake_host(uint32_t host, int64_t at_ns);
  void call_at(int64_t at_ns, std::function<void()> function);

  // Runs until nothing is left to do, `stop` says so after an event, or the clock passes `until_ns`.
  void run(int64_t until_ns, const std::function<bool()>& stop);

  size_t drain();  // at the end: takes down all cables; packets that somebody still holds

  void set_device_up(uint32_t device, bool up);  // a dead one loses what arrives and sends nothing
  bool device_up(uint32_t device) const { return devices_[device].up; }
  void set_link_up(uint32_t link, bool up);

  // First cable and port on the shortest way between devices, dead ones avoided; nullptr if there is none.
  struct Hop {
    uint16_t port;
    End next;
  };
  const Hop* next_hop(uint32_t from, uint32_t to) const;
  Hop host_port(uint32_t host) const;                  // at its device
  Hop hop_over(uint32_t device, uint32_t link) const;  // the cable must end at the device
  uint32_t far_end(uint32_t device, uint32_t link) const { return hop_over(device, link).next.node; }
  void find_routes();  // after devices died
  uint32_t host_device(uint32_t host) const { return hosts_[host].device; }
  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }
  uint32_t host_count() const { return static_cast<uint32_t>(hosts_.size()); }
  std::vector<uint16_t> ports(uint32_t device) const;
  const io::LinkCounters& counters(uint32_t link, bool reverse) const {
    const Wire& wire = wires_[2 * link + reverse];
    return wire.link ? wire.link->counters() : wire.last;
  }

 private:
  enum class Kind : uint8_t { wire, device_poll, device_timer, host_timer, call };
  struct Event {
    Kind kind;
    uint8_t pipe;
    uint32_t index;
  };
  struct Wire {  // one direction
    std::unique_ptr<io::Link> link;  // null once it was taken down
    io::LinkCounters last;           // as they were then
    End to;
    int64_t scheduled_ns = base::kNever;
  };
  struct Device {
    bool up = true;
    std::vector<uint32_t> wires;  // leaving, by port index
    std::vector<int64_t> timer_ns;
    std::vector<base::Packet*> waiting;  // arrived, not looked at yet
    bool polling = false;
  };
  struct Host {
    uint32_t device = 0, wire = 0;
    uint16_t device_port = 0;
    int64_t timer_ns = base::kNever;
  };

  void send(uint32_t wire, base::Packet* packet);
  void schedule(uint32_t wire);
  void deliver(uint32_t wire);
  void flush(uint32_t device);
  uint16_t port_number(size_t index) const;

  Handler* handler_;
  Random random_;
  base::HeapPool pool_;
  EventQueue<Event> queue_;
  std::vector<std::function<void()>> calls_;
  std::vector<uint32_t> free_calls_;
  std::vector<Wire> wires_;
  std::vector<double> lengths_;  // by wire, for routing
  std::vector<Device> devices_;
  std::vector<Host> hosts_;
  std::vector<std::vector<Hop>> routes_;  // [from][to]
  std::vector<std::vector<bool>> reachable_;
  unsigned pipes_;
  int64_t poll_interval_ns_;
  int64_t now_ns_ = 0;
  uint64_t events_ = 0, packets_ = 0;
};

// Packets as a wire carries them: in one piece.
void flatten(base::Packet* packet);

}  // namespace l3dml::sim
