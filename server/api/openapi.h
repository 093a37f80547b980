// The HTTP API's own description (OpenAPI 3.0), made from the table of rpcs and their messages.
#pragma once

#include <string>

namespace bandana::server {

// The services that a listener has.
struct OpenApiParts {
  bool recommender = false;
  bool admin = false;
};

// The whole document. `version`: of the program.
std::string OpenApiDocument(const std::string& version, OpenApiParts parts);

}  // namespace bandana::server
