// Creating the interface: the slow half of tap_port. Runs on a thread of its own, since a network namespace
// is entered per thread.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "dataplane/io/tap_port.h"

namespace l3dml::io {
namespace {

struct File {
  int fd;
  explicit File(int descriptor) : fd(descriptor) {}
  ~File() {
    if (fd >= 0) close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int release() {
    const int result = fd;
    fd = -1;
    return result;
  }
};

absl::Status failed(const TapConfig& config, const std::string& what) {
  const int error = errno;
  return absl::InternalError(absl::StrCat("port ", config.name, ": tap ", config.interface, ": ", what, ": ",
                                          strerror(error), error == EPERM ? " (root is needed)" : ""));
}

absl::Status enter_netns(const TapConfig& config) {
  if (config.netns.empty()) return absl::OkStatus();
  const File file(::open(absl::StrCat("/run/netns/", config.netns).c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd < 0 || setns(file.fd, CLONE_NEWNET) != 0)
    return failed(config, absl::StrCat("cannot enter network namespace ", config.netns));
  return absl::OkStatus();
}

absl::Status set_up(const TapConfig& config, ifreq request) {
  const File control(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (control.fd < 0) return failed(config, "no socket");
  request.ifr_mtu = static_cast<int>(config.mtu);
  if (ioctl(control.fd, SIOCSIFMTU, &request) != 0)
    return failed(config, absl::StrCat("cannot set mtu ", config.mtu));
  request.ifr_qlen = static_cast<int>(config.queue_packets);
  if (ioctl(control.fd, SIOCSIFTXQLEN, &request) != 0) return failed(config, "cannot set the queue length");
  if (!config.mac.empty()) {
    auto* b = reinterpret_cast<uint8_t*>(request.ifr_hwaddr.sa_data);
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    if (std::sscanf(config.mac.c_str(), "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", b, b + 1, b + 2, b + 3, b + 4,
                    b + 5) != 6)
      return absl::InvalidArgumentError(
          absl::StrCat("port ", config.name, ": \"", config.mac, "\" is no MAC address"));
    if (ioctl(control.fd, SIOCSIFHWADDR, &request) != 0) return failed(config, "cannot set mac");
  }
  if (ioctl(control.fd, SIOCGIFFLAGS, &request) != 0) return failed(config, "cannot read flags");
  request.ifr_flags |= IFF_UP;
  if (ioctl(control.fd, SIOCSIFFLAGS, &request) != 0) return failed(config, "cannot bring it up");
  return absl::OkStatus();
}

absl::StatusOr<int> create(const TapConfig& config, bool& segments) {
  if (config.interface.empty() || config.interface.size() >= IFNAMSIZ)
    return absl::InvalidArgumentError(absl::StrCat("port ", config.name, ": \"", config.interface,
                                                   "\" is no interface name (1 to ", IFNAMSIZ - 1,
                                                   " characters)"));
  if (auto status = enter_netns(config); !status.ok()) return status;
  File tun(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (tun.fd < 0) return failed(config, "cannot open /dev/net/tun");
  ifreq request{};
  std::memcpy(request.ifr_name, config.interface.data(), config.interface.size());
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (ioctl(tun.fd, TUNSETIFF, &request) != 0) return failed(config, "cannot create or attach");
  int header_size = sizeof(VirtioNetHeader);
  if (ioctl(tun.fd, TUNSETVNETHDRSZ, &header_size) != 0) return failed(config, "cannot set the header size");
  segments = config.offload && ioctl(tun.fd, TUNSETOFFLOAD, TUN_F_CSUM | kTunUso4 | kTunUso6) == 0;
  if (!segments && ioctl(tun.fd, TUNSETOFFLOAD, config.offload ? TUN_F_CSUM : 0) != 0)
    return failed(config, "cannot set offloads");
  if (auto status = set_up(config, request); !status.ok()) return status;
  return tun.release();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TapPort>> TapPort::open(const TapConfig& config, base::PacketPool& pool) {
  absl::StatusOr<int> fd = absl::InternalError("not run");
  bool segments = false;
  std::thread([&] { fd = create(config, segments); }).join();
  if (!fd.ok()) return fd.status();
  return std::unique_ptr<TapPort>(new TapPort(config, *fd, segments, pool));
}

}  // namespace l3dml::io
