#include "server/models/replicas/others_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kOthersMagic = "BANDOTHR";
constexpr std::uint32_t kOthersVersion = 1;
constexpr std::uint64_t kOthersBytesMax = 1 << 20;

std::string OthersPathOf(const std::string& folder) { return folder + "/others"; }

}  // namespace

absl::Status WriteOthers(const std::string& folder, const InstanceId& instance,
                         const std::vector<std::string>& names) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kOthersMagic));
  out.U32(kOthersVersion);
  out.Fixed(instance);
  out.U32(static_cast<std::uint32_t>(names.size()));
  for (const std::string& name : names) {
    out.U32(static_cast<std::uint32_t>(name.size()));
    out.Fixed(AsBytes(name));
  }
  out.Fixed(Sha256Of(bytes));
  return WriteFileDurably(OthersPathOf(folder), bytes, 0600);
}

absl::StatusOr<std::vector<std::string>> ReadOthers(const std::string& folder,
                                                    const InstanceId& instance) {
  std::error_code error;
  std::vector<std::string> names;
  if (!std::filesystem::exists(OthersPathOf(folder), error)) return names;
  BANDANA_ASSIGN_OR_RETURN(const std::string read, ReadFile(OthersPathOf(folder), kOthersBytesMax));
  const std::string_view bytes = read;
  const std::size_t size = bytes.size() - std::min(bytes.size(), sizeof(Sha256Digest));
  const std::string_view body = bytes.substr(0, size);
  ByteReader in(body);
  bool known = in.Take(kOthersMagic.size()) == kOthersMagic && in.U32() == kOthersVersion;
  InstanceId stored{};
  in.Fixed(stored);
  const std::uint32_t count = in.U32();
  for (std::uint32_t i = 0; known && in.ok() && i < count; ++i) {
    const std::uint32_t length = in.U32();
    names.emplace_back(in.Take(length));
  }
  known = known && in.Done() && AsChars(Sha256Of(body)) == bytes.substr(size);
  if (!known || stored != instance) {
    return DataLoss(OthersPathOf(folder), ": damaged, or of another model");
  }
  return names;
}

}  // namespace bandana::server
