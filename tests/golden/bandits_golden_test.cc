// Golden traces of the four models: 300 decisions each, chosen by UCB from 8 random arms, with a
// rebuild on the way.
//
// tests/golden/bandits/<model>.txt has a header (format, seed, configuration) and one line per
// event:
//   event node action gap mean width digest
// gap is the distance of the two best scores, mean and width are the chosen arm's, and digest is
// the sum of |m_u| and |K_uu| over all nodes and entries after the event. Actions are compared
// exactly where the gap exceeds 1e-9, numbers to 1e-10 relative. Regenerate with
// BANDANA_UPDATE_GOLDEN=1 bandits_golden_test  and review the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bandits/coupling.h"
#include "common/bandits/graph.h"
#include "common/bandits/model.h"
#include "common/ranking/scoring.h"
#include "tests/support/test_rng.h"

namespace bandana {
namespace {

constexpr int kNodes = 5;
constexpr int kDimension = 4;
constexpr int kArms = 8;
constexpr int kEvents = 300;
constexpr std::uint64_t kSeed = 12;

struct Line {
  int node = 0;
  int action = 0;
  double gap = 0;
  double mean = 0;
  double width = 0;
  double digest = 0;
};

struct Config {
  std::string name;
  std::string text;  // into the header
  Coupling coupling;
  ExplorationRule exploration;
};

// A chain 0 - 1 - 2 and a pair 3 - 4.
Graph ChainAndPair() {
  Graph graph;
  graph.nodes = kNodes;
  const int edges[][2] = {{0, 1}, {1, 2}, {3, 4}};
  for (const auto& edge : edges) {
    graph.entries.push_back({edge[0], edge[1], 0.5});
    graph.entries.push_back({edge[1], edge[0], 0.5});
  }
  for (int u = 0; u < kNodes; ++u) graph.entries.push_back({u, u, 1});
  return graph;
}

std::vector<Config> Configs() {
  using Kind = ExplorationRule::Kind;
  const ExplorationRule constant = {.kind = Kind::kConstant, .alpha = 0.3};
  const ExplorationRule log = {.kind = Kind::kLog, .alpha = 0.1};
  const ExplorationRule bound = {
      .kind = Kind::kConfidence, .failure_probability = 0.1, .theta_l2_max = 0.5};
  return {
      {"linucb-shared", "alpha=0.3", Coupling::Shared(), constant},
      {"linucb", "confidence p=0.1 theta=0.5", Coupling::Independent(), bound},
      {"colin", "alpha=0.3 chain and pair of weight 0.5",
       Coupling::CoLin(ChainAndPair(), kDimension).value(), constant},
      {"goblin", "alpha_log=0.1 laplacian_weight=0.7 chain and pair of weight 0.5",
       Coupling::Goblin(ChainAndPair(), 0.7, kDimension).value(), log},
  };
}

std::string Header(const Config& config) {
  std::ostringstream header;
  header << "# bandana golden trace format=1 model=" << config.name << " seed=" << kSeed
         << " d=" << kDimension << " arms=" << kArms << " s2=0.25 tau2=2 " << config.text
         << "\n# event node action gap mean width digest\n";
  return header.str();
}

double Digest(const BanditModel& model) {
  double sum = 0;
  for (int u = 0; u < model.nodes(); ++u) {
    const NodePosterior posterior = model.Posterior(u);
    for (double v : posterior.mean) sum += std::abs(v);
    for (double v : posterior.covariance) sum += std::abs(v);
  }
  return sum;
}

std::vector<Line> RunTrace(const Config& config) {
  BanditModel::Options options{
      .dimension = kDimension, .observation_variance = 0.25, .prior_variance = 2};
  options.exploration = config.exploration;
  options.nodes_max = kNodes;
  const auto model = BanditModel::Create(options, config.coupling).value();
  if (config.coupling.independent()) {
    while (model->nodes() < kNodes) EXPECT_TRUE(model->AddNode().ok());
  }
  testing::TestRng rng(kSeed);
  // Uniform entries: exact on every machine, unlike normal ones.
  const auto draw = [&rng] {
    std::vector<double> x(kDimension);
    for (double& v : x) v = rng.Uniform() - 0.5;
    return x;
  };
  std::vector<std::vector<double>> theta;
  for (int u = 0; u < model->nodes(); ++u) theta.push_back(draw());

  std::vector<Line> lines;
  ArmScores scores;
  for (int t = 0; t < kEvents; ++t) {
    std::vector<double> arms;
    for (int a = 0; a < kArms; ++a) {
      const std::vector<double> x = draw();
      arms.insert(arms.end(), x.begin(), x.end());
    }
    Line line;
    line.node = rng.Index(model->nodes());
    ScoreArms(model->Posterior(line.node), arms, scores);
    const std::vector<int> ranked = RankArms(scores.scores, 2, static_cast<std::uint64_t>(t));
    line.action = ranked[0];
    line.gap = scores.scores[ranked[0]] - scores.scores[ranked[1]];
    line.mean = scores.means[line.action];
    line.width = scores.widths[line.action];
    const std::span<const double> x = std::span(arms).subspan(line.action * kDimension, kDimension);
    double reward = 0.2 * (rng.Uniform() - 0.5);
    for (int i = 0; i < kDimension; ++i) reward += theta[line.node][i] * x[i];
    const Event event = {line.node, x, reward};
    model->Apply({&event, 1});
    if (t == kEvents / 2) model->Rebuild();
    line.digest = Digest(*model);
    lines.push_back(line);
  }
  return lines;
}

std::string PathOf(const Config& config) {
  return absl::StrCat(BANDANA_GOLDEN_DIR, "/bandits/", config.name, ".txt");
}

void Write(const Config& config, const std::vector<Line>& lines) {
  std::ofstream out(PathOf(config));
  out << Header(config);
  for (std::size_t t = 0; t < lines.size(); ++t) {
    const Line& l = lines[t];
    char text[200];
    std::snprintf(text, sizeof text, "%zu %d %d %.15g %.15g %.15g %.15g\n", t, l.node, l.action,
                  l.gap, l.mean, l.width, l.digest);
    out << text;
  }
  ASSERT_TRUE(out.good()) << PathOf(config);
}

// Relative to the number or, near zero, to the scale of rewards (one).
void ExpectClose(double actual, double golden, const char* what) {
  EXPECT_LE(std::abs(actual - golden), 1e-10 * std::max(1.0, std::abs(golden))) << what;
}

void Compare(const Config& config, const std::vector<Line>& lines) {
  std::ifstream in(PathOf(config));
  ASSERT_TRUE(in.good()) << PathOf(config) << " is missing; BANDANA_UPDATE_GOLDEN=1 writes it";
  std::string header;
  std::string second;
  std::getline(in, header);
  std::getline(in, second);
  ASSERT_EQ(header + "\n" + second + "\n", Header(config));
  for (std::size_t t = 0; t < lines.size(); ++t) {
    SCOPED_TRACE(config.name + " event " + std::to_string(t));
    std::size_t event = 0;
    Line golden;
    ASSERT_TRUE(in >> event >> golden.node >> golden.action >> golden.gap >> golden.mean >>
                golden.width >> golden.digest);
    ASSERT_EQ(event, t);
    ASSERT_EQ(lines[t].node, golden.node);
    if (golden.gap > 1e-9) {
      ASSERT_EQ(lines[t].action, golden.action);
    } else if (lines[t].action != golden.action) {
      return;  // a tie fell the other way: what follows is another history
    }
    ExpectClose(lines[t].gap, golden.gap, "gap");
    ExpectClose(lines[t].mean, golden.mean, "mean");
    ExpectClose(lines[t].width, golden.width, "width");
    ExpectClose(lines[t].digest, golden.digest, "digest");
  }
  std::string rest;
  EXPECT_FALSE(in >> rest) << "the golden file is longer than the run";
}

TEST(BanditsGolden, TracesAreUnchanged) {
  for (const Config& config : Configs()) {
    const std::vector<Line> lines = RunTrace(config);
    if (std::getenv("BANDANA_UPDATE_GOLDEN") != nullptr) Write(config, lines);
    Compare(config, lines);
  }
}

}  // namespace
}  // namespace bandana
