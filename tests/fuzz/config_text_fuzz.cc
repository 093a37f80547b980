// Server configurations: any text parses, or its mistakes are named; what parses is judged without
// files.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "common/design/model_spec.h"
#include "server/ops/config/config_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bandana::server::ParsedText parsed;
  bandana::server::ParseText({reinterpret_cast<const char*>(data), size}, parsed);
  BANDANA_CHECK(parsed.complete || !parsed.mistakes.empty());
  for (const auto& model : parsed.config.models()) {
    std::vector<bandana::ConfigError> errors;
    const auto spec = bandana::ParseModelConfig(model, "", /*allow_files=*/false, errors);
    BANDANA_CHECK(spec.has_value() == errors.empty());
  }
  return 0;
}
