#include "server/log/log_engine.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "server/log/sqlite_engine.h"

namespace bandana::server {
namespace {

struct Row {
  std::string_view name;
  absl::StatusOr<std::shared_ptr<const LogEngine>> (*make)(std::string_view settings);
};

// The first one is the default.
constexpr Row kEngines[] = {
    {"sqlite", MakeSqliteEngine},
};

// The engine whose log the folder has; null when there is none.
std::shared_ptr<const LogEngine> HolderOf(const std::string& folder) {
  for (const Row& row : kEngines) {
    auto engine = row.make("");
    if (engine.ok() && (*engine)->Holds(folder)) return *std::move(engine);
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LogEngine>> MakeLogEngine(std::string_view setting) {
  if (setting.empty()) return DefaultLogEngine();
  const std::string_view name = setting.substr(0, setting.find(':'));
  const auto* const row = std::ranges::find(kEngines, name, &Row::name);
  if (row == std::end(kEngines)) {
    std::vector<absl::string_view> names;
    for (const Row& known : kEngines) names.push_back(ToAbsl(known.name));
    return InvalidArgument("must be one of ", absl::StrJoin(names, ", "), ", got ", ToAbsl(name));
  }
  return row->make(setting.substr(std::min(setting.size(), name.size() + 1)));
}

std::shared_ptr<const LogEngine> DefaultLogEngine() { return *kEngines[0].make(""); }

std::shared_ptr<const LogEngine> LogEngineOf(const std::string& folder) {
  std::shared_ptr<const LogEngine> holder = HolderOf(folder);
  return holder != nullptr ? holder : DefaultLogEngine();
}

absl::StatusOr<std::unique_ptr<UpdateLog>> OpenLog(const LogEngine& engine,
                                                   const std::string& folder, const LogUse& use) {
  if (!engine.Holds(folder)) {
    if (const auto holder = HolderOf(folder); holder != nullptr) {
      return FailedPrecondition("the log in ", folder, " is one of ", ToAbsl(holder->name()),
                                ", and the server's configuration says ", ToAbsl(engine.name()));
    }
  }
  return engine.Open(folder, use);
}

}  // namespace bandana::server
