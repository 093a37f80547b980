// Users of models.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace bandana::device {

class UserSet {
 public:
  void Add(std::string_view model, std::string_view user) {
    users_.emplace(std::string(model), std::string(user));
  }
  bool Contains(std::string_view model, std::string_view user) const {
    return !users_.empty() && users_.contains({std::string(model), std::string(user)});
  }

 private:
  std::set<std::pair<std::string, std::string>> users_;
};

}  // namespace bandana::device
