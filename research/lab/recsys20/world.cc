#include "research/lab/recsys20/world.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/files/users_tsv.h"
#include "tools/environments/prior_fit.h"

namespace bandana::lab {
namespace {

constexpr std::string_view kHetrec = "hetrec:";

// Posterior standard deviations of exploration on the simulated worlds; docs/experiments.md says
// how it was chosen.
constexpr double kAlpha = 0.3;

// Rewards of a few standard deviations are rare, and the noise of every mechanism is proportional
// to the range: under strong noise a narrower range loses less to clipping than it saves.
double RewardShare(Epsilon epsilon) {
  if (epsilon.value <= 0.75) return 0.5;
  return epsilon.value <= 1.5 ? 0.7 : 1;
}

absl::StatusOr<Graph> ReadGraph(const std::string& folder, std::string_view name,
                                Graph::Kind kind) {
  const std::string path = ResolvePath(name, folder);
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kGraphFileBytesMax));
  absl::StatusOr<Graph> graph = ParseMatrixMarket(text, kind);
  if (!graph.ok()) return Annotate(graph.status(), path);
  return graph;
}

// The tuning that docs/import.md found for the Last.fm data, on other event orders than those of
// the runs.
Tuning RecordedTuning(Family family, bool is_private) {
  if (!is_private) {
    Tuning tuning;
    tuning.alpha = family == Family::kColin ? 0.3 : 0.05;
    tuning.laplacian_weight = 0.1;
    return tuning;
  }
  if (family == Family::kGoblin) return {0.3, 3, 5, 0.3};
  return {0.3, 0.77, 1, 0.1};
}

}  // namespace

absl::StatusOr<std::unique_ptr<World>> World::Create(const std::string& environment,
                                                     Settings settings, std::uint64_t seed) {
  std::unique_ptr<World> world(new World());
  world->recorded_ = environment.starts_with(kHetrec);
  if (!world->recorded_ && !settings.Has("world"))
    BANDANA_RETURN_IF_ERROR(settings.Add("world", absl::StrCat(seed)));
  const std::string spec = environment == "gaussian" ? "synthetic" : environment;
  BANDANA_ASSIGN_OR_RETURN(world->environment_, MakeEnvironment(spec, std::move(settings), seed));
  if (world->environment_->points() != nullptr) {
    return InvalidArgument("environment ", environment, " has no arms; the lab's is `convex`");
  }
  if (world->recorded_) {
    BANDANA_RETURN_IF_ERROR(world->LoadHetrec(environment.substr(kHetrec.size())));
  } else {
    world->TakeGraphs();
  }
  return world;
}

void World::TakeGraphs() {
  nodes_ = info().users;
  const std::vector<double> influence = environment_->Influence();
  if (influence.empty()) return;
  const std::vector<double> similarity = environment_->Similarity();
  influence_ = DenseGraph(influence, nodes_, Graph::Kind::kInfluence);
  similarity_ = DenseGraph(similarity, nodes_, Graph::Kind::kEdgeWeights);
  const GoblinPrior goblin = FitGoblinPrior(influence, similarity, nodes_);
  goblin_weight_ = goblin.laplacian_weight;
  goblin_variance_ratio_ = goblin.variance_ratio;
  own_variance_ratio_ = OwnVarianceRatio(influence, nodes_);
  shared_variance_ratio_ = SharedVarianceRatio(influence, nodes_);
}

absl::Status World::LoadHetrec(const std::string& folder) {
  BANDANA_ASSIGN_OR_RETURN(influence_, ReadGraph(folder, "influence.mtx", Graph::Kind::kInfluence));
  BANDANA_ASSIGN_OR_RETURN(similarity_, ReadGraph(folder, "graph.mtx", Graph::Kind::kEdgeWeights));
  nodes_ = influence_.nodes;
  BANDANA_ASSIGN_OR_RETURN(const std::string users,
                           ReadFile(ResolvePath("users.tsv", folder), kUsersFileBytesMax));
  BANDANA_ASSIGN_OR_RETURN(UserMapping nodes, ParseUsersTsv(users, nodes_));
  node_of_user_ = std::move(nodes);
  BANDANA_ASSIGN_OR_RETURN(const std::string arms,
                           ReadFile(ResolvePath("arms.tsv", folder), kArmsFileBytesMax));
  BANDANA_ASSIGN_OR_RETURN(std::vector<TsvArm> parsed,
                           ParseArmsTsv(arms, info().dimension, kArmsMaxMax));
  for (TsvArm& arm : parsed) features_of_arm_.emplace(arm.id, std::move(arm.features));
  return absl::OkStatus();
}

absl::StatusOr<Coupling> World::MakeCoupling(Family family, double laplacian_weight) const {
  switch (family) {
    case Family::kShared:
      return Coupling::Shared();
    case Family::kIndependent:
      return Coupling::Independent();
    case Family::kColin:
      return Coupling::CoLin(influence_, info().dimension);
    case Family::kGoblin:
      break;
  }
  return Coupling::Goblin(similarity_, laplacian_weight, info().dimension);
}

Tuning World::TuningOf(Family family, std::optional<Epsilon> epsilon) const {
  if (recorded_) return RecordedTuning(family, epsilon.has_value());
  Tuning tuning;
  tuning.reward_stddev =
      std::max(info().reward_stddev, 0.01 * (info().reward_max - info().reward_min));
  tuning.alpha = kAlpha;
  if (epsilon.has_value() && !info().reward_binary) tuning.reward_share = RewardShare(*epsilon);
  double ratio = 1;
  if (family == Family::kShared) ratio = shared_variance_ratio_;
  if (family == Family::kIndependent) ratio = own_variance_ratio_;
  if (family == Family::kGoblin) ratio = goblin_variance_ratio_;
  tuning.laplacian_weight = goblin_weight_;
  tuning.prior_stddev = info().theta_stddev * std::sqrt(ratio);
  return tuning;
}

void World::DecisionAt(std::uint64_t index, WorldDecision& out) const {
  environment_->DecisionAt(index, out.source);
  out.expected = out.source.expected;
  if (!recorded_) {
    out.features.swap(out.source.features);
    out.source.features = out.features;  // RewardAt reads them
    BANDANA_CHECK(absl::SimpleAtoi(out.source.user, &out.node));
    return;
  }
  out.node = node_of_user_.at(out.source.user);
  out.features.clear();
  for (const std::uint32_t arm : out.source.arm_ids) {
    const std::vector<double>& x = features_of_arm_.at(arm);
    out.features.insert(out.features.end(), x.begin(), x.end());
  }
}

}  // namespace bandana::lab
