// The server's last answers about a model, which outlive the process (ClientOptions::leave).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/core/journal.h"

namespace bandana::device {

class KeptAnswers {
 public:
  // `journal` outlives it. `kept`: as KeptRows::Of has read it.
  KeptAnswers(Journal* journal, std::string model, std::map<std::string, std::string> kept)
      : journal_(journal), model_(std::move(model)), kept_(std::move(kept)) {}

  static constexpr std::string_view kModel = "model";
  static constexpr std::string_view kPosterior = "posterior";
  static constexpr std::string_view kArmEffects = "arm effects";  // empty: the model has none
  static constexpr std::string_view kOfUser = "user ";            // then the user id

  const std::map<std::string, std::string>& all() const { return kept_; }
  // Null: none.
  std::unique_ptr<std::string> Find(std::string_view name) const {
    const auto found = kept_.find(std::string(name));
    return found == kept_.end() ? nullptr : std::make_unique<std::string>(found->second);
  }
  void Put(std::string_view name, std::string bytes) {
    kept_[std::string(name)] = bytes;
    journal_->Enqueue(
        [model = model_, name = std::string(name),
         bytes = std::move(bytes)](Transaction& transaction) {
          transaction.tables.kept().Put(model, name, bytes);
          return absl::OkStatus();
        },
        nullptr);
  }

 private:
  Journal* const journal_;
  const std::string model_;
  std::map<std::string, std::string> kept_;
};

}  // namespace bandana::device
