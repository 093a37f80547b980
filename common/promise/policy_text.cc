// The text that a policy's hash is of, written. Devices that read it from a server need none of
// this: client/core/stand_in/policy_text.cc takes its place where no number can be printed.
#include "common/promise/policy_text.h"

#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/features/schema.h"
#include "common/features/schema_text.h"
#include "common/promise/mode.h"

namespace bandana {
namespace {

std::string_view ReportingName(const PublicSpec& spec) {
  if (spec.reward_window) return "reward_window";
  return spec.one_per_decision ? "one_per_decision" : "immediate";
}

// Lines of a policy beyond the fields that every one has, and the format that has them.
struct Section {
  int format = 1;
  std::string text;  // "": not of this policy
};

template <typename T>
Section SectionOf(int format, const std::optional<T>& part, std::string (*text)(const T&)) {
  return {format, part ? text(*part) : ""};
}

std::string CounterText(const CounterSpec& counter) {
  return absl::StrCat("counter_kind=", ServedName(counter.kind), "\n",
                      "counter_horizon=", counter.horizon, "\n",
                      "counter_steps_max=", counter.steps_max, "\n");
}

std::string ContextText(const ContextSpec& context) {
  return absl::StrCat("context_grid_bits=", context.grid_bits, "\n",
                      "context_parameters=", ToHex(context.parameters), "\n");
}

std::string LinkText(const PublicSpec& spec) {
  return spec.link == Link::kLogistic ? "link=LOGISTIC\n" : "";
}

// An SDK whose windows told of reactions refuses private models with one.
std::string GraceText(const PublicSpec& spec) {
  if (!spec.reward_window || !NamesGrace(spec.mode)) return "";
  return absl::StrCat("reward_grace_ns=", absl::ToInt64Nanoseconds(spec.reward_window->grace),
                      "\n");
}

// The policy's format is the largest of theirs.
std::vector<Section> SectionsOf(const PublicSpec& spec) {
  return {SectionOf(2, spec.counter, CounterText), SectionOf(3, spec.context, ContextText),
          Section{4, LinkText(spec)}, Section{5, GraceText(spec)},
          Section{6, spec.features ? spec.features->Text() : ""}};
}

}  // namespace

// docs/formats.md, section "policy hash", describes this text; a change of it is a change of the
// format's number. Models without a counter keep format 1, so that what devices have agreed to and
// spent under it stands.
std::string PolicyText(const PublicSpec& spec) {
  const auto window = spec.reward_window.value_or(RewardWindowSpec{});
  int format = 1;
  std::string sections;
  for (const Section& section : SectionsOf(spec)) {
    if (section.text.empty()) continue;
    format = section.format;
    sections += section.text;
  }
  const std::string text =
      absl::StrCat("bandana-policy-", format, "\n",                                          //
                   "model=", spec.name, "\n",                                                //
                   "dimension=", spec.dimension, "\n",                                       //
                   "feature_l2_max=", ExactNumber(spec.feature_l2_max), "\n",                //
                   "feature_out_of_range=", spec.reject_features ? "REJECT" : "CLIP", "\n",  //
                   "reward_min=", ExactNumber(spec.reward_range.min), "\n",                  //
                   "reward_max=", ExactNumber(spec.reward_range.max), "\n",                  //
                   "reward_binary=", spec.reward_binary ? 1 : 0, "\n",                       //
                   "mode=", ModeName(spec.mode), "\n",                                       //
                   "mechanism=", MechanismName(spec.mechanism), "\n",                        //
                   "epsilon=", ExactNumber(spec.epsilon.value), "\n",                        //
                   "delta=", ExactNumber(spec.delta.value), "\n",                            //
                   "unit_of_privacy=", spec.unit_of_privacy, "\n",                           //
                   "guarantee=", spec.guarantee, "\n",                                       //
                   "events_per_user_max=", spec.events_per_user_max, "\n",                   //
                   "research=", spec.research ? 1 : 0, "\n",                                 //
                   "reporting=", ToAbsl(ReportingName(spec)), "\n",                          //
                   "reward_window_ns=", absl::ToInt64Nanoseconds(window.duration), "\n",     //
                   "default_reward=", ExactNumber(window.default_reward), "\n",              //
                   "token_lifetime_ns=", absl::ToInt64Nanoseconds(spec.token_lifetime), "\n");
  return text + sections;
}

}  // namespace bandana
