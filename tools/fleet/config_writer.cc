#include "tools/fleet/config_writer.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bandana/v1/config.pb.h"
#include "common/bandits/graph.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/mechanisms/shaped_counter.h"
#include "tools/environments/cluster_graph.h"
#include "tools/environments/environment.h"
#include "tools/environments/prior_fit.h"

namespace bandana {
namespace {

constexpr int kClustersMax = 200;  // an event of a graph model costs the square of its rows

// This level's: groups lie in the order of their users.
int GroupsAt(const KnownUsers& known, int users, int level) {
  return static_cast<int>(known.GroupOf(static_cast<std::uint32_t>(users - 1), level)) + 1;
}

// level1, level2 ..., from the largest groups to the smallest.
std::vector<std::string> LevelNames(const KnownUsers& known) {
  std::vector<std::string> names;
  for (int level = 1; level <= known.levels(); ++level) {
    names.push_back(absl::StrCat("level", level));
  }
  return names;
}

// The level of the smallest groups that a graph model can take for its nodes: at most 200 groups,
// and no more rows than a component may have. None where even the largest groups are too many.
std::optional<int> ClusterLevel(const KnownUsers& known, const EnvironmentInfo& info) {
  std::optional<int> chosen;
  for (int level = 0; level < known.levels(); ++level) {
    const int groups = GroupsAt(known, info.users, level);
    if (groups <= kClustersMax && groups * info.dimension <= kComponentRowsMax) chosen = level;
  }
  return chosen;
}

// Rounded up.
int UsersPerGroup(const KnownUsers& known, int users, int level) {
  const int groups = GroupsAt(known, users, level);
  return (users + groups - 1) / groups;
}

// The kind is kEdgeWeights: friendships between the groups of this level. A pair of friends counts
// as often as one names the other.
Graph FriendsBetweenGroups(const KnownUsers& known, int users, int level) {
  std::vector<std::pair<int, int>> pairs;
  std::vector<int> groups(users);
  std::vector<std::uint32_t> friends;
  for (int user = 0; user < users; ++user) {
    groups[user] = static_cast<int>(known.GroupOf(static_cast<std::uint32_t>(user), level));
    known.FriendsOf(static_cast<std::uint32_t>(user), friends);
    for (const std::uint32_t other : friends) pairs.emplace_back(user, static_cast<int>(other));
  }
  return ClusterGraph(pairs, groups, GroupsAt(known, users, level));
}

// users.tsv (docs/formats.md): each user's groups, and as node that of `cluster_level`, if any.
std::string UsersText(const KnownUsers& known, int users, std::optional<int> cluster_level) {
  std::string text = cluster_level ? "user\tnode" : "user";
  for (const std::string& name : LevelNames(known)) absl::StrAppend(&text, "\t", name);
  text += '\n';
  for (int i = 0; i < users; ++i) {
    const auto user = static_cast<std::uint32_t>(i);
    absl::StrAppend(&text, user);
    if (cluster_level) absl::StrAppend(&text, "\t", known.GroupOf(user, *cluster_level));
    for (int level = 0; level < known.levels(); ++level) {
      absl::StrAppend(&text, "\t", known.GroupOf(user, level));
    }
    text += '\n';
  }
  return text;
}

// An edge list, as bandana-import graph reads it.
std::string EdgesText(const KnownUsers& known, int users) {
  std::string text;
  std::vector<std::uint32_t> friends;
  for (int user = 0; user < users; ++user) {
    known.FriendsOf(static_cast<std::uint32_t>(user), friends);
    for (const std::uint32_t other : friends) absl::StrAppend(&text, user, "\t", other, "\n");
  }
  return text;
}

constexpr char kInfluenceFile[] = "graph.mtx";
constexpr char kSimilarityFile[] = "similarity.mtx";
constexpr char kUsersFile[] = "users.tsv";
constexpr char kEdgesFile[] = "edges.txt";
constexpr double kStandardEpsilon = 2;
constexpr double kStandardDelta = 1e-5;
constexpr std::uint64_t kPlannedEvents = 100'000;  // of the joint model

// Posterior standard deviations added to the mean. Found on `synthetic` over 10,000 decisions, see
// docs/fleet.md.
constexpr double kAlpha = 0.3;

class ConfigBuilder {
 public:
  // `policy`: of the models that may have one.
  ConfigBuilder(const Environment& environment, std::optional<v1::SelectionPolicy> policy)
      : info_(environment.info()),
        policy_(std::move(policy)),
        points_(environment.points()),
        known_users_(environment.known_users()),
        influence_(environment.Influence()),
        similarity_(environment.Similarity()) {}

  v1::ServerConfig Build() {
    if (points_ != nullptr) {
      AddPoints("bco");
      AddLocal(AddPoints("ldp-bco"), kStandardEpsilon);
      return std::move(config_);
    }
    if (info_.link != Link::kLinear) {
      AddLogistic(AddModel("ldp-glm", ThetaVariance())).mutable_shared();
      return std::move(config_);
    }
    if (info_.name == "sparse") AddSparse();
    if (info_.dimension > kDimensionMax) return std::move(config_);
    AddModel("linucb-shared", SharedVariance()).mutable_shared();
    if (known_users_ != nullptr) {
      AddCrowd();
      return std::move(config_);
    }
    AddModel("linucb", OwnVariance()).mutable_independent()->set_users_max(info_.users);
    if (influence_.empty()) {
      AddContexts(AddModel("ldp-linucb", SharedVariance())).mutable_shared();
      AddLocal(AddModel("ldp-linucb-reward", OwnVariance()), kStandardEpsilon)
          .mutable_independent()
          ->set_users_max(info_.users);
      if (info_.name == "mab") AddArms();
      if (info_.name == "sphere")
        AddJoint(AddModel("linucb-jdp", SharedVariance())).mutable_shared();
      return std::move(config_);
    }
    goblin_ = FitGoblinPrior(influence_, similarity_, info_.users);
    AddColin("colin");
    AddGoblin("goblin");
    AddLocal(AddColin("ldp-colin-eps1"), 1);
    AddLocal(AddColin("ldp-colin"), kStandardEpsilon);
    AddLocal(AddColin("ldp-colin-eps5"), 5);
    AddLocal(AddGoblin("ldp-goblin"), kStandardEpsilon);
    if (info_.users <= kShapedNodesMax && info_.users * info_.dimension <= kShapedRowsMax)
      AddShaped(AddColin("dp-colin-shaped"));
    return std::move(config_);
  }

 private:
  double ThetaVariance() const { return info_.theta_stddev * info_.theta_stddev; }
  double OwnVariance() const {
    return ThetaVariance() * (influence_.empty() ? 1 : OwnVarianceRatio(influence_, info_.users));
  }
  double SharedVariance() const {
    return ThetaVariance() *
           (influence_.empty() ? 1 : SharedVarianceRatio(influence_, info_.users));
  }

  v1::ModelConfig& AddModel(std::string_view name, double prior_variance) {
    v1::ModelConfig& model = *config_.add_models();
    model.set_name(std::string(name));
    model.set_dimension(info_.dimension);
    model.set_feature_l2_max(info_.feature_l2_max);
    model.set_reward_min(info_.reward_min);
    model.set_reward_max(info_.reward_max);
    model.set_reward_binary(info_.reward_binary);
    // A noiseless environment still needs a positive variance; a hundredth of the range is small
    // beside any effect.
    model.set_reward_stddev(
        std::max(info_.reward_stddev, 0.01 * (info_.reward_max - info_.reward_min)));
    model.set_prior_stddev(std::sqrt(prior_variance));
    model.mutable_exploration()->set_alpha(kAlpha);
    model.set_mode(v1::NON_PRIVATE);
    if (policy_) *model.mutable_policy() = *policy_;
    return model;
  }

  // Very many users in groups: effects; each user alone where a server hosts so many; graph models
  // whose nodes are the groups of one level.
  void AddCrowd() {
    if (info_.users <= kIndependentUsersMax) {
      AddModel("linucb", OwnVariance()).mutable_independent()->set_users_max(info_.users);
      AddLocal(AddModel("ldp-linucb-reward", OwnVariance()), kStandardEpsilon)
          .mutable_independent()
          ->set_users_max(info_.users);
    }
    if (const std::optional<int> level = ClusterLevel(*known_users_, info_); level) {
      // The graph counts friendships, which grow with the groups; the weight takes that out.
      goblin_.laplacian_weight = 1.0 / UsersPerGroup(*known_users_, info_.users, *level);
      AddColin("colin").mutable_colin()->mutable_users()->set_file(kUsersFile);
      AddGoblin("goblin").mutable_goblin()->mutable_users()->set_file(kUsersFile);
    }
    AddEffects("effects");
    AddLocal(AddEffects("ldp-effects-eps1"), 1);
    AddLocal(AddEffects("ldp-effects"), kStandardEpsilon);
    AddLocal(AddEffects("ldp-effects-eps5"), 5);
  }

  // The standard list with its default scales.
  v1::ModelConfig& AddEffects(std::string_view name) {
    v1::ModelConfig& model = *config_.add_models();
    model.set_name(std::string(name));
    model.set_dimension(info_.dimension);
    model.set_feature_l2_max(info_.feature_l2_max);
    model.set_reward_min(info_.reward_min);
    model.set_reward_max(info_.reward_max);
    model.set_mode(v1::NON_PRIVATE);
    v1::EffectsCoupling& effects = *model.mutable_effects();
    effects.mutable_standard();
    for (const std::string& group : LevelNames(*known_users_)) effects.add_user_groups(group);
    effects.set_users_file(kUsersFile);
    effects.set_users_max(info_.users);
    if (policy_) *model.mutable_policy() = *policy_;
    return model;
  }

  // Many features, few that matter; the server releases at the ends of episodes.
  void AddSparse() {
    v1::ModelConfig& model = AddModel("fliphat", SharedVariance());
    model.mutable_sparse();
    model.clear_policy();
    model.clear_exploration();
    model.set_mode(v1::JOINT);
    model.mutable_privacy()->set_epsilon(kStandardEpsilon);
    model.mutable_privacy()->set_delta(kStandardDelta);
    model.mutable_reporting()->set_one_per_decision(true);
  }

  // The classical bandit, over the arms' numbers.
  void AddArms() {
    const auto add = [this](std::string_view name) -> v1::ModelConfig& {
      v1::ModelConfig& model = AddModel(name, SharedVariance());
      model.clear_policy();  // arms have their own
      model.mutable_arms();
      return model;
    };
    add("mab");
    AddLocal(add("ldp-mab"), kStandardEpsilon);
    AddLocal(add("ldp-mab-klucb"), kStandardEpsilon)
        .mutable_arms()
        ->set_policy(v1::ArmsFamily::KL_UCB);
  }

  // Continuous actions.
  v1::ModelConfig& AddPoints(std::string_view name) {
    const ConvexDomain& domain = points_->domain();
    v1::ModelConfig& model = *config_.add_models();
    model.set_name(std::string(name));
    model.set_dimension(info_.dimension);
    model.set_reward_min(info_.reward_min);
    model.set_reward_max(info_.reward_max);
    model.set_mode(v1::NON_PRIVATE);
    v1::PointsFamily& points = *model.mutable_points();
    points.set_domain(domain.kind == ConvexDomain::Kind::kBall ? v1::PointsFamily::BALL
                                                               : v1::PointsFamily::BOX);
    points.set_radius(domain.radius);
    points.set_smoothness(points_->smoothness());
    return model;
  }

  v1::ModelConfig& AddColin(std::string_view name) {
    v1::ModelConfig& model = AddModel(name, ThetaVariance());
    v1::Graph& graph = *model.mutable_colin()->mutable_graph();
    graph.set_kind(v1::Graph::INFLUENCE);
    graph.set_file(kInfluenceFile);
    return model;
  }

  v1::ModelConfig& AddGoblin(std::string_view name) {
    v1::ModelConfig& model = AddModel(name, ThetaVariance() * goblin_.variance_ratio);
    model.mutable_goblin()->set_laplacian_weight(goblin_.laplacian_weight);
    v1::Graph& graph = *model.mutable_goblin()->mutable_graph();
    graph.set_kind(v1::Graph::EDGE_WEIGHTS);
    graph.set_file(kSimilarityFile);
    return model;
  }

  v1::ModelConfig& AddLocal(v1::ModelConfig& model, double epsilon) {
    model.set_mode(v1::LOCAL_REWARD);
    model.mutable_privacy()->set_epsilon(epsilon);
    model.mutable_privacy()->set_mechanism(v1::AUTO);
    model.mutable_reporting()->set_one_per_decision(true);
    return model;
  }

  // Contexts and rewards are private, by noise that the devices add.
  v1::ModelConfig& AddContexts(v1::ModelConfig& model) {
    AddLocal(model, kStandardEpsilon).set_mode(v1::LOCAL_CONTEXT);
    model.clear_policy();
    return model;
  }

  v1::ModelConfig& AddLogistic(v1::ModelConfig& model) {
    AddContexts(model).set_link(v1::LOGISTIC);
    return model;
  }

  // Contexts and rewards are private, by a counter that the server runs.
  v1::ModelConfig& AddJoint(v1::ModelConfig& model) {
    model.set_mode(v1::JOINT);
    model.clear_policy();
    v1::Privacy& privacy = *model.mutable_privacy();
    privacy.set_epsilon(1);
    privacy.set_delta(kStandardDelta);
    privacy.set_mechanism(v1::AUTO);
    privacy.set_planned_events_per_user(kPlannedEvents);
    model.mutable_reporting()->set_one_per_decision(true);
    return model;
  }

  // One counter over all users, its noise shaped across them.
  v1::ModelConfig& AddShaped(v1::ModelConfig& model) {
    model.set_mode(v1::CENTRAL_REWARD);
    model.clear_policy();
    v1::Privacy& privacy = *model.mutable_privacy();
    privacy.set_epsilon(kStandardEpsilon);
    privacy.set_delta(kStandardDelta);
    privacy.set_mechanism(v1::SHAPED_COUNTER);
    model.mutable_reporting()->set_one_per_decision(true);
    return model;
  }

  const EnvironmentInfo& info_;
  const std::optional<v1::SelectionPolicy> policy_;
  const PointRewards* const points_;
  const KnownUsers* const known_users_;
  const std::vector<double> influence_;
  const std::vector<double> similarity_;
  GoblinPrior goblin_;
  v1::ServerConfig config_;
};

absl::Status WriteGraphs(const Environment& environment, const std::string& folder) {
  const std::vector<double> influence = environment.Influence();
  if (influence.empty()) return absl::OkStatus();
  const int users = environment.info().users;
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(
      absl::StrCat(folder, "/", kInfluenceFile),
      ToMatrixMarket(DenseGraph(influence, users, Graph::Kind::kInfluence)), 0644));
  return WriteFileDurably(
      absl::StrCat(folder, "/", kSimilarityFile),
      ToMatrixMarket(DenseGraph(environment.Similarity(), users, Graph::Kind::kEdgeWeights)), 0644);
}

absl::Status WriteClusterGraphs(const Graph& graph, const std::string& folder) {
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(absl::StrCat(folder, "/", kInfluenceFile),
                                           ToMatrixMarket(InfluenceOf(graph)), 0644));
  return WriteFileDurably(absl::StrCat(folder, "/", kSimilarityFile), ToMatrixMarket(graph), 0644);
}

absl::Status WriteKnownUsers(const Environment& environment, const std::string& folder) {
  const KnownUsers* known = environment.known_users();
  if (known == nullptr) return absl::OkStatus();
  const int users = environment.info().users;
  const std::optional<int> clusters = ClusterLevel(*known, environment.info());
  if (clusters) {
    BANDANA_RETURN_IF_ERROR(
        WriteClusterGraphs(FriendsBetweenGroups(*known, users, *clusters), folder));
  }
  BANDANA_RETURN_IF_ERROR(WriteFileDurably(absl::StrCat(folder, "/", kUsersFile),
                                           UsersText(*known, users, clusters), 0644));
  return WriteFileDurably(absl::StrCat(folder, "/", kEdgesFile), EdgesText(*known, users), 0644);
}

}  // namespace

absl::Status WriteServerConfig(const Environment& environment, const std::string& command,
                               const std::string& folder, const std::string& policy) {
  std::optional<v1::SelectionPolicy> rule;
  if (!policy.empty() && (!google::protobuf::TextFormat::ParseFromString(policy, &rule.emplace()) ||
                          rule->rule_case() == v1::SelectionPolicy::RULE_NOT_SET)) {
    return InvalidArgument(
        "policy: must be uniform_mix, thompson, softmax or inverse_gap in text form, such as "
        "'softmax { temperature: 0.1 }'");
  }
  const EnvironmentInfo& info = environment.info();
  if (info.form == ArmForm::kCatalogue) {
    return InvalidArgument(
        "the configuration of a recorded data set is written by bandana-import, beside its arms");
  }
  const int dimension_max = info.name == "sparse" ? kSparseDimensionMax : kDimensionMax;
  if (info.dimension > dimension_max) {
    return InvalidArgument("a server hosts models of at most ", dimension_max,
                           " features, the environment has ", info.dimension,
                           ": use --set dimension=N");
  }
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(
          ConfigBuilder(environment, std::move(rule)).Build(), &text)) {
    return Internal("the configuration cannot be printed");
  }
  text = absl::StrCat(
      "# Written by: ", absl::StrReplaceAll(command, {{"\n", " "}}), "\n",
      "# The fleet must run with the same environment and settings. Every seed fits.\n", text);
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  BANDANA_RETURN_IF_ERROR(WriteGraphs(environment, folder));
  BANDANA_RETURN_IF_ERROR(WriteKnownUsers(environment, folder));
  return WriteFileDurably(absl::StrCat(folder, "/server.textproto"), text, 0644);
}

}  // namespace bandana
