// Who makes the call that this thread works on, for what belongs to a caller.
#pragma once

#include <string_view>

namespace bandana::server {

// Set by whoever takes a call in, around its handler. A handler that answers later asks before it
// returns. Not thread-safe; one per thread at a time.
class CurrentCaller {
 public:
  // The principal's name (NameOf); must outlive the object.
  explicit CurrentCaller(std::string_view name) : before_(name_) { name_ = name; }
  ~CurrentCaller() { name_ = before_; }
  CurrentCaller(const CurrentCaller&) = delete;
  CurrentCaller& operator=(const CurrentCaller&) = delete;

  // "" where nobody has said: callers of handlers without a transport.
  static std::string_view name() { return name_; }

 private:
  static inline thread_local std::string_view name_;
  const std::string_view before_;
};

}  // namespace bandana::server
