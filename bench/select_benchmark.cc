// The Select handler in process, without transport: validate, score, rank, seal; and its parts.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "server/models/registry.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "tools/base/work_folder.h"

namespace bandana::server {
namespace {

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
    std::abort();
  }
  return *std::move(result);
}

// A folder with token keys and models `d8`, `d25`, `d100`, each with 1000 catalogue arms.
class Service {
 public:
  static Service& Get() {
    static Service service;
    return service;
  }
  ~Service() {
    registry_.reset();
    keys_.reset();
  }

  TokenCodec& tokens() { return *tokens_; }
  Handlers& recommender() { return *recommender_; }

 private:
  Service() {
    registry_ =
        Must(ModelRegistry::Open({.data_dir = folder_->path(), .models_max = 8}, SystemClock()));
    for (const int d : {8, 25, 100}) AddModel(d);
    keys_ = Must(TokenKeys::Open({.file = folder_->path() + "/token_keys"}, SystemClock()));
    tokens_ = std::make_unique<TokenCodec>(*keys_);
    recommender_ = MakeRecommender({}, *registry_, *tokens_, SystemClock());
  }

  void AddModel(int d) {
    v1::ModelConfig config;
    config.set_name("d" + std::to_string(d));
    config.set_dimension(static_cast<std::uint32_t>(d));
    config.mutable_shared();
    config.set_mode(v1::NON_PRIVATE);
    std::vector<ConfigError> errors;
    const auto model =
        Must(registry_->Create(ParseModelConfig(config, folder_->path(), false, errors).value()));
    std::vector<CatalogueArm> arms(1000);
    for (std::uint32_t id = 0; id < arms.size(); ++id) {
      arms[id].id = id;
      for (int i = 0; i < d; ++i) arms[id].features.push_back(std::cos(id * 0.7 + i * 1.3) / d);
    }
    v1::PutArmsResponse put;
    if (!model->PutArms(arms, &put).ok()) std::abort();
  }

  const std::unique_ptr<WorkFolder> folder_ = Must(WorkFolder::Make("bench"));
  std::unique_ptr<ModelRegistry> registry_;
  std::unique_ptr<TokenKeys> keys_;
  std::unique_ptr<TokenCodec> tokens_;
  std::unique_ptr<Handlers> recommender_;
};

v1::SelectRequest Request(int d, int arms, bool inline_arms) {
  v1::SelectRequest request;
  request.set_model("d" + std::to_string(d));
  request.set_user("3f1c0c2e-7d5e-4a3f-9b62-1b1f6c1d7c55");
  for (int a = 0; a < arms; ++a) {
    if (!inline_arms)
      request.mutable_arms()->mutable_catalogue_arms()->add_ids(
          static_cast<std::uint32_t>(a * 389 % 1000));
    for (int i = 0; i < d && inline_arms; ++i) {
      request.mutable_arms()->mutable_inline_arms()->add_features(std::sin(a * 0.37 + i * 1.7) / d);
    }
  }
  return request;
}

// Arguments: arms, d, inline.
void BM_Select(benchmark::State& state) {
  const v1::SelectRequest request = Request(static_cast<int>(state.range(1)),
                                            static_cast<int>(state.range(0)), state.range(2) != 0);
  Handlers& recommender = Service::Get().recommender();
  v1::SelectResponse response;
  for (auto _ : state) {
    response.Clear();
    if (!recommender.Select(request, response).ok()) state.SkipWithError("Select failed");
  }
}
BENCHMARK(BM_Select)
    ->ArgNames({"arms", "d", "inline"})
    ->ArgsProduct({{5, 25, 100, 1000}, {8, 25, 100}, {0, 1}});

Decision MakeDecision(int d) {
  Decision decision;
  decision.time = absl::FromUnixSeconds(1'700'000'000);
  decision.node = 3;
  decision.arms.push_back(
      {.propensity = 1, .features = std::vector<double>(static_cast<std::size_t>(d), 0.1)});
  return decision;
}

void BM_SealToken(benchmark::State& state) {
  TokenCodec& tokens = Service::Get().tokens();
  const Decision decision = MakeDecision(static_cast<int>(state.range(0)));
  std::string token;
  for (auto _ : state) {
    if (!tokens.Seal(decision, token).ok()) state.SkipWithError("Seal failed");
  }
}
BENCHMARK(BM_SealToken)->ArgName("d")->Arg(8)->Arg(25)->Arg(100);

void BM_OpenToken(benchmark::State& state) {
  TokenCodec& tokens = Service::Get().tokens();
  std::string token;
  if (!tokens.Seal(MakeDecision(static_cast<int>(state.range(0))), token).ok())
    state.SkipWithError("Seal failed");
  for (auto _ : state) benchmark::DoNotOptimize(tokens.Open(token));
}
BENCHMARK(BM_OpenToken)->ArgName("d")->Arg(8)->Arg(25)->Arg(100);

}  // namespace
}  // namespace bandana::server

BENCHMARK_MAIN();
