#include "server/api/console/console.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/api/answers.h"
#include "server/api/console/console_files.h"

namespace bandana::server {
namespace {

constexpr std::string_view kFolder = "/console/";

// Scripts, styles and calls are the server's own; nothing is framed, sent by a form, or remembered.
constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

std::string TypeOfFile(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

HttpAnswer Guarded(HttpAnswer answer) {
  for (const auto& [name, value] : {std::pair{"content-security-policy", kPolicy},
                                    {"x-frame-options", "DENY"},
                                    {"referrer-policy", "no-referrer"},
                                    {"cross-origin-opener-policy", "same-origin"},
                                    {"cross-origin-resource-policy", "same-origin"}}) {
    answer.headers.push_back({name, value});
  }
  return answer;
}

}  // namespace

bool IsOfConsole(std::string_view path) {
  return path == "/" || path == "/console" || path.starts_with(kFolder);
}

HttpAnswer ConsoleAnswer(const HttpCall& call, std::string_view recipes) {
  if (call.method != "GET" && call.method != "HEAD") {
    HttpAnswer wrong = ErrorAnswer(absl::UnimplementedError("this path takes GET alone"));
    wrong.status = 405;
    wrong.headers.push_back({"allow", "GET, HEAD"});
    return Guarded(std::move(wrong));
  }
  if (!call.path.starts_with(kFolder)) {
    return Guarded({.status = 307,
                    .headers = {{"location", std::string(kFolder)},
                                {"cache-control", "no-store"},
                                {"x-content-type-options", "nosniff"}},
                    .body = ""});
  }
  const std::string_view asked = std::string_view(call.path).substr(kFolder.size());
  if (asked == "recipes.json") return Guarded(JsonAnswer(200, std::string(recipes)));
  const auto* const file = std::ranges::find(
      kConsoleFiles, asked.empty() ? std::string_view("index.html") : asked, &ConsoleFile::name);
  if (file == std::end(kConsoleFiles)) {
    return Guarded(ErrorAnswer(NotFound("no such file; the console is /console/")));
  }
  return Guarded({.status = 200,
                  .headers = {{"content-type", TypeOfFile(file->name)},
                              {"cache-control", "no-cache"},
                              {"x-content-type-options", "nosniff"}},
                  .body = std::string(file->text)});
}

}  // namespace bandana::server
