#include "server/ops/config/recipes.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "bandana/v1/config.pb.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "nlohmann/json.hpp"
#include "server/api/json_writer.h"

namespace bandana::server {
namespace {

constexpr std::string_view kClicks =
    R"(# Clicks on articles, products or banners: which one to show now.
#   bandana-server --config FILE --data_dir DIR        serves it
#   bandana-server --config FILE --check_config        explains it, entry by entry
models {
  name: "clicks"

  # Values that the application sends in `context` and of each arm (docs/design/features.md). Replace these fields by
  # yours; `bandana-ctl features fit EXAMPLES.jsonl` proposes some.
  features {
    bias: true                     # the click rate that everything has
    context { name: "device" categorical { values: ["ios", "android", "web"] } }
    context { name: "hour" cyclic { period: 24 } }
    arm { name: "category" categorical { hash_bits: 4 } }
    arm { name: "age_hours" numeric { low: 0.1 high: 1000 log: true } }
    arm { name: "tags" set { hash_bits: 4 } }
    # Crosses tell what one context likes from what another does: without them, all contexts rank alike.
    crosses { a: "device" b: "category" }
    crosses { a: "hour" b: "category" }
  }

  # Of everybody, of each user, of each arm: an arm that is popular, a user who clicks much. And of pairs: what this user
  # thinks of this arm, as users meet the same arms again. Without pairs a catalogue of a million arms is searched, and
  # devices can choose by themselves.
  effects { standard { pairs: true } }

  # A reward is 1 for a click, 0 for none.
  reward_min: 0
  reward_max: 1
  reward_binary: true
  reward_stddev: 0.3               # noise of one reward: about sqrt(p (1 - p)); 0.3 suits click rates of 5 to 20 %
  exploration { alpha: 0.3 }       # more tries more; 0 never tries

  # No click within 30 minutes counts as none: the application reports clicks alone. It must be called for every
  # decision that is shown, so that none counts as seen that was not.
  reporting { reward_window { duration { seconds: 1800 } default_reward: 0 } }
  mode: NON_PRIVATE                # the server sees clicks; "notifications" shows the private form
}
)";

constexpr std::string_view kRatings = R"(# Ratings of films, songs or meals, from 1 to 5 stars.
#   bandana-server --config FILE --data_dir DIR        serves it
#   bandana-server --config FILE --check_config        explains it, entry by entry
models {
  name: "ratings"

  # Replace these fields by yours; `bandana-ctl features fit EXAMPLES.jsonl` proposes some.
  features {
    bias: true                     # the mean of all ratings
    context { name: "mood" categorical { hash_bits: 3 } }
    arm { name: "genres" set { hash_bits: 4 } }
    arm { name: "year" numeric { low: 1950 high: 2030 } }
    arm { name: "title" text { hash_bits: 5 } }
    crosses { a: "mood" b: "genres" }
  }
  # Of everybody, of each user, of each film: who rates high, what is rated high.
  effects { standard {} }

  reward_min: 1
  reward_max: 5
  reward_stddev: 1                 # ratings of one film by one user differ by about a star
  exploration { alpha: 0.3 }

  # A rating counts when it comes; what is not rated teaches nothing.
  mode: NON_PRIVATE
  token_lifetime { seconds: 604800 }   # a week to rate what was shown
}
)";

constexpr std::string_view kNotifications =
    R"(# Which notification to send, learnt from randomized reactions: each device adds the noise, by the SDK, before anything
# leaves it. The server never sees who opened what.
#   bandana-server --config FILE --data_dir DIR        serves it
#   bandana-server --config FILE --check_config        explains it, entry by entry
models {
  name: "notifications"

  # Bounds and values are public and part of the policy that devices check. Declare them, or take them from public
  # data, never from what users did.
  features {
    bias: true
    context { name: "hour" cyclic { period: 24 } }
    context { name: "weekend" boolean {} }
    arm { name: "kind" categorical { values: ["message", "offer", "reminder", "news"] } }
    arm { name: "urgent" boolean {} }
    crosses { a: "hour" b: "kind" }
    crosses { a: "weekend" b: "kind" }
  }
  effects { standard {} }          # of everybody, of each user, of each notification

  # 1 for an opened notification, 0 for one that was not.
  reward_min: 0
  reward_max: 1
  reward_binary: true
  reward_stddev: 0.3               # of the reaction alone: the randomizer's noise is added by itself
  exploration { alpha: 0.3 }

  mode: LOCAL_REWARD
  privacy {
    epsilon: 2                     # per reaction: at most e^2 times as likely with the other reaction
    events_per_user_max: 1000      # what a user spends in all is at most 1000 times as much
  }
  # Every decision is reported when its hour is over, opened or not: that a report comes says nothing.
  reporting { reward_window { duration { seconds: 3600 } default_reward: 0 } }
}
)";

constexpr std::string_view kCatalogue =
    R"(# A catalogue that the server keeps: callers send a context and ask for arms by tags. For up to a million arms.
#   bandana-server --config FILE --data_dir DIR        serves it
#   bandana-server --config FILE --check_config        explains it, entry by entry
# Arms come by Admin.PutArms, with name, tags and named_features.
models {
  name: "catalogue"

  # Replace these fields by yours; `bandana-ctl features fit EXAMPLES.jsonl` proposes some.
  features {
    bias: true
    context { name: "device" categorical { values: ["ios", "android", "web"] } }
    context { name: "hour" cyclic { period: 24 } }
    arm { name: "price" numeric { low: 1 high: 500 log: true } }
    arm { name: "brand" categorical { hash_bits: 5 } }
    arm { name: "title" text { hash_bits: 5 } }
    crosses { a: "device" b: "price" }
    crosses { a: "hour" b: "brand" }
  }
  effects { standard {} }          # of everybody, of each user, of each product
  arms_max: 1000000

  # The reward is what the sale was worth, as a share of the most that counts.
  reward_min: 0
  reward_max: 1
  reward_stddev: 0.2               # most decisions sell nothing
  exploration { alpha: 0.3 }

  # A sale within a day counts; nothing sold by then counts as 0.
  reporting { reward_window { duration { seconds: 86400 } default_reward: 0 } }
  token_lifetime { seconds: 86400 }
  mode: NON_PRIVATE
}
# A query may match the whole catalogue.
limits { arms_per_request_max: 10000 }
)";

constexpr std::string_view kPersonalizer =
    R"(# For clients of Azure Personalizer, which go on with another endpoint (docs/http.md, "Personalizer").
#   bandana-server --config FILE --data_dir DIR        serves it
#   bandana-server --config FILE --check_config        explains it, entry by entry
api_listen: "127.0.0.1:7073"       # the client's endpoint: http://127.0.0.1:7073

# Begin so: each Rank answers your first action, and the loop learns from its rewards. `bandana-ctl stats --model
# personalizer` says how often it would have chosen the same. To go live take `apprentice: true` out, and start the
# server again.
api { personalizer { model: "personalizer" apprentice: true } }

models {
  name: "personalizer"
  dimension: 128                   # of hashed features; with a `features` schema values come by name instead
  shared {}                        # one loop for all users, as Personalizer has it

  # As your loop: one action in five is drawn evenly, the others are the best so far. Answers carry the probabilities.
  policy { uniform_mix { uniform_share: 0.2 } }

  reward_min: 0
  reward_max: 1

  # Your default reward and reward wait time.
  reporting { reward_window { duration { seconds: 600 } default_reward: 0 } }
  mode: NON_PRIVATE
}
)";

// Words that --try changes, and what they become.
using Words = std::pair<std::string_view, std::string_view>;
constexpr Words kClicksTry[] = {{"within 30 minutes", "within 5 seconds"},
                                {"seconds: 1800", "seconds: 5"}};
constexpr Words kNotificationsTry[] = {{"its hour is over", "its 5 seconds are over"},
                                       {"seconds: 3600", "seconds: 5"}};
constexpr Words kCatalogueTry[] = {{"A sale within a day", "A sale within 5 seconds"},
                                   {"duration { seconds: 86400 }", "duration { seconds: 5 }"}};
constexpr Words kPersonalizerTry[] = {{"seconds: 600", "seconds: 5"}};

constexpr std::string_view kTry =
    "# To try it out: rewards count within seconds, so that something is learnt while you look on. "
    "For users print it\n# again without --try.\n";

struct NamedRecipe {
  std::string_view name;
  std::string_view text;
  std::span<const Words> to_try = {};
};
constexpr NamedRecipe kRecipes[] = {{"clicks", kClicks, kClicksTry},
                                    {"ratings", kRatings},
                                    {"notifications", kNotifications, kNotificationsTry},
                                    {"catalogue", kCatalogue, kCatalogueTry},
                                    {"personalizer", kPersonalizer, kPersonalizerTry}};

// The first sentence of the comment that a recipe begins with.
std::string AboutOf(std::string_view text) {
  const std::string words = absl::StrReplaceAll(ToAbsl(text.substr(2)), {{"\n# ", " "}});
  return words.substr(0, words.find(". ") + 1);
}

// The one model of a recipe's text.
nlohmann::ordered_json ModelOf(const std::string& text, absl::Duration token_lifetime_max) {
  v1::ServerConfig config;
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(text, &config));
  BANDANA_CHECK(config.models_size() == 1);
  v1::ModelConfig& model = *config.mutable_models(0);
  const std::int64_t seconds_max = absl::ToInt64Seconds(token_lifetime_max);
  if (model.token_lifetime().seconds() > seconds_max) {
    model.mutable_token_lifetime()->set_seconds(seconds_max);
  }
  const absl::StatusOr<std::string> json = ToJson(model);
  BANDANA_CHECK(json.ok());
  return nlohmann::ordered_json::parse(*json);
}

}  // namespace

absl::StatusOr<std::string> Recipe(std::string_view name, bool to_try) {
  const auto* const found = std::ranges::find(kRecipes, name, &NamedRecipe::name);
  if (found == std::end(kRecipes)) {
    return NotFound("no recipe is named so; there are ", RecipeNames());
  }
  std::string text(found->text);
  if (!to_try) return text;
  for (const auto& [from, to] : found->to_try) {
    absl::StrReplaceAll({{ToAbsl(from), ToAbsl(to)}}, &text);
  }
  return absl::StrCat(ToAbsl(kTry), text);
}

std::string RecipesJson(absl::Duration token_lifetime_max) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const NamedRecipe& recipe : kRecipes) {
    nlohmann::ordered_json one;
    one["name"] = recipe.name;
    one["about"] = AboutOf(recipe.text);
    one["config"] = ModelOf(*Recipe(recipe.name), token_lifetime_max);
    if (!recipe.to_try.empty()) {
      one["toTry"] = ModelOf(*Recipe(recipe.name, /*to_try=*/true), token_lifetime_max);
    }
    all.push_back(std::move(one));
  }
  return all.dump();
}

std::string RecipeNames() {
  std::string names;
  for (const NamedRecipe& recipe : kRecipes) {
    names += names.empty() ? "" : "|";
    names += recipe.name;
  }
  return names;
}

}  // namespace bandana::server
