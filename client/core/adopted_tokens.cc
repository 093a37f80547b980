#include "client/core/adopted_tokens.h"

#include <map>
#include <string>

#include "client/core/device_time.h"
#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::string_view kNoModel;
constexpr std::string_view kToken = "adopted ";  // then the digest of a token
// The run that found older rows, and from when on decisions are adopted since.
constexpr std::string_view kSince = "adopts since";

std::string NameOf(std::string_view token) {
  std::string name(kToken);
  name += ToHex(Sha256Of(token));
  return name;
}

absl::Time ReadTime(ByteReader& reader) { return absl::FromUnixMicros(reader.I64()); }
void WriteTime(absl::Time time, std::string& bytes) {
  ByteWriter(bytes).I64(absl::ToUnixMicros(time));
}

}  // namespace

absl::Status AdoptedTokens::Check(std::string_view token, absl::Time decided, absl::Time now) {
  const std::map<std::string, std::string> kept = tables_.kept().Of(kNoModel);
  if (kept.contains(NameOf(token))) {
    return FailedPrecondition("answer.token was adopted before: a decision is adopted once");
  }
  const std::int64_t run = tables_.RunFoundOlder();
  if (run == 0) return absl::OkStatus();
  const auto since = kept.find(std::string(kSince));
  ByteReader reader(since == kept.end() ? std::string_view() : since->second);
  if (reader.I64() == run) {
    if (decided >= ReadTime(reader)) return absl::OkStatus();
  } else {
    std::string bytes;
    ByteWriter(bytes).I64(run);
    WriteTime(now + kClockSkew, bytes);
    tables_.kept().Put(kNoModel, kSince, bytes);
  }
  return FailedPrecondition("answer.decided lies before an hour had passed since the rows of this ",
                            "store were found to be an older copy: it may have been adopted");
}

void AdoptedTokens::Add(std::string_view token, absl::Time forget_at, absl::Time now) {
  KeptRows& kept = tables_.kept();
  for (const auto& [name, until] : kept.Of(kNoModel)) {
    ByteReader reader(until);
    if (name.starts_with(kToken) && ReadTime(reader) <= now) kept.Erase(kNoModel, name);
  }
  std::string bytes;
  WriteTime(forget_at, bytes);
  kept.Put(kNoModel, NameOf(token), bytes);
}

}  // namespace bandana::device
