#include "tools/import/import_text.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace bandana {
namespace {

void AppendDouble(double value, std::string& out) {
  char buffer[32];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
}

}  // namespace

std::string ToArmsTsv(std::span<const ImportedArm> arms) {
  std::string text;
  for (const ImportedArm& arm : arms) {
    absl::StrAppend(&text, arm.id, "\t");
    if (arm.tags.empty()) text += '-';
    for (std::size_t i = 0; i < arm.tags.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ",", arm.tags[i]);
    }
    for (std::size_t i = 0; i < arm.features.size(); ++i) {
      text += i == 0 ? '\t' : ' ';
      AppendDouble(arm.features[i], text);
    }
    text += '\n';
  }
  return text;
}

std::string ToUsersTsv(std::span<const int> users, std::span<const int> nodes) {
  std::string text;
  for (std::size_t i = 0; i < users.size(); ++i) {
    absl::StrAppend(&text, users[i], "\t", nodes[i], "\n");
  }
  return text;
}

std::string ToLevelsTsv(std::span<const std::string> users, std::span<const int> nodes,
                        std::span<const LevelOfUsers> levels) {
  std::string text = nodes.empty() ? "user" : "user\tnode";
  for (std::size_t i = 1; i <= levels.size(); ++i) absl::StrAppend(&text, "\tlevel", i);
  text += '\n';
  for (std::size_t user = 0; user < users.size(); ++user) {
    text += users[user];
    if (!nodes.empty()) absl::StrAppend(&text, "\t", nodes[user]);
    for (const LevelOfUsers& level : levels) {
      if (level[user] == kNoGroup) {
        text += "\t-";
      } else {
        absl::StrAppend(&text, "\t", level[user]);
      }
    }
    text += '\n';
  }
  return text;
}

std::string ToEventsTsv(std::span<const ImportedEvent> events) {
  std::string text = "# user\tarm\tday (since 1970-01-01)\n";
  for (const ImportedEvent& event : events) {
    absl::StrAppend(&text, event.user, "\t", event.arm, "\t",
                    event.day - absl::CivilDay(1970, 1, 1), "\n");
  }
  return text;
}

std::string ToItemsTsv(std::span<const Listening> items) {
  std::string text = "# user\tarm\n";
  for (const Listening& item : items) absl::StrAppend(&text, item.user, "\t", item.artist, "\n");
  return text;
}

}  // namespace bandana
