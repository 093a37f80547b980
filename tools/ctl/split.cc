#include "tools/ctl/split.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/decisions/jsonl_reader.h"
#include "tools/base/json.h"
#include "tools/ctl/decisions.h"
#include "tools/decisions/packed_file.h"

namespace bandana {
namespace {

absl::StatusOr<v1::Alias> FindAlias(AdminClient& server, const std::string& name) {
  BANDANA_ASSIGN_OR_RETURN(const auto aliases, server.ListAliases());
  for (const v1::Alias& alias : aliases.aliases()) {
    if (alias.name() == name) return alias;
  }
  return NotFound("no alias is named ", name);
}

std::vector<SplitModel> ModelsOf(const v1::Alias& alias) {
  std::vector<SplitModel> models;
  double total = 0;
  const auto weight = [](const v1::Share& share) {
    return share.weight() == 0 ? 1 : share.weight();
  };
  for (const v1::Share& share : alias.shares()) total += weight(share);
  for (const v1::Share& share : alias.shares()) {
    models.push_back({share.model(), weight(share) / total});
  }
  return models;
}

absl::Status AddLog(const std::string& path, std::size_t model, UserSplit& split) {
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes bytes, OpenPackedFile(path));
  JsonlReader reader(std::move(bytes));
  LoggedDecision decision;
  DecisionFault fault;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const auto next, reader.Read(decision, fault));
    if (next == JsonlReader::Next::kEnd) return absl::OkStatus();
    if (next == JsonlReader::Next::kFault) return DataLoss(fault.message);
    split.Add(model, decision);
  }
}

std::string NumberText(std::optional<double> number) {
  return number ? absl::StrFormat("%.4f", *number) : "-";
}

void WriteValue(const SplitAnswer::Value& value, JsonWriter& json) {
  json.Key("users").Integer(value.users);
  const auto number = [&](const char* key, std::optional<double> x) {
    json.Key(key).Number(x.value_or(std::nan("")));  // null
  };
  number("value", value.value);
  number("low", value.low);
  number("high", value.high);
}

}  // namespace

absl::StatusOr<SplitAnswer> JudgeSplit(std::span<AdminClient* const> servers,
                                       const std::string& alias, const SplitOptions& options) {
  BANDANA_ASSIGN_OR_RETURN(const v1::Alias found, FindAlias(*servers[0], alias));
  const std::vector<SplitModel> models = ModelsOf(found);
  if (models.size() < 2) {
    return FailedPrecondition("alias ", alias, " has one model: there is no split");
  }
  UserSplit split(options, models);
  BANDANA_ASSIGN_OR_RETURN(const TempFolder folder, TempFolder::OfMachine());
  const absl::Time now = absl::Now();
  for (std::size_t model = 0; model < models.size(); ++model) {
    const std::string path = absl::StrCat(folder.path(), "/", model, ".jsonl");
    DecisionsAsked asked;
    asked.model = models[model].name;
    asked.users = true;
    const absl::StatusOr<DecisionsWritten> written = ExportDecisions(servers, asked, path);
    BANDANA_RETURN_IF_ERROR(Annotate(written.status(), models[model].name));
    // A user's first decisions may be there.
    if (!written->missing.empty()) {
      return FailedPrecondition(models[model].name, ": without the part of server ",
                                written->missing.front(), ": name it with another --target");
    }
    BANDANA_RETURN_IF_ERROR(Annotate(AddLog(path, model, split), models[model].name));
  }
  return split.Finish(now);
}

std::string SplitText(const SplitAnswer& answer) {
  std::string text;
  const auto line = [&](const SplitAnswer::Value& value) {
    absl::StrAppend(&text, value.model, ": ", NumberText(value.value), " [", NumberText(value.low),
                    ", ", NumberText(value.high), "], ", value.users, " users\n");
  };
  for (const SplitAnswer::Value& value : answer.models) line(value);
  if (!answer.difference.model.empty()) line(answer.difference);
  absl::StrAppend(&text, "users whose decisions are not closed: ", answer.open,
                  "; whom several models had: ", answer.both, "\n");
  if (!answer.error.empty()) absl::StrAppend(&text, "cannot be judged: ", answer.error, "\n");
  return text;
}

std::string SplitJson(const SplitAnswer& answer) {
  JsonWriter json;
  json.BeginObject();
  json.Key("models").BeginArray();
  for (const SplitAnswer::Value& value : answer.models) {
    json.BeginObject();
    json.Key("model").Text(value.model);
    WriteValue(value, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("difference");
  if (answer.difference.model.empty()) {
    json.Number(std::nan(""));  // null
  } else {
    json.BeginObject();
    WriteValue(answer.difference, json);
    json.EndObject();
  }
  json.Key("open").Integer(answer.open);
  json.Key("both").Integer(answer.both);
  json.Key("skipped").Integer(answer.skipped);
  json.Key("error");
  if (answer.error.empty()) {
    json.Number(std::nan(""));  // null
  } else {
    json.Text(answer.error);
  }
  json.EndObject();
  return json.Take();
}

}  // namespace bandana
