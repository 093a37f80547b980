#include "server/models/decision_part.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/removal.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// A row per run of this server of which lines may be there: issuer u64, and when it began, i64 in
// nanoseconds.
constexpr char kIssuersName[] = "issuers";
constexpr std::size_t kIssuerRowBytes = 16;
constexpr std::uint64_t kIssuersBytesMax = 1 << 24;
// The number of the erasure up to which the folder is, u64.
constexpr char kErasedName[] = "erased";
// Clocks of servers differ, and a line is written after its decision.
constexpr absl::Duration kLinesOutlive = absl::Hours(24);

struct Issuer {
  std::uint64_t issuer = 0;
  std::int64_t began = 0;
};

std::vector<Issuer> IssuersFrom(std::string_view bytes) {
  std::vector<Issuer> issuers;
  ByteReader in(bytes.substr(0, bytes.size() / kIssuerRowBytes * kIssuerRowBytes));
  while (in.remaining() > 0) {
    Issuer& one = issuers.emplace_back();
    one.issuer = in.U64();
    one.began = in.I64();
  }
  return issuers;
}

}  // namespace

absl::Status DecisionPart::NoteIssuer() {
  const std::string path = options_.folder + "/" + kIssuersName;
  const absl::StatusOr<std::string> bytes = ReadFile(path, kIssuersBytesMax);
  if (!bytes.ok() && !absl::IsNotFound(bytes.status())) return bytes.status();
  std::vector<Issuer> issuers = IssuersFrom(bytes.ok() ? *bytes : std::string());
  issuers.push_back({options_.issuer, absl::ToUnixNanos(options_.now)});
  std::string kept;
  ByteWriter out(kept);
  for (std::size_t i = 0; i < issuers.size(); ++i) {
    // Its decisions are older than the next one's.
    const bool over =
        i + 1 < issuers.size() &&
        absl::FromUnixNanos(issuers[i + 1].began) + options_.keep + kLinesOutlive <= options_.now;
    if (over) continue;
    out.U64(issuers[i].issuer);
    out.I64(issuers[i].began);
    issuers_.insert(issuers[i].issuer);
  }
  return WriteFileDurably(path, kept, 0600);
}

bool DecisionPart::Made(const StoredId& id) const {
  std::uint64_t issuer = 0;  // DenseId
  std::memcpy(&issuer, id.data(), sizeof issuer);
  return issuers_.contains(issuer);
}

absl::Status DecisionPart::ReadErased() {
  const absl::StatusOr<std::string> bytes = ReadFile(options_.folder + "/" + kErasedName, 64);
  if (absl::IsNotFound(bytes.status())) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(bytes.status());
  erased_ = ByteReader(*bytes).U64();  // damaged: 0, and all lines may go
  return absl::OkStatus();
}

absl::Status DecisionPart::NoteErased(std::uint64_t number) {
  std::string bytes;
  ByteWriter(bytes).U64(number);
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(options_.folder + "/" + kErasedName, bytes, 0600));
  erased_ = number;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DecisionPart>> DecisionPart::Open(Options options,
                                                                 DecisionLog& log) {
  std::unique_ptr<DecisionPart> part(new DecisionPart(std::move(options), log));
  BANDANA_RETURN_IF_ERROR(part->NoteIssuer());
  BANDANA_RETURN_IF_ERROR(part->ReadErased());
  return part;
}

absl::Status DecisionPart::Leave(PartStore& store, const InstanceId& instance,
                                 const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return absl::OkStatus();
  BANDANA_RETURN_IF_ERROR(
      store.Change(instance, [&](LogParts& parts) { RemoveKeeper(parts, store.self()); }).status());
  return RemoveFolder(folder);
}

absl::StatusOr<std::uint64_t> DecisionPart::CatchUp() {
  const std::lock_guard lock(mutex_);
  if (closed_) return Unavailable("the model takes a change; try again");
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, options_.store->Version());
  if (version != seen_version_) BANDANA_RETURN_IF_ERROR(Follow());
  return erased_lines_;
}

absl::Status DecisionPart::BeginAnew() {
  std::uint64_t done = 0;
  BANDANA_RETURN_IF_ERROR(options_.store
                              ->Change(options_.instance,
                                       [&](LogParts& parts) {
                                         done = std::max(parts.newest, erased_);
                                         SetKeeper(parts, self(), done);
                                       })
                              .status());
  erased_lines_ = 0;
  // The folder's number is less until its lines are gone, so a crash in between begins again.
  const bool any = log_.figures().lines > 0;
  BANDANA_RETURN_IF_ERROR(log_.RemoveAll());
  if (any) {
    options_.warn(
        "decision_log: its lines are gone, because nobody knows which users were deleted while "
        "this server was away");
  }
  return NoteErased(done);
}

absl::Status DecisionPart::Follow() {
  BANDANA_ASSIGN_OR_RETURN(const std::int64_t version, options_.store->Version());
  BANDANA_ASSIGN_OR_RETURN(const LogParts parts, options_.store->Read(options_.instance));
  if (!MayGoOn(parts, self(), erased_)) return BeginAnew();
  if (const std::vector<UserPseudonym> users = UsersAfter(parts, erased_); !users.empty()) {
    BANDANA_ASSIGN_OR_RETURN(erased_lines_, log_.Erase(users));
  }
  if (parts.newest > erased_) BANDANA_RETURN_IF_ERROR(NoteErased(parts.newest));
  if (parts.keepers.find(self())->second.done == erased_ && parts.newest == erased_) {
    seen_version_ = version;
    return absl::OkStatus();
  }
  const auto settle = [&](LogParts& now) {
    if (MayGoOn(now, self(), erased_)) SetKeeper(now, self(), erased_);  // not struck meanwhile
  };
  return options_.store->Change(options_.instance, settle).status();
}

absl::StatusOr<std::vector<std::string>> DecisionPart::Keepers() const {
  BANDANA_ASSIGN_OR_RETURN(const LogParts parts, options_.store->Read(options_.instance));
  std::vector<std::string> names;
  for (const auto& [name, keeper] : parts.keepers) names.push_back(name);
  return names;
}

void DecisionPart::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

}  // namespace bandana::server
