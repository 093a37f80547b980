#include "server/ops/config/config_summary.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/design/context_policy.h"
#include "common/design/counter_policy.h"
#include "common/design/privacy_rules.h"
#include "common/design/sparse_policy.h"

namespace bandana::server {
namespace {

std::string KindName(RandomizerKind kind) {
  switch (kind) {
    case RandomizerKind::kRandomizedResponse:
      return "randomized response on binary rewards";
    case RandomizerKind::kStochasticRounding:
      return "stochastic rounding to one bit";
    case RandomizerKind::kHybrid:
      return "hybrid of piecewise and one bit";
  }
  return "";
}

std::string ArmsName(const ModelSpec& spec) {
  const std::string policy = v1::ArmsFamily::Policy_Name(spec.arms->policy);
  return absl::StrCat(spec.public_spec.dimension, " arms without features, ", policy);
}

std::string PointsName(const ModelSpec& spec) {
  const PointsSpec& points = *spec.points;
  const std::string steps =
      points.horizon == 0 ? std::string("at any time") : absl::StrCat("tuned to ", points.horizon);
  return absl::StrFormat("points of a %s of radius %g, rewards' smoothness %g, steps %s",
                         points.domain.kind == ConvexDomain::Kind::kBall ? "ball" : "box",
                         points.domain.radius, points.smoothness, steps);
}

std::string CouplingName(const ModelSpec& spec) {
  switch (spec.config.coupling_case()) {
    case v1::ModelConfig::kIndependent:
      return absl::StrCat("LinUCB, one model a user, at most ", spec.bandit.nodes_max, " users");
    case v1::ModelConfig::kColin:
      return absl::StrCat("CoLin over ", spec.coupling.nodes(), " nodes");
    case v1::ModelConfig::kGoblin:
      return absl::StrCat("GOBLin over ", spec.coupling.nodes(), " nodes");
    case v1::ModelConfig::kArms:
      return ArmsName(spec);
    case v1::ModelConfig::kPoints:
      return PointsName(spec);
    case v1::ModelConfig::kSparse:
      return absl::StrCat("FLIPHAT, one parameter of at most ", spec.sparse->sparsity,
                          " entries for all users (1 node)");
    default:
      return "LinUCB, one model for all users (1 node)";
  }
}

std::string UsersText(const ModelSpec& spec) {
  if (!spec.colin_or_goblin) return "any user id";
  const std::string known = spec.users.empty() ? std::string("ids are node numbers")
                                               : absl::StrCat(spec.users.size(), " mapped ids");
  return absl::StrCat(known, "; unknown users ",
                      spec.cold_start_node ? absl::StrCat("share node ", *spec.cold_start_node)
                                           : std::string("are refused"));
}

std::string FeaturesText(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  if (spec.points) {
    return absl::StrCat("none: the server draws the point, ", out.dimension, " numbers");
  }
  return absl::StrFormat("dimension %d, |x| at most %g (%s)", out.dimension, out.feature_l2_max,
                         out.reject_features ? "reject" : "clip");
}

std::string ReportingText(const PublicSpec& spec) {
  if (spec.reward_window) {
    return absl::StrFormat(
        "one event a decision, at the close of a window of %s, default reward %g",
        absl::FormatDuration(spec.reward_window->duration), spec.reward_window->default_reward);
  }
  if (spec.one_per_decision) return "the caller guarantees one report a decision";
  return "a report counts when it comes";
}

std::string PrivacyText(const PublicSpec& spec) {
  return absl::StrFormat("epsilon %g, delta %g an event, guarantee %s", spec.epsilon.value,
                         spec.delta.value, spec.guarantee);
}

// Whose events a counter sums, and of what.
std::string CounterScope(const ModelSpec& model) {
  const PublicSpec& spec = model.public_spec;
  if (spec.mode == v1::LOCAL_REWARD) return "a user on the device";
  if (spec.mode == v1::JOINT) {
    return model.coupling.independent() ? "a user by the server, of contexts and rewards"
                                        : "by the server, of contexts and rewards";
  }
  return IsShaped(spec.mechanism) ? "over all users by the server" : "a user by the server";
}

std::string CounterText(const ModelSpec& model) {
  const PublicSpec& spec = model.public_spec;
  const auto design = MakeCounterDesign(model);
  if (!design.ok()) return std::string(design.status().message());
  const std::uint64_t horizon = spec.counter->horizon;
  return absl::StrFormat(
      "%s, %s %s, tuned to %d steps, at most %d, noise sd %.3g in each %s at step %d",
      v1::Mechanism_Name(spec.mechanism), v1::CounterKind_Name(spec.counter->kind),
      CounterScope(model), horizon, spec.counter->steps_max,
      std::sqrt(design->PredictedVariance(horizon)),
      spec.mode == v1::JOINT ? "entry of x x' and r x, scaled to 1," : "moment", horizon);
}

std::string ContextText(const ModelSpec& model) {
  const PublicSpec& spec = model.public_spec;
  const auto mechanism = ContextMechanism::Create(spec);
  if (!mechanism.ok()) return std::string(mechanism.status().message());
  const ReportVariance one = mechanism->variance();
  return absl::StrFormat(
      "%s on the device%s, noise sd of a report %.3g in x x', %.3g in r x; |theta| up to %g "
      "weighed",
      v1::Mechanism_Name(spec.mechanism),
      spec.link == Link::kLogistic ? " of straightened events" : "", std::sqrt(one.gram),
      std::sqrt(one.moment), model.theta_l2_max / LinkSlope(spec.link, 0));
}

std::string SparseText(const ModelSpec& model) {
  const auto fliphat = MakeFliphat(model);
  if (!fliphat.ok()) return std::string(fliphat.status().message());
  const FliphatOptions& options = fliphat->options();
  return absl::StrFormat(
      "%s by the server at the ends of episodes of 1, 2, 4, .. events; features clipped at %g, "
      "residuals at %.4g at first; rho %.4g of an event",
      v1::Mechanism_Name(model.public_spec.mechanism), options.context_abs_max,
      options.reward_abs_max, fliphat->rho().value);
}

// Why this mechanism, and what it costs.
std::string MechanismText(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  if (spec.sparse) return SparseText(spec);
  if (out.counter) return CounterText(spec);
  if (out.context) return ContextText(spec);
  const auto randomizer = MakeRandomizer(out);
  if (!randomizer.ok()) return std::string(randomizer.status().message());
  std::string text = absl::StrFormat(
      "%s, %s, worst-case reward noise sd %.3g%s", v1::Mechanism_Name(out.mechanism),
      KindName(randomizer->kind()), std::sqrt(randomizer->VarianceMax()),
      out.mechanism == v1::CENTRED_RANDOMIZER ? ", less as the posterior narrows" : "");
  if (spec.config.privacy().delta() > 0) {
    absl::StrAppendFormat(&text, "; delta %g allowed, 0 used: the mechanism is pure",
                          spec.config.privacy().delta());
  }
  return text;
}

std::string ModeText(v1::Mode mode) {
  switch (mode) {
    case v1::LOCAL_REWARD:
      return "LOCAL_REWARD: the server never sees a reward";
    case v1::LOCAL_CONTEXT:
      return "LOCAL_CONTEXT: the server never sees a context, an arm or a reward";
    case v1::JOINT:
      return "JOINT: the server sees contexts and raw rewards; what others are served hides any "
             "one "
             "round's";
    case v1::CENTRAL_REWARD:
      return "CENTRAL_REWARD: the server sees raw rewards and publishes noised statistics only";
    default:
      return "NON_PRIVATE: the server sees raw rewards and promises nothing";
  }
}

std::string ModelSummary(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  std::string text = absl::StrCat("model ", out.name, "\n");
  const auto line = [&](std::string_view name, const std::string& value) {
    absl::StrAppendFormat(&text, "  %-10s %s\n", std::string(name), value);
  };
  line("mode", ModeText(out.mode));
  if (out.mode != v1::NON_PRIVATE) {
    line("mechanism", MechanismText(spec));
    for (const absl::string_view row : absl::StrSplit(spec.plan, '\n', absl::SkipEmpty())) {
      line("", std::string(row));
    }
    line("privacy", PrivacyText(out));
  }
  line("coupling", CouplingName(spec));
  line("users", UsersText(spec));
  line("features", FeaturesText(spec));
  line("rewards",
       absl::StrFormat(
           "[%g, %g]%s (%s)%s", out.reward_range.min, out.reward_range.max,
           out.reward_binary ? ", binary" : "", spec.reject_rewards ? "reject" : "clip",
           out.link == Link::kLogistic ? ", expected 1 / (1 + e^-z) of z = x . theta" : ""));
  line("reporting", ReportingText(out));
  if (const std::string warning = Warning(spec); !warning.empty()) line("WARNING", warning);
  return text;
}

}  // namespace

std::string ModelLine(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  const std::string promise =
      out.mode == v1::NON_PRIVATE
          ? std::string("NON_PRIVATE")
          : absl::StrCat(v1::Mode_Name(out.mode), ", ", v1::Mechanism_Name(out.mechanism), ", ",
                         PrivacyText(out));
  return absl::StrCat(promise, "; ", CouplingName(spec), ", dimension ", out.dimension);
}

std::string Warning(const ModelSpec& spec) {
  const PublicSpec& out = spec.public_spec;
  if (out.mode == v1::NON_PRIVATE) return "";
  if (out.guarantee != "proven") {
    return absl::StrCat("the guarantee is \"", out.guarantee, "\", not proven");
  }
  if (out.research) return "research: true lifts the policy caps; not for real users";
  return "";
}

std::string Summary(const ServerSpec& spec) {
  std::string text =
      absl::StrCat("listen ", ToString(spec.listen), ", http ", ToString(spec.http_listen),
                   ", data_dir ", spec.data_dir, ", ", spec.models.size(), " models\n");
  if (spec.admin_listen)
    absl::StrAppend(&text, "admin_listen ", ToString(*spec.admin_listen), "\n");
  text += SecuritySummary(spec.tls, spec.access);
  for (const ModelSpec& model : spec.models) text += ModelSummary(model);
  return text;
}

}  // namespace bandana::server
