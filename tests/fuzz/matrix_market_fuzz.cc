// graph.mtx: any text is a graph or an error; a graph that validates survives being written and
// read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/bandits/graph.h"
#include "common/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto kind : {bandana::Graph::Kind::kEdgeWeights, bandana::Graph::Kind::kInfluence}) {
    const auto graph = bandana::ParseMatrixMarket(text, kind);
    if (!graph.ok() || !bandana::ValidateGraph(*graph).ok()) continue;
    const auto again = bandana::ParseMatrixMarket(bandana::ToMatrixMarket(*graph), kind);
    BANDANA_CHECK(again.ok());
    BANDANA_CHECK(again->nodes == graph->nodes);
  }
  return 0;
}
