#include "server/log/postgresql/pg_engine.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"
#include "server/log/postgresql/pg_log.h"

namespace bandana::server {
namespace {

constexpr std::size_t kIdBytes = 16;
constexpr char kHead[] = "bandana-log-postgresql 1\nlog ";

// Which log a folder has: a line of its format and one of the log's id.
std::string FormatFile(std::string_view id) { return kHead + ToHex(AsBytes(id)) + "\n"; }

absl::StatusOr<std::string> ParseFile(const std::string& path, std::string_view text) {
  absl::string_view digits = ToAbsl(text);
  const bool known = absl::ConsumePrefix(&digits, kHead) && absl::ConsumeSuffix(&digits, "\n");
  const bool hexadecimal = std::all_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isxdigit(static_cast<unsigned char>(c));
  });
  if (!known || !hexadecimal || digits.size() != 2 * kIdBytes) {
    return DataLoss(path, ": does not say which log it is");
  }
  return absl::HexStringToBytes(digits);
}

class PgEngine final : public LogEngine {
 public:
  explicit PgEngine(PgSettings settings) : settings_(std::move(settings)) {}

  std::string_view name() const override { return "postgresql"; }
  std::string_view file() const override { return kPgLogFile; }
  bool Holds(const std::string& folder) const override {
    std::error_code error;
    return std::filesystem::exists(PathIn(folder), error);
  }

  absl::Status Create(const std::string& folder, const LogPosition& start) const override {
    BANDANA_RETURN_IF_ERROR(Remove(folder));
    std::array<std::byte, kIdBytes> id{};
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(id));
    const std::string bytes(AsChars(id));
    BANDANA_RETURN_IF_ERROR(CreatePgLog(OptionsOf(bytes, {}), start));
    return WriteFileDurably(PathIn(folder), FormatFile(bytes), 0600);
  }

  absl::StatusOr<std::unique_ptr<UpdateLog>> Open(const std::string& folder,
                                                  const LogUse& use) const override {
    if (use.stepped) return FailedPrecondition("a log in PostgreSQL has threads of its own");
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    return OpenPgLog(OptionsOf(id, use));
  }

  absl::Status Remove(const std::string& folder) const override {
    if (!Holds(folder)) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::string id, IdIn(folder));
    BANDANA_RETURN_IF_ERROR(RemovePgLog(OptionsOf(id, {})));
    std::error_code error;
    std::filesystem::remove(PathIn(folder), error);
    if (error) return Unavailable("cannot remove ", PathIn(folder), ": ", error.message());
    return absl::OkStatus();
  }

 private:
  static std::string PathIn(const std::string& folder) {
    return folder + "/" + std::string(kPgLogFile);
  }
  static absl::StatusOr<std::string> IdIn(const std::string& folder) {
    const std::string path = PathIn(folder);
    const absl::StatusOr<std::string> text = ReadFile(path, 4096);
    if (absl::IsNotFound(text.status())) return DataLoss(path, " is missing");
    if (!text.ok()) return text.status();
    return ParseFile(path, *text);
  }
  PgLogOptions OptionsOf(const std::string& id, const LogUse& use) const {
    return {.server = {.connection = settings_.connection, .patience = settings_.patience},
            .id = id,
            .holder = settings_.holder,
            .lease = settings_.lease,
            .key_file = settings_.key_file,
            .must_seal = use.erase_trimmed};
  }

  const PgSettings settings_;
};

}  // namespace

std::shared_ptr<const LogEngine> MakePgEngine(PgSettings settings) {
  return std::make_shared<const PgEngine>(std::move(settings));
}

}  // namespace bandana::server
