// The server's last answers about a model, which outlive the process (ClientOptions::leave).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "client/core/journal.h"

namespace bandana::device {

// Threads: safe.
class KeptAnswers {
 public:
  // `kept`: as Store::KeptOf has read it.
  KeptAnswers(std::shared_ptr<Journal> journal, std::string model,
              std::map<std::string, std::string> kept)
      : journal_(std::move(journal)), model_(std::move(model)), kept_(std::move(kept)) {}

  static constexpr std::string_view kModel = "model";
  static constexpr std::string_view kPosterior = "posterior";
  static constexpr std::string_view kArmEffects = "arm effects";  // empty: the model has none
  static constexpr std::string_view kOfUser = "user ";            // then the user id

  std::map<std::string, std::string> all() const {
    const std::lock_guard lock(mutex_);
    return kept_;
  }
  // Null: none.
  std::unique_ptr<std::string> Find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(std::string(name));
    return found == kept_.end() ? nullptr : std::make_unique<std::string>(found->second);
  }
  void Put(std::string_view name, std::string bytes) {
    {
      const std::lock_guard lock(mutex_);
      kept_[std::string(name)] = bytes;
    }
    journal_->Enqueue(
        [model = model_, name = std::string(name),
         bytes = std::move(bytes)](Transaction& transaction) {
          transaction.tables.kept().Put(model, name, bytes);
          return absl::OkStatus();
        },
        nullptr);
  }

 private:
  const std::shared_ptr<Journal> journal_;
  const std::string model_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> kept_;
};

}  // namespace bandana::device
