#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/families/families.h"

namespace bandana {
namespace {

constexpr int kSparsityDefault = 10;

class Sparse final : public Family {
 public:
  std::string_view name() const override { return "sparse"; }
  Scope scope() const override {
    return {.plural = "sparse models",
            .modes = {Mode::kJoint},
            .dimension_max = kSparseDimensionMax,
            .keeps = "each estimate is released once, of one episode by itself"};
  }
  absl::Status CheckRankedByDevices(const ModelSpec&) const override {
    return FailedPrecondition(
        "model is sparse: its estimate has no covariance; the server ranks arms, by Select");
  }
};

}  // namespace

const Family& SparseFamily() {
  static const auto& family = *new Sparse();
  return family;
}

void ParseSparseFamily(const v1::ModelConfig& config, const FileSource&, ModelSpec& spec,
                       const FieldChecks& checks) {
  const v1::SparseFamily& sparse = config.sparse();
  SparseSpec& out = spec.sparse.emplace();
  const int dimension = std::max(spec.public_spec.dimension, 1);
  const std::uint64_t sparsity =
      sparse.sparsity() == 0 ? std::min(kSparsityDefault, dimension) : sparse.sparsity();
  out.sparsity = static_cast<int>(checks.Count("sparsity", sparsity, 1, dimension));
  out.context_stddev = checks.Positive(
      "context_stddev", sparse.context_stddev() == 0 ? 1 : sparse.context_stddev(), kScaleMax);
  out.context_abs_max = checks.Positive(
      "context_abs_max",
      sparse.context_abs_max() == 0 ? out.context_stddev / 2 : sparse.context_abs_max(), kScaleMax);
}

std::string SparseWords(const ModelSpec& spec) {
  return absl::StrCat("FLIPHAT, one parameter of at most ", spec.sparse->sparsity,
                      " entries for all users (1 node)");
}

}  // namespace bandana
