// A simulated environment, its server's folder and runs of bandana-fleet against it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

// Not thread-safe.
class FleetWorld {
 public:
  // Runs `bandana-fleet --environment environment ... --write_config` into a fresh folder.
  explicit FleetWorld(std::vector<std::string> environment_flags);

  // Starts the server on what was written; again after a kill, at the same address. Aborts when it
  // does not come up.
  void StartServer();
  ServerProcess& server() { return *server_; }

  // Flags of a fleet that makes `rounds` decisions with `model` and writes Json().
  std::vector<std::string> Flags(const std::string& model, int rounds,
                                 const std::vector<std::string>& more = {}) const;

  // Top-level numbers and texts of the JSON file that the fleet wrote. Aborts when it is not JSON.
  struct Json {
    std::map<std::string, double> numbers;
    std::map<std::string, std::string> texts;
    int curve_points = 0;
  };
  Json ReadJson() const;

  // Admin.GetStats' reports_applied; nothing while the server does not answer.
  absl::StatusOr<std::uint64_t> ReportsApplied(const std::string& model) const;

  const TempDir& folder() const { return folder_; }

 private:
  TempDir folder_;
  std::vector<std::string> environment_flags_;
  std::unique_ptr<ServerProcess> server_;
  std::string address_ = "127.0.0.1:0";
};

}  // namespace bandana::testing
