#include "tools/fleet/device_table.h"

#include <array>
#include <string>

#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/fleet/sdk_device.h"
#ifdef BANDANA_FLEET_ABI
#include "tools/fleet/abi_device.h"
#endif

namespace bandana {
namespace {

struct Row {
  const char* name;
  absl::StatusOr<std::unique_ptr<FleetDevice>> (*connect)(const FleetDeviceOptions&);
  bool plain;      // speaks plain HTTP to the API listener
  bool by_itself;  // makes one call at a time
};

constexpr std::array kRows = {
    Row{"cpp", ConnectSdkDevice, false, false},
#ifdef BANDANA_FLEET_ABI
    Row{"abi", ConnectAbiDevice, true, true},
#endif
};

const Row* Find(const std::string& name) {
  for (const Row& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// The flag of the first setting of a channel that is not plain.
const char* FlagOf(const TransportSecurity& security) {
  if (!security.ca_file.empty()) return "--tls_ca";
  if (!security.certificate_file.empty()) return "--tls_cert";
  if (!security.private_key_file.empty()) return "--tls_key";
  if (!security.server_name.empty()) return "--tls_server_name";
  if (!security.token_file.empty()) return "--token_file";
  return nullptr;
}

}  // namespace

absl::Status CheckDevice(const std::string& name, const FleetDeviceOptions& options,
                         const RunOptions& run) {
  const Row* row = Find(name);
  if (row == nullptr) {
    std::string names;
    for (const Row& known : kRows) absl::StrAppend(&names, names.empty() ? "" : " or ", known.name);
    return InvalidArgument("--device must be ", names, ", got ", name);
  }
  if (const char* flag = FlagOf(options.security); row->plain && flag != nullptr) {
    return InvalidArgument(flag, " does not go with --device ", name,
                           ": its host speaks plain HTTP, without a token");
  }
  if (row->by_itself && (run.rate > 0 || run.in_flight > 1)) {
    return InvalidArgument(run.rate > 0 ? "--rate" : "--in_flight above 1",
                           " does not go with --device ", name,
                           ": its host makes one call at a time");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FleetDevice>> ConnectDevice(const std::string& name,
                                                           const FleetDeviceOptions& options) {
  const Row* row = Find(name);
  BANDANA_CHECK(row != nullptr);
  return row->connect(options);
}

}  // namespace bandana
