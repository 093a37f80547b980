// Scoring, update, rebuild and publication of the models, in process.
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <lapacke.h>

#include <Eigen/Core>
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/bandits/coupling.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/base/check.h"
#include "common/linalg/quadratic_forms.h"
#include "common/linalg/symmetric.h"
#include "common/ranking/posterior.h"
#include "common/ranking/scoring.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

NodePosterior RandomPosterior(int d) {
  TestRng rng(1);
  NodePosterior posterior;
  posterior.mean = rng.UnitVector(d);
  posterior.alpha = 0.3;
  const std::vector<double> x = rng.UnitVector(d);
  posterior.covariance.resize(static_cast<std::size_t>(d) * d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) posterior.covariance[i * d + j] = (i == j) - 0.5 * x[i] * x[j];
  }
  return posterior;
}

std::vector<double> RandomArms(int arms, int d) {
  TestRng rng(2);
  std::vector<double> features;
  for (int a = 0; a < arms; ++a) {
    const std::vector<double> x = rng.UnitVector(d);
    features.insert(features.end(), x.begin(), x.end());
  }
  return features;
}

// Arguments: arms, d. Times Select for one decision but for decoding and encoding.
void BM_Select(benchmark::State& state) {
  const int arms = static_cast<int>(state.range(0));
  const int d = static_cast<int>(state.range(1));
  const NodePosterior posterior = RandomPosterior(d);
  const std::vector<double> features = RandomArms(arms, d);
  ArmScores scores;
  std::uint64_t key = 0;
  for (auto _ : state) {
    ScoreArms(posterior, features, scores);
    benchmark::DoNotOptimize(RankArms(scores.scores, 1, ++key));
  }
  state.SetLabel(QuadraticForms().name);
}
BENCHMARK(BM_Select)->ArgsProduct({{10, 25, 100, 1000}, {8, 10, 25, 64, 256}});

std::vector<const double*> PointersTo(const std::vector<double>& features, std::size_t d) {
  std::vector<const double*> arms(features.size() / d);
  for (std::size_t a = 0; a < arms.size(); ++a) arms[a] = features.data() + a * d;
  return arms;
}

// Argument: index into SupportedQuadraticForms(). 25 arms at d = 25, scores only.
void BM_QuadraticForms(benchmark::State& state) {
  const QuadraticFormsKernel& kernel = *SupportedQuadraticForms()[state.range(0)];
  const NodePosterior posterior = RandomPosterior(25);
  const std::vector<double> features = RandomArms(25, 25);
  const std::vector<const double*> arms = PointersTo(features, 25);
  std::vector<double> means(25);
  std::vector<double> squares(25);
  for (auto _ : state) {
    kernel.compute(posterior.covariance.data(), posterior.mean.data(), 25, arms.data(), 25,
                   means.data(), squares.data());
    benchmark::DoNotOptimize(squares.data());
  }
  state.SetLabel(kernel.name);
}
BENCHMARK(BM_QuadraticForms)->DenseRange(0, static_cast<int>(SupportedQuadraticForms().size()) - 1);

// As above by Eigen and by BLAS: the arms first become the rows of one matrix.
void BM_QuadraticFormsEigen(benchmark::State& state) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const NodePosterior posterior = RandomPosterior(25);
  const std::vector<double> features = RandomArms(25, 25);
  const std::vector<const double*> arms = PointersTo(features, 25);
  const Eigen::Map<const RowMajor> k(posterior.covariance.data(), 25, 25);
  const Eigen::Map<const Eigen::VectorXd> mean(posterior.mean.data(), 25);
  RowMajor x(25, 25);
  RowMajor product(25, 25);
  Eigen::VectorXd means(25);
  Eigen::VectorXd squares(25);
  for (auto _ : state) {
    for (int a = 0; a < 25; ++a) std::copy_n(arms[a], 25, x.data() + a * 25);
    product.noalias() = x * k;
    squares = product.cwiseProduct(x).rowwise().sum();
    means.noalias() = x * mean;
    benchmark::DoNotOptimize(squares.data());
    benchmark::DoNotOptimize(means.data());
  }
}
BENCHMARK(BM_QuadraticFormsEigen);

void BM_QuadraticFormsBlas(benchmark::State& state) {
  const NodePosterior posterior = RandomPosterior(25);
  const std::vector<double> features = RandomArms(25, 25);
  const std::vector<const double*> arms = PointersTo(features, 25);
  std::vector<double> x(25 * 25);
  std::vector<double> product(25 * 25);
  std::vector<double> means(25);
  std::vector<double> squares(25);
  for (auto _ : state) {
    for (int a = 0; a < 25; ++a) std::copy_n(arms[a], 25, x.data() + a * 25);
    Multiply(x.data(), posterior.covariance.data(), 25, 25, 25, product.data());
    cblas_dgemv(CblasRowMajor, CblasNoTrans, 25, 25, 1, x.data(), 25, posterior.mean.data(), 1, 0,
                means.data(), 1);
    for (int a = 0; a < 25; ++a)
      squares[a] = cblas_ddot(25, product.data() + a * 25, 1, x.data() + a * 25, 1);
    benchmark::DoNotOptimize(squares.data());
    benchmark::DoNotOptimize(means.data());
  }
  state.SetLabel(AlgebraKernels());
}
BENCHMARK(BM_QuadraticFormsBlas);

// Argument: k. K -= V V' on the lower triangle of 2500 x 2500; then syrk itself.
void BM_AddOuter(benchmark::State& state) {
  const int k = static_cast<int>(state.range(0));
  const int n = 2500;
  std::vector<double> c(static_cast<std::size_t>(n) * n, 1.0);
  const std::vector<double> v(static_cast<std::size_t>(n) * k, 1e-6);
  for (auto _ : state) {
    AddOuter(-1, v.data(), k, n, c.data());
    benchmark::ClobberMemory();
  }
  state.SetLabel(AlgebraKernels());
}
BENCHMARK(BM_AddOuter)->Arg(1)->Arg(8)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

void BM_Syrk(benchmark::State& state) {
  const int k = static_cast<int>(state.range(0));
  const int n = 2500;
  std::vector<double> c(static_cast<std::size_t>(n) * n, 1.0);
  const std::vector<double> v(static_cast<std::size_t>(n) * k, 1e-6);
  for (auto _ : state) {
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, n, k, -1, v.data(), n, 1, c.data(), n);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_Syrk)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

constexpr int kNodes = 100;
constexpr int kDimension = 25;

std::unique_ptr<BanditModel> ColinModel() {
  Graph graph;
  graph.nodes = kNodes;
  for (int u = 0; u < kNodes; ++u) {
    graph.entries.push_back({u, u, 1.0});
    graph.entries.push_back({u, (u + 1) % kNodes, 0.3});
    graph.entries.push_back({(u + 1) % kNodes, u, 0.3});
  }
  auto coupling = Coupling::CoLin(graph, kDimension);
  BANDANA_CHECK(coupling.ok());
  auto model = BanditModel::Create({.dimension = kDimension}, *std::move(coupling));
  BANDANA_CHECK(model.ok());
  return *std::move(model);
}

struct EventData {
  std::vector<std::vector<double>> features;
  std::vector<Event> events;
};

EventData RandomEvents(int count, int nodes) {
  TestRng rng(3);
  EventData data;
  for (int i = 0; i < count; ++i) data.features.push_back(rng.UnitVector(kDimension));
  for (int i = 0; i < count; ++i)
    data.events.push_back({rng.Index(nodes), data.features[i], rng.Normal()});
  return data;
}

// Argument: events per call. CoLin, N = 100, d = 25.
void BM_UpdateColin(benchmark::State& state) {
  const auto model = ColinModel();
  const EventData data = RandomEvents(static_cast<int>(state.range(0)), kNodes);
  for (auto _ : state) model->Apply(data.events);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_UpdateColin)->Arg(1)->Arg(8)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

// LAPACK's factorization and inverse of a matrix of as many rows as BM_RebuildColin's.
void BM_LapackFactorAndInverse(benchmark::State& state) {
  const int n = kNodes * kDimension;
  std::vector<double> matrix(static_cast<std::size_t>(n) * n, 0.01);
  for (int i = 0; i < n; ++i) matrix[i * (static_cast<std::size_t>(n) + 1)] = 2;
  std::vector<double> a = matrix;
  for (auto _ : state) {
    state.PauseTiming();
    std::copy(matrix.begin(), matrix.end(), a.begin());
    state.ResumeTiming();
    BANDANA_CHECK(LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, a.data(), n) == 0);
    BANDANA_CHECK(LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', n, a.data(), n) == 0);
  }
}
BENCHMARK(BM_LapackFactorAndInverse)->Unit(benchmark::kMillisecond)->Iterations(3);

void BM_RebuildColin(benchmark::State& state) {
  const auto model = ColinModel();
  model->Apply(RandomEvents(10'000, kNodes).events);
  for (auto _ : state) model->Rebuild();
}
BENCHMARK(BM_RebuildColin)->Unit(benchmark::kMillisecond)->Iterations(3);

// Argument: events per call. Independent users, d = 25.
void BM_UpdateIndependent(benchmark::State& state) {
  auto model =
      *BanditModel::Create({.dimension = kDimension, .nodes_max = 1000}, Coupling::Independent());
  for (int u = 0; u < 1000; ++u) BANDANA_CHECK(model->AddNode().ok());
  const int count = static_cast<int>(state.range(0));
  const EventData data = RandomEvents(4096, 1000);
  std::size_t next = 0;
  for (auto _ : state) {
    model->Apply(std::span(data.events).subspan(next, count));
    next = (next + count) % 4096;
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_UpdateIndependent)->Arg(1)->Arg(64);

// A model of one user who has had so many events: of an independent user, held as events or as
// matrices, or of all users as one, always held as matrices and copied for readers.
std::unique_ptr<BanditModel> ModelOfOne(bool independent, int events) {
  auto model = *BanditModel::Create({.dimension = kDimension},
                                    independent ? Coupling::Independent() : Coupling::Shared());
  if (independent) BANDANA_CHECK(model->AddNode().ok());
  const EventData data = RandomEvents(std::max(events, 1), 1);
  for (int e = 0; e < events; ++e) model->Apply({&data.events[e], 1});
  return model;
}

// Arguments: whether independent, events so far. Scores of 25 arms.
void BM_ScoreUser(benchmark::State& state) {
  const auto model = ModelOfOne(state.range(0) != 0, static_cast<int>(state.range(1)));
  std::shared_ptr<const ServedPosterior> shown = model->Show(1);
  if (shown == nullptr)
    shown = std::make_shared<const PosteriorSnapshot>(kDimension, model->Posterior(0), 1);
  const std::vector<double> features = RandomArms(25, kDimension);
  const std::vector<const double*> arms = PointersTo(features, kDimension);
  ArmScores scores;
  NodePosterior scratch;
  for (auto _ : state) {
    shown->Score({.node = 0}, {.features = arms}, scratch, scores);
    benchmark::DoNotOptimize(scores.scores.data());
  }
}
BENCHMARK(BM_ScoreUser)->ArgsProduct({{0, 1}, {0, 1, 3, 8, 12, 100}});

// Arguments: whether independent, events so far. One event more, and what readers see of it.
void BM_UpdateUser(benchmark::State& state) {
  const bool independent = state.range(0) != 0;
  const int events = static_cast<int>(state.range(1));
  const EventData data = RandomEvents(1, 1);
  auto snapshot =
      std::make_shared<const PosteriorSnapshot>(kDimension, ModelOfOne(independent, 0)->Prior(), 1);
  constexpr int kTogether = 16;
  std::vector<std::unique_ptr<BanditModel>> models;
  std::size_t next = kTogether;
  for (auto _ : state) {
    if (next == kTogether) {
      state.PauseTiming();
      models.clear();
      for (next = 0; next < kTogether; ++next) models.push_back(ModelOfOne(independent, events));
      next = 0;
      state.ResumeTiming();
    }
    BanditModel& one = *models[next++];
    one.Apply(data.events);
    std::shared_ptr<const ServedPosterior> shown = one.Show(1);
    if (shown == nullptr) {
      snapshot = snapshot->With(snapshot->version() + 1, {0}, {one.Posterior(0)});
      shown = snapshot;
    }
    benchmark::DoNotOptimize(shown);
  }
}
BENCHMARK(BM_UpdateUser)->ArgsProduct({{0, 1}, {0, 3, 11, 100}})->Iterations(16'000);

// One event of one of 10,000 independent users, then the next snapshot.
void BM_PublishIndependent(benchmark::State& state) {
  auto model =
      *BanditModel::Create({.dimension = kDimension, .nodes_max = 10'000}, Coupling::Independent());
  for (int u = 0; u < 10'000; ++u) BANDANA_CHECK(model->AddNode().ok());
  const EventData data = RandomEvents(65'536, 10'000);
  std::size_t next = 0;
  std::shared_ptr<const ServedPosterior> shown;
  for (auto _ : state) {
    model->Apply({&data.events[next], 1});
    shown = model->Show(1);
    next = (next + 1) % data.events.size();
  }
}
BENCHMARK(BM_PublishIndependent);

// All 100 nodes of the CoLin model.
void BM_PublishColin(benchmark::State& state) {
  const auto model = ColinModel();
  std::vector<int> nodes = model->TakeChangedNodes();
  auto snapshot = std::make_shared<const PosteriorSnapshot>(kDimension, model->Prior(), kNodes);
  for (auto _ : state) {
    std::vector<NodePosterior> posteriors;
    for (int node : nodes) posteriors.push_back(model->Posterior(node));
    snapshot = snapshot->With(snapshot->version() + 1, nodes, std::move(posteriors));
  }
}
BENCHMARK(BM_PublishColin)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace bandana::testing
