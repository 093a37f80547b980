// The console's files: their headers, who gets them, and what is not there. Its pages run in
// console_browser_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kModels[] = "models { name: 'news' dimension: 2 shared {} mode: NON_PRIVATE }\n";
// Nobody without a token may do anything.
constexpr char kAccess[] =
    "access { principals { name: 'boss' roles: ROLE_ADMIN token_sha256: "
    "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef' } }\n";

class ConsoleTest : public ::testing::Test {
 protected:
  void Start(const std::string& config) {
    auto server = ServerProcess::Start(
        {.config = config, .folder = folder_.path(), .arguments = {"--api_listen=127.0.0.1:0"}});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  HttpResult Get(const std::string& path, std::vector<std::string> headers = {},
                 const std::string& host = "") const {
    return Send(server_->api_listen(),
                {.method = "GET", .path = path, .headers = std::move(headers), .host = host});
  }

  const TempDir folder_;
  std::unique_ptr<ServerProcess> server_;
};

void ExpectGuarded(const HttpResult& result) {
  EXPECT_EQ(HeaderOf(result, "content-security-policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src "
            "'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
  EXPECT_EQ(HeaderOf(result, "x-frame-options"), "DENY");
  EXPECT_EQ(HeaderOf(result, "x-content-type-options"), "nosniff");
  EXPECT_EQ(HeaderOf(result, "referrer-policy"), "no-referrer");
  EXPECT_EQ(HeaderOf(result, "cross-origin-opener-policy"), "same-origin");
  EXPECT_EQ(HeaderOf(result, "cross-origin-resource-policy"), "same-origin");
  EXPECT_EQ(HeaderOf(result, "set-cookie"), "");
  EXPECT_EQ(HeaderOf(result, "access-control-allow-origin"), "");
}

TEST_F(ConsoleTest, EveryFileIsThereAndGuarded) {
  Start(std::string(kModels) + kAccess);
  const HttpResult page = Get("/console/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(HeaderOf(page, "content-type"), "text/html; charset=utf-8");
  ExpectGuarded(page);
  EXPECT_THAT(page.body, HasSubstr("<noscript>"));
  EXPECT_THAT(page.body, Not(HasSubstr("style=")));
  const HttpResult script = Get("/console/console.js");
  EXPECT_EQ(script.status, 200);
  EXPECT_EQ(HeaderOf(script, "content-type"), "text/javascript; charset=utf-8");
  ExpectGuarded(script);
  // Every file that the page or a script names.
  for (const char* const name : {"console.css", "arms.js", "calls.js", "chart.js", "create.js",
                                 "decide.js", "dom.js", "model.js", "overview.js", "words.js"}) {
    const HttpResult file = Get(std::string("/console/") + name);
    EXPECT_EQ(file.status, 200) << name;
    EXPECT_GT(file.body.size(), 100u) << name;
    ExpectGuarded(file);
  }
  // Data are not.
  EXPECT_EQ(Get("/v1/admin:listModels").status, 401);
}

TEST_F(ConsoleTest, TheRootLeadsThereAndNothingElseIsThere) {
  Start(kModels);
  for (const char* const path : {"/", "/console"}) {
    const HttpResult result = Get(path);
    EXPECT_EQ(result.status, 307) << path;
    EXPECT_EQ(HeaderOf(result, "location"), "/console/") << path;
    ExpectGuarded(result);
  }
  for (const char* const path : {"/console/nothing.js", "/console/../news", "/console/console.js/",
                                 "/console/%2e%2e/x", "/console/index.html%00"}) {
    const HttpResult result = Get(path);
    EXPECT_EQ(result.status, 404) << path;
    ExpectGuarded(result);
  }
  const HttpResult posted =
      Send(server_->api_listen(), {.method = "POST", .path = "/console/", .body = "{}"});
  EXPECT_EQ(posted.status, 405);
  EXPECT_EQ(HeaderOf(posted, "allow"), "GET, HEAD");
  EXPECT_EQ(Send(server_->api_listen(), {.method = "HEAD", .path = "/console/"}).body, "");
}

TEST_F(ConsoleTest, NoOtherNameAndNoOtherOriginGetsIt) {
  // Pages of anybody may call the model; the console stays the server's own.
  Start(std::string(kModels) + "api { allowed_origins: '*' }\n");
  const HttpResult renamed = Get("/console/", {}, "rebound.example");
  EXPECT_EQ(renamed.status, 403);
  EXPECT_THAT(renamed.body, HasSubstr("host: "));
  const HttpResult foreign = Get("/console/console.js", {"Origin: https://other.example"});
  EXPECT_EQ(foreign.status, 403);
  EXPECT_THAT(foreign.body, HasSubstr("origin: "));
  EXPECT_EQ(HeaderOf(foreign, "access-control-allow-origin"), "");
  // A link of another page may lead there; its scripts may not ask there.
  EXPECT_EQ(Get("/console/", {"Sec-Fetch-Site: cross-site"}).status, 200);
  EXPECT_EQ(Get("/v1/admin:listModels", {"Sec-Fetch-Site: cross-site"}).status, 403);
  EXPECT_EQ(Get("/v1/admin:listModels", {"Sec-Fetch-Site: same-origin"}).status, 200);
}

TEST_F(ConsoleTest, ItIsWhereAdminIs) {
  Start(std::string(kModels) + "admin_listen: '127.0.0.1:0'\n");
  EXPECT_EQ(Get("/console/").status, 404);
  EXPECT_EQ(Get("/").status, 404);
  const HttpResult page = Send(server_->admin_listen(), {.method = "GET", .path = "/console/"});
  EXPECT_EQ(page.status, 200);
  ExpectGuarded(page);
  EXPECT_EQ(Send(server_->admin_listen(), {.method = "GET", .path = "/"}).status, 307);
}

// Whatever the console offers is what the server makes.
TEST_F(ConsoleTest, EveryRecipeMakesAModel) {
  Start(kModels);
  const HttpResult list = Get("/console/recipes.json");
  ASSERT_EQ(list.status, 200);
  ExpectGuarded(list);
  const auto recipes = nlohmann::json::parse(list.body);
  ASSERT_EQ(recipes.size(), 5u);
  for (const auto& recipe : recipes) {
    EXPECT_THAT(recipe["about"].get<std::string>(), ::testing::EndsWith("."));
    for (const char* const form : {"config", "toTry"}) {
      if (!recipe.contains(form)) continue;
      auto config = recipe[form];
      config["name"] = recipe["name"].get<std::string>() + (form[0] == 'c' ? "" : "-try");
      const HttpResult made = Send(
          server_->api_listen(),
          {.path = "/v1/admin:createModel", .body = nlohmann::json{{"config", config}}.dump()});
      EXPECT_EQ(made.status, 200) << made.body;
    }
  }
}

}  // namespace
}  // namespace bandana::testing
