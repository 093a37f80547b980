#include "tools/audit/transcript/asking.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/audit/transcript/scenario.h"

namespace bandana::audit {
namespace {

std::string UserOf(const Choice& choice) { return absl::StrCat(choice.user); }
Ranks RanksOf(const Choice& choice) { return Ranks(choice.top_k, choice.shown); }

void AddRanks(const Choice& choice, v1::SelectRequest& request) {
  request.set_top_k(static_cast<std::uint32_t>(choice.top_k));
  request.set_shown(static_cast<std::uint32_t>(choice.shown));
}

class Inline final : public Asking {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    AddRanks(choice, request);
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(choice.features.begin(),
                                                                           choice.features.end());
  }
  void Select(Client& client, const Choice& choice, Selected done) const override {
    client.SelectAsync(UserOf(choice), Arms::Inline(choice.features), RanksOf(choice),
                       std::move(done));
  }
};

class Catalogue final : public Asking {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    AddRanks(choice, request);
    request.mutable_arms()->mutable_catalogue_query();
  }
  void Select(Client& client, const Choice& choice, Selected done) const override {
    client.SelectAsync(UserOf(choice), Arms::Query({}), RanksOf(choice), std::move(done));
  }
};

class Point final : public Asking {
 public:
  void Add(const Choice&, v1::SelectRequest&) const override {}
  void Select(Client& client, const Choice& choice, Selected done) const override {
    client.SelectPointAsync(UserOf(choice), std::move(done));
  }
};

}  // namespace

const Asking& AsksInline() {
  static const Inline asking;
  return asking;
}
const Asking& AsksCatalogue() {
  static const Catalogue asking;
  return asking;
}
const Asking& AsksPoint() {
  static const Point asking;
  return asking;
}

}  // namespace bandana::audit
