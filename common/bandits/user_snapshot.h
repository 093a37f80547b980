// The snapshot of a model of independent users, which Select reads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "common/bandits/node_tree.h"
#include "common/bandits/user_node.h"
#include "common/ranking/served_posterior.h"

namespace bandana {

// Every user at one log position: the very objects that the model learns with. A user without
// events is the prior, one object for all. In a model that forgets, a user whose last event is of
// an earlier step is fitted anew by each call: UserFitter::FadedTo. Threads: immutable.
class UserSnapshot final : public ServedPosterior {
 public:
  struct Users {
    int count = 0;
    NodeTree<UserNode> tree;
    std::shared_ptr<const UserNode> prior;
    std::uint64_t steps = 0;  // the present one

    // The prior for node == -1 or beyond `count` (a user never seen).
    const UserNode& of(int node) const {
      if (node < 0 || node >= count) return *prior;
      const UserNode* const found = tree.at(static_cast<std::size_t>(node));
      return found == nullptr ? *prior : *found;
    }
  };
  UserSnapshot(const ComponentScale& scale, const ExplorationRule& exploration,
               std::uint64_t version, Users users)
      : scale_(scale), exploration_(exploration), version_(version), users_(std::move(users)) {}

  std::uint64_t version() const override { return version_; }
  int nodes() const override { return users_.count; }
  const NodePosterior& Of(const Whom& whom, NodePosterior& scratch) const override {
    WithFaded(whom.node, [&](const UserNode& user) { user.Expand(scale_, scratch); });
    return scratch;
  }
  void Score(const Whom& whom, const ArmsOnOffer& arms, NodePosterior&,
             ArmScores& out) const override {
    WithFaded(whom.node, [&](const UserNode& user) { user.Score(scale_, arms.features, out); });
  }
  std::optional<ScoreLaw> Law(const Whom& whom, NodePosterior& scratch) const override {
    return ScoreLaw{.posterior = &Of(whom, scratch)};
  }

  // As it was learnt, at the step of its last event.
  const UserNode& user(int node) const { return users_.of(node); }

 private:
  // The user at the present step.
  template <typename Body>
  void WithFaded(int node, const Body& body) const {
    const UserNode& held = user(node);
    if (held.events() == 0 || held.steps() == users_.steps) return body(held);
    body(*UserFitter(scale_, exploration_).FadedTo(users_.steps, held));
  }

  const ComponentScale scale_;
  const ExplorationRule exploration_;
  const std::uint64_t version_;
  const Users users_;
};

}  // namespace bandana
