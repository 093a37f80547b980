#include "client/abi/src/from_c.h"

#include <span>
#include <utility>

#include "common/base/status.h"

namespace bandana::abi {
namespace {

constexpr std::uint64_t kBytesMax = (std::uint64_t{1} << 31) - 1;
constexpr std::int64_t kUnixMillisMax = 8'000'000'000'000;  // in the year 2223

absl::Status NotNull(const std::string& name) { return InvalidArgument(name, " must not be null"); }

std::string Nth(const char* name, std::size_t i, const char* field = "") {
  return absl::StrCat(name, "[", i, "]", field);
}

// An array that a stranger counted.
template <typename T>
absl::StatusOr<std::span<const T>> ArrayOf(const char* name, const T* data, std::size_t count) {
  if (count > kBytesMax / sizeof(T)) {
    return InvalidArgument(name, " must have less than 2^31 bytes, got ", count, " times ",
                           sizeof(T));
  }
  if (data == nullptr && count > 0) return NotNull(name);
  return std::span<const T>(data, count);
}

absl::StatusOr<std::string> TextOf(const std::string& name, const bandana_bytes& given) {
  BANDANA_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf(name, &given));
  return std::string(bytes);
}

absl::StatusOr<std::vector<std::string>> TextsOf(const char* name, const bandana_bytes* data,
                                                 std::size_t count) {
  BANDANA_ASSIGN_OR_RETURN(const auto given, ArrayOf(name, data, count));
  std::vector<std::string> texts;
  for (const bandana_bytes& one : given) {
    BANDANA_ASSIGN_OR_RETURN(std::string text, TextOf(Nth(name, texts.size()), one));
    texts.push_back(std::move(text));
  }
  return texts;
}

absl::Status CheckKind(const std::string& name, std::int32_t kind, std::int32_t last) {
  if (kind >= 0 && kind <= last) return absl::OkStatus();
  return InvalidArgument(name, " must be in [0, ", last, "], got ", kind);
}

absl::Status AddValue(const std::string& name, const bandana_value& value, Features& features) {
  BANDANA_RETURN_IF_ERROR(CheckKind(name + ".kind", value.kind, BANDANA_NUMBERS));
  BANDANA_ASSIGN_OR_RETURN(const std::string field, TextOf(name + ".name", value.name));
  switch (value.kind) {
    case BANDANA_NUMBER:
      features.Number(field, value.number);
      break;
    case BANDANA_FLAG:
      features.Flag(field, value.number != 0);
      break;
    case BANDANA_TEXT: {
      BANDANA_ASSIGN_OR_RETURN(const std::string text, TextOf(name + ".text", value.text));
      features.Text(field, text);
      break;
    }
    case BANDANA_TEXTS: {
      BANDANA_ASSIGN_OR_RETURN(auto texts,
                               TextsOf((name + ".texts").c_str(), value.texts, value.count));
      features.Texts(field, std::move(texts));
      break;
    }
    case BANDANA_NUMBERS: {
      BANDANA_ASSIGN_OR_RETURN(const auto numbers,
                               ArrayOf((name + ".numbers").c_str(), value.numbers, value.count));
      features.Numbers(field, {numbers.begin(), numbers.end()});
      break;
    }
  }
  return absl::OkStatus();
}

absl::Status AddValues(const char* name, const bandana_value* values, std::size_t count,
                       Features& features) {
  BANDANA_ASSIGN_OR_RETURN(const auto given, ArrayOf(name, values, count));
  for (std::size_t i = 0; i < given.size(); ++i) {
    BANDANA_RETURN_IF_ERROR(AddValue(Nth(name, i), given[i], features));
  }
  return absl::OkStatus();
}

absl::Duration Millis(std::int64_t millis) { return absl::Milliseconds(millis); }

std::optional<double> UnlessNan(double value) {
  return value == value ? std::optional(value) : std::nullopt;
}

std::optional<std::uint32_t> IdOf(std::int32_t has_id, std::uint32_t id) {
  return has_id != 0 ? std::optional(id) : std::nullopt;
}

}  // namespace

absl::Status CheckStructSize(const char* name, const std::size_t* size, std::size_t expected) {
  if (size == nullptr) return NotNull(name);
  if (*size == expected) return absl::OkStatus();
  return InvalidArgument(name, ".size must be ", expected, ", got ", *size,
                         ": program and library are of different versions");
}

absl::StatusOr<std::string_view> BytesOf(const std::string& name, const bandana_bytes* given) {
  if (given == nullptr) return NotNull(name);
  if (given->size > kBytesMax) {
    return InvalidArgument(name, ".size must be below 2^31, got ", given->size);
  }
  if (given->data == nullptr && given->size > 0) return NotNull(name + ".data");
  return std::string_view(static_cast<const char*>(given->data), given->size);
}

absl::StatusOr<device::Table> TableOf(std::int32_t table) {
  if (table >= 0 && table < device::kTables) return static_cast<device::Table>(table);
  return InvalidArgument("table must be in [0, ", device::kTables, "), got ", table);
}

absl::StatusOr<device::Record> RecordOf(device::Table table, const bandana_cell* cells,
                                        std::size_t count) {
  const device::TableForm& form = device::FormOf(table);
  if (count != form.columns.size()) {
    return InvalidArgument("count must be ", form.columns.size(), " in table ", ToAbsl(form.name),
                           ", got ", count);
  }
  if (cells == nullptr) return NotNull("cells");
  device::Record record;
  record.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const bandana_cell& cell = cells[i];
    if (cell.kind != static_cast<std::int32_t>(form.columns[i].kind)) {
      return InvalidArgument(Nth("cells", i, ".kind"), " must be ",
                             static_cast<int>(form.columns[i].kind), " in table ",
                             ToAbsl(form.name), ", got ", cell.kind);
    }
    if (cell.kind == BANDANA_INTEGER) {
      record.emplace_back(cell.integer);
    } else if (cell.kind == BANDANA_REAL) {
      record.emplace_back(cell.real);
    } else {
      BANDANA_ASSIGN_OR_RETURN(std::string bytes, TextOf(Nth("cells", i, ".bytes"), cell.bytes));
      record.emplace_back(std::move(bytes));
    }
  }
  return record;
}

absl::StatusOr<device::StoreMark> MarkOf(const bandana_mark* mark) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("start.seen", mark));
  const auto text = [](std::span<const std::uint8_t> bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  return device::StoreMark{.identity = text(mark->identity),
                           .position = mark->position,
                           .run = mark->run,
                           .events = mark->events,
                           .streams = mark->streams,
                           .ledger_hash = text(mark->ledger_hash)};
}

absl::StatusOr<ClientOptions> OptionsOf(const bandana_options* given) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("options", given));
  BANDANA_RETURN_IF_ERROR(CheckKind("options.leave", given->leave, BANDANA_AT_START));
  BANDANA_RETURN_IF_ERROR(CheckKind("options.when_full", given->when_full, BANDANA_DROP));
  ClientOptions options;
  BANDANA_ASSIGN_OR_RETURN(options.target, TextOf("options.target", given->target));
  BANDANA_ASSIGN_OR_RETURN(options.model, TextOf("options.model", given->model));
  BANDANA_ASSIGN_OR_RETURN(options.arm_effects_tag,
                           TextOf("options.arm_effects_tag", given->arm_effects_tag));
  options.policy = {.require_local = given->require_local != 0,
                    .epsilon_max = given->epsilon_max,
                    .delta_max = given->delta_max,
                    .require_proven = given->require_proven != 0,
                    .events_per_user_max = given->events_per_user_max,
                    .allow_research = given->allow_research != 0};
  options.leave = given->leave == BANDANA_AT_START ? ClientOptions::Leave::kAtStart
                                                   : ClientOptions::Leave::kWhenDue;
  options.when_full = given->when_full == BANDANA_DROP ? ClientOptions::WhenFull::kDrop
                                                       : ClientOptions::WhenFull::kBlock;
  options.queue_reports_max = given->queue_reports_max;
  options.deliveries_in_flight_max = given->deliveries_in_flight_max;
  options.reports_per_delivery_max = given->reports_per_delivery_max;
  options.select_deadline = Millis(given->select_deadline_ms);
  options.report_deadline = Millis(given->report_deadline_ms);
  options.connect_timeout = Millis(given->connect_timeout_ms);
  options.backoff_min = Millis(given->backoff_min_ms);
  options.backoff_max = Millis(given->backoff_max_ms);
  options.posterior_interval = Millis(given->posterior_interval_ms);
  return options;
}

absl::StatusOr<BackendAnswer> AnswerOf(const bandana_backend_answer* given) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("answer", given));
  if (given->decided_ms < 0 || given->decided_ms > kUnixMillisMax) {
    return InvalidArgument("answer.decided_ms must be in [0, ", kUnixMillisMax, "], got ",
                           given->decided_ms);
  }
  BackendAnswer answer;
  answer.decided = absl::FromUnixMicros(given->decided_ms * 1000);
  answer.shown = given->shown;
  answer.posterior_version = given->posterior_version;
  BANDANA_ASSIGN_OR_RETURN(answer.user, TextOf("answer.user", given->user));
  BANDANA_ASSIGN_OR_RETURN(answer.model, TextOf("answer.model", given->model));
  BANDANA_ASSIGN_OR_RETURN(answer.policy_hash, TextOf("answer.policy_hash", given->policy_hash));
  BANDANA_ASSIGN_OR_RETURN(answer.token, TextOf("answer.token", given->token));
  BANDANA_ASSIGN_OR_RETURN(const auto arms, ArrayOf("answer.arms", given->arms, given->arms_count));
  for (const bandana_ranked_arm& arm : arms) {
    BANDANA_ASSIGN_OR_RETURN(std::string name,
                             TextOf(Nth("answer.arms", answer.arms.size(), ".name"), arm.name));
    answer.arms.push_back({.position = arm.position,
                           .arm_id = arm.arm_id,
                           .score = arm.score,
                           .mean = arm.mean,
                           .width = arm.width,
                           .propensity = arm.propensity,
                           .name = std::move(name)});
  }
  BANDANA_ASSIGN_OR_RETURN(
      const auto windows,
      ArrayOf("answer.reward_windows", given->reward_windows, given->reward_windows_count));
  answer.reward_windows.assign(windows.begin(), windows.end());
  return answer;
}

absl::StatusOr<Headers> HeadersOf(const bandana_header* headers, std::size_t count) {
  BANDANA_ASSIGN_OR_RETURN(const auto given, ArrayOf("answer.headers", headers, count));
  Headers read;
  for (const bandana_header& header : given) {
    if (header.name == nullptr || header.value == nullptr) {
      return NotNull(Nth("answer.headers", read.size()));
    }
    read.emplace_back(header.name, header.value);
  }
  return read;
}

absl::Status ArmsOf::Read(const bandana_arms* given) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("arms", given));
  BANDANA_RETURN_IF_ERROR(CheckKind("arms.form", given->form, BANDANA_NAMED));
  BANDANA_RETURN_IF_ERROR(ReadForm(*given));
  if (given->context != nullptr || given->context_count > 0) {
    BANDANA_RETURN_IF_ERROR(
        AddValues("arms.context", given->context, given->context_count, context_));
    arms_.context = &context_;
  }
  return given->rules == nullptr ? absl::OkStatus() : ReadRules(given->rules);
}

absl::Status ArmsOf::ReadForm(const bandana_arms& given) {
  BANDANA_ASSIGN_OR_RETURN(const auto features,
                           ArrayOf("arms.features", given.features, given.features_count));
  BANDANA_ASSIGN_OR_RETURN(const auto ids, ArrayOf("arms.ids", given.ids, given.ids_count));
  BANDANA_ASSIGN_OR_RETURN(names_, TextsOf("arms.names", given.names, given.names_count));
  BANDANA_ASSIGN_OR_RETURN(query_.tags_any,
                           TextsOf("arms.tags_any", given.tags_any, given.tags_any_count));
  BANDANA_ASSIGN_OR_RETURN(query_.tags_all,
                           TextsOf("arms.tags_all", given.tags_all, given.tags_all_count));
  BANDANA_ASSIGN_OR_RETURN(query_.tags_none,
                           TextsOf("arms.tags_none", given.tags_none, given.tags_none_count));
  BANDANA_ASSIGN_OR_RETURN(const auto excluded, ArrayOf("arms.excluded_ids", given.excluded_ids,
                                                        given.excluded_ids_count));
  query_.excluded_ids.assign(excluded.begin(), excluded.end());
  BANDANA_ASSIGN_OR_RETURN(
      query_.excluded_names,
      TextsOf("arms.excluded_names", given.excluded_names, given.excluded_names_count));
  BANDANA_ASSIGN_OR_RETURN(const auto named, ArrayOf("arms.named", given.named, given.named_count));
  for (const bandana_named_arm& one : named) {
    NamedArm& arm = named_.emplace_back();
    const std::string name = Nth("arms.named", named_.size() - 1);
    BANDANA_ASSIGN_OR_RETURN(arm.id, TextOf(name + ".id", one.id));
    BANDANA_RETURN_IF_ERROR(
        AddValues((name + ".values").c_str(), one.values, one.values_count, arm.features));
  }
  switch (given.form) {
    case BANDANA_INLINE:
      arms_ = Arms::Inline(features, ids);
      break;
    case BANDANA_CATALOGUE:
      arms_ = Arms::Catalogue(ids);
      break;
    case BANDANA_CATALOGUE_NAMES:
      arms_ = Arms::CatalogueNames(names_);
      break;
    case BANDANA_QUERY:
      arms_ = Arms::Matching(query_);
      break;
    case BANDANA_NAMED:
      arms_ = Arms::Named(named_);
      break;
  }
  return absl::OkStatus();
}

absl::Status ArmsOf::ReadRules(const bandana_rules* given) {
  BANDANA_RETURN_IF_ERROR(CheckStruct("rules", given));
  BANDANA_RETURN_IF_ERROR(
      CheckKind("rules.exclude_seen", given->exclude_seen, BANDANA_SEEN_REWARDED));
  BANDANA_ASSIGN_OR_RETURN(const auto where,
                           ArrayOf("rules.where", given->where, given->where_count));
  for (const bandana_range& one : where) {
    FieldRange& range = rules_.where.emplace_back();
    BANDANA_ASSIGN_OR_RETURN(
        range.field, TextOf(Nth("rules.where", rules_.where.size() - 1, ".field"), one.field));
    range.min = UnlessNan(one.min);
    range.max = UnlessNan(one.max);
    range.above = UnlessNan(one.above);
    range.below = UnlessNan(one.below);
  }
  BANDANA_ASSIGN_OR_RETURN(const auto boosts,
                           ArrayOf("rules.boosts", given->boosts, given->boosts_count));
  for (const bandana_boost& one : boosts) {
    Boost& boost = rules_.boosts.emplace_back();
    const std::string name = Nth("rules.boosts", rules_.boosts.size() - 1);
    BANDANA_ASSIGN_OR_RETURN(boost.tag, TextOf(name + ".tag", one.tag));
    BANDANA_ASSIGN_OR_RETURN(boost.name, TextOf(name + ".name", one.name));
    BANDANA_ASSIGN_OR_RETURN(boost.group, TextOf(name + ".group", one.group));
    BANDANA_ASSIGN_OR_RETURN(boost.value, TextOf(name + ".value", one.value));
    boost.id = IdOf(one.has_id, one.id);
    boost.add = one.add;
  }
  BANDANA_ASSIGN_OR_RETURN(const auto pins, ArrayOf("rules.pins", given->pins, given->pins_count));
  for (const bandana_pin& one : pins) {
    Pin& pin = rules_.pins.emplace_back();
    BANDANA_ASSIGN_OR_RETURN(pin.name,
                             TextOf(Nth("rules.pins", rules_.pins.size() - 1, ".name"), one.name));
    pin.id = IdOf(one.has_id, one.id);
    pin.rank = one.rank;
  }
  BANDANA_ASSIGN_OR_RETURN(const auto limits,
                           ArrayOf("rules.at_most", given->at_most, given->at_most_count));
  for (const bandana_limit& one : limits) {
    GroupLimit& limit = rules_.at_most.emplace_back();
    const std::string name = Nth("rules.at_most", rules_.at_most.size() - 1);
    BANDANA_ASSIGN_OR_RETURN(limit.group, TextOf(name + ".group", one.group));
    BANDANA_ASSIGN_OR_RETURN(limit.tag, TextOf(name + ".tag", one.tag));
    limit.count = one.count;
  }
  if (given->exclude_seen != BANDANA_SEEN_NONE) {
    rules_.exclude_seen =
        SeenRule{.seen = given->exclude_seen == BANDANA_SEEN_SHOWN ? SeenRule::Seen::kShown
                                                                   : SeenRule::Seen::kRewarded};
    if (given->seen_within_ms != 0) rules_.exclude_seen->within = Millis(given->seen_within_ms);
  }
  arms_.rules = &rules_;
  return absl::OkStatus();
}

}  // namespace bandana::abi
