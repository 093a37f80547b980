#include "server/ops/observation/pages.h"

#include "absl/strings/str_cat.h"
#include "server/ops/observation/model_page.h"
#include "server/ops/observation/process_stats.h"
#include "server/ops/observation/status_page.h"

namespace bandana::server {
namespace {

constexpr std::string_view kModels = "/models/";
constexpr std::size_t kEffectValuesShown = 5;

HttpResponse Readiness(const ServerView& view) {
  HttpResponse response{.status = 200, .body = "ready\n"};
  if (view.draining) return {.status = 503, .body = "draining\n"};
  std::string lines;
  bool serves = view.models.empty();
  for (const ModelView& model : view.models) {
    serves |= model.failure.empty() || model.passes;
    for (const RefusalView& refusal : model.refusals) {
      absl::StrAppend(&lines, model.name, ": ", refusal.reason, ": ", refusal.text, "\n");
    }
  }
  if (view.starting) return {.status = 503, .body = "starting\n" + lines};
  // One model that takes no reports must not take the others away from their callers.
  if (!serves) return {.status = 503, .body = lines};
  response.body += lines;
  return response;
}

}  // namespace

HttpResponse Healthy() { return {.body = "ok\n"}; }

HttpResponse Page(std::string_view path, const ServerView& view, const Metrics& metrics,
                  const History& history, absl::Time now) {
  if (path == kHealthPath) return Healthy();
  if (path == "/readyz") return Readiness(view);
  if (path == "/metrics") {
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
            .body = metrics.Render(view, ReadProcessStats())};
  }
  if (path == "/") {
    return {.content_type = "text/html; charset=utf-8",
            .body = StatusPage(view, history.Recent(), history.Hour(), now)};
  }
  if (path.starts_with(kModels)) {
    for (const ModelView& model : view.models) {
      if (model.name != path.substr(kModels.size())) continue;
      return {.content_type = "text/html; charset=utf-8",
              .body = ModelPage(model, history.Recent(), history.Hour(), now)};
    }
    return {.status = 404, .body = "no such model\n"};
  }
  return {.status = 404, .body = "no such page\n"};
}

EffectLooks LooksOn(std::string_view path, std::size_t models) {
  if (path.starts_with(kModels)) {
    return {.values = kEffectValuesShown, .model = std::string(path.substr(kModels.size()))};
  }
  return {.values = path == "/" && models <= kModelsInFull ? kEffectValuesShown : 0, .model = ""};
}

}  // namespace bandana::server
