#include "common/channel/bearer_token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "common/base/status.h"

namespace bandana {
namespace {

constexpr absl::Duration kLookInterval = absl::Seconds(1);
constexpr std::uint64_t kFileBytesMax = 4096;

bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("-._~+/").find(c) != std::string_view::npos;
}

}  // namespace

bool IsToken(std::string_view text) {
  if (text.size() < kTokenBytesMin || text.size() > kTokenBytesMax) return false;
  const std::size_t last = text.find_last_not_of('=');
  if (last == std::string_view::npos) return false;
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                     IsTokenCharacter);
}

absl::StatusOr<std::unique_ptr<BearerToken>> BearerToken::Open(const std::string& path,
                                                               const Clock& clock) {
  auto token = std::unique_ptr<BearerToken>(new BearerToken(path, clock));
  const std::lock_guard lock(token->mutex_);
  BANDANA_RETURN_IF_ERROR(Annotate(token->Read(), "token file"));
  token->looked_ = clock.Steady();
  return token;
}

absl::Status BearerToken::Read() {
  // Before the content: a change between the two is seen at the next look.
  const FileVersion version = VersionOf(path_);
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadPrivateFile(path_, kFileBytesMax));
  const std::string_view token = ToStd(absl::StripAsciiWhitespace(text));
  if (!IsToken(token)) {
    return InvalidArgument(path_, " must hold one token of ", kTokenBytesMin, " to ",
                           kTokenBytesMax, " letters, digits and -._~+/=");
  }
  header_ = absl::StrCat("Bearer ", ToAbsl(token));
  version_ = version;
  return absl::OkStatus();
}

std::string BearerToken::Header() {
  const std::lock_guard lock(mutex_);
  const absl::Time now = clock_.Steady();
  if (now - looked_ >= kLookInterval) {
    looked_ = now;
    if (VersionOf(path_) != version_) Read().IgnoreError();  // the old one may still be valid
  }
  return header_;
}

}  // namespace bandana
