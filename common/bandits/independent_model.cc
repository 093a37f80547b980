#include "common/bandits/independent_model.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <thread>
#include <utility>

#include "common/bandits/fading.h"
#include "common/bandits/statistics.h"
#include "common/bandits/user_snapshot.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace bandana {

absl::StatusOr<std::unique_ptr<BanditModel>> IndependentModel::Create(const Options& options) {
  if (options.nodes_max < 1 || options.nodes_max > kIndependentNodesMax) {
    return InvalidArgument("nodes_max must be in [1, ", kIndependentNodesMax, "], got ",
                           options.nodes_max);
  }
  return std::unique_ptr<BanditModel>(new IndependentModel(options));
}

IndependentModel::IndependentModel(const Options& options)
    : options_(options),
      fitter_({options.dimension, options.observation_variance, options.prior_variance},
              options.exploration),
      prior_(fitter_.Prior()) {}

const UserNode& IndependentModel::user(int node) const {
  BANDANA_CHECK(node >= 0 && node < nodes_);
  const UserNode* const found = users_.at(static_cast<std::size_t>(node));
  return found == nullptr ? *prior_ : *found;
}

std::uint64_t IndependentModel::events(int node) const {
  const auto stale = stale_.find(node);
  return stale == stale_.end() ? user(node).events() : stale->second.events;
}

const NodeStatistics& IndependentModel::statistics(int node) const {
  if (const auto stale = stale_.find(node); stale != stale_.end()) return stale->second;
  user(node).Expand(fitter_.scale(), statistics_);
  return statistics_;
}

absl::StatusOr<int> IndependentModel::AddNode() {
  if (nodes_ >= options_.nodes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has its maximum of ", options_.nodes_max, " users"));
  }
  is_changed_.push_back(false);
  return nodes_++;
}

absl::Status IndependentModel::ForgetNode(int node) {
  if (node < 0 || node >= nodes_)
    return InvalidArgument("node must be in [0, ", nodes_, "), got ", node);
  events_ -= events(node);
  stale_.erase(node);
  Put(node, nullptr);
  return absl::OkStatus();
}

void IndependentModel::MarkChanged(int node) {
  if (is_changed_[node]) return;
  is_changed_[node] = true;
  changed_.push_back(node);
}

void IndependentModel::Put(int node, UserFitter::Node user) {
  MarkChanged(node);
  const auto at = static_cast<std::size_t>(node);
  if (user != nullptr || users_.at(at) != nullptr) users_.Set(at, std::move(user));
}

namespace {

// The users themselves, which are immutable, and the statistics that are ahead of them.
class FrozenUsers final : public FrozenStatistics {
 public:
  FrozenUsers(const ComponentScale& scale, UserSnapshot::Users users,
              std::map<int, NodeStatistics> stale)
      : users_(std::move(users)), scale_(scale), stale_(std::move(stale)) {}
  // The model has replaced most of its users since: this is the last owner of what they were.
  ~FrozenUsers() override { users_.tree.ClearSlowly(); }
  int nodes() const override { return users_.count; }
  const NodeStatistics& Of(int node, NodeStatistics& scratch) const override {
    if (const auto stale = stale_.find(node); stale != stale_.end()) return stale->second;
    users_.of(node).Expand(scale_, scratch);
    return scratch;
  }

 private:
  UserSnapshot::Users users_;
  const ComponentScale scale_;
  const std::map<int, NodeStatistics> stale_;
};

}  // namespace

std::shared_ptr<const FrozenStatistics> IndependentModel::Freeze() {
  return std::make_shared<FrozenUsers>(
      fitter_.scale(), UserSnapshot::Users{nodes_, users_.Share(), prior_, steps_}, stale_);
}

NodeStatistics& IndependentModel::Stale(int node) {
  const auto found = stale_.find(node);
  return found != stale_.end() ? found->second : stale_[node] = statistics(node);
}

void IndependentModel::Apply(std::span<const Event> events) {
  // Events of one user stay in order and become runs; order between users does not matter.
  std::vector<std::pair<int, ComponentEvent>> by_user;
  by_user.reserve(events.size());
  for (const Event& event : events) {
    BANDANA_CHECK(event.features.size() == static_cast<std::size_t>(dimension()));
    // Noise changes H_u by more than rank one, and only what the posterior has can be added to.
    if (user(event.node).moment_variance() > 0 || stale_.contains(event.node)) {
      NodeStatistics& stale = Stale(event.node);
      bandana::FadeTo(steps_, stale);
      AddEvent(event, stale);
    } else {
      by_user.push_back({event.node, {0, event.features.data(), event.reward}});
    }
  }
  events_ += events.size();
  std::stable_sort(by_user.begin(), by_user.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ComponentEvent> run;
  for (std::size_t i = 0; i < by_user.size();) {
    const int node = by_user[i].first;
    run.clear();
    for (; i < by_user.size() && by_user[i].first == node; ++i) run.push_back(by_user[i].second);
    Put(node, fitter_.Added(users_.at(static_cast<std::size_t>(node)), run, steps_));
  }
}

absl::Status IndependentModel::SetReleased(int node, NodeStatistics statistics) {
  if (node < 0 || node >= nodes_)
    return InvalidArgument("node must be in [0, ", nodes_, "), got ", node);
  BANDANA_RETURN_IF_ERROR(ValidateStatistics(statistics, dimension()));
  events_ += statistics.events - events(node);
  stale_[node] = std::move(statistics);
  return absl::OkStatus();
}

void IndependentModel::Refresh() {
  for (const auto& [node, statistics] : stale_) Put(node, fitter_.Fitted(statistics));
  stale_.clear();
}

void IndependentModel::Rebuild() {
  Refresh();
  for (int node = 0; node < nodes_; ++node) {
    MarkChanged(node);
    // Users held as events have no drift.
    if (!user(node).few()) Put(node, fitter_.Fitted(statistics(node)));
  }
}

absl::Status IndependentModel::Restore(std::vector<NodeStatistics> statistics) {
  if (statistics.size() > static_cast<std::size_t>(options_.nodes_max)) {
    return InvalidArgument("statistics of ", statistics.size(), " users, the model holds at most ",
                           options_.nodes_max);
  }
  for (std::size_t i = 0; i < statistics.size(); ++i) {
    BANDANA_RETURN_IF_ERROR(Annotate(ValidateStatistics(statistics[i], dimension()),
                                     absl::StrCat("statistics of node ", i)));
    BANDANA_RETURN_IF_ERROR(CheckSteps(statistics[i], steps_));
  }
  users_.Clear();
  stale_.clear();
  changed_.clear();
  nodes_ = static_cast<int>(statistics.size());
  is_changed_.assign(statistics.size(), false);
  events_ = 0;
  for (const NodeStatistics& user : statistics) events_ += user.events;
  std::vector<UserFitter::Node> users = FittedInParallel(std::move(statistics));
  for (int node = 0; node < nodes_; ++node) Put(node, std::move(users[node]));
  return absl::OkStatus();
}

std::vector<UserFitter::Node> IndependentModel::FittedInParallel(
    std::vector<NodeStatistics> statistics) const {
  constexpr std::size_t kPartUsers = 1024;
  std::vector<UserFitter::Node> users(statistics.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    UserFitter fitter(fitter_.scale(), options_.exploration);
    for (;;) {
      const std::size_t begin = next.fetch_add(kPartUsers);
      const std::size_t end = std::min(begin + kPartUsers, statistics.size());
      for (std::size_t user = begin; user < end; ++user) {
        users[user] = fitter.Fitted(statistics[user]);
        statistics[user] = {};  // both at once would be twice the memory
      }
      if (end == statistics.size()) return;
    }
  };
  const std::size_t parts = statistics.size() / kPartUsers;
  std::vector<std::jthread> others(
      std::min<std::size_t>(parts, std::max(1u, std::thread::hardware_concurrency()) - 1));
  for (std::jthread& thread : others) thread = std::jthread(work);
  work();
  others.clear();  // joins
  return users;
}

void IndependentModel::FadeTo(std::uint64_t steps) {
  BANDANA_CHECK(steps >= steps_);
  if (std::exchange(steps_, steps) != steps && events_ > 0) all_changed_ = true;
}

absl::Status IndependentModel::NoGraph() {
  return InvalidArgument("coupling: independent users have no graph that could be replaced");
}

NodePosterior IndependentModel::Posterior(int node) const {
  NodePosterior posterior;
  const UserFitter::Node faded =
      UserFitter(fitter_.scale(), options_.exploration).FadedTo(steps_, user(node));
  (faded != nullptr ? *faded : user(node)).Expand(fitter_.scale(), posterior);
  return posterior;
}

NodePosterior IndependentModel::Prior() const {
  NodePosterior prior;
  prior_->Expand(fitter_.scale(), prior);
  return prior;
}

std::vector<int> IndependentModel::TakeChangedNodes() {
  for (const int node : changed_) is_changed_[node] = false;
  if (std::exchange(all_changed_, false)) {
    changed_.resize(static_cast<std::size_t>(nodes_));
    std::iota(changed_.begin(), changed_.end(), 0);
  }
  std::sort(changed_.begin(), changed_.end());
  return std::exchange(changed_, {});
}

std::shared_ptr<const ServedPosterior> IndependentModel::Show(std::uint64_t version) {
  return std::make_shared<const UserSnapshot>(
      fitter_.scale(), options_.exploration, version,
      UserSnapshot::Users{nodes_, users_.Share(), prior_, steps_});
}

}  // namespace bandana
