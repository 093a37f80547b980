#include "server/api/content.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "server/api/grpc_web.h"

namespace bandana::server {
namespace {

constexpr std::string_view kTypes[] = {"", "application/json", "text/json", "text/plain",
                                       "application/x-www-form-urlencoded"};

bool IsIdentity(absl::string_view codings) {
  for (const absl::string_view coding : absl::StrSplit(codings, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(coding);
    if (!name.empty() && !absl::EqualsIgnoreCase(name, "identity")) return false;
  }
  return true;
}

// Whether the charset is UTF-8: a missing one is, and US-ASCII is a part of it.
bool IsUtf8(absl::string_view parameter) {
  absl::string_view charset = absl::StripAsciiWhitespace(parameter);
  if (!absl::StartsWithIgnoreCase(charset, "charset")) return true;
  charset = absl::StripLeadingAsciiWhitespace(charset.substr(7));
  if (!absl::ConsumePrefix(&charset, "=")) return true;
  charset = absl::StripAsciiWhitespace(charset);
  if (absl::ConsumePrefix(&charset, "\"")) absl::ConsumeSuffix(&charset, "\"");
  return absl::EqualsIgnoreCase(charset, "utf-8") || absl::EqualsIgnoreCase(charset, "utf8") ||
         absl::EqualsIgnoreCase(charset, "us-ascii");
}

absl::Status CheckType(const std::string& value) {
  const std::vector<absl::string_view> parts = absl::StrSplit(value, ';');
  const std::string type = absl::AsciiStrToLower(absl::StripAsciiWhitespace(parts[0]));
  const bool known = std::ranges::find(kTypes, type) != std::end(kTypes) || WebFormOf(type) ||
                     (type.starts_with("application/") && type.ends_with("+json"));
  if (!known) return InvalidArgument("content-type: must be application/json, or none");
  if (!std::all_of(parts.begin() + 1, parts.end(), IsUtf8)) {
    return InvalidArgument("content-type: the charset must be utf-8");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCoding(const HttpCall& call) {
  for (const HttpHeader& header : call.headers) {
    if (header.name == "content-encoding" && !IsIdentity(header.value)) {
      return InvalidArgument("content-encoding: must be identity, or none: send the body as it is");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckContent(const HttpCall& call) {
  BANDANA_RETURN_IF_ERROR(CheckCoding(call));
  for (const HttpHeader& header : call.headers) {
    if (header.name == "content-type") BANDANA_RETURN_IF_ERROR(CheckType(header.value));
  }
  return absl::OkStatus();
}

HttpAnswer Unsupported(HttpAnswer refused) {
  refused.status = 415;
  refused.headers.push_back({"accept-encoding", "identity"});
  return refused;
}

}  // namespace bandana::server
