#include "server/service/connections/bytes_read.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>

namespace bandana::server {

std::uint64_t BytesRead(int descriptor) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  constexpr std::size_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) + sizeof(std::uint64_t);
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || size < kNeeded) {
    return 0;
  }
  int waiting = 0;
  if (::ioctl(descriptor, SIOCINQ, &waiting) != 0) return 0;
  const auto unread = static_cast<std::uint64_t>(waiting);
  return info.tcpi_bytes_received > unread ? info.tcpi_bytes_received - unread : 0;
}

}  // namespace bandana::server
