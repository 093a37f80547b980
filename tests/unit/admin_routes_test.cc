// The paths of Admin over HTTP, and the page that lists them.
#include "server/api/admin/admin_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/base/file.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using Verbs = std::set<std::string>;

// The words in backquotes of the row of docs/http.md that begins so.
Verbs VerbsOfRow(const std::string& begin) {
  const auto page = ReadFile(BANDANA_SOURCE_DIR "/docs/http.md", 1 << 20);
  EXPECT_THAT(page, testing::IsOk());
  const std::size_t at = page->find("\n" + begin);
  EXPECT_NE(at, std::string::npos) << begin;
  const std::size_t from = at + 1 + begin.size();
  const std::vector<std::string> parts =
      absl::StrSplit(page->substr(from, page->find('\n', from) - from), '`');
  Verbs verbs;
  for (std::size_t i = 1; i < parts.size(); i += 2) verbs.insert(parts[i]);
  return verbs;
}

TEST(AdminRoutes, ThePageListsEveryVerb) {
  Verbs of_server;
  Verbs of_models;
  for (const AdminRpc& one : AdminRpcs()) (one.of_model ? of_models : of_server).insert(one.verb);
  EXPECT_EQ(VerbsOfRow("| `POST /v1/admin:VERB` |"), of_server);
  EXPECT_EQ(VerbsOfRow("| `POST /v1/models/NAME:VERB` |"), of_models);
}

// `list` stands for all that begin so.
TEST(AdminRoutes, ThePageSaysWhatOneMayGet) {
  Verbs got;
  for (const AdminRpc& one : AdminRpcs()) {
    if (!one.rpc->changes()) got.insert(one.verb.starts_with("list") ? "list" : one.verb);
  }
  EXPECT_EQ(VerbsOfRow("| `GET` |"), got);
}

TEST(AdminRoutes, PathsAreReadAsTheyAreEscaped) {
  const auto found = FindAdminRoute("/v1/models/a%2Db%3Astats");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->model, "a-b");
  EXPECT_EQ(found->of->verb, "stats");
  EXPECT_EQ(FindAdminRoute("/v1/%61dmin:listModels")->of->verb, "listModels");
  for (const char* const path :
       {"/v1/admin:stats", "/v1/models/a:listModels", "/v1/models/a/b:stats", "/v1/models/:stats",
        "/v1/admin:", "/v1/admin:checkImport", "/v1/models/a:stats%", "/v1/models/a:Stats", "/"}) {
    EXPECT_FALSE(FindAdminRoute(path).has_value()) << path;
  }
}

}  // namespace
}  // namespace bandana::server
