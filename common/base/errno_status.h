// The status of an errno of a file's call.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace bandana {

// `what` and the error's text. NOT_FOUND; RESOURCE_EXHAUSTED the disk is full; UNAVAILABLE.
inline absl::Status ErrnoStatus(std::string_view what, int error) {
  const std::string message =
      absl::StrCat(absl::string_view(what.data(), what.size()), ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

}  // namespace bandana
