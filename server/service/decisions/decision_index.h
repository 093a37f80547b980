// Decisions that callers have named: what was answered, so that a repeated Select gets the same
// answer and a report needs no token. In memory, and in a file for the next start.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/sha256.h"
#include "server/service/decisions/answer_keys.h"

namespace bandana::server {

// A caller's name for a decision: under the model or alias that was asked, and of this caller.
struct DecisionName {
  std::string_view model;
  std::string_view caller;
  std::string_view id;
};

// The stored record of a named decision. It holds no reward: it is complete before anybody can
// react.
struct NamedAnswer {
  Sha256Digest content{};                // of the request: the same id with another one is refused
  absl::Time until;                      // no report of it is accepted from then on
  std::string maker;                     // the model that decided
  std::array<std::byte, 16> instance{};  // its instance
  Sha256Digest user{};                   // of its id
  Sha256Digest caller{};                 // of the name of who asked; zeros: not known
  std::string answer;                    // the response, as it was sent
};

// Whether this instance of the model is still served, or may be again. Called under a lock.
using IsServed =
    std::function<bool(std::string_view model, const std::array<std::byte, 16>& instance)>;

// Ids are known for as long as their reports can be accepted, in bounded memory: when it is full,
// further ones are refused. An answer is in the file some 10 ms after it was given, and before the
// index is closed. A process that dies in between forgets it, as the log forgets a decision whose
// entry was not durable: a repeated Select then decides anew, and reports by token still count.
// Threads: all methods are safe; only ForgetUsers waits for the disk.
class DecisionIndex {
 public:
  // How much memory answers may take.
  struct Limits {
    std::uint64_t bytes_max = std::uint64_t{256} << 20;
    // The decisions that one caller has named take less than this, so that nobody fills the index
    // for all.
    std::uint64_t caller_bytes_max = bytes_max / 4;
  };
  struct Options {
    std::string path;                  // "": in memory alone
    const AnswerKeys* keys = nullptr;  // seal what is in the file; needed with a path
    Limits limits;
    bool stepped = false;  // no thread: whoever keeps an answer writes it
    std::function<void(const std::string&)> warn = [](const std::string&) {};
  };
  // Reads what the file has, but for answers whose key is gone: their tokens are no longer good.
  // `clock` and the keys must outlive the index. Errors: DATA_LOSS a damaged file; UNAVAILABLE I/O.
  static absl::StatusOr<std::unique_ptr<DecisionIndex>> Open(Options options, const Clock& clock);
  ~DecisionIndex();
  DecisionIndex(const DecisionIndex&) = delete;
  DecisionIndex& operator=(const DecisionIndex&) = delete;

  // The right to answer under a name: others wait. Given up unless kept.
  class Claim {
   public:
    Claim(Claim&& other) noexcept
        : decision_index_(std::exchange(other.decision_index_, nullptr)),
          key_(other.key_),
          content_(other.content_),
          caller_(other.caller_) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim();
    // `answer.content` and `answer.caller` are filled in.
    void Keep(NamedAnswer answer);

   private:
    friend class DecisionIndex;
    Claim(DecisionIndex* decision_index, const Sha256Digest& key, const Sha256Digest& content,
          const Sha256Digest& caller)
        : decision_index_(decision_index), key_(key), content_(content), caller_(caller) {}
    DecisionIndex* decision_index_;
    Sha256Digest key_;
    Sha256Digest content_;
    Sha256Digest caller_;
  };

  // The answer that was given under the name, or the claim to give one. One of a model that is not
  // served any more does not count. Errors: ALREADY_EXISTS the name is of another request;
  // RESOURCE_EXHAUSTED no further name fits, or none of this caller; UNAVAILABLE it is being
  // answered at this moment.
  absl::StatusOr<std::variant<std::string, Claim>> Take(const DecisionName& name,
                                                        const Sha256Digest& content,
                                                        const IsServed& is_served);
  // The stored answer; nothing where the name is not known, or not any more.
  std::optional<std::string> Find(const DecisionName& name);

  // The stored answers for this user of an instance, in no order.
  std::vector<std::string> OfUser(const std::array<std::byte, 16>& instance,
                                  std::string_view user) const;
  // Forgets what was decided for these users of an instance: no byte of it is in the file on
  // return. Errors: UNAVAILABLE I/O: it is forgotten here, and a repeat finishes it.
  absl::Status ForgetUsers(const std::array<std::byte, 16>& instance,
                           std::span<const std::string> users);

  // For names from now on.
  void SetLimits(const Limits& limits);

  struct Figures {
    std::uint64_t ids = 0;
    std::uint64_t bytes = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t refused = 0;  // for want of room, since the start
  };
  Figures figures() const;

 private:
  class Body;
  explicit DecisionIndex(std::unique_ptr<Body> body);
  const std::unique_ptr<Body> body_;
};

}  // namespace bandana::server
