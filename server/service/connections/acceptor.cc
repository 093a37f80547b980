#include "server/service/connections/acceptor.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "common/base/address.h"
#include "common/base/status.h"
#include "server/service/connections/bytes_read.h"
#include "server/service/connections/listen_addresses.h"

namespace bandana::server {
namespace {

constexpr int kBacklog = 1024;
// Between attempts while no descriptor is left.
constexpr int kFailurePauseMs = 50;
// Connections taken from one listener before the others are looked at.
constexpr int kAcceptsInARow = 64;
// The kernel's buffer for bytes of a connection that gRPC has not read; it doubles the figure. A
// connection that is closed for its conduct has no more than this left to be read.
constexpr int kReceiveBufferBytes = 128 * 1024;
// Unacknowledged data after which a connection is given up.
constexpr unsigned kUserTimeoutMs = 20'000;

void SetOption(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}

// 0 of what is no open descriptor.
std::uint64_t Inode(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

bool IsOpen(const SocketId& socket) { return Inode(socket.descriptor) == socket.inode; }

// False when it was gone already. With a reset: what the peer has sent is dropped, and it is told
// at once. After an orderly end a peer that is in the middle of a message would wait for minutes to
// send the rest, and gRPC's clients with it. By a copy of the descriptor: gRPC may close its own at
// any moment, and the number may then be another file's.
bool CloseConnection(const SocketId& socket) {
  const int copy = ::fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0);
  const int descriptor = copy >= 0 ? copy : socket.descriptor;  // where no further one is left
  const bool open = Inode(descriptor) == socket.inode;
  const sockaddr nobody = {.sa_family = AF_UNSPEC, .sa_data = {}};
  if (open && ::connect(descriptor, &nobody, sizeof nobody) != 0) {
    ::shutdown(descriptor, SHUT_RDWR);
  }
  if (copy >= 0) ::close(copy);
  return open;
}

// With a reset: nothing of it lingers in the kernel.
void Reset(int connection) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(connection, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(connection);
}

// The clock of the limits: a wall clock that is set back would use them up.
absl::Time Now() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

std::string Reason(int error = errno) { return std::strerror(error); }

// The listening socket, or -errno. Accepted connections inherit the options.
int Listen(const addrinfo& info, int port) {
  sockaddr_storage address = {};
  std::memcpy(&address, info.ai_addr, info.ai_addrlen);
  if (info.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(static_cast<std::uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<std::uint16_t>(port));
  }
  const int listener =
      ::socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (listener < 0) return -errno;
  SetOption(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  SetOption(listener, SOL_SOCKET, SO_RCVBUF, kReceiveBufferBytes);
  SetOption(listener, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(listener, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), info.ai_addrlen) != 0 ||
      ::listen(listener, kBacklog) != 0) {
    const int error = errno;
    ::close(listener);
    return -error;
  }
  return listener;
}

// A name may have addresses of both families where the machine has only one.
bool IsMissingFamily(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

// Names give an address twice where /etc/hosts has them on two lines.
bool IsRepeated(const addrinfo& first, const addrinfo& info) {
  for (const addrinfo* other = &first; other != &info; other = other->ai_next) {
    if (other->ai_addrlen == info.ai_addrlen &&
        std::memcmp(other->ai_addr, info.ai_addr, info.ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

int PortOf(int listener) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

std::string_view RefusalName(Refusal refusal) {
  constexpr std::string_view kNames[kRefusals] = {"",         "full",     "address_full",
                                                  "too_fast", "offender", "banned"};
  return kNames[static_cast<int>(refusal)];
}

Acceptor::Acceptor(const ConnectionLimits& limits) : table_(limits, IsOpen) {}

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Bind(const std::string& listen,
                                                         const ConnectionLimits& limits) {
  std::unique_ptr<Acceptor> acceptor(new Acceptor(limits));
  BANDANA_RETURN_IF_ERROR(acceptor->BindAll(listen));
  acceptor->wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (acceptor->wake_ < 0) return Unavailable("eventfd: ", Reason());
  return acceptor;
}

absl::Status Acceptor::BindAll(const std::string& listen) {
  BANDANA_ASSIGN_OR_RETURN(const Address address, ParseAddress(listen));
  BANDANA_ASSIGN_OR_RETURN(const ListenAddresses addresses, AddressesOf(address));
  const addrinfo* const first = addresses.get();
  port_ = address.port;
  int error = 0;
  for (const addrinfo* info = first; info != nullptr; info = info->ai_next) {
    if (IsRepeated(*first, *info)) continue;
    const int listener = Listen(*info, port_);
    if (listener >= 0) {
      listeners_.push_back(listener);
      port_ = PortOf(listener);  // the same one for a name's further addresses
      continue;
    }
    error = -listener;
    if (!IsMissingFamily(error)) break;
  }
  if (listeners_.empty() || (error != 0 && !IsMissingFamily(error))) {
    return Unavailable("cannot listen on ", listen, ": ", Reason(error));
  }
  return absl::OkStatus();
}

Acceptor::~Acceptor() {
  Stop();
  if (wake_ >= 0) ::close(wake_);
}

void Acceptor::Start(std::function<void(int listener, int connection)> take,
                     std::function<bool()> held) {
  thread_ =
      std::thread([this, take = std::move(take), held = std::move(held)] { Run(take, held); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
    thread_.join();
  }
  for (const int listener : listeners_) ::close(listener);
  listeners_.clear();
}

void Acceptor::Run(const std::function<void(int, int)>& take, const std::function<bool()>& held) {
  const int pause = held ? static_cast<int>(absl::ToInt64Milliseconds(kFloodLookInterval)) : -1;
  absl::Time next_look = Now();
  std::vector<pollfd> waited = {{.fd = wake_, .events = POLLIN}};
  for (const int listener : listeners_) waited.push_back({.fd = listener, .events = POLLIN});
  for (;;) {
    if (::poll(waited.data(), waited.size(), pause) < 0 && errno != EINTR) return;
    if (waited[0].revents != 0) return;
    if (held && Now() >= next_look) {
      next_look = Now() + kFloodLookInterval;
      if (held()) {
        CloseFloods();
      } else {
        floods_.Rest();
      }
    }
    for (std::size_t i = 1; i < waited.size(); ++i) {
      for (int n = 0; waited[i].revents != 0 && n < kAcceptsInARow; ++n) {
        if (!AcceptOne(waited[i].fd, take)) break;
      }
    }
  }
}

bool Acceptor::AcceptOne(int listener, const std::function<void(int, int)>& take) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  const int connection = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size,
                                   SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (connection < 0) {
    // A connection that went away is no failure; without descriptors the rest has to wait.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      {
        const std::lock_guard lock(mutex_);
        ++stats_.accept_failures;
      }
      pollfd stop = {.fd = wake_, .events = POLLIN};
      ::poll(&stop, 1, kFailurePauseMs);
    }
    return false;
  }
  const auto peer = PeerOf(address);
  const SocketId socket = {.descriptor = connection, .inode = Inode(connection)};
  if (peer && Judge(*peer, socket) == Refusal::kNone) {
    take(listener, connection);
  } else {
    Reset(connection);
  }
  return true;
}

Refusal Acceptor::Judge(const Peer& peer, const SocketId& socket) {
  const std::lock_guard lock(mutex_);
  const Refusal refusal = table_.Enter(peer, socket, Now());
  if (refusal == Refusal::kNone) {
    ++stats_.accepted;
  } else {
    ++stats_.refused[static_cast<std::size_t>(refusal)];
  }
  return refusal;
}

void Acceptor::Report(std::string_view grpc_peer, Conduct conduct) {
  const std::string name = PeerName(grpc_peer);
  const std::lock_guard lock(mutex_);
  if (conduct == Conduct::kArrived) return table_.NoteCall(name);
  const SocketId* const socket =
      conduct == Conduct::kRefused ? table_.Offence(name, Now()) : table_.GraveOffence(name, Now());
  if (socket != nullptr && CloseConnection(*socket)) ++stats_.closed_offenders;
}

void Acceptor::CloseFloods() {
  const std::lock_guard lock(mutex_);
  const auto bytes = [](const SocketId& socket) { return BytesRead(socket.descriptor); };
  const std::string group = floods_.Look(table_.Intakes(bytes));
  if (group.empty()) return;
  for (const SocketId& socket : table_.Ban(group, Now())) {
    if (CloseConnection(socket)) ++stats_.closed_floods;
  }
}

ConnectionStats Acceptor::stats() {
  const std::lock_guard lock(mutex_);
  table_.Sweep(Now());
  stats_.open = static_cast<std::int64_t>(table_.open());
  return stats_;
}

}  // namespace bandana::server
