#include "tools/audit/transcript/asking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/struct.pb.h"
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

// The choice's numbers decide what is on offer, and of it always enough.
SelectionRules RulesOf(const Choice& choice) {
  const auto number = [&](std::size_t i) {
    const double value = choice.features[i];
    return std::isfinite(value) ? std::clamp(value, -1.0, 1.0) : 0.0;
  };
  SelectionRules rules;
  rules.where = {{.field = "price", .min = number(0)}};
  rules.boosts = {{.tag = "even", .add = number(1)}, {.id = 5, .add = 0.25}};
  rules.pins = {{.id = 7, .rank = choice.top_k - 1}};
  rules.at_most = {{.tag = "odd", .count = 5}};
  return rules;
}

void AddRules(const Choice& choice, v1::SelectRequest& request) {
  const SelectionRules rules = RulesOf(choice);
  v1::SelectionRules& out = *request.mutable_rules();
  v1::FieldRange& range = *out.add_where();
  range.set_field(rules.where[0].field);
  range.set_min(*rules.where[0].min);
  v1::Boost& tag = *out.add_boosts();
  tag.set_tag(rules.boosts[0].tag);
  tag.set_add(rules.boosts[0].add);
  v1::Boost& id = *out.add_boosts();
  id.set_id(*rules.boosts[1].id);
  id.set_add(rules.boosts[1].add);
  v1::Pin& pin = *out.add_pins();
  pin.set_id(*rules.pins[0].id);
  pin.set_rank(static_cast<std::uint32_t>(rules.pins[0].rank));
  v1::GroupLimit& limit = *out.add_at_most();
  limit.set_tag(rules.at_most[0].tag);
  limit.set_count(static_cast<std::uint32_t>(rules.at_most[0].count));
}

class ByRules : public Asking {
 public:
  explicit ByRules(bool unseen) : unseen_(unseen) {}
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    AddRanks(choice, request);
    request.mutable_arms()->mutable_catalogue_query();
    AddRules(choice, request);
    if (!unseen_) return;
    v1::SeenRule& seen = *request.mutable_rules()->mutable_exclude_seen();
    seen.set_seen(v1::SeenRule::SHOWN);
    seen.mutable_within()->set_seconds(60);
  }
  void Select(Client& client, const Choice& choice, Selected done) const override {
    SelectionRules rules = RulesOf(choice);
    if (unseen_) rules.exclude_seen = {.seen = SeenRule::Seen::kShown, .within = absl::Minutes(1)};
    client.SelectAsync(UserOf(choice), Arms::Query({}).By(rules), RanksOf(choice), std::move(done));
  }

 private:
  const bool unseen_;
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

// Under a name of the caller's where a scenario's choice asks; its other readers have none.
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
    if (choice.plain_name) return absl::StrCat("order-", choice.number);
    // In the form that is asked for where contexts are private.
    return choice.number < 0 ? "" : absl::StrCat("name-of-a-choice-Zk4q9-", choice.number);
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

// The choice's numbers as values of the audit's schema. A value that is no number becomes a text,
// which no field here takes.
Features ContextOf(const Choice& choice) {
  const double hour = choice.features.front();
  return std::isfinite(hour) ? Features().Number("hour", hour) : Features().Text("hour", "odd");
}
std::vector<NamedArm> NamedArmsOf(const Choice& choice) {
  std::vector<NamedArm> arms;
  for (std::size_t i = 0; i + 2 < choice.features.size(); i += 3) {
    const double price = choice.features[i + 1];
    const double kind = choice.features[i + 2];
    NamedArm arm{.id = absl::StrCat("arm-", i / 3), .features = {}};
    std::isfinite(price) ? arm.features.Number("price", price) : arm.features.Text("price", "odd");
    arm.features.Text("kind", kind > 0.6 ? "unknown" : kind > 0 ? "new" : "used");
    arms.push_back(std::move(arm));
  }
  return arms;
}

google::protobuf::Value ToProto(const Features::Value& value) {
  google::protobuf::Value out;
  if (const auto* number = std::get_if<double>(&value)) out.set_number_value(*number);
  if (const auto* text = std::get_if<std::string>(&value)) out.set_string_value(*text);
  return out;
}
void Put(const Features& features, google::protobuf::Struct& out) {
  for (const auto& [name, value] : features.values()) {
    (*out.mutable_fields())[name] = ToProto(value);
  }
}

class ByFields : public Asking {
 public:
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    AddRanks(choice, request);
    Put(ContextOf(choice), *request.mutable_context());
    for (const NamedArm& arm : NamedArmsOf(choice)) {
      v1::NamedArm& out = *request.mutable_arms()->mutable_named_arms()->add_arms();
      out.set_id(arm.id);
      Put(arm.features, *out.mutable_features());
    }
  }
  void Select(Client& client, const Choice& choice, Selected done) const override {
    const Features context = ContextOf(choice);
    const std::vector<NamedArm> arms = NamedArmsOf(choice);
    client.SelectAsync(UserOf(choice), Arms::Named(arms).In(context), RanksOf(choice),
                       std::move(done));
  }
};

// As clients of Personalizer do: whatever is chosen first is shown.
class ByEvents : public ByFields {
 public:
  explicit ByEvents(bool defers) : defers_(defers) {}
  void Add(const Choice& choice, v1::SelectRequest& request) const override {
    ByFields::Add(choice, request);
    request.set_decision_id(NameOf(choice));
    request.set_deferred(defers_ && choice.number >= 0);
  }
  std::string NameOf(const Choice& choice) const override {
    // In the form that is asked for where contexts are private.
    return choice.number < 0 ? "" : absl::StrCat("event-of-a-choice-Zk4q9-", choice.number);
  }
  bool defers() const override { return defers_; }

 private:
  const bool defers_;
};

}  // namespace

const Asking& AsksNamed() {
  static const ByFields asking;
  return asking;
}
const Asking& AsksPersonalizer() {
  static const ByEvents asking(false);
  return asking;
}
const Asking& AsksPersonalizerLater() {
  static const ByEvents asking(true);
  return asking;
}
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
const Asking& AsksByRules() {
  static const auto& asking = *new ByRules(/*unseen=*/false);
  return asking;
}
const Asking& AsksUnseen() {
  static const auto& asking = *new ByRules(/*unseen=*/true);
  return asking;
}
const Asking& AsksPoint() {
  static const Point asking;
  return asking;
}

}  // namespace bandana::audit
