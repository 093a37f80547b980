// Every request of the Recommender, as a server parses it from the wire: the first byte says which.
// Tokens are taken for their plaintext and sealed, so that what is inside them is also tried.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "server/service/recommender.h"
#include "server/service/tokens/token.h"
#include "server/service/tokens/token_payload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/temp_dir.h"

namespace {

using namespace bandana;          // NOLINT
using namespace bandana::server;  // NOLINT

struct World {
  World() {
    for (const char* name : {"plain", "local", "points", "effects"}) {
      ModelSpec spec = testing::PlainSpec(name, 2);
      if (std::string_view(name) == "local") {
        spec = testing::PrivateSpec(name, 2, Mode::kLocalReward, MechanismId::kRewardRandomizer);
      }
      if (std::string_view(name) == "points") {
        spec.points.emplace().domain.dimension = 2;
        spec.config.mutable_points();
      }
      if (std::string_view(name) == "effects") {
        spec.effects.emplace().terms.push_back(
            {.effect = {.name = "arm", .prior_variance = 1}, .scope = {.arm = 0}});
        spec.config.mutable_effects();
      }
      testing::FakeModel& model = registry.Add(std::move(spec));
      model.SetArms({{.id = 10, .features = {1, 0}, .tags = {"news"}}});
    }
    ModelSpec shop = testing::PlainSpec("shop", 39);
    shop.public_spec.features = testing::MakeSchema(testing::kShopSchema);
    std::vector<double> row(39, 0.0);
    row[0] = shop.public_spec.features->scale();
    registry.Add(std::move(shop))
        .SetArms({{.id = 10, .features = row, .tags = {"news"}, .groups = {}, .name = "ten"}});
    TokenKeys::Options options;
    options.file = folder.File("keys");
    options.rotation_interval = absl::Hours(24);
    keys = *TokenKeys::Open(options, clock);
    codec = std::make_unique<TokenCodec>(*keys);
    recommender = MakeRecommender({.arms_per_request_max = 100, .batch_decisions_max = 16},
                                  registry, *codec, clock);
  }
  void Seal(std::string* token) const {
    const auto decision = DecodeDecision(*token);
    if (!decision) return;
    std::string sealed;
    if (codec->Seal(*decision, sealed).ok()) *token = sealed;
  }

  testing::TempDir folder;
  testing::FakeClock clock;
  testing::FakeRegistry registry;
  std::unique_ptr<TokenKeys> keys;
  std::unique_ptr<TokenCodec> codec;
  std::unique_ptr<Handlers> recommender;
};

template <typename Request, typename Response, typename Call>
void Try(std::string_view bytes, const Call& call) {
  Request request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Response response;
  call(request, response);
  (void)response.SerializeAsString();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto& world = *new World;
  if (size == 0) return 0;
  Handlers& recommender = *world.recommender;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  int finished = 0;
  const auto finish = [&finished](const absl::Status&) { ++finished; };
  switch (data[0] % 8) {
    case 0:
      Try<v1::SelectRequest, v1::SelectResponse>(
          bytes, [&](auto& q, auto& a) { recommender.Select(q, a).IgnoreError(); });
      break;
    case 1:
      Try<v1::BatchSelectRequest, v1::BatchSelectResponse>(
          bytes, [&](auto& q, auto& a) { recommender.BatchSelect(q, a).IgnoreError(); });
      break;
    case 2:
      Try<v1::ReportRequest, v1::ReportResponse>(bytes, [&](auto& q, auto& a) {
        for (auto& outcome : *q.mutable_outcomes()) world.Seal(outcome.mutable_token());
        recommender.Report(q, a, finish);
        BANDANA_CHECK(finished == 1);
      });
      break;
    case 3:
      Try<v1::SubmitRequest, v1::SubmitResponse>(bytes, [&](auto& q, auto& a) {
        for (auto& report : *q.mutable_reports()) world.Seal(report.mutable_token());
        for (auto& report : *q.mutable_counter_reports()) {
          for (auto& step : *report.mutable_steps()) world.Seal(step.mutable_token());
        }
        // The hash is checked first; half of the inputs pass it.
        v1::GetModelRequest get;
        v1::GetModelResponse model;
        get.set_model(q.model());
        if (q.policy_hash().empty() && recommender.GetModel(get, model).ok()) {
          q.set_policy_hash(model.policy_hash());
        }
        recommender.Submit(q, a, finish);
        BANDANA_CHECK(finished == 1);
      });
      break;
    case 4:
      Try<v1::GetPosteriorRequest, v1::GetPosteriorResponse>(
          bytes, [&](auto& q, auto& a) { recommender.GetPosterior(q, a).IgnoreError(); });
      break;
    case 6:
      Try<v1::GetArmEffectsRequest, v1::GetArmEffectsResponse>(
          bytes, [&](auto& q, auto& a) { recommender.GetArmEffects(q, a).IgnoreError(); });
      break;
    case 7:
      Try<v1::ActivateRequest, v1::ActivateResponse>(bytes, [&](auto& q, auto& a) {
        for (auto& token : *q.mutable_tokens()) world.Seal(&token);
        recommender.Activate(q, a, finish);
        BANDANA_CHECK(finished == 1);
      });
      break;
    default:
      Try<v1::GetModelRequest, v1::GetModelResponse>(
          bytes, [&](auto& q, auto& a) { recommender.GetModel(q, a).IgnoreError(); });
  }
  return 0;
}
