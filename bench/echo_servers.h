// The two servers that echo_ratio compares, each in a process of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace bandana::bench {

inline constexpr int kDimension = 25;
inline constexpr int kArms = 25;  // of one decision
inline constexpr int kCatalogueArms = 1000;
inline constexpr char kModel[] = "bench";

inline constexpr char kShopFeatures[] =
    "bias: true "
    "context { name: 'device' categorical { values: ['ios', 'android', 'web'] } } "
    "context { name: 'hour' cyclic { period: 24 } } "
    "arm { name: 'price' numeric { log: true low: 1 high: 500 } } "
    "arm { name: 'tags' set { hash_bits: 3 } } "
    "crosses { a: 'device' b: 'tags' }";

// Response sizes in bytes that the echo is to send.
struct EchoSizes {
  int ids = 0;
  int inline_arms = 0;
};

// A server process. It ends with the object, or with this process.
class ServerProcess {
 public:
  // Must be called before this process touches gRPC, which does not survive fork. Waits until the
  // server listens.
  static ServerProcess StartEcho();
  static ServerProcess StartSelect();
  static ServerProcess StartLogged();  // as StartSelect, and the model keeps a decision log
  static ServerProcess StartShop();    // a model with kShopFeatures
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess();

  const std::string& address() const { return address_; }
  void SendSizes(const EchoSizes& sizes);
  // User and system time it has used so far.
  double CpuSeconds() const;

 private:
  ServerProcess(pid_t pid, int control, std::string address);
  static ServerProcess Start(void (*serve)(int control, int ready));

  pid_t pid_;
  int control_;
  std::string address_;
};

}  // namespace bandana::bench
