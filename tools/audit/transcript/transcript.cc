#include "tools/audit/transcript/transcript.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/promise/privacy_rules.h"
#include "tools/audit/transcript/combination.h"
#include "tools/audit/transcript/full_disk.h"
#include "tools/audit/transcript/scenario.h"
#include "tools/audit/transcript/world.h"
#include "tools/base/json.h"

namespace bandana::audit {
namespace {

constexpr std::uint64_t kSchedulesToHappen = 10;  // of a combination
constexpr std::size_t kShown = 20;
constexpr std::size_t kShownOfSeed = 3;  // of one pair of worlds, unless there is one seed alone

// Every transaction is synced: in memory that costs nothing.
absl::StatusOr<std::string> MakeFolder(const std::string& given) {
  std::error_code error;
  const char* const in_memory = "/dev/shm";
  std::string parent = given;
  if (parent.empty()) {
    parent = std::filesystem::is_directory(in_memory, error)
                 ? in_memory
                 : std::filesystem::temp_directory_path(error).string();
  }
  std::string folder = parent + "/bandana-transcript-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return Unavailable("cannot make a folder in ", parent);
  return folder;
}

struct SeedResult {
  std::uint64_t pairs = 0;
  std::uint64_t reactions = 0;
  std::uint64_t fields = 0;
  std::array<std::uint64_t, kObservers> by_observer = {};
  std::uint64_t differences = 0;
  std::vector<FoundDifference> found;
};

absl::StatusOr<Comparison> Compare(WorldOptions world, const std::string& folder, bool& differed) {
  std::unique_ptr<Recorder> seen[2];
  for (int side = 0; side < 2; ++side) {
    world.side = side;
    world.folder = folder;
    BANDANA_ASSIGN_OR_RETURN(seen[side], RunWorld(world));
  }
  differed = seen[0]->differed() || seen[1]->differed();
  const std::size_t end = world.draws == Draws::kBlind ? std::numeric_limits<std::size_t>::max()
                                                       : FirstReleaseIn(*seen[0], *seen[1]);
  return Comparison::Of(*seen[0], *seen[1], end);
}

absl::StatusOr<SeedResult> RunSeed(std::uint64_t seed, const Mutant* mutant,
                                   const std::string& folder) {
  const Scenario scenario = ScenarioOf(seed);
  const Combination& combination = *scenario.combination;
  BANDANA_ASSIGN_OR_RETURN(const ModelSpec spec,
                           SpecOf(combination, scenario.window, scenario.token_lifetime));
  const bool central = IsCentralMode(spec.public_spec.mode);
  SeedResult result;
  for (const Draws draws : {Draws::kBlind, Draws::kReal}) {
    const WorldOptions world = {.scenario = &scenario,
                                .spec = &spec,
                                .draws = draws,
                                // By turns, among the seeds of a combination. Contexts reach
                                // the draws of a server alone.
                                .blind_at_server = central && !combination.raw_caller &&
                                                   (scenario.differs == Differs::kRound ||
                                                    seed / Combinations().size() % 2 == 1),
                                .mutant = mutant};
    bool differed = false;
    BANDANA_ASSIGN_OR_RETURN(const Comparison compared,
                             Compare(world, absl::StrCat(folder, "/", seed), differed));
    result.reactions += differed ? 1 : 0;
    ++result.pairs;
    result.fields += compared.fields;
    result.differences += compared.differences;
    for (int i = 0; i < kObservers; ++i) result.by_observer[i] += compared.by_observer[i];
    for (const Difference& difference : compared.first) {
      result.found.push_back({.seed = seed,
                              .pass = draws == Draws::kBlind ? "blind" : "real",
                              .combination = combination.name,
                              .kind = scenario.difference,
                              .where = difference});
    }
  }
  return result;
}

// Seeds on several threads; results by seed, so that the order of threads does not matter.
class Runner {
 public:
  Runner(const TranscriptOptions& options, std::string folder)
      : options_(options), folder_(std::move(folder)) {}

  absl::StatusOr<TranscriptResult> Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.threads); ++i) {
      threads.emplace_back([this] { Work(); });
    }
    for (std::thread& thread : threads) thread.join();
    BANDANA_RETURN_IF_ERROR(failure_);
    return Sum();
  }

 private:
  void Work() {
    while (!stop_) {
      const std::uint64_t index = next_.fetch_add(1);
      if (index >= options_.seeds) return;
      const std::uint64_t seed = options_.first_seed + index;
      auto result = RunSeed(seed, options_.mutant, folder_);
      const std::lock_guard lock(mutex_);
      if (!result.ok()) {
        failure_.Update(Annotate(result.status(), absl::StrCat("seed ", seed)));
        stop_ = true;
        return;
      }
      if (options_.stop_at_first && result->differences > 0) stop_ = true;
      results_[seed] = *std::move(result);
      if (options_.progress && results_.size() % 200 == 0) {
        absl::FPrintF(stderr, "transcript: %d of %d seeds\n", results_.size(), options_.seeds);
      }
    }
  }

  TranscriptResult Sum() const {
    TranscriptResult sum;
    std::set<std::size_t> combinations;
    std::set<std::string> happened;
    for (const auto& [seed, result] : results_) {
      combinations.insert(seed % Combinations().size());
      const std::string& name = Combinations()[seed % Combinations().size()].name;
      (result.reactions > 0 ? happened : sum.idle).insert(name);
      if (ScenarioOf(seed).differs == Differs::kRound) sum.rounds += result.pairs;
      sum.scenarios += result.pairs;
      ++sum.seeds;
      sum.reactions += result.reactions;
      sum.fields_compared += result.fields;
      sum.differences += result.differences;
      for (int i = 0; i < kObservers; ++i) sum.by_observer[i] += result.by_observer[i];
      std::size_t shown = options_.seeds == 1 ? kShown : kShownOfSeed;
      for (const FoundDifference& found : result.found) {
        if (shown == 0 || sum.first.size() >= kShown) break;
        sum.first.push_back(found);
        --shown;
      }
    }
    sum.combinations = combinations.size();
    for (const std::string& name : happened) sum.idle.erase(name);
    return sum;
  }

  const TranscriptOptions& options_;
  const std::string folder_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, SeedResult> results_;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<TranscriptResult> RunTranscripts(const TranscriptOptions& options) {
  BANDANA_RETURN_IF_ERROR(FullDisk::Install());
  BANDANA_ASSIGN_OR_RETURN(const std::string folder, MakeFolder(options.folder));
  auto result = Runner(options, folder).Run();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

bool IsSound(const TranscriptResult& result) {
  const bool must_happen = result.seeds >= kSchedulesToHappen * Combinations().size();
  return result.differences == 0 && !(must_happen && !result.idle.empty());
}

std::string ToJson(const TranscriptResult& result, const Mutant* mutant) {
  JsonWriter json;
  json.BeginObject().Key("scenarios").Integer(result.scenarios);
  json.Key("seeds").Integer(result.seeds);
  json.Key("combinations").Integer(result.combinations);
  json.Key("reactions").Integer(result.reactions);
  json.Key("rounds").Integer(result.rounds);
  json.Key("idle_combinations").Integer(result.idle.size());
  json.Key("fields_compared").Integer(result.fields_compared);
  json.Key("differences").Integer(result.differences);
  for (int i = 0; i < kObservers; ++i) {
    json.Key(absl::StrCat("compared_for_", std::string(ObserverName(static_cast<Observer>(i)))))
        .Integer(result.by_observer[i]);
  }
  if (mutant != nullptr) json.Key("mutant").Text(mutant->name);
  json.Key("first_differences").BeginArray();
  for (const FoundDifference& found : result.first) {
    json.BeginObject().Key("seed").Integer(found.seed);
    json.Key("pass").Text(found.pass);
    json.Key("combination").Text(found.combination);
    json.Key("reactions_differ_in").Text(found.kind);
    json.Key("observer").Text(ObserverName(found.where.observer));
    json.Key("step").Integer(static_cast<std::uint64_t>(found.where.step));
    json.Key("field").Text(found.where.field);
    json.Key("one").Text(absl::Utf8SafeCHexEscape(found.where.one));
    json.Key("other").Text(absl::Utf8SafeCHexEscape(found.where.other));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

std::string ToText(const TranscriptResult& result) {
  std::string text = absl::StrFormat(
      "scenarios %d  seeds %d  combinations %d of %d, idle %d  reactions %d  rounds %d  "
      "fields compared %d  differences %d\n",
      result.scenarios, result.seeds, result.combinations, Combinations().size(),
      result.idle.size(), result.reactions, result.rounds, result.fields_compared,
      result.differences);
  for (const std::string& name : result.idle) {
    absl::StrAppend(&text, "  idle: what differs never happened in ", name, "\n");
  }
  for (const FoundDifference& found : result.first) {
    absl::StrAppendFormat(&text, "  seed %d (%s draws, %s, %s), step %d, %s: %s: `%s` or `%s`\n",
                          found.seed, found.pass, found.combination, found.kind, found.where.step,
                          std::string(ObserverName(found.where.observer)), found.where.field,
                          absl::CHexEscape(found.where.one), absl::CHexEscape(found.where.other));
  }
  return text;
}

}  // namespace bandana::audit
