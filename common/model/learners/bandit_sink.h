// Events of a linear model whose rewards may be read, straight into its posterior.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "common/model/learners/learner.h"

namespace bandana {

// A learner whose posterior is a BanditModel's.
class BanditLearner : public Learner {
 public:
  int nodes() const override { return model_->nodes(); }
  int dimension() const override { return model_->dimension(); }
  NodePosterior Prior() const override { return model_->Prior(); }
  NodePosterior Posterior(int node) const override { return model_->Posterior(node); }
  std::vector<int> TakeChangedNodes() override { return model_->TakeChangedNodes(); }
  std::shared_ptr<const ServedPosterior> Show(std::uint64_t version,
                                              const std::vector<int>& changed) override;
  void BeginRebuild() override { model_->BeginRebuild(); }
  void SwapRebuilt() override { model_->SwapRebuilt(); }

 protected:
  // `spec` must outlive the learner.
  BanditLearner(const ModelSpec& spec, std::unique_ptr<BanditModel> model)
      : spec_(spec), model_(std::move(model)) {}

  const ModelSpec& spec_;
  const std::unique_ptr<BanditModel> model_;
};

// As above, for users that a coupling joins.
class CoupledLearner : public BanditLearner, public CoupledNodes {
 public:
  absl::Status AddNode() override;
  absl::Status ForgetNode(int node) override;
  absl::Status SetGraph(std::string_view graph) override;

 protected:
  using BanditLearner::BanditLearner;
};

// The posterior of `nodes` nodes without events, under the graph in force and at the present step.
// Errors: DATA_LOSS the state's graph does not parse; INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<BanditModel>> MakeBandit(const ModelSpec& spec,
                                                        const ModelState& state, std::size_t nodes);

// In blocks of 64. Call Flush before looking at the posterior.
class BanditSink final : public CoupledLearner, public RewardSums, public FadingSums {
 public:
  static constexpr int kBlockEvents = 64;
  BanditSink(const ModelSpec& spec, std::unique_ptr<BanditModel> model);
  std::uint64_t events(int node) const override;
  void Add(int node, std::string_view features, const Released<double>& reward) override;
  const NodeStatistics& statistics(int node) const override { return model_->statistics(node); }
  std::shared_ptr<const FrozenStatistics> Freeze() override {
    auto frozen = model_->Freeze();
    return frozen == nullptr ? EventSink::Freeze() : frozen;
  }
  absl::Status ForgetNode(int node) override;
  absl::Status SetGraph(std::string_view graph) override;
  void FadeTo(std::uint64_t steps) override;
  void Flush(const ModelState&) override { Flush(); }

 private:
  void Flush();
  struct Pending {
    int node;
    double reward;
  };
  std::vector<double> features_;  // kBlockEvents x d
  std::vector<Pending> pending_;
  std::vector<Event> events_;
};

}  // namespace bandana
