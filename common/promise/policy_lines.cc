// A policy's text read.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exact_number.h"
#include "common/base/status.h"
#include "common/base/utf8.h"
#include "common/features/schema_text.h"
#include "common/promise/mode.h"
#include "common/promise/policy_text.h"

namespace bandana {
namespace {

constexpr std::uint64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kUint32Max = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kFormat = "bandana-policy-";
constexpr int kFormatMax = 6;

// The parts of a policy whose lines say less than its message.
struct Reading {
  PolicyLines lines;
  std::string_view reporting;
  wire::RewardWindow window;
  std::optional<wire::Duration> grace;
};

bool Take(std::string_view value, double& out) {
  const auto number = ReadExactNumber(value);
  out = number.value_or(0);
  return number.has_value();
}
template <typename Whole>
bool Take(std::string_view value, std::uint64_t max, Whole& out) {
  const auto number = ReadWholeNumber(value, max);
  out = static_cast<Whole>(number.value_or(0));
  return number.has_value();
}
bool Take(std::string_view value, bool& out) { return Take(value, 1, out); }
bool Take(std::string_view value, wire::Duration& out) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t nanoseconds = 0;
  if (!Take(value, kInt64Max, nanoseconds)) return false;
  out = {.seconds = nanoseconds / kSecond,
         .nanos = static_cast<std::int32_t>(nanoseconds % kSecond)};
  return true;
}
bool Take(std::string_view value, std::string& out) {
  out = std::string(value);
  return true;
}
// The number of a kind, from its name.
template <typename Kind>
bool TakeName(std::string_view value, std::string (*name)(Kind), std::int32_t& out) {
  for (std::int32_t number = 0; !name(Kind{number}).empty(); ++number) {
    if (name(Kind{number}) != value) continue;
    out = number;
    return true;
  }
  return false;
}
// One of two, with the numbers 1 and 2.
bool TakeEither(std::string_view value, std::string_view one, std::string_view two,
                std::int32_t& out) {
  out = value == two ? 2 : 1;
  return value == one || value == two;
}
bool TakeCounterKind(std::string_view value, std::int32_t& out) {
  for (out = 1; CounterKindOf(out).has_value(); ++out) {
    if (ServedName(*CounterKindOf(out)) == value) return true;
  }
  return false;
}
bool TakeDigest(std::string_view value, Sha256Digest& out) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (value.size() != 2 * out.size()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = digit(value[2 * i]);
    const int low = digit(value[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

wire::CounterPolicy& CounterOf(Reading& r) {
  std::optional<wire::CounterPolicy>& counter = r.lines.model.counter;
  return counter ? *counter : counter.emplace();
}
ContextSpec& ContextOf(Reading& r) {
  return r.lines.context ? *r.lines.context : r.lines.context.emplace();
}
wire::Model& ModelOf(Reading& r) { return r.lines.model; }

// A line of every policy has format 1; the lines of one other format stand all together.
struct Line {
  std::string_view name;
  int format;
  bool (*take)(std::string_view value, Reading& r);  // false: the value is none
};
using Text = std::string_view;
constexpr Line kLines[] = {
    {"model", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).model); }},
    {"dimension", 1, [](Text v, Reading& r) { return Take(v, kUint32Max, ModelOf(r).dimension); }},
    {"feature_l2_max", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).feature_l2_max); }},
    {"feature_out_of_range", 1,
     [](Text v, Reading& r) {
       return TakeEither(v, "CLIP", "REJECT", ModelOf(r).feature_out_of_range);
     }},
    {"reward_min", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).reward_min); }},
    {"reward_max", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).reward_max); }},
    {"reward_binary", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).reward_binary); }},
    {"mode", 1, [](Text v, Reading& r) { return TakeName(v, ModeName, ModelOf(r).mode); }},
    {"mechanism", 1,
     [](Text v, Reading& r) { return TakeName(v, MechanismName, ModelOf(r).mechanism); }},
    {"epsilon", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).epsilon); }},
    {"delta", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).delta); }},
    {"unit_of_privacy", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).unit_of_privacy); }},
    {"guarantee", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).guarantee); }},
    {"events_per_user_max", 1,
     [](Text v, Reading& r) {
       return Take(v, std::numeric_limits<std::uint64_t>::max(), ModelOf(r).events_per_user_max);
     }},
    {"research", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).research); }},
    {"reporting", 1,
     [](Text v, Reading& r) {
       r.reporting = v;
       return v == "immediate" || v == "one_per_decision" || v == "reward_window";
     }},
    {"reward_window_ns", 1,
     [](Text v, Reading& r) { return Take(v, r.window.duration.emplace()); }},
    {"default_reward", 1, [](Text v, Reading& r) { return Take(v, r.window.default_reward); }},
    {"token_lifetime_ns", 1, [](Text v, Reading& r) { return Take(v, ModelOf(r).token_lifetime); }},
    {"counter_kind", 2, [](Text v, Reading& r) { return TakeCounterKind(v, CounterOf(r).kind); }},
    {"counter_horizon", 2,
     [](Text v, Reading& r) { return Take(v, kInt64Max, CounterOf(r).horizon); }},
    {"counter_steps_max", 2,
     [](Text v, Reading& r) { return Take(v, kInt64Max, CounterOf(r).steps_max); }},
    {"context_grid_bits", 3,
     [](Text v, Reading& r) { return Take(v, 64, ContextOf(r).grid_bits); }},
    {"context_parameters", 3,
     [](Text v, Reading& r) { return TakeDigest(v, ContextOf(r).parameters); }},
    {"link", 4,
     [](Text v, Reading& r) {
       ModelOf(r).link = 2;
       return v == "LOGISTIC";
     }},
    {"reward_grace_ns", 5, [](Text v, Reading& r) { return Take(v, r.grace.emplace()); }},
    {"features", 6,
     [](Text v, Reading& r) {
       ModelOf(r).features.emplace();
       return v == "1";
     }},
};
constexpr std::size_t kLineCount = std::size(kLines);
constexpr std::string_view kBlock = "feature_";  // begins the lines after "features"

const Line* Find(std::string_view name) {
  return std::find_if(std::begin(kLines), std::end(kLines),
                      [&](const Line& line) { return line.name == name; });
}

// A name that an error may repeat.
std::string Shown(std::string_view name) {
  constexpr std::size_t kBytesMax = 32;
  const auto legal = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; };
  const auto end = std::find_if_not(name.begin(), name.end(), legal);
  const auto size = std::min(static_cast<std::size_t>(end - name.begin()), kBytesMax);
  return size == 0 ? "" : absl::StrCat(" (", ToAbsl(name.substr(0, size)), ")");
}

class LinesReader {
 public:
  explicit LinesReader(std::string_view text) : rest_(text) {}

  absl::StatusOr<Reading> Read() {
    if (!IsUtf8(rest_)) return InvalidArgument("policy_text: is not UTF-8");
    BANDANA_RETURN_IF_ERROR(ReadFormat());
    while (!rest_.empty()) {
      const std::string_view line = TakeLine();
      BANDANA_RETURN_IF_ERROR(schema_begun_ ? AddBlock(line) : Add(line));
    }
    if (!ended_) return InvalidArgument("policy_text: its last line has no end");
    BANDANA_RETURN_IF_ERROR(SkipTo(kLineCount));
    if (format_ != largest_) {
      return InvalidArgument("policy_text line 1: must name format ", largest_,
                             ", which has its lines, got ", format_);
    }
    BANDANA_RETURN_IF_ERROR(SetReporting());
    return std::move(reading_);
  }

 private:
  std::string_view TakeLine() {
    const std::size_t end = rest_.find('\n');
    ended_ = end != std::string_view::npos;
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(ended_ ? end + 1 : rest_.size());
    ++number_;
    return line;
  }
  absl::Status Bad(std::string_view name, std::string_view why) const {
    return InvalidArgument("policy_text line ", number_, Shown(name), ": ", ToAbsl(why));
  }

  absl::Status ReadFormat() {
    const std::string_view line = TakeLine();
    const bool named = line.substr(0, kFormat.size()) == kFormat;
    const auto format =
        named ? ReadWholeNumber(line.substr(kFormat.size()), kFormatMax) : std::nullopt;
    if (!format || *format < 1) return Bad("", "is not a format that this version knows");
    format_ = static_cast<int>(*format);
    return absl::OkStatus();
  }

  absl::Status Add(std::string_view line) {
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals);
    const Line* const known = Find(name);
    if (equals == std::string_view::npos || known == std::end(kLines)) {
      return Bad(name, "is not one that this version knows");
    }
    const auto place = static_cast<std::size_t>(known - std::begin(kLines));
    if (seen_[place]) return Bad(name, "is there twice");
    if (place < next_) return Bad(name, "comes after a line that it must stand before");
    BANDANA_RETURN_IF_ERROR(SkipTo(place));
    next_ = place + 1;
    seen_[place] = true;
    largest_ = known->format;
    schema_begun_ = next_ == kLineCount;
    return known->take(line.substr(equals + 1), reading_) ? absl::OkStatus()
                                                          : Bad(name, "has no such value");
  }

  // Lines of policies that others are not, and none that those before ask for.
  absl::Status SkipTo(std::size_t place) {
    for (; next_ < place; ++next_) {
      const Line& line = kLines[next_];
      const bool begun = next_ > 0 && kLines[next_ - 1].format == line.format && seen_[next_ - 1];
      if (line.format == 1 || begun) {
        return InvalidArgument("policy_text: the line ", ToAbsl(line.name), " is missing");
      }
    }
    // Lines of one format begin with its first.
    if (place < kLineCount && place > 0 && kLines[place].format != 1 &&
        kLines[place - 1].format == kLines[place].format && !seen_[place - 1]) {
      return InvalidArgument("policy_text: the line ", ToAbsl(kLines[place - 1].name),
                             " is missing");
    }
    return absl::OkStatus();
  }

  absl::Status AddBlock(std::string_view line) {
    if (line.substr(0, kBlock.size()) != kBlock) {
      const std::string_view name = line.substr(0, line.find('='));
      const bool known = Find(name) != std::end(kLines);
      return Bad(name, known ? "comes after a line that it must stand before, or is there twice"
                             : "is not one that this version knows");
    }
    const absl::Status added =
        AddSchemaLine(line.substr(kBlock.size()), *reading_.lines.model.features);
    return added.ok() ? added : Bad(line.substr(0, line.find('=')), ToStd(added.message()));
  }

  absl::Status SetReporting() {
    wire::Model& model = reading_.lines.model;
    const bool window = reading_.reporting == "reward_window";
    const Mode mode{model.mode};
    if ((window && NamesGrace(mode)) != reading_.grace.has_value()) {
      return InvalidArgument(
          "policy_text: the line reward_grace_ns ",
          reading_.grace ? "is for private models with a reward window" : "is missing");
    }
    if (window) {
      // The message has it in central modes alone, and so has the check.
      if (IsCentralMode(mode) || (reading_.grace && *reading_.grace != wire::Duration{})) {
        reading_.window.grace = reading_.grace;
      }
      model.reporting = wire::Reporting{.one_per_decision = {}, .reward_window = reading_.window};
      return absl::OkStatus();
    }
    if (*reading_.window.duration != wire::Duration{} || reading_.window.default_reward != 0) {
      return InvalidArgument("policy_text: reward_window_ns and default_reward must be 0 without ",
                             "a reward window");
    }
    if (reading_.reporting == "one_per_decision") {
      model.reporting = wire::Reporting{.one_per_decision = true, .reward_window = {}};
    }
    return absl::OkStatus();
  }

  std::string_view rest_;
  bool ended_ = true;  // the last line
  int number_ = 0;     // of it
  int format_ = 0;     // that the first line names
  int largest_ = 1;    // of the lines
  bool schema_begun_ = false;
  std::size_t next_ = 0;
  std::array<bool, kLineCount> seen_{};
  Reading reading_;
};

// Numbers whose 0 stands for 1.
std::int32_t OrOne(std::int32_t number) { return number == 0 ? 1 : number; }

std::optional<std::string> BytesOrNone(const std::optional<wire::FeatureSchema>& schema) {
  return schema ? std::optional(wire::BytesOf(*schema)) : std::nullopt;
}

std::string FirstDifference(const wire::Model& a, const wire::Model& b) {
  const std::pair<std::string_view, bool> fields[] = {
      {"model", a.model == b.model},
      {"dimension", a.dimension == b.dimension},
      {"feature_l2_max", a.feature_l2_max == b.feature_l2_max},
      {"feature_out_of_range", OrOne(a.feature_out_of_range) == OrOne(b.feature_out_of_range)},
      {"reward_min", a.reward_min == b.reward_min},
      {"reward_max", a.reward_max == b.reward_max},
      {"reward_binary", a.reward_binary == b.reward_binary},
      {"mode", a.mode == b.mode},
      {"mechanism", a.mechanism == b.mechanism},
      {"epsilon", a.epsilon == b.epsilon},
      {"delta", a.delta == b.delta},
      {"unit_of_privacy", a.unit_of_privacy == b.unit_of_privacy},
      {"guarantee", a.guarantee == b.guarantee},
      {"events_per_user_max", a.events_per_user_max == b.events_per_user_max},
      {"reporting", a.reporting == b.reporting},
      {"token_lifetime", a.token_lifetime == b.token_lifetime},
      {"research", a.research == b.research},
      {"counter", a.counter == b.counter},
      {"link", OrOne(a.link) == OrOne(b.link)},
      {"features", BytesOrNone(a.features) == BytesOrNone(b.features)},
  };
  for (const auto& [name, same] : fields) {
    if (!same) return std::string(name);
  }
  return "";
}

}  // namespace

absl::StatusOr<PolicyLines> ReadPolicyText(std::string_view text) {
  BANDANA_ASSIGN_OR_RETURN(Reading reading, LinesReader(text).Read());
  return std::move(reading.lines);
}

std::string FieldUnlikeText(const wire::Model& message, const wire::Model& text) {
  return FirstDifference(message, {}).empty() ? "" : FirstDifference(message, text);
}

}  // namespace bandana
