// The table of couplings: one row for each case of ModelConfig.coupling, families without features
// of their own included.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/design/coupling_config.h"
#include "common/design/family.h"
#include "common/design/user_nodes.h"

namespace bandana {

// P of a coupling without a graph. Errors: INVALID_ARGUMENT, always.
absl::StatusOr<Coupling> NoGraph(const v1::ModelConfig& config, const Graph& graph, int dimension);

struct CouplingRow {
  v1::ModelConfig::CouplingCase id = v1::ModelConfig::COUPLING_NOT_SET;
  std::string_view name;  // of the field, and in identities
  const Family& (*family)() = nullptr;
  const UserNodes& (*users)() = OneNodeForAll;
  // Fills the spec from the coupling's message, see ParseCoupling. `checks` are inside of it.
  void (*parse)(const v1::ModelConfig& config, const FileSource& files, ModelSpec& spec,
                const FieldChecks& checks) = nullptr;
  // One line for people.
  std::string (*words)(const ModelSpec& spec) = nullptr;
  // P with this graph, of the message's `graph`. Errors: INVALID_ARGUMENT.
  absl::StatusOr<Coupling> (*of_graph)(const v1::ModelConfig& config, const Graph& graph,
                                       int dimension) = NoGraph;
};

std::span<const CouplingRow> Couplings();
// nullptr: the configuration names none.
const CouplingRow* FindCoupling(const v1::ModelConfig& config);
// The row of a checked configuration; one that names none is shared.
const CouplingRow& CouplingOf(const v1::ModelConfig& config);

}  // namespace bandana
