// The part of the pages about one model. Rewards of non-private models only, nothing of single
// users.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/model_state.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

// "local rewards"; "" where the view does not know: of a model that could not be opened it has no
// more than name and failure.
std::string ModeWords(const ModelView& model);

// "ε = 2, proven", as HTML.
std::string PromiseWords(const ModelView& model);

// The state's word in its colour, as HTML.
std::string StateWord(const State& state);
// The class of its colour.
const char* ClassOf(Level level);

// "/models/NAME".
std::string PathOf(const ModelView& model);

struct NamedSeries {
  const char* span;  // the words above its charts
  const Series& series;
};
inline constexpr const char* kRecentWords = "Last five minutes";
inline constexpr const char* kHourWords = "Last hour";

// The model's description, its promise and counts, charts, and what it has learnt.
std::string ModelSection(const ModelView& model, const std::vector<NamedSeries>& charts);

// The page at PathOf(model).
std::string ModelPage(const ModelView& model, const Series& recent, const Series& hour,
                      absl::Time now);

}  // namespace bandana::server
