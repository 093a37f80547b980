// absl::Status with std::string_view messages, and the two macros of early return.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace bandana {

// Debian 12's absl::string_view is its own type.
inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view ToStd(absl::string_view s) { return {s.data(), s.size()}; }

// Each builds its message by absl::StrCat; pass std::string_view through ToAbsl.
template <typename... Args>
absl::Status InvalidArgument(const Args&... args) {
  return absl::InvalidArgumentError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status FailedPrecondition(const Args&... args) {
  return absl::FailedPreconditionError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status NotFound(const Args&... args) {
  return absl::NotFoundError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status DataLoss(const Args&... args) {
  return absl::DataLossError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status Unavailable(const Args&... args) {
  return absl::UnavailableError(absl::StrCat(args...));
}
template <typename... Args>
absl::Status Internal(const Args&... args) {
  return absl::InternalError(absl::StrCat(args...));
}

// Returns that code and payloads with `context: ` before the message; OK stays OK.
inline absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(), absl::StrCat(ToAbsl(context), ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace bandana

#define BANDANA_INTERNAL_CONCAT2(a, b) a##b
#define BANDANA_INTERNAL_CONCAT(a, b) BANDANA_INTERNAL_CONCAT2(a, b)

#define BANDANA_RETURN_IF_ERROR(expression)                                                      \
  do {                                                                                           \
    if (absl::Status bandana_status = (expression); !bandana_status.ok()) return bandana_status; \
  } while (false)

// BANDANA_ASSIGN_OR_RETURN(auto value, Function());
#define BANDANA_ASSIGN_OR_RETURN(declaration, expression)                               \
  BANDANA_INTERNAL_ASSIGN_OR_RETURN(BANDANA_INTERNAL_CONCAT(bandana_result_, __LINE__), \
                                    declaration, expression)
#define BANDANA_INTERNAL_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                              \
  if (!result.ok()) return std::move(result).status();                     \
  declaration = *std::move(result)
