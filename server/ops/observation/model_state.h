// Whether a server and its models are all right, in words: what a reader of the status page sees
// first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/ops/observation/model_view.h"

namespace bandana::server {

enum class Level { kGood, kWarning, kBad };

// A trouble, its remedy, and its begin, where that is known. Plain text, no end stops.
struct Trouble {
  std::string why;
  std::string remedy;
  std::optional<absl::Time> since;
};

struct State {
  Level level = Level::kGood;
  std::string word;               // "serving", "not learning", ...
  std::vector<Trouble> troubles;  // none while kGood
};

// A model whose posterior stands still for longer, while entries wait, is behind.
inline constexpr absl::Duration kStandsStillMax = absl::Minutes(1);

// The one place that makes a model's state of its health and of why it does not learn.
State StateOf(const ModelView& model);

// A certificate that ends within this time is a trouble.
inline constexpr absl::Duration kCertificateLeftMin = absl::Hours(7 * 24);

// The server's own, whatever its models do.
State StateOf(const ServerView& view, absl::Time now);

// "why. remedy. Since 2026-01-31 12:00:00 UTC (5m)", what is there of it.
std::string Words(const Trouble& trouble, absl::Time now);

}  // namespace bandana::server
