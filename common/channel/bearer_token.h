// A bearer token that lives in a file.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/private_file.h"

namespace bandana {

inline constexpr int kTokenBytesMin = 16;
inline constexpr int kTokenBytesMax = 512;

// A token as it is sent: kTokenBytesMin to kTokenBytesMax of the characters that RFC 6750 allows,
// letters, digits and -._~+/ with = at the end.
bool IsToken(std::string_view text);

// Threads: safe. The file is looked at once per second at most; while it cannot be read, the token
// before stays.
class BearerToken {
 public:
  // Errors: as ReadPrivateFile; INVALID_ARGUMENT the file holds no token (white space around it is
  // dropped).
  static absl::StatusOr<std::unique_ptr<BearerToken>> Open(const std::string& path,
                                                           const Clock& clock = SystemClock());

  // Value of the `authorization` metadata: `Bearer TOKEN`.
  std::string Header();

 private:
  BearerToken(std::string path, const Clock& clock) : path_(std::move(path)), clock_(clock) {}
  absl::Status Read();  // under mutex_

  const std::string path_;
  const Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::string header_;
  FileVersion version_;
  absl::Time looked_;
};

}  // namespace bandana
