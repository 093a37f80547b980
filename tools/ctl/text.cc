#include "tools/ctl/text.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/text.h"
#include "common/design/files/arm_facts.h"
#include "tools/ctl/json.h"

namespace bandana {

std::string ModelTable(const v1::ListModelsResponse& models) {
  std::string table =
      absl::StrFormat("%-24s %-13s %-18s %9s %8s %8s %8s %10s\n", "MODEL", "MODE", "MECHANISM",
                      "EPSILON", "FEATURES", "NODES", "ARMS", "VERSION");
  for (const v1::ModelDescription& description : models.models()) {
    const v1::GetModelResponse& model = description.model();
    const bool is_private = model.mode() != v1::NON_PRIVATE;
    absl::StrAppendFormat(&table, "%-24s %-13s %-18s %9s %8d %8d %8d %10d%s\n", model.model(),
                          v1::Mode_Name(model.mode()),
                          is_private ? v1::Mechanism_Name(model.mechanism()) : "-",
                          is_private ? absl::StrFormat("%g", model.epsilon()) : "-",
                          model.dimension(), description.nodes(), description.arms(),
                          model.posterior_version(), model.research() ? "  research" : "");
  }
  return table;
}

std::string AliasTable(const v1::ListAliasesResponse& aliases) {
  std::string table = absl::StrFormat("%-24s %s\n", "ALIAS", "MODELS");
  for (const v1::Alias& alias : aliases.aliases()) {
    double sum = 0;
    for (const v1::Share& share : alias.shares()) sum += share.weight();
    absl::StrAppendFormat(
        &table, "%-24s %s\n", alias.name(),
        absl::StrJoin(alias.shares(), ", ", [sum](std::string* out, const v1::Share& share) {
          absl::StrAppendFormat(out, "%s:%d (%.3g %%)", share.model(), share.weight(),
                                100 * share.weight() / sum);
        }));
  }
  return table;
}

std::string ArmLine(const v1::Arm& arm) {
  const std::map<std::string, std::string> groups(arm.groups().begin(), arm.groups().end());
  const ArmFacts facts = FactsOf(arm).value_or(ArmFacts());
  const auto or_none = [](std::string text) { return text.empty() ? "-" : text; };
  std::vector<std::string> fields = {
      absl::StrCat(arm.id()),
      or_none(OneLine(absl::StrJoin(arm.tags(), ","))),
      absl::StrJoin(arm.features(), " ",
                    [](std::string* out, double x) { absl::StrAppendFormat(out, "%.17g", x); }),
      or_none(OneLine(absl::StrJoin(groups, ",", absl::PairFormatter("=")))),
      or_none(OneLine(arm.name())),
      FieldsText(facts),
      or_none(AvailabilityText(facts))};
  // A field without content is there only where it keeps the place of one that comes after.
  while (fields.size() > 3 && fields.back() == "-") fields.pop_back();
  return absl::StrCat(absl::StrJoin(fields, "\t"), "\n");
}

std::string UserLine(const v1::User& user) {
  const std::map<std::string, std::string> groups(user.groups().begin(), user.groups().end());
  return absl::StrCat(OneLine(user.id()), user.has_node() ? absl::StrCat("\t", user.node()) : "",
                      groups.empty() ? "" : "\t",
                      OneLine(absl::StrJoin(groups, ",", absl::PairFormatter("="))), "\n");
}

// JSON without what only programs need: quotes, commas, braces.
std::string StatsLines(const v1::GetStatsResponse& stats) {
  std::string text;
  const std::uint64_t waiting = stats.decisions_waiting();
  if (waiting > 0) {
    absl::StrAppend(&text, waiting,
                    waiting == 1
                        ? " decision waits for its window or its report, and is not learnt yet\n"
                        : " decisions wait for their window or their report, and are not learnt "
                          "yet\n");
  }
  for (const v1::Refusal& refusal : stats.refusals()) {
    absl::StrAppend(&text, "not learning as it should (", refusal.reason(), "): ", refusal.text(),
                    ". To do: ", refusal.remedy(), "\n");
  }
  return text;
}

std::string ToText(const google::protobuf::Message& message) {
  std::string text;
  for (const auto line : absl::StrSplit(ToJson(message), '\n')) {
    std::string plain = absl::StrReplaceAll(line, {{"\"", ""}, {",", ""}, {"{", ""}, {"}", ""}});
    absl::StripTrailingAsciiWhitespace(&plain);
    if (plain.ends_with("_UNSPECIFIED")) continue;  // says nothing
    if (!plain.empty()) absl::StrAppend(&text, absl::ClippedSubstr(plain, 2), "\n");
  }
  return text;
}

}  // namespace bandana
