#include "dataplane/io/ethdev_port.h"

#include <algorithm>
#include <array>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dataplane/base/limits.h"
#include "dataplane/io/checksum.h"
#include "dataplane/io/copy.h"

namespace l3dml::io {

EthdevPort::EthdevPort(const EthdevConfig& config, std::shared_ptr<Ethdev> device, uint16_t queue,
                       MbufPool& pool)
    : Port(config.name, config.wants_checksum),
      device_(std::move(device)),
      queue_(queue),
      pool_(pool),
      backlog_limit_(config.tx_backlog) {
  backlog_.reserve(backlog_limit_);
}

EthdevPort::~EthdevPort() { rte_pktmbuf_free_bulk(backlog_.data(), static_cast<unsigned>(backlog_.size())); }

unsigned EthdevPort::rx_burst(base::Packet** packets, unsigned room, int64_t) {
  if (!backlog_.empty()) flush();
  std::array<rte_mbuf*, base::kBurst> mbufs;
  const auto wanted = static_cast<uint16_t>(std::min<size_t>(room, mbufs.size()));
  const uint16_t got = rte_eth_rx_burst(device_->id, queue_, mbufs.data(), wanted);
  unsigned count = 0;
  for (uint16_t i = 0; i < got; ++i) {
    base::Packet* const packet = pool_.adopt(mbufs[i]);
    if (packet == nullptr) {
      ++stats_.rx_errors;
      continue;
    }
    stats_.rx_bytes += packet->size;
    packets[count++] = packet;
  }
  stats_.rx_packets += count;
  return count;
}

// Checksum and shape as the device wants them. Null: dropped and counted.
rte_mbuf* EthdevPort::prepare(base::Packet* packet) {
  bool offload = false;
  if (packet->wants_checksum) {
    const bool sum_is_known = packet->tail != nullptr && packet->tail->has_sum;
    offload = device_->checksum_offload && !sum_is_known && write_udp_pseudo_sum(*packet);
    if (!offload) write_udp_checksum(*packet);
  }
  if (packet->tail != nullptr && !device_->multi_segment && !flatten(*packet)) {
    ++stats_.tx_errors;
    base::release(packet);
    return nullptr;
  }
  rte_mbuf* const mbuf = MbufPool::surrender(packet);
  mbuf->ol_flags = 0;
  if (offload) {
    mbuf->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
    mbuf->l2_len = 14;
    mbuf->l3_len = 40;
    mbuf->l4_len = 8;
  }
  return mbuf;
}

void EthdevPort::tx_burst(std::span<base::Packet* const> packets, int64_t) {
  for (base::Packet* packet : packets) {
    if (backlog_.size() >= backlog_limit_) flush();
    if (backlog_.size() >= backlog_limit_) {
      ++stats_.tx_drops;
      base::release(packet);
      continue;
    }
    if (rte_mbuf* mbuf = prepare(packet)) backlog_.push_back(mbuf);
  }
  flush();
}

void EthdevPort::flush() {
  size_t sent = 0;
  while (sent < backlog_.size()) {
    const auto wanted = static_cast<uint16_t>(std::min<size_t>(backlog_.size() - sent, 64));
    std::array<uint32_t, 64> sizes;  // read before the driver may free them
    for (uint16_t i = 0; i < wanted; ++i) sizes[i] = backlog_[sent + i]->pkt_len;
    const uint16_t done = rte_eth_tx_burst(device_->id, queue_, backlog_.data() + sent, wanted);
    for (uint16_t i = 0; i < done; ++i) stats_.tx_bytes += sizes[i];
    stats_.tx_packets += done;
    sent += done;
    if (done < wanted) break;
  }
  backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<ptrdiff_t>(sent));
}

PortStats EthdevPort::stats() const {
  PortStats result = stats_;
  rte_eth_stats device;
  if (queue_ == 0 &&
      rte_eth_stats_get(device_->id, &device) == 0) {  // what only the device knows, counted once
    result.rx_drops += device.imissed + device.rx_nombuf;
    result.rx_errors += device.ierrors;
    result.tx_errors += device.oerrors;
  }
  return result;
}

bool EthdevPort::link_up() const {
  rte_eth_link link;
  return rte_eth_link_get_nowait(device_->id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

int EthdevPort::wake_fd() const {
  const auto& fds = device_->wake_fds;
  if (fds.empty()) return -1;
  return fds.size() == 1 ? fds[0] : fds[std::min<size_t>(queue_, fds.size() - 1)];
}

bool EthdevPort::arm() {
  if (!device_->interrupts) return true;
  if (rte_eth_dev_rx_intr_enable(device_->id, queue_) != 0) return false;
  const int waiting = rte_eth_rx_queue_count(device_->id, queue_);  // came between the last look and arming
  if (waiting <= 0) return true;
  disarm();
  return false;
}

void EthdevPort::disarm() {
  if (device_->interrupts) rte_eth_dev_rx_intr_disable(device_->id, queue_);
}

}  // namespace l3dml::io
