#include "server/ops/playground/playground.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kConfig = R"(# bandana-server --playground started with this.
listen: "127.0.0.1:7070"           # gRPC
http_listen: "127.0.0.1:7071"      # the page, and /metrics
api_listen: "127.0.0.1:7073"       # HTTP/JSON, and Personalizer's face
api { personalizer { model: "personalizer" } }

# Which of ten banners to show. The server sees clicks; one decision in ten is drawn evenly, so that the log can tell
# what the model brings above a choice at random.
models {
  name: "clicks"
  dimension: 10
  shared {}
  reward_min: 0
  reward_max: 1
  reward_binary: true
  policy { uniform_mix { uniform_share: 0.1 } }
  decision_log {}
  reporting { reward_window { duration { seconds: 5 } default_reward: 0 } }
  mode: NON_PRIVATE
}

# The same question, of people whose devices randomize each reaction before anything leaves them.
models {
  name: "private"
  dimension: 10
  shared {}
  reward_min: 0
  reward_max: 1
  reward_binary: true
  mode: LOCAL_REWARD
  privacy { epsilon: 2 mechanism: REWARD_RANDOMIZER }
  reporting { reward_window { duration { seconds: 5 } default_reward: 0 } }
}

# For clients of Azure Personalizer. Their features are hashed into so few places that visitors are learnt from
# within minutes: take 128 for your own.
models {
  name: "personalizer"
  dimension: 32
  shared {}
  reward_min: 0
  reward_max: 1
  policy { uniform_mix { uniform_share: 0.2 } }
  decision_log {}
  reporting { reward_window { duration { seconds: 5 } default_reward: 0 } }
  mode: NON_PRIVATE
}
)";

struct World {
  std::string_view model;
  std::string_view arms;  // of the world, as many as the model has features
  std::string_view seed;  // of what each arm is worth
};
constexpr World kWorlds[] = {
    {"clicks", "10", "7"}, {"private", "10", "8"}, {"personalizer", "32", "9"}};

}  // namespace

std::string_view PlaygroundConfig() { return kConfig; }

std::vector<PlaygroundVisitors> VisitorsOf(std::string_view listen) {
  std::vector<PlaygroundVisitors> visitors;
  for (const World& world : kWorlds) {
    const auto flag = [](const char* name, std::string_view value) {
      return absl::StrCat("--", name, "=", ToAbsl(value));
    };
    visitors.push_back(
        {.model = std::string(world.model),
         .arguments = {flag("target", listen), flag("model", world.model),
                       flag("environment", "mab"), "--set",
                       absl::StrCat("arms=", ToAbsl(world.arms)), flag("seed", world.seed),
                       flag("rate", "20"), flag("rounds", "1000000000")}});
  }
  return visitors;
}

std::string PlaygroundWords(const PlaygroundPlaces& places) {
  return absl::StrCat(
      "\nLook:     http://", places.http, "/\nConsole:  http://", places.api, "/console/\n",
      places.fleet.empty()
          ? "Visitors: none, because bandana-fleet is neither beside bandana-server nor in PATH\n"
          : absl::StrCat("Visitors: simulated, 20 decisions per second and model, by ",
                         places.fleet, "\n"),
      "Decide:   curl -s http://", places.api,
      "/personalizer/v1.0/rank -H 'Content-Type: application/json' \\\n"
      "            -d '{\"contextFeatures\": [{\"device\": \"phone\"}], \"actions\": [{\"id\": "
      "\"news\", "
      "\"features\": [{\"topic\": \"news\"}]},\n"
      "                {\"id\": \"sport\", \"features\": [{\"topic\": \"sport\"}]}]}'\n"
      "Models:   ",
      places.config, "\n", "Stop:     Ctrl-C",
      places.keeps_data ? "\n" : ", which removes all that was learnt (--data_dir DIR keeps it)\n");
}

}  // namespace bandana::server
