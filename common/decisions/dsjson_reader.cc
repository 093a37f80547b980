#include "common/decisions/dsjson_reader.h"

#include <simdjson.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/decisions/json_parts.h"
#include "common/decisions/line_reader.h"

namespace bandana {
namespace {

namespace dom = simdjson::dom;

// Why a line is none: reason and message.
struct Problem {
  std::string_view reason = skip_reason::kMalformed;
  std::string message;
  bool any() const { return !message.empty(); }
};

Problem Malformed(std::string message) { return {skip_reason::kMalformed, std::move(message)}; }

bool GetText(const dom::object& object, std::string_view name, std::string& out) {
  std::string_view text;
  if (object[name].get(text) != simdjson::SUCCESS) return false;
  out = text;
  return true;
}

bool GetNumber(const dom::object& object, std::string_view name, double& out) {
  return object[name].get(out) == simdjson::SUCCESS && std::isfinite(out);
}

bool IsTrue(const dom::object& object, std::string_view name) {
  bool value = false;
  return object[name].get(value) == simdjson::SUCCESS && value;
}

bool Has(const dom::object& object, std::string_view name) {
  return object[name].error() == simdjson::SUCCESS;
}

// A list of numbers, or one number. False: another value.
template <typename T>
bool GetNumbers(const dom::object& object, std::string_view name, std::vector<T>& out) {
  out.clear();
  T one;
  dom::array array;
  if (object[name].get(array) != simdjson::SUCCESS) {
    if (object[name].get(one) != simdjson::SUCCESS) return false;
    out.push_back(one);
    return true;
  }
  for (const dom::element element : array) {
    if (element.get(one) != simdjson::SUCCESS || out.size() == kDecisionArmsMax) return false;
    out.push_back(one);
  }
  return true;
}

std::string ArmName(const dom::element& action) {
  dom::object object;
  std::string name;
  if (action.get(object) == simdjson::SUCCESS && GetText(object, "_tag", name) && !name.empty() &&
      name.size() <= kDecisionTextBytesMax) {
    return name;
  }
  name = simdjson::minify(action);
  if (name.size() <= kDecisionTextBytesMax) return name;
  const Sha256Digest digest = Sha256Of(name);
  name = "action-";
  for (std::size_t i = 0; i < 8; ++i) {
    absl::StrAppend(&name, absl::Hex(static_cast<std::uint8_t>(digest[i]), absl::kZeroPad2));
  }
  return name;
}

// The members that VW takes as shared features.
std::string ContextOf(const dom::object& c) {
  std::string context;
  for (const auto field : c) {
    if (field.key.starts_with("_")) continue;
    context += context.empty() ? '{' : ',';
    json_parts::AppendText(field.key, context);
    absl::StrAppend(&context, ":", simdjson::minify(field.value));
  }
  return context.empty() ? "" : context + "}";
}

// One draw as a line has it: actions from 0, with the law that is known of them.
struct Draw {
  std::uint64_t action = 0;  // chosen
  double probability = 0;    // of it
  double cost = 0;
  std::vector<std::uint64_t> actions;  // ranked
  std::vector<double> law;             // of these
};

// The order of the slot's arms is that of the actions. `taken`: those of the slots before.
Problem FillSlot(const Draw& draw, const std::vector<std::string>& names,
                 const std::vector<std::uint8_t>& taken, bool chosen_only, LoggedSlot& slot) {
  slot = LoggedSlot();
  if (draw.action >= names.size() || taken[draw.action] != 0) {
    return Malformed("the chosen action must be one of c._multi that no slot before has");
  }
  std::vector<double> law(names.size(), -1);
  for (std::size_t i = 0; i < draw.law.size(); ++i) {
    const std::uint64_t action = draw.actions[i];
    if (action >= names.size() || taken[action] != 0 || law[action] >= 0) {
      return Malformed(
          "the ranked actions must be of c._multi, each once, and none of a slot before");
    }
    law[action] = draw.law[i];
  }
  if (law[draw.action] >= 0 &&
      !(std::abs(law[draw.action] - draw.probability) <= kPropensitySumError)) {
    return {skip_reason::kPropensity,
            absl::StrCat("p: must be the label's probability for the chosen action, ",
                         draw.probability, ", got ", law[draw.action])};
  }
  law[draw.action] = draw.probability;
  // Where a law is listed, the others are not on offer; where the chosen action alone is, they are.
  const bool listed = draw.law.size() > 1;
  for (std::size_t action = 0; action < names.size(); ++action) {
    if (taken[action] != 0 || (listed && law[action] < 0)) continue;
    if (action == draw.action) slot.chosen = static_cast<std::uint32_t>(slot.names.size());
    slot.names.push_back(names[action]);
    if (listed && !chosen_only) slot.p.push_back(law[action]);
  }
  slot.offered = static_cast<std::uint32_t>(slot.names.size());
  slot.chosen_p = draw.probability;
  slot.state = RewardState::kKnown;
  slot.reward = draw.cost == 0 ? 0 : -draw.cost;
  return {};
}

// Ranked actions and their law; absent, the label's alone. `base`: what actions count from.
Problem ReadLaw(const dom::object& object, std::string_view actions, std::string_view law,
                std::uint64_t base, Draw& draw) {
  if (!Has(object, law) || !Has(object, actions)) {
    draw.actions.clear();
    draw.law.clear();
    return {};
  }
  if (!GetNumbers(object, actions, draw.actions) || !GetNumbers(object, law, draw.law) ||
      draw.actions.size() != draw.law.size() || draw.law.empty()) {
    return Malformed(
        absl::StrCat(ToAbsl(actions), " and ", ToAbsl(law), ": must be lists of one length"));
  }
  for (std::size_t i = 0; i < draw.law.size(); ++i) {
    if (!(draw.law[i] >= 0 && draw.law[i] <= 1)) {
      return {skip_reason::kPropensity,
              absl::StrCat(ToAbsl(law), ": must be in [0, 1], got ", draw.law[i])};
    }
    if (draw.actions[i] < base) {
      return Malformed(absl::StrCat(ToAbsl(actions), ": must count from ", base));
    }
    draw.actions[i] -= base;
  }
  return {};
}

// A contextual bandit's label.
Problem ReadLabel(const dom::object& line, Draw& draw) {
  if (!GetNumber(line, "_label_cost", draw.cost)) {
    return {skip_reason::kReward, "_label_cost: must be a finite number"};
  }
  if (!GetNumber(line, "_label_probability", draw.probability)) {
    return {skip_reason::kPropensity, "_label_probability: must be a finite number"};
  }
  std::uint64_t action = 0;
  if (line["_label_Action"].get(action) == simdjson::SUCCESS && action > 0) {
    draw.action = action - 1;
  } else if (line["_labelIndex"].get(draw.action) != simdjson::SUCCESS) {
    return Malformed("_label_Action: must be a whole number from 1");
  }
  return ReadLaw(line, "a", "p", 1, draw);
}

// One of a conditional bandit's outcomes, whose actions are ranked with the chosen one first.
Problem ReadOutcome(const dom::object& outcome, Draw& draw) {
  if (!GetNumber(outcome, "_label_cost", draw.cost)) {
    return {skip_reason::kReward, "_label_cost: must be a finite number"};
  }
  if (Problem problem = ReadLaw(outcome, "_a", "_p", 0, draw); problem.any()) return problem;
  if (draw.law.empty()) return {skip_reason::kPropensity, "_a and _p: are missing"};
  draw.action = draw.actions[0];
  draw.probability = draw.law[0];
  return {};
}

// Members of `bandana`.
Problem ReadOwn(const dom::object& own, LoggedDecision& decision) {
  std::vector<double> range;
  if (Has(own, "range")) {
    if (!GetNumbers(own, "range", range) || range.size() != 2 || !(range[0] < range[1])) {
      return Malformed("bandana.range: must be [min, max], min < max");
    }
    decision.range = {range[0], range[1]};
  }
  std::vector<std::uint64_t> offered;
  if (Has(own, "offered")) {
    if (!GetNumbers(own, "offered", offered) || offered.size() != decision.slots.size()) {
      return Malformed("bandana.offered: must have a number per slot");
    }
    for (std::size_t at = 0; at < offered.size(); ++at) {
      LoggedSlot& slot = decision.slots[at];
      if (offered[at] < slot.names.size() || offered[at] > UINT32_MAX) {
        return Malformed("bandana.offered: must be at least the number of arms, below 2^32");
      }
      slot.offered = static_cast<std::uint32_t>(offered[at]);
    }
  }
  dom::array released;
  if (own["released"].get(released) == simdjson::SUCCESS) {
    if (released.size() != decision.slots.size()) {
      return Malformed("bandana.released: must have an entry per slot");
    }
    for (std::size_t at = 0; at < released.size(); ++at) {
      dom::object law;
      if (released.at(at).get(law) != simdjson::SUCCESS) continue;
      ReleaseLaw& read = decision.slots[at].released.emplace();
      if (!GetNumber(law, "epsilon", read.epsilon) || !GetNumber(law, "low", read.low) ||
          !GetNumber(law, "high", read.high) || !(read.epsilon > 0) || !(read.low < read.high)) {
        return Malformed("bandana.released: must be {epsilon > 0, low < high}");
      }
      read.clipped = IsTrue(law, "clipped");
    }
  }
  std::uint64_t rank = 0;
  if (own["rank"].get(rank) == simdjson::SUCCESS && rank < kDecisionSlotsMax) {
    decision.named_rank = static_cast<std::uint32_t>(rank);
  }
  GetText(own, "user", decision.user);
  return {};
}

Problem ReadHead(const dom::object& line, const dom::object& c, LoggedDecision& decision) {
  if (!GetText(line, "EventId", decision.id)) {
    // Conditional bandits of some loggers name their slots alone.
    const auto first = c["_slots"].at(0)["_id"];
    std::string_view id;
    if (first.get(id) == simdjson::SUCCESS) decision.id = id;
  }
  if (decision.id.empty() || decision.id.size() > kDecisionTextBytesMax) {
    return Malformed("EventId: must be a text of 1 to 128 bytes");
  }
  std::string time;
  std::string error;
  if (!GetText(line, "Timestamp", time) ||
      !absl::ParseTime(absl::RFC3339_full, time, &decision.time, &error) ||
      decision.time == absl::InfiniteFuture() || decision.time == absl::InfinitePast()) {
    return Malformed("Timestamp: must be an RFC 3339 time");
  }
  decision.context = ContextOf(c);
  return {};
}

Problem ReadSlots(const dom::object& line, const std::vector<std::string>& names, bool chosen_only,
                  LoggedDecision& decision) {
  std::vector<std::uint8_t> taken(names.size(), 0);
  Draw draw;
  dom::array outcomes;
  if (line["_outcomes"].get(outcomes) != simdjson::SUCCESS) {
    decision.slots.resize(1);
    if (Problem problem = ReadLabel(line, draw); problem.any()) return problem;
    return FillSlot(draw, names, taken, chosen_only, decision.slots[0]);
  }
  if (outcomes.size() == 0 || outcomes.size() > kDecisionSlotsMax) {
    return Malformed("_outcomes: must be a list of 1 to 100 slots");
  }
  decision.slots.resize(outcomes.size());
  for (std::size_t at = 0; at < outcomes.size(); ++at) {
    const std::string where = absl::StrCat("_outcomes ", at, ": ");
    dom::object outcome;
    if (outcomes.at(at).get(outcome) != simdjson::SUCCESS) {
      return Malformed(where + "must be an object");
    }
    Problem problem = ReadOutcome(outcome, draw);
    if (!problem.any()) problem = FillSlot(draw, names, taken, chosen_only, decision.slots[at]);
    if (problem.any()) return {problem.reason, where + problem.message};
    taken[draw.action] = 1;
  }
  return {};
}

Problem ReadLine(const dom::element& element, const DsjsonOptions& options,
                 LoggedDecision& decision) {
  dom::object line;
  dom::object c;
  dom::array multi;
  if (element.get(line) != simdjson::SUCCESS) return Malformed("the line is not a JSON object");
  if (IsTrue(line, "_skipLearn")) {
    return {skip_reason::kSkipLearn, "_skipLearn: the line says that its reward is none"};
  }
  double dropped = 0;
  if (GetNumber(line, "pdrop", dropped) && dropped != 0) {
    return {skip_reason::kSampled,
            "pdrop: must be 0: the line stands for others that are not here"};
  }
  if (line["c"].get(c) != simdjson::SUCCESS || c["_multi"].get(multi) != simdjson::SUCCESS ||
      multi.size() == 0 || multi.size() > kDecisionArmsMax) {
    return Malformed("c._multi: must be a list of 1 to 100000 actions");
  }
  std::vector<std::string> names;
  for (const dom::element action : multi) {
    if (action["_slot_id"].error() == simdjson::SUCCESS) {
      return Malformed("c._multi: actions of slates cannot be judged as one choice");
    }
    names.push_back(ArmName(action));
  }
  decision = LoggedDecision();
  decision.range = options.range;
  if (Problem problem = ReadHead(line, c, decision); problem.any()) return problem;
  if (Problem problem = ReadSlots(line, names, options.chosen_only, decision); problem.any()) {
    return problem;
  }
  dom::object own;
  if (line["bandana"].get(own) == simdjson::SUCCESS) return ReadOwn(own, decision);
  return {};
}

}  // namespace

struct DsjsonReader::State {
  State(DecisionBytes bytes, const DsjsonOptions& read)
      : reader(std::move(bytes), simdjson::SIMDJSON_PADDING), options(read) {}

  LineReader reader;
  const DsjsonOptions options;
  dom::parser parser{kDecisionLineBytesMax};
};

DsjsonReader::DsjsonReader(DecisionBytes bytes, const DsjsonOptions& options)
    : state_(std::make_unique<State>(std::move(bytes), options)) {}

DsjsonReader::~DsjsonReader() = default;

std::uint64_t DsjsonReader::line() const { return state_->reader.number(); }

absl::StatusOr<DecisionStream::Next> DsjsonReader::Read(LoggedDecision& decision,
                                                        DecisionFault& fault) {
  LineReader& reader = state_->reader;
  std::string_view text;
  BANDANA_ASSIGN_OR_RETURN(const bool found, reader.ReadText(text));
  if (!found) return Next::kEnd;
  Problem problem;
  dom::element element;
  if (reader.too_long()) {
    problem =
        Malformed(absl::StrCat("the line must have at most ", kDecisionLineBytesMax, " bytes"));
  } else if (state_->parser.parse(text.data(), text.size(), /*realloc_if_needed=*/false)
                 .get(element) != simdjson::SUCCESS) {
    problem = Malformed("the line is not a JSON object");
    if (reader.cut()) problem.reason = skip_reason::kCutLine;
  } else {
    problem = ReadLine(element, state_->options, decision);
  }
  if (!problem.any()) return Next::kDecision;
  fault = {reader.number(), 1, problem.reason,
           absl::StrCat("line ", reader.number(), ": ", problem.message)};
  return Next::kFault;
}

}  // namespace bandana
