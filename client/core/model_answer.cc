#include "client/core/model_answer.h"

#include <utility>

#include "common/base/status.h"
#include "common/promise/model_message.h"

namespace bandana::device {

absl::StatusOr<ModelAnswer> ReadModelAnswer(std::string_view response) {
  wire::Model model;
  if (!wire::Merge(response, model)) return Internal("the server's answer is not a model");
  BANDANA_ASSIGN_OR_RETURN(PublicSpec spec, ParsePublicSpec(model));
  return ModelAnswer{std::move(spec), model.epoch};
}

}  // namespace bandana::device
