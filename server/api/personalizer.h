// The API of Azure Personalizer (v1.0, and v1.1-preview.3 with several slots): its clients need
// another address and a token, no other code.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/api_calls.h"
#include "server/api/api_server.h"
#include "server/api/http_front.h"
#include "server/api/personalizer_calls.h"
#include "server/service/access/recently_used.h"

namespace bandana::server {

// Threads: all methods are safe.
class Personalizer {
 public:
  // Both references must outlive it.
  Personalizer(PersonalizerSettings settings, ApiCalls& calls);

  // Whether a path is one of this API's: /personalizer/...
  static bool Has(std::string_view path);
  // An error as this API writes it.
  static HttpAnswer Refused(const absl::Status& why, int status);
  // Answers a call of it, with the status and body that Personalizer would have.
  void Handle(const HttpCall& http, AnswerHttp answer);

 private:
  struct Target;   // what a path names
  struct Ranking;  // a call of rank on its way
  using Work = void (Personalizer::*)(const HttpCall&, const Target&, AnswerHttp);

  // `allowed`: the methods of the path; empty: there is no such path.
  static std::optional<Target> Find(const HttpCall& http, std::string_view& allowed);
  void Rank(const HttpCall& http, const Target& target, AnswerHttp answer);
  void RankNext(const std::shared_ptr<Ranking>& ranking);
  void Reward(const HttpCall& http, const Target& target, AnswerHttp answer);
  void Activate(const HttpCall& http, const Target& target, AnswerHttp answer);
  void Service(const HttpCall& http, const Target& target, AnswerHttp answer);

  // A call that came in, of the rpc; null: it was answered.
  std::shared_ptr<ApiCall> Begin(const HttpCall& http, std::string_view rpc,
                                 const AnswerHttp& answer);
  // The model that this API answers for. Errors: INVALID_ARGUMENT nobody says which;
  // PERMISSION_DENIED.
  absl::StatusOr<std::string> ModelOf(const Caller& caller) const;

  // The answer of GetModel for a model that takes raw rewards. Errors: of GetModel;
  // FAILED_PRECONDITION.
  absl::StatusOr<v1::GetModelResponse> Describe(const std::string& model) const;

  const PersonalizerSettings settings_;
  ApiCalls& calls_;
  // The slots of events that were deferred: a call that activates one does not name them.
  std::mutex mutex_;
  RecentlyUsed<std::vector<std::string>> deferred_slots_;
};

}  // namespace bandana::server
