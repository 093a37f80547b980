#include "tools/audit/transcript/asking.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

// One of its two slots has the scenario's reaction, the other never any.
class SlotsOfSdk final : public Asking {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    request.set_slots(2);
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(choice.features.begin(),
                                                                           choice.features.end());
  }
  void Select(Client& client, const Choice& choice, Selected done) const override {
    client.SelectSlotsAsync(UserOf(choice), Arms::Inline(choice.features), 2,
                            [reacted = static_cast<std::size_t>(choice.number % 2),
                             done = std::move(done)](absl::StatusOr<std::vector<Selection>> slots) {
                              if (!slots.ok()) return done(slots.status());
                              done(std::move((*slots)[reacted]));
                            });
  }
};

// By name where a scenario's choice asks; its other readers have none.
class Named : public Asking {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    request.set_decision_id(NameOf(choice));
    request.mutable_arms()->mutable_inline_arms()->mutable_features()->Add(choice.features.begin(),
                                                                           choice.features.end());
  }
  void Select(Client&, const Choice&, Selected done) const override {
    done(absl::UnimplementedError("the SDK names no decisions"));
  }
  std::string NameOf(const Choice& choice) const override {
    return choice.number < 0 ? "" : absl::StrCat("choice-", choice.number);
  }
};

class Slots final : public Named {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    Named::Add(choice, request);
    request.set_slots(2);
    if (choice.number % 2 == 0) return;
    request.add_slot_baselines(1);
    request.add_slot_baselines(0);
  }
};

class Deferred final : public Named {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    Named::Add(choice, request);
    if (choice.number < 0) {
      request.set_learn(false);
      return;
    }
    request.set_deferred(true);
    request.set_baseline(0);
  }
  bool defers() const override { return true; }
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
const Asking& AsksSlotsOfSdk() {
  static const SlotsOfSdk asking;
  return asking;
}
const Asking& AsksSlots() {
  static const Slots asking;
  return asking;
}
const Asking& AsksDeferred() {
  static const Deferred asking;
  return asking;
}
const Asking& AsksPoint() {
  static const Point asking;
  return asking;
}

}  // namespace bandana::audit
