#include "server/ops/config/api_spec.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/promise/model_rules.h"
#include "server/api/origins.h"

namespace bandana::server {
namespace {

// More threads than processors cost time in each call.
constexpr std::uint32_t kThreadsDefaultMax = 4;
constexpr std::uint32_t kThreadsMax = 64;
constexpr std::uint32_t kBodyBytesDefault = 1 << 20;
constexpr std::uint32_t kBodyBytesMin = 1 << 10;
constexpr std::uint32_t kBodyBytesMax = 16 << 20;
constexpr int kOriginsMax = 64;

std::uint32_t ThreadsDefault() {
  return std::clamp(std::thread::hardware_concurrency(), 1U, kThreadsDefaultMax);
}

}  // namespace

ApiSpec ParseApi(const v1::ServerConfig& config, const Address& listen, const FieldChecks& checks) {
  const v1::ApiConfig& given = config.api();
  const FieldChecks inside = checks.Inside("api");
  ApiSpec spec{.listen = listen};
  const auto count = [&](std::string_view field, std::uint32_t value, std::uint32_t fallback,
                         std::uint32_t least, std::uint32_t most) {
    return static_cast<int>(inside.Count(field, value == 0 ? fallback : value, least, most));
  };
  spec.threads = count("threads", given.threads(), ThreadsDefault(), 1, kThreadsMax);
  spec.body_bytes_max = count("body_bytes_max", given.body_bytes_max(), kBodyBytesDefault,
                              kBodyBytesMin, kBodyBytesMax);
  if (given.allowed_origins_size() > kOriginsMax) {
    inside.Add("allowed_origins", absl::StrCat("must be at most ", kOriginsMax, ", got ",
                                               given.allowed_origins_size()));
    return spec;
  }
  for (int i = 0; i < given.allowed_origins_size(); ++i) {
    const std::string& origin = given.allowed_origins(i);
    if (origin != "*" && !IsOrigin(origin)) {
      inside.Add(absl::StrCat("allowed_origins[", i, "]"),
                 "must be \"*\", or scheme and host as browsers write them: "
                 "\"https://shop.example\", in small letters and without a path");
    }
    spec.allowed_origins.push_back(origin);
  }
  if (!given.personalizer().model().empty()) {
    spec.personalizer.model = given.personalizer().model();
    CheckModelName("personalizer.model", spec.personalizer.model, inside);
  }
  spec.personalizer.apprentice = given.personalizer().apprentice();
  return spec;
}

std::string ApiSummary(const ApiSpec& api) {
  std::string text = absl::StrCat("api_listen ", ToString(api.listen), ", ", api.threads,
                                  " threads, bodies of at most ", api.body_bytes_max, " bytes");
  if (!api.allowed_origins.empty()) {
    absl::StrAppend(&text, ", pages of ", absl::StrJoin(api.allowed_origins, ", "));
  }
  if (!api.personalizer.model.empty()) {
    absl::StrAppend(&text, ", Personalizer by model ", api.personalizer.model);
  }
  if (api.personalizer.apprentice) text += ", apprentice";
  return text + "\n";
}

}  // namespace bandana::server
