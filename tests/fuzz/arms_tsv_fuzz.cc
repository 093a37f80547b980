// arms.tsv: any text is arms within the limits or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"
#include "common/design/files/arms_tsv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const int dimension = 1 + data[0] % 8;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto arms = bandana::ParseArmsTsv(text, dimension, 100);
  if (!arms.ok()) return 0;
  BANDANA_CHECK(arms->size() <= 100);
  for (const auto& arm : *arms)
    BANDANA_CHECK(arm.features.size() == static_cast<std::size_t>(dimension));
  return 0;
}
