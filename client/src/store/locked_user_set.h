// Users of models, for every thread.
#pragma once

#include <mutex>
#include <string_view>

#include "client/core/user_set.h"

namespace bandana::device {

// Threads: safe.
class LockedUserSet final : public UserSet {
 public:
  void Add(std::string_view model, std::string_view user) override {
    const std::lock_guard lock(mutex_);
    UserSet::Add(model, user);
  }
  bool Contains(std::string_view model, std::string_view user) const override {
    const std::lock_guard lock(mutex_);
    return UserSet::Contains(model, user);
  }

 private:
  mutable std::mutex mutex_;
};

}  // namespace bandana::device
