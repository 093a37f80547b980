// Requests that models of a mode refuse although their form is right, beside what ModeRow says.
#pragma once

#include <string_view>

#include "bandana/v1/config.pb.h"

namespace bandana {

// The message where a model of the mode refuses it; empty where it does not, and for modes that
// this version does not know.
struct ModeLimits {
  v1::Mode mode = v1::MODE_UNSPECIFIED;
  // A name of a decision that could be guessed. What is kept of named decisions has one size there.
  std::string_view plain_names;
  // A limit of events per user, where users may share a node.
  std::string_view shared_limit;
};
const ModeLimits& LimitsOf(v1::Mode mode);

}  // namespace bandana
