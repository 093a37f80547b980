// How the server logs: to stderr, as words or as JSON.
#pragma once

#include <string>
#include <string_view>

#include "bandana/v1/config.pb.h"

namespace bandana::server {

// Puts the default logger in place. JSON: one object per line with time (RFC 3339, UTC,
// milliseconds), level, logger, thread and message; of lines about calls also their words
// key=value.
void SetUpLog(v1::LogFormat format);

// The least severe lines that are written; any time. LOG_LEVEL_UNSPECIFIED is INFO.
void SetLogLevel(v1::LogLevel level);

// A JSON string with its quotes; control characters and invalid UTF-8 are escaped.
std::string JsonString(std::string_view text);

}  // namespace bandana::server
