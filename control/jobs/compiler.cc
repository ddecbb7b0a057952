#include "control/jobs/compiler.h"

#include <bit>

#include "control/jobs/admission.h"

namespace l3dml::control {
namespace {

class StripeCompiler {
 public:
  StripeCompiler(const Topology& topology, const JobPlan& plan, const StripePlan& stripe,
                 const std::vector<uint32_t>& pipes, PathCache* paths)
      : topology_(topology), plan_(plan), stripe_(stripe), pipes_(pipes), paths_(*paths) {}

  DeviceEntries compile(int index) const {
    const Aggregator& node = stripe_.tree.aggregators[index];
    const AggregatorPlan& given = stripe_.aggregators[index];
    DeviceEntries out;
    out.entries = admission_entries(admission(index));
    out.entries.push_back(job_entry(given));
    for (size_t c = 0; c < node.children.size(); ++c)
      out.entries.push_back(summed_here(address_of(node.site, static_cast<uint16_t>(c))));
    if (node.parent >= 0) out.entries.push_back(summed_here(address_of(node.site, kChildParent)));
    MulticastGroup group{given.mgid, {}};
    for (size_t c = 0; c < node.children.size(); ++c) {
      const SiteId child_site = site_of(node.children[c]);
      group.replicas.push_back({given.neighbors[c], port_towards(node.site, node.children[c], child_site)});
      for (uint32_t shard = 0; shard < stripe_.shards; ++shard) {
        out.entries.push_back(to_child(index, c, shard));
        speak_for(given.neighbors[c], group.replicas.back().port, shard, kFlagDown, &out);
      }
    }
    out.groups.push_back(std::move(group));
    if (node.parent >= 0) {
      const SiteId parent = stripe_.tree.aggregators[node.parent].site;
      const uint16_t port = topology_.port_towards(node.site, next_step(node.site, parent).link);
      for (uint32_t shard = 0; shard < stripe_.shards; ++shard) {
        out.entries.push_back(to_parent(index, shard));
        speak_for(given.parent_neighbor, port, shard, 0, &out);
      }
    }
    steer(pipes_.empty() ? 1 : pipes_[node.site], &out);
    return out;
  }

 private:
  const Site& site(SiteId id) const { return topology_.sites()[id]; }

  SiteId site_of(const Child& child) const {
    return child.kind == NodeKind::worker ? topology_.hosts()[child.index].site
                                          : stripe_.tree.aggregators[child.index].site;
  }

  Step next_step(SiteId from, SiteId to) const { return paths_.to(to).next[from]; }

  uint16_t port_towards(SiteId from, const Child& child, SiteId to) const {
    if (from == to)
      return topology_.hosts()[child.index].port;  // only workers live at the aggregator's own site
    return topology_.port_towards(from, next_step(from, to).link);
  }

  Mac mac_towards(SiteId from, const Child& child, SiteId to) const {
    return from == to ? topology_.hosts()[child.index].mac : site(next_step(from, to).site).mac;
  }

  Ipv6 address_of(SiteId id, uint16_t child) const {
    return aggregation_address(site(id).prefix, site(id).locator, 0, stripe_.job, child);
  }

  AdmissionSpec admission(int index) const {
    const Aggregator& node = stripe_.tree.aggregators[index];
    const AggregatorPlan& given = stripe_.aggregators[index];
    AdmissionSpec spec;
    spec.job = stripe_.job;
    spec.epoch = stripe_.epoch;
    spec.slot_base = given.slot_base;
    spec.ring = stripe_.ring;
    spec.children = static_cast<uint8_t>(node.children.size());
    spec.role = node.parent < 0 ? Role::root : Role::inner;
    spec.mgid = given.mgid;
    spec.job_index = given.job_index;
    for (size_t c = 0; c < node.children.size(); ++c) {
      const Child& child = node.children[c];
      Peer peer;
      peer.child = static_cast<uint8_t>(c);
      peer.locator = site(site_of(child)).locator;
      peer.neighbor = given.neighbors[c];
      peer.port = port_towards(node.site, child, site_of(child));
      if (child.kind == NodeKind::worker) {
        const Host& host = topology_.hosts()[child.index];
        peer.host = host.number;
        if (host.site == node.site) peer.edge_port = host.port;
      } else {
        peer.host = static_cast<uint32_t>(kChildSwitch) << 16;
      }
      spec.peers.push_back(peer);
    }
    if (node.parent >= 0) {
      const SiteId parent = stripe_.tree.aggregators[node.parent].site;
      spec.parent_neighbor = given.parent_neighbor;
      spec.parent_port = topology_.port_towards(node.site, next_step(node.site, parent).link);
      spec.peers.push_back({true, static_cast<uint8_t>(node.child_index), site(parent).locator,
                            static_cast<uint32_t>(kChildSwitch) << 16, -1, given.parent_neighbor,
                            spec.parent_port});
    }
    return spec;
  }

  // A chip's packet generator shows the ends of quiet segments; each packet of its rounds stands for one.
  // Where it has no number left the receiver's own questions find a lost end, later.
  void speak_for(uint16_t neighbor, uint16_t port, uint32_t shard, uint8_t flags, DeviceEntries* out) const {
    constexpr uint32_t kShardsEach = 4, kPackets = 1024;
    const uint32_t packet = neighbor * kShardsEach + shard;
    if (shard >= kShardsEach || packet >= kPackets - 1) return;
    out->entries.push_back({{"pipe.Ingress.admission.generated",
                             {{"hdr.generator.packet", MatchKind::exact, be(packet, 16), {}, 0}}},
                            {"Ingress.admission.speak_for",
                             {{"neighbor", be(neighbor, 16)},
                              {"port", be(port, 9)},
                              {"job", be(stripe_.job, 16)},
                              {"epoch", be(stripe_.epoch, 8)},
                              {"flags", be(flags, 8)},
                              {"udp_dst_port", be(kUdpPort + shard, 16)}}}});
  }

  // Registers are per pipe: what comes in elsewhere goes to the pipe of its shard by that one's recirculation
  // port.
  void steer(uint32_t pipes, DeviceEntries* out) const {
    constexpr uint32_t kPortsPerPipe = 128, kRecirculation = 68;
    for (uint32_t pipe = 0; pipe < pipes; ++pipe)
      for (uint32_t shard = 0; shard < stripe_.shards; ++shard) {
        const uint32_t owner = shard % pipes;
        if (owner == pipe) continue;
        out->entries.push_back(
            {{"pipe.Ingress.admission.owner",
              {{"hdr.l3dml.job", MatchKind::exact, be(stripe_.job, 16), {}, 0},
               {"hdr.udp.dst_port", MatchKind::exact, be(kUdpPort + shard, 16), {}, 0},
               {"pipe", MatchKind::exact, be(pipe, 2), {}, 0}}},
             {"Ingress.admission.steer", {{"port", be(owner * kPortsPerPipe + kRecirculation, 9)}}}});
      }
  }

  // An aggregation address that this switch takes for itself.
  static Entry summed_here(const Ipv6& address) {
    return {
        {"pipe.Ingress.forwarder.host6", {{"hdr.ipv6.dst_addr", MatchKind::exact, bytes_of(address), {}, 0}}},
        {"Ingress.forwarder.aggregate", {}}};
  }

  Entry job_entry(const AggregatorPlan& given) const {
    return {{"pipe.Ingress.job.job", {{"job_index", MatchKind::exact, be(given.job_index, 16), {}, 0}}},
            {"Ingress.job.set_job",
             {{"lanes", be(plan_.lanes, 16)},
              {"shard_shift", be(shard_shift(), 8)},
              {"slot_base", be(given.slot_base, 32)},
              {"ring_mask", be(stripe_.ring - 1, 32)}}}};
  }

  uint64_t shard_shift() const { return static_cast<uint64_t>(std::countr_zero(stripe_.shards)); }

  struct Replication {
    uint16_t neighbor = 0;
    Mac dmac{}, smac{};
    Ipv6 dst{}, src{};
    uint16_t udp_dst = 0;
    uint8_t child = 0;
    uint32_t slot_base = 0, slot_mask = 0;
    AggregatorPlan::SeqRing seq_ring;
  };

  Entry replica(const Replication& r, uint32_t shard) const {
    // One constant per (job, child, shard), so that ECMP keeps a segment in order.
    const auto udp_src = static_cast<uint16_t>(
        kSwitchSourcePort + ((stripe_.job * 31u + r.child) * stripe_.shards + shard) % 16384u);
    return {{"pipe.Egress.replica.replica",
             {{"neighbor", MatchKind::exact, be(r.neighbor, 16), {}, 0},
              {"shard", MatchKind::exact, be(shard, 6), {}, 0}}},
            {"Egress.replica.to_neighbor",
             {{"dmac", bytes_of(r.dmac)},
              {"smac", bytes_of(r.smac)},
              {"dst_addr", bytes_of(r.dst)},
              {"src_addr", bytes_of(r.src)},
              {"udp_src_port", be(udp_src, 16)},
              {"udp_dst_port", be(r.udp_dst, 16)},
              {"child", be(r.child, 8)},
              {"slot_base", be(r.slot_base, 32)},
              {"slot_mask", be(r.slot_mask, 32)},
              {"shard_shift", be(shard_shift(), 8)},
              {"ring_base", be(r.seq_ring.base, 32)},
              {"ring_mask", be(r.seq_ring.length - 1, 32)}}}};
  }

  Entry to_child(int index, size_t c, uint32_t shard) const {
    const Aggregator& node = stripe_.tree.aggregators[index];
    const Child& child = node.children[c];
    const SiteId to = site_of(child);
    Replication r;
    r.neighbor = stripe_.aggregators[index].neighbors[c];
    r.dmac = mac_towards(node.site, child, to);
    r.smac = site(node.site).mac;
    r.src = address_of(node.site, kChildSwitch);
    r.child = static_cast<uint8_t>(c);
    r.slot_mask = stripe_.ring - 1;
    r.seq_ring = stripe_.aggregators[index].seq_rings[c];
    if (child.kind == NodeKind::worker) {
      r.dst = topology_.address(child.index);
      r.udp_dst = plan_.udp_ports[rank_of(index, static_cast<int>(c))];
    } else {
      r.dst = address_of(to, kChildParent);
      r.udp_dst = static_cast<uint16_t>(kUdpPort + shard);
      r.slot_base = stripe_.aggregators[child.index].slot_base;
    }
    return replica(r, shard);
  }

  Entry to_parent(int index, uint32_t shard) const {
    const Aggregator& node = stripe_.tree.aggregators[index];
    const SiteId parent = stripe_.tree.aggregators[node.parent].site;
    Replication r;
    r.neighbor = stripe_.aggregators[index].parent_neighbor;
    r.dmac = site(next_step(node.site, parent).site).mac;
    r.smac = site(node.site).mac;
    r.dst = address_of(parent, static_cast<uint16_t>(node.child_index));
    r.src = address_of(node.site, kChildSwitch);
    r.udp_dst = static_cast<uint16_t>(kUdpPort + shard);
    r.child = static_cast<uint8_t>(node.child_index);
    r.slot_base = stripe_.aggregators[node.parent].slot_base;
    r.slot_mask = stripe_.ring - 1;
    r.seq_ring = stripe_.aggregators[index].parent_seq_ring;
    return replica(r, shard);
  }

  size_t rank_of(int aggregator, int child) const {
    for (size_t rank = 0; rank < stripe_.members.size(); ++rank)
      if (stripe_.members[rank].aggregator == aggregator && stripe_.members[rank].child == child) return rank;
    return 0;  // every worker child is some rank's place, by construction of the plan
  }

  const Topology& topology_;
  const JobPlan& plan_;
  const StripePlan& stripe_;
  const std::vector<uint32_t>& pipes_;
  PathCache& paths_;
};

}  // namespace

std::vector<DeviceEntries> compile_job(const Topology& topology, const JobPlan& plan,
                                       const std::vector<uint32_t>& pipes) {
  std::vector<DeviceEntries> devices(topology.sites().size());
  PathCache paths(topology);
  for (const StripePlan& stripe : plan.stripes) {
    const StripeCompiler compiler(topology, plan, stripe, pipes, &paths);
    for (size_t a = 0; a < stripe.tree.aggregators.size(); ++a)
      devices[stripe.tree.aggregators[a].site].append(compiler.compile(static_cast<int>(a)));
  }
  return devices;
}

std::vector<std::vector<uint16_t>> neighbors_of(const Topology& topology, const JobPlan& plan) {
  std::vector<std::vector<uint16_t>> result(topology.sites().size());
  for (const StripePlan& stripe : plan.stripes)
    for (size_t a = 0; a < stripe.aggregators.size(); ++a) {
      auto& list = result[stripe.tree.aggregators[a].site];
      const AggregatorPlan& given = stripe.aggregators[a];
      list.insert(list.end(), given.neighbors.begin(), given.neighbors.end());
      if (given.parent_neighbor != 0) list.push_back(given.parent_neighbor);
    }
  return result;
}

Ipv6 member_destination(const Topology& topology, const StripePlan& stripe, int rank) {
  const MemberPlace& place = stripe.members[rank];
  const Site& site = topology.sites()[stripe.tree.aggregators[place.aggregator].site];
  return aggregation_address(site.prefix, site.locator, 0, stripe.job, static_cast<uint16_t>(place.child));
}

}  // namespace l3dml::control
