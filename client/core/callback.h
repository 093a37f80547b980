// A closure to be called later.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace bandana::device {

// The pointer of every Callback. Its functions know no type, so that hundreds of closures have them
// once: std::function has a copy, a move and an end for each.
class SharedClosure {
 public:
  SharedClosure() = default;
  SharedClosure(const SharedClosure& other) : closure_(other.closure_) {
    if (closure_ != nullptr) closure_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedClosure(SharedClosure&& other) noexcept
      : closure_(std::exchange(other.closure_, nullptr)) {}
  // The former closure ends after the new one is in its place.
  SharedClosure& operator=(SharedClosure other) noexcept {
    std::swap(closure_, other.closure_);
    return *this;
  }
  ~SharedClosure() {
    if (closure_ != nullptr) Release(closure_);
  }

  explicit operator bool() const { return closure_ != nullptr; }
  friend bool operator==(const SharedClosure& a, std::nullptr_t) { return a.closure_ == nullptr; }

 protected:
  struct Closure {
    explicit Closure(void (*its_end)(Closure*)) : end(its_end) {}

    void (*const end)(Closure*);
    std::atomic<int> owners = 1;
  };
  explicit SharedClosure(Closure* closure) : closure_(closure) {}

  Closure* closure_ = nullptr;

 private:
  [[gnu::noinline]] static void Release(Closure* closure) {
    if (closure->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) closure->end(closure);
  }
};

template <typename Signature>
class Callback;

// As std::function, in one pointer, but copies are the same closure: what one call changes of its
// captures, the next one sees. Requires of a call that there is a closure. Threads: as a
// shared_ptr.
template <typename Result, typename... Arguments>
class Callback<Result(Arguments...)> : public SharedClosure {
 public:
  Callback() = default;
  Callback(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  // Empty where `function` is an empty std::function or Callback.
  template <typename Function>
  requires(!std::is_base_of_v<Callback, std::remove_cvref_t<Function>> &&
           std::is_invocable_r_v<Result, std::decay_t<Function>&, Arguments...>)
      Callback(Function&& function) {  // NOLINT(google-explicit-constructor)
    if constexpr (requires { function.operator bool(); }) {
      if (!function) return;
    }
    closure_ = new Made<std::decay_t<Function>>(std::forward<Function>(function));
  }

  Result operator()(Arguments... arguments) const {
    return static_cast<Callable*>(closure_)->call(closure_, std::forward<Arguments>(arguments)...);
  }

 private:
  template <typename Argument>
  using Passed = std::conditional_t<std::is_scalar_v<Argument>, Argument, Argument&&>;
  struct Callable : Closure {
    using Call = Result(Closure*, Passed<Arguments>...);
    Callable(void (*its_end)(Closure*), Call* its_call) : Closure(its_end), call(its_call) {}

    Call* const call;
  };
  template <typename Function>
  struct Made final : Callable {
    template <typename Given>
    explicit Made(Given&& given)
        : Callable([](Closure* closure) { delete static_cast<Made*>(closure); },
                   [](Closure* closure, Passed<Arguments>... arguments) -> Result {
                     auto& function = static_cast<Made*>(closure)->function;
                     if constexpr (std::is_void_v<Result>) {
                       function(std::forward<Arguments>(arguments)...);
                     } else {
                       return function(std::forward<Arguments>(arguments)...);
                     }
                   }),
          function(std::forward<Given>(given)) {}

    Function function;
  };
};

}  // namespace bandana::device
