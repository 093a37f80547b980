#include "common/decisions/jsonl_line.h"

#include <simdjson.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "common/base/status.h"
#include "common/json/json_text.h"

namespace bandana {
namespace {

namespace ondemand = simdjson::ondemand;
using Value = simdjson::simdjson_result<ondemand::value>;

absl::Status Wrong(std::string_view field, std::string_view constraint) {
  return InvalidArgument(ToAbsl(field), ": must be ", ToAbsl(constraint));
}

absl::Status ReadText(Value value, std::string_view field, std::string& out) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS || text.empty() ||
      text.size() > kDecisionTextBytesMax) {
    return Wrong(field, "a text of 1 to 128 bytes");
  }
  out = text;
  return absl::OkStatus();
}

absl::Status ReadWhole(Value value, std::string_view field, std::uint64_t max, std::uint64_t& out) {
  if (value.get_uint64().get(out) != simdjson::SUCCESS || out > max) {
    return Wrong(field, absl::StrCat("a whole number in [0, ", max, "]"));
  }
  return absl::OkStatus();
}

absl::Status ReadWhole32(Value value, std::string_view field, std::uint64_t max,
                         std::uint32_t& out) {
  std::uint64_t whole = 0;
  BANDANA_RETURN_IF_ERROR(ReadWhole(value, field, max, whole));
  out = static_cast<std::uint32_t>(whole);
  return absl::OkStatus();
}

absl::Status ReadNumber(Value value, std::string_view field, double& out) {
  if (value.get_double().get(out) != simdjson::SUCCESS || !std::isfinite(out)) {
    return Wrong(field, "a finite number");
  }
  return absl::OkStatus();
}

absl::Status ReadNumbers(Value value, std::string_view field, std::vector<double>& out) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return Wrong(field, "a list of numbers");
  for (auto element : array) {
    double number = 0;
    BANDANA_RETURN_IF_ERROR(ReadNumber(element, field, number));
    if (out.size() == kDecisionArmsMax) return Wrong(field, "a list of at most 100000 numbers");
    out.push_back(number);
  }
  return absl::OkStatus();
}

// Two digits, or nothing.
bool Digits(const char* text, int count, int& out) {
  out = 0;
  for (int i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  return true;
}

// YYYY-MM-DDTHH:MM:SS[.f]Z: absl::ParseTime takes several microseconds for it.
bool FastTime(std::string_view text, absl::Time& out) {
  int year, month, day, hour, minute, second;
  if (text.size() < 20 || text.size() > 30 || text.back() != 'Z') return false;
  const char* c = text.data();
  if (!Digits(c, 4, year) || c[4] != '-' || !Digits(c + 5, 2, month) || c[7] != '-' ||
      !Digits(c + 8, 2, day) || c[10] != 'T' || !Digits(c + 11, 2, hour) || c[13] != ':' ||
      !Digits(c + 14, 2, minute) || c[16] != ':' || !Digits(c + 17, 2, second)) {
    return false;
  }
  std::int64_t nanos = 0;
  if (text.size() > 20) {
    if (c[19] != '.' || text.size() == 21) return false;
    std::int64_t unit = 100'000'000;
    for (std::size_t i = 20; i + 1 < text.size(); ++i, unit /= 10) {
      if (c[i] < '0' || c[i] > '9') return false;
      nanos += (c[i] - '0') * unit;
    }
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return false;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  out = absl::FromUnixSeconds(days * 86'400 + hour * 3600 + minute * 60 + second) +
        absl::Nanoseconds(nanos);
  return true;
}

absl::Status ReadTime(Value value, absl::Time& out) {
  std::string_view text;
  std::string error;
  if (value.get_string().get(text) == simdjson::SUCCESS &&
      (FastTime(text, out) || (absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &out, &error) &&
                               out != absl::InfiniteFuture() && out != absl::InfinitePast()))) {
    return absl::OkStatus();
  }
  return Wrong("time", "an RFC 3339 time");
}

// Ids or names, no mixture.
absl::Status ReadArms(Value value, LoggedSlot& slot) {
  constexpr std::string_view kForm = "a list of ids below 2^32, or of names of 1 to 128 bytes";
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return Wrong("arms", kForm);
  std::size_t names = 0;
  for (auto element : array) {
    if (slot.ids.size() + names == kDecisionArmsMax) return Wrong("arms", "at most 100000");
    ondemand::json_type type;
    if (element.type().get(type) != simdjson::SUCCESS) return Wrong("arms", kForm);
    if (type == ondemand::json_type::string && slot.ids.empty()) {
      if (slot.names.size() == names) slot.names.emplace_back();
      BANDANA_RETURN_IF_ERROR(ReadText(element, "arms", slot.names[names]));
      ++names;
    } else {
      std::uint64_t id = 0;
      if (names > 0 || element.get_uint64().get(id) != simdjson::SUCCESS ||
          id > std::numeric_limits<std::uint32_t>::max()) {
        return Wrong("arms", kForm);
      }
      slot.ids.push_back(static_cast<std::uint32_t>(id));
    }
  }
  slot.names.resize(names);
  return absl::OkStatus();
}

absl::Status ReadFeatures(Value value, std::vector<double>& out, std::size_t& rows) {
  ondemand::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) {
    return Wrong("x", "a list of lists of numbers");
  }
  std::size_t width = 0;
  for (auto row : array) {
    ondemand::array numbers;
    if (row.get_array().get(numbers) != simdjson::SUCCESS) {
      return Wrong("x", "a list of lists of numbers");
    }
    const std::size_t before = out.size();
    for (auto element : numbers) {
      out.emplace_back();
      BANDANA_RETURN_IF_ERROR(ReadNumber(element, "x", out.back()));
    }
    if (rows == 0) width = out.size() - before;
    if (width == 0 || out.size() - before != width) return Wrong("x", "lists of one length");
    ++rows;
  }
  return absl::OkStatus();
}

// A list, or the chosen arm's alone.
absl::Status ReadPropensities(Value value, LoggedSlot& slot) {
  ondemand::json_type type;
  if (value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::array) {
    return ReadNumbers(value, "p", slot.p);
  }
  if (!ReadNumber(value, "p", slot.chosen_p).ok()) {
    return Wrong("p", "a number per arm, or the chosen arm's alone");
  }
  return absl::OkStatus();
}

absl::Status ReadReward(Value value, LoggedSlot& slot) {
  constexpr std::string_view kForm = "a finite number, null or \"unreported\"";
  ondemand::json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return Wrong("reward", kForm);
  if (type == ondemand::json_type::null) {
    bool null = false;
    if (value.is_null().get(null) != simdjson::SUCCESS || !null) return Wrong("reward", kForm);
    slot.state = RewardState::kPending;
    return absl::OkStatus();
  }
  if (type == ondemand::json_type::string) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS || text != "unreported") {
      return Wrong("reward", kForm);
    }
    slot.state = RewardState::kUnreported;
    return absl::OkStatus();
  }
  if (!ReadNumber(value, "reward", slot.reward).ok()) return Wrong("reward", kForm);
  slot.state = RewardState::kKnown;
  return absl::OkStatus();
}

absl::Status ReadReleased(Value value, LoggedSlot& slot) {
  ondemand::object object;
  ReleaseLaw law;
  int seen = 0;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    return Wrong("released", "{epsilon, low, high}");
  }
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return Wrong("released", "an object");
    if (key == "epsilon") {
      BANDANA_RETURN_IF_ERROR(ReadNumber(field.value(), "released.epsilon", law.epsilon));
      ++seen;
    } else if (key == "low") {
      BANDANA_RETURN_IF_ERROR(ReadNumber(field.value(), "released.low", law.low));
      ++seen;
    } else if (key == "high") {
      BANDANA_RETURN_IF_ERROR(ReadNumber(field.value(), "released.high", law.high));
      ++seen;
    } else if (key == "clipped") {
      if (field.value().get_bool().get(law.clipped) != simdjson::SUCCESS) {
        return Wrong("released.clipped", "true or false");
      }
    }
  }
  if (seen != 3 || !(law.epsilon > 0) || !(law.low < law.high)) {
    return Wrong("released", "{epsilon > 0, low < high}");
  }
  slot.released = law;
  return absl::OkStatus();
}

absl::Status ReadRange(Value value, RewardRange& range) {
  std::vector<double> ends;
  BANDANA_RETURN_IF_ERROR(ReadNumbers(value, "range", ends));
  if (ends.size() != 2 || !(ends[0] < ends[1])) return Wrong("range", "[min, max], min < max");
  range = {ends[0], ends[1]};
  return absl::OkStatus();
}

absl::Status ReadBaseline(Value value, LoggedSlot& slot) {
  ondemand::json_type type;
  if (value.type().get(type) == simdjson::SUCCESS && type == ondemand::json_type::array) {
    slot.baseline = true;
    return ReadNumbers(value, "baseline", slot.own_law);
  }
  if (value.get_bool().get(slot.baseline) != simdjson::SUCCESS) {
    return Wrong("baseline", "true, false or the model's own law");
  }
  return absl::OkStatus();
}

absl::Status ReadContext(Value value, std::string& out) {
  ondemand::object object;
  std::string_view raw;
  if (value.get_object().get(object) != simdjson::SUCCESS ||
      object.raw_json().get(raw) != simdjson::SUCCESS || !CheckJson(raw).ok()) {
    return Wrong("context", "an object");
  }
  out = raw;
  return absl::OkStatus();
}

void Clear(DecisionLine& line) {
  LoggedSlot& slot = line.slot;
  slot.offered = 0;
  slot.ids.clear();
  slot.x.clear();
  slot.p.clear();
  slot.q.clear();
  slot.own_law.clear();
  slot.chosen_p = 0;
  slot.chosen = 0;
  slot.state = RewardState::kPending;
  slot.reward = 0;
  slot.released.reset();
  slot.baseline = false;
  LoggedDecision& head = line.head;
  head.id.clear();
  head.instance.clear();
  head.user.clear();
  head.context.clear();
  head.epoch = head.version = 0;
  head.time = absl::Time();
  head.range = {};
  head.named_rank = 0;
  line.at = 0;
  line.list = 1;
}

// The parts that a line must have, as bits of those that have come.
enum Part : unsigned { kDecision = 1, kTime = 2, kP = 4, kChosen = 8, kReward = 16, kArms = 32 };

absl::Status ReadMember(std::string_view key, Value value, DecisionLine& line, std::size_t& x_rows,
                        unsigned& parts) {
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kAny32 = std::numeric_limits<std::uint32_t>::max();
  LoggedSlot& slot = line.slot;
  const auto part = [&](Part which, absl::Status read) {
    parts |= which;
    return read;
  };
  if (key == "p") return part(kP, ReadPropensities(value, slot));
  if (key == "q") return ReadNumbers(value, "q", slot.q);
  if (key == "arms") return part(kArms, ReadArms(value, slot));
  if (key == "chosen") return part(kChosen, ReadWhole32(value, key, kAny32, slot.chosen));
  if (key == "reward") return part(kReward, ReadReward(value, slot));
  if (key == "decision") return part(kDecision, ReadText(value, key, line.head.id));
  if (key == "time") return part(kTime, ReadTime(value, line.head.time));
  if (key == "slot") return ReadWhole32(value, key, kDecisionSlotsMax - 1, line.at);
  if (key == "offered") return ReadWhole32(value, key, kAny32, slot.offered);
  if (key == "instance") return ReadText(value, key, line.head.instance);
  if (key == "epoch") return ReadWhole(value, key, kAny, line.head.epoch);
  if (key == "version") return ReadWhole(value, key, kAny, line.head.version);
  if (key == "released") return ReadReleased(value, slot);
  if (key == "range") return ReadRange(value, line.head.range);
  if (key == "x") return ReadFeatures(value, slot.x, x_rows);
  if (key == "baseline") return ReadBaseline(value, slot);
  if (key == "context") return ReadContext(value, line.head.context);
  if (key == "user") return ReadText(value, key, line.head.user);
  if (key == "list") return ReadWhole32(value, key, kDecisionSlotsMax, line.list);
  if (key == "v") {
    std::uint64_t version = 0;
    return value.get_uint64().get(version) == simdjson::SUCCESS && version == 1
               ? absl::OkStatus()
               : Wrong("v", "1: this program reads no later version");
  }
  return absl::OkStatus();
}

absl::Status CheckShapes(const LoggedSlot& slot, std::size_t x_rows, unsigned parts) {
  constexpr std::pair<Part, std::string_view> kNeeded[] = {{kDecision, "decision"},
                                                           {kTime, "time"},
                                                           {kP, "p"},
                                                           {kChosen, "chosen"},
                                                           {kReward, "reward"}};
  for (const auto& [which, name] : kNeeded) {
    if ((parts & which) == 0) return InvalidArgument(ToAbsl(name), ": is missing");
  }
  const std::size_t arms = slot.arms();
  const auto fits = [&](std::size_t size) { return size == 0 || size == arms; };
  const auto per_arm = [&](std::string_view field, std::size_t size) {
    return InvalidArgument(ToAbsl(field), ": must have one entry per arm, ", arms, ", got ", size);
  };
  if ((parts & kArms) != 0 && slot.ids.empty() && slot.names.empty()) {
    return Wrong("arms", "at least one arm");
  }
  if (!fits(slot.p.size())) return per_arm("p", slot.p.size());
  if (!fits(slot.q.size())) return per_arm("q", slot.q.size());
  if (!fits(x_rows)) return per_arm("x", x_rows);
  if (!fits(slot.own_law.size())) return per_arm("baseline", slot.own_law.size());
  if (slot.offered < arms || slot.offered == 0) {
    return InvalidArgument("offered: must be at least 1 and the number of arms, ", arms, ", got ",
                           slot.offered);
  }
  const std::size_t end = arms > 0 ? arms : slot.offered;
  if (slot.chosen >= end) {
    return InvalidArgument("chosen: must be a position below ", end, ", got ", slot.chosen);
  }
  return absl::OkStatus();
}

}  // namespace

struct JsonLineParser::Parser {
  ondemand::parser parser{kDecisionLineBytesMax};
};

const std::size_t JsonLineParser::kPaddingBytes = simdjson::SIMDJSON_PADDING;

JsonLineParser::JsonLineParser() : parser_(std::make_unique<Parser>()) {}
JsonLineParser::~JsonLineParser() = default;

absl::Status JsonLineParser::Parse(std::string_view text, DecisionLine& line) {
  Clear(line);
  ondemand::document document;
  ondemand::object object;
  if (parser_->parser.iterate(text, text.size() + kPaddingBytes).get(document) !=
          simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return InvalidArgument("the line is not a JSON object");
  }
  bool named = false;
  std::size_t x_rows = 0;
  unsigned parts = 0;
  for (auto field : object) {
    std::string_view key;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) {
      return InvalidArgument("the line is not a JSON object");
    }
    named = named || key == "arms";
    BANDANA_RETURN_IF_ERROR(ReadMember(key, field.value(), line, x_rows, parts));
  }
  const char* rest = nullptr;
  if (document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS) {
    return InvalidArgument("the line goes on behind its JSON object");
  }
  if (!named) line.slot.names.clear();
  if (line.slot.offered == 0) line.slot.offered = static_cast<std::uint32_t>(line.slot.arms());
  BANDANA_RETURN_IF_ERROR(CheckShapes(line.slot, x_rows, parts));
  if (!line.slot.p.empty()) line.slot.chosen_p = line.slot.p[line.slot.chosen];
  if (line.list == 0) return Wrong("list", "a whole number in [1, 100]");
  if (line.list > 1 && line.at >= line.list) {
    return InvalidArgument("slot: must be below list, ", line.list, ", got ", line.at);
  }
  return absl::OkStatus();
}

}  // namespace bandana
