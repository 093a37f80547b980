#include "server/models/folder/export_header.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/design/coupling_message.h"
#include "google/protobuf/util/message_differencer.h"

namespace bandana::server {
namespace {

// A message to Admin has at most kAdminMessageBytesMax, 4 MiB.
constexpr std::size_t kExportedConfigBytesMax = std::size_t{3} << 20;

absl::Status CheckSame(std::string_view name, std::uint64_t promised, std::uint64_t found) {
  if (promised == found) return absl::OkStatus();
  return InvalidArgument("header: ", ToAbsl(name), " is ", promised, ", the export has ", found);
}

}  // namespace

absl::StatusOr<v1::ExportHeader> HeaderOfExport(std::string_view bytes) {
  BANDANA_ASSIGN_OR_RETURN(const ExportView view, LookAtExport(bytes));
  v1::ExportHeader header;
  header.set_version(view.version);
  header.set_bytes(bytes.size());
  header.set_nodes(view.extent.nodes);
  header.set_arms(static_cast<std::uint32_t>(view.arms.size()));
  if (!view.users.empty()) {
    header.set_users(static_cast<std::uint32_t>(ByteReader(view.users).U64()));
  }
  if (view.config.size() > std::numeric_limits<int>::max() ||
      !header.mutable_config()->ParseFromArray(view.config.data(),
                                               static_cast<int>(view.config.size()))) {
    return DataLoss("export: the configuration does not parse");
  }
  if (view.config.size() > kExportedConfigBytesMax) {
    RedactUsers(*header.mutable_config());
    header.set_config_abridged(true);
  }
  return header;
}

absl::Status CheckPromised(const v1::ExportHeader& promised, std::string_view bytes) {
  BANDANA_ASSIGN_OR_RETURN(v1::ExportHeader found, HeaderOfExport(bytes));
  BANDANA_RETURN_IF_ERROR(CheckSame("bytes", promised.bytes(), found.bytes()));
  BANDANA_RETURN_IF_ERROR(CheckSame("version", promised.version(), found.version()));
  BANDANA_RETURN_IF_ERROR(CheckSame("nodes", promised.nodes(), found.nodes()));
  BANDANA_RETURN_IF_ERROR(CheckSame("arms", promised.arms(), found.arms()));
  BANDANA_RETURN_IF_ERROR(CheckSame("users", promised.users(), found.users()));
  if (promised.config_abridged()) RedactUsers(*found.mutable_config());
  if (google::protobuf::util::MessageDifferencer::Equals(promised.config(), found.config())) {
    return absl::OkStatus();
  }
  return InvalidArgument("header: config is not the configuration of the export");
}

}  // namespace bandana::server
