// The inputs that Admin takes from the wire besides names: a model's configuration and a graph, as
// bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bandana/v1/admin.pb.h"
#include "common/base/check.h"
#include "common/design/coupling_message.h"
#include "common/design/planner/served_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bandana::v1::CreateModelRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  std::vector<bandana::ConfigError> errors;
  const auto spec = ParseServedModel(request.config(), "", /*allow_files=*/false, errors);
  BANDANA_CHECK(spec.has_value() == errors.empty());
  if (!spec || bandana::GraphOf(spec->config) == nullptr) return 0;
  bandana::v1::PutGraphRequest put;
  if (put.ParseFromArray(data, static_cast<int>(size))) {
    (void)bandana::MakeCoupling(spec->config, put.graph(), spec->public_spec.dimension);
  }
  return 0;
}
