// Requests that a server's models of a mode refuse although their form is right, and sizes that
// they take, beside what ModeRow says.
#pragma once

#include <string_view>

#include "bandana/v1/config.pb.h"
#include "common/design/privacy_config.h"

namespace bandana {

// Messages where a model of the mode refuses it; empty where it does not. Nothing is said of modes
// that this version does not know.
struct ModeLimits {
  Mode mode = Mode::kUnspecified;
  // A name of a decision that could be guessed. Rows of named decisions have one size there.
  std::string_view plain_names;
  // A limit of events per user, where users may share a node.
  std::string_view shared_limit;
  // A rule that leaves out the arms that a user was shown, or was rewarded for.
  std::string_view no_shown;
  std::string_view no_rewarded = "is for mode NON_PRIVATE: what is on offer would tell of rewards";
  // A log of its decisions.
  std::string_view no_decision_log;
  // Whether a log of its decisions has contexts where the configuration does not say.
  bool logs_contexts = false;
  // So many of the ranks that were asked for have room in a token, however few arms were offered.
  int ranks_in_token = 0;
  // Takes what a configuration says of privacy.
  void (*parse_privacy)(ModelSpec& spec, const FieldChecks& checks) = ParsePrivate;
};
const ModeLimits& LimitsOf(Mode mode);

}  // namespace bandana
