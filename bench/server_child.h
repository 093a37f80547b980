// bandana-server beside this program, on free ports, with a folder of its own.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "tools/base/work_folder.h"

namespace bandana::bench {

// Threads: not thread-safe. Aborts the program when the server does not come up.
class ServerChild {
 public:
  // `config`: text of a ServerConfig. `program`: empty: the server beside this program.
  explicit ServerChild(const std::string& config, std::string program = "");
  ~ServerChild();
  ServerChild(const ServerChild&) = delete;
  ServerChild& operator=(const ServerChild&) = delete;

  const std::string& address() const { return address_; }  // 127.0.0.1:PORT
  // The address of `api_listen`; empty: the configuration has none.
  const std::string& api_address() const { return api_address_; }
  int RssMib() const;
  // Processor time of all its threads so far.
  double CpuSeconds() const;

 private:
  void ReadAddresses(const std::string& path);

  const std::unique_ptr<WorkFolder> folder_;
  std::string address_;
  std::string api_address_;
  pid_t pid_ = -1;
};

// 25 directions as the arms 0 to 24 of the catalogue of model `m`, which has 25 features.
void PutUnitArms(const std::string& address);

}  // namespace bandana::bench
