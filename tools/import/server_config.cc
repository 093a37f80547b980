// The written server.textproto. Its parameters were chosen on other event orders than those they
// are reported on; the figures stand in docs/import.md.
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "tools/import/import_text.h"

namespace bandana {
namespace {

constexpr std::string_view kHeader =
    R"(# Written by bandana-import. Start with: bandana-server --config server.textproto
# Relative paths resolve against this file's folder. Users are clusters of friends: users.tsv says who is in which.
)";

constexpr std::string_view kGraphHeader =
    R"(# Written by bandana-import. Start with: bandana-server --config server.textproto
# users.tsv says which groups of friends a user is in. Arms come with the requests, or from PutArms. Change `dimension`
# to the length of the feature vectors, and drop `reward_binary` where rewards are more than 0 and 1.
)";

constexpr std::string_view kSharedCoupling = "  shared {}\n";

// P = I over clusters. An independent coupling would hold a model a user, and a user has too few
// events.
constexpr std::string_view kClusterCoupling =
    R"(  # Every cluster learns by itself: W is the identity.
  colin {
    graph { kind: INFLUENCE file: "identity.mtx" }
    users { file: "users.tsv" }
  }
)";

constexpr std::string_view kColinCoupling =
    R"(  # W: friend pairs between clusters, one more on the diagonal, columns normalised.
  colin {
    graph { kind: INFLUENCE file: "influence.mtx" }
    users { file: "users.tsv" }
  }
)";

// Under the randomizer's noise clusters gain from leaning on each other more.
constexpr std::string_view kTightGoblinCoupling = R"(  goblin {
    graph { kind: EDGE_WEIGHTS file: "graph.mtx" }
    users { file: "users.tsv" }
    laplacian_weight: 5
  }
)";

constexpr std::string_view kGoblinCoupling = R"(  goblin {
    graph { kind: EDGE_WEIGHTS file: "graph.mtx" }
    users { file: "users.tsv" }
    laplacian_weight: 0.1
  }
)";

struct Model {
  std::string_view name;
  std::string_view coupling;
  std::string_view reward_stddev;
  std::string_view prior_stddev;
  std::string_view exploration;
  std::string_view epsilon;  // empty: not private
};

// Where not private: ridge regression with lambda = 1. Where private: reward_stddev is about that
// of a click, sqrt(p (1 - p)), and the server adds the randomizer's variance to its square by
// itself; prior_stddev is the size of an entry of theta.
constexpr Model kModels[] = {
    {"linucb-shared", kSharedCoupling, "1", "1", "alpha: 0.05", ""},
    {"linucb", kClusterCoupling, "1", "1", "alpha: 0", ""},
    {"colin", kColinCoupling, "1", "1", "alpha: 0.3", ""},
    {"goblin", kGoblinCoupling, "1", "1", "alpha_log: 0.1", ""},
    {"ldp-colin-eps1", kColinCoupling, "0.3", "0.55", "alpha: 0.1", "1"},
    {"ldp-colin", kColinCoupling, "0.3", "0.77", "alpha: 0.1", "2"},
    {"ldp-colin-eps5", kColinCoupling, "0.3", "0.55", "alpha: 0.1", "5"},
    {"ldp-goblin", kTightGoblinCoupling, "0.3", "3", "alpha: 0.3", "2"},
};

// The standard list of effects with its default scales; groups are the levels of users.tsv.
struct EffectsRow {
  std::string_view name;
  std::string_view epsilon;
};
constexpr EffectsRow kEffectsModels[] = {
    {"effects", ""},
    {"ldp-effects-eps1", "1"},
    {"ldp-effects", "2"},
    {"ldp-effects-eps5", "5"},
};

constexpr std::string_view kCatalogue = "  arms_file: \"arms.tsv\"\n";
constexpr std::string_view kWithPairs =
    "standard { pairs: true }  # users meet the same artists again";

void AppendStart(std::string_view name, int dimension, std::string& out) {
  absl::StrAppend(&out, "models {\n  name: \"", ToAbsl(name), "\"\n  dimension: ", dimension,
                  "\n  reward_max: 1\n  reward_binary: true\n");
}

void AppendMode(std::string_view epsilon, std::string& out) {
  if (epsilon.empty()) {
    out += "  mode: NON_PRIVATE\n";
  } else {
    absl::StrAppend(&out, "  mode: LOCAL_REWARD\n  privacy { epsilon: ", ToAbsl(epsilon),
                    " mechanism: REWARD_RANDOMIZER }\n");
  }
  out += "  reporting { one_per_decision: true }\n";
}

void AppendModel(const Model& model, int dimension, std::string& out) {
  AppendStart(model.name, dimension, out);
  absl::StrAppend(&out, ToAbsl(model.coupling), "  reward_stddev: ", ToAbsl(model.reward_stddev),
                  "\n  prior_stddev: ", ToAbsl(model.prior_stddev), "\n  exploration { ",
                  ToAbsl(model.exploration), " }\n");
  AppendMode(model.epsilon, out);
  absl::StrAppend(&out, ToAbsl(kCatalogue), "}\n");
}

// `standard`: which effects. `catalogue`: a line, or empty.
void AppendEffects(int dimension, int levels, std::string_view standard, std::string_view catalogue,
                   std::string& out) {
  for (const EffectsRow& model : kEffectsModels) {
    AppendStart(model.name, dimension, out);
    absl::StrAppend(&out, "  effects {\n    ", ToAbsl(standard), "\n");
    for (int level = 1; level <= levels; ++level) {
      absl::StrAppend(&out, "    user_groups: \"level", level, "\"\n");
    }
    out += "    users_file: \"users.tsv\"\n  }\n";
    AppendMode(model.epsilon, out);
    absl::StrAppend(&out, ToAbsl(catalogue), "}\n");
  }
}

}  // namespace

std::string ToServerConfig(int dimension, int levels) {
  std::string text(kHeader);
  for (const Model& model : kModels) AppendModel(model, dimension, text);
  if (levels > 0) AppendEffects(dimension, levels, kWithPairs, kCatalogue, text);
  return text;
}

std::string ToGraphServerConfig(int dimension, int levels) {
  std::string text(kGraphHeader);
  AppendEffects(dimension, levels, "standard {}", "", text);
  return text;
}

}  // namespace bandana
