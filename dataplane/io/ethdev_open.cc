// Finding, configuring and starting a DPDK device: the slow half of ethdev_port.
#include <algorithm>
#include <cstdlib>
#include <set>

#include <dirent.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_log.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/base/limits.h"
#include "dataplane/io/ethdev_port.h"

namespace l3dml::io {
namespace {

// af_packet, af_xdp and pcap poll sockets that they do not show. They can be slept on all the same: they are
// the packet sockets that came into being while the device was opened.
std::set<int> packet_sockets() {
  std::set<int> result;
  DIR* const directory = opendir("/proc/self/fd");
  if (directory == nullptr) return result;
  while (const dirent* entry = readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    int domain = 0;
    socklen_t size = sizeof domain;
    if (entry->d_name[0] != '.' && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
        (domain == AF_PACKET || domain == AF_XDP))
      result.insert(fd);
  }
  closedir(directory);
  return result;
}

absl::Status failed(const EthdevConfig& config, const std::string& what, int error) {
  return absl::InternalError(absl::StrCat("port ", config.name, ": DPDK device \"", config.device, "\": ",
                                          what, " failed: ", rte_strerror(error < 0 ? -error : error)));
}

absl::StatusOr<uint16_t> find_or_probe(const EthdevConfig& config, bool& probed) {
  const std::string name = config.device.substr(0, config.device.find(','));
  uint16_t id;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) return id;
  if (const int error = rte_dev_probe(config.device.c_str()); error != 0)
    return absl::NotFoundError(absl::StrCat(
        "port ", config.name, ": DPDK device \"", config.device, "\" cannot be opened (",
        rte_strerror(-error), "); check its name, the interface it uses, and that you are root"));
  probed = true;
  if (rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) return id;
  return absl::NotFoundError(
      absl::StrCat("port ", config.name, ": \"", config.device, "\" is no Ethernet device"));
}

// Steers the UDP port of shard s to queue s mod queues, so that a gradient reaches the pipe that owns its
// slot without recirculation. A device without flow rules spreads by hash instead; the pipeline puts that
// right.
void steer_shards(uint16_t id, unsigned queues) {
  const rte_flow_attr attributes = {.ingress = 1};
  for (unsigned shard = 0; shard < base::kMaxShards; ++shard) {
    rte_flow_item_udp udp{}, mask{};
    udp.hdr.dst_port = rte_cpu_to_be_16(static_cast<uint16_t>(base::kUdpPort + shard));
    mask.hdr.dst_port = 0xffff;
    const rte_flow_item pattern[] = {{.type = RTE_FLOW_ITEM_TYPE_ETH},
                                     {.type = RTE_FLOW_ITEM_TYPE_IPV6},
                                     {.type = RTE_FLOW_ITEM_TYPE_UDP, .spec = &udp, .mask = &mask},
                                     {.type = RTE_FLOW_ITEM_TYPE_END}};
    const rte_flow_action_queue queue = {.index = static_cast<uint16_t>(shard % queues)};
    const rte_flow_action actions[] = {{.type = RTE_FLOW_ACTION_TYPE_QUEUE, .conf = &queue},
                                       {.type = RTE_FLOW_ACTION_TYPE_END}};
    rte_flow_error error;
    if (rte_flow_validate(id, &attributes, pattern, actions, &error) != 0 ||
        rte_flow_create(id, &attributes, pattern, actions, &error) == nullptr)
      return;
  }
}

rte_eth_conf device_conf(const rte_eth_dev_info& info, unsigned queues, bool want_interrupts) {
  rte_eth_conf conf{};
  conf.txmode.offloads =
      info.tx_offload_capa & (RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
  conf.intr_conf.rxq = want_interrupts;
  if (queues > 1) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
  }
  return conf;
}

void find_interrupts(Ethdev& device) {
  // Asking a driver that has none is an error to DPDK's log, though not to us.
  const int level = rte_log_get_level(rte_eth_dev_logtype);
  const auto type = static_cast<uint32_t>(rte_eth_dev_logtype);
  rte_log_set_level(type, RTE_LOG_EMERG);
  for (uint16_t queue = 0; queue < device.queues; ++queue) {
    const int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(device.id, queue);
    if (fd < 0) break;
    device.wake_fds.push_back(fd);
    // A tap's fd is readable by itself; a NIC's must be armed.
    if (rte_eth_dev_rx_intr_disable(device.id, queue) == 0) device.interrupts = true;
  }
  rte_log_set_level(type, static_cast<uint32_t>(level));
}

absl::Status start(const EthdevConfig& config, Ethdev& device, rte_mempool* mempool) {
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(device.id, &info))
    return failed(config, "reading its features", error);
  device.queues = std::clamp<unsigned>(config.queues, 1, std::min(info.max_rx_queues, info.max_tx_queues));
  const auto queues = static_cast<uint16_t>(device.queues);
  rte_eth_conf conf = device_conf(info, queues, true);
  int error = rte_eth_dev_configure(device.id, queues, queues, &conf);
  if (error != 0) {  // a driver without receive interrupts may refuse them
    conf.intr_conf.rxq = 0;
    error = rte_eth_dev_configure(device.id, queues, queues, &conf);
  }
  if (error != 0) return failed(config, absl::StrCat("setting up ", queues, " queue(s)"), error);
  device.multi_segment = config.allow_chains && (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  // The tap driver's "offload" is software that would sum the payload again.
  device.checksum_offload = (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM) &&
                            std::string_view(info.driver_name) != "net_tap";
  uint16_t rx_descriptors = config.rx_descriptors, tx_descriptors = config.tx_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(device.id, &rx_descriptors, &tx_descriptors);
  for (uint16_t queue = 0; queue < queues; ++queue) {
    error = rte_eth_rx_queue_setup(device.id, queue, rx_descriptors, SOCKET_ID_ANY, nullptr, mempool);
    if (error != 0) return failed(config, "setting up a receive queue", error);
    error = rte_eth_tx_queue_setup(device.id, queue, tx_descriptors, SOCKET_ID_ANY, nullptr);
    if (error != 0) return failed(config, "setting up a transmit queue", error);
  }
  if (config.max_frame > 1514) {
    error = rte_eth_dev_set_mtu(device.id, static_cast<uint16_t>(config.max_frame - 14));
    if (error != 0 && error != -ENOTSUP) return failed(config, "setting its MTU", error);
  }
  if ((error = rte_eth_dev_start(device.id)) != 0) return failed(config, "starting", error);
  if (config.promiscuous) rte_eth_promiscuous_enable(device.id);  // not every device can, nor needs to
  if (queues > 1) steer_shards(device.id, queues);
  if (conf.intr_conf.rxq) find_interrupts(device);
  rte_ether_addr mac;
  if (rte_eth_macaddr_get(device.id, &mac) == 0) {
    const uint8_t* b = mac.addr_bytes;
    device.mac = absl::StrFormat("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
  }
  return absl::OkStatus();
}

}  // namespace

Ethdev::~Ethdev() {
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(id, &info) == 0;
  rte_eth_dev_stop(id);
  if (probed && known && info.device != nullptr)
    rte_dev_remove(info.device);  // closes it, too
  else
    rte_eth_dev_close(id);
}

absl::StatusOr<std::vector<std::unique_ptr<EthdevPort>>> EthdevPort::open(const EthdevConfig& config,
                                                                          MbufPool& pool) {
  const std::set<int> before = packet_sockets();
  bool probed = false;
  const auto id = find_or_probe(config, probed);
  if (!id.ok()) return id.status();
  auto device = std::make_shared<Ethdev>();
  device->id = *id;
  device->probed = probed;
  if (auto status = start(config, *device, pool.mempool()); !status.ok()) return status;
  if (device->wake_fds.empty()) {
    for (int fd : packet_sockets())
      if (!before.contains(fd)) device->wake_fds.push_back(fd);
    // Which socket serves which queue is not known; several are of no use then.
    if (device->wake_fds.size() > 1 && device->wake_fds.size() != device->queues) device->wake_fds.clear();
  }
  std::vector<std::unique_ptr<EthdevPort>> ports;
  for (uint16_t queue = 0; queue < device->queues; ++queue)
    ports.push_back(std::unique_ptr<EthdevPort>(new EthdevPort(config, device, queue, pool)));
  return ports;
}

}  // namespace l3dml::io
