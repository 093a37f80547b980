#include "server/ops/config/config_text.h"

#include <algorithm>
#include <charconv>

#include "common/base/status.h"
#include "common/design/files/mistyped.h"
#include "google/protobuf/io/tokenizer.h"

namespace bandana::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using Tree = TextFormat::ParseInfoTree;

// Enough for any real file; bounds the work that a hostile one can cause.
constexpr int kAttemptsMax = 50;

class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    errors.push_back({line + 1, column + 1, "", message});
  }
  // An unknown field is a warning because the parser was told to go on.
  void AddWarning(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
    warnings.push_back({line + 1, column + 1, "", message});
  }
  std::vector<ConfigMistake> errors;
  std::vector<ConfigMistake> warnings;
};

// [begin, end) of a 1-based line, without its newline.
std::pair<std::size_t, std::size_t> LineBounds(const std::string& text, int line) {
  std::size_t begin = 0;
  for (int i = 1; i < line && begin < text.size(); ++i) {
    const std::size_t newline = text.find('\n', begin);
    if (newline == std::string::npos) return {text.size(), text.size()};
    begin = newline + 1;
  }
  return {begin, std::min(text.find('\n', begin), text.size())};
}

bool Balanced(std::string_view line) {
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  return count('{') == count('}') && count('[') == count(']') && count('<') == count('>') &&
         count('"') % 2 == 0;
}

std::string_view FieldName(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return line.substr(begin, line.find_first_of(" \t:{", begin) - begin);
}

// The word that a message is about, where the parser has read past it before it complains; else
// empty.
std::string_view WordReadPast(std::string_view message) {
  if (message.starts_with("Message type ")) {  // ... "T" has no field named "WORD".
    message.remove_prefix(std::min(message.size(), message.find(" named ")));
  } else if (!message.starts_with("Unknown enumeration value of ") &&
             !message.starts_with("Non-repeated field ") && !message.starts_with("Field ")) {
    return "";
  }
  const std::size_t open = message.find('"');
  if (open == std::string_view::npos) return "";
  message.remove_prefix(open + 1);
  return message.substr(0, message.find('"'));
}

// Moves the mistake back from the token after the word to the word.
void PlaceOnWord(const std::string& text, ConfigMistake& mistake) {
  const std::string_view word = WordReadPast(mistake.message);
  const std::size_t end = LineBounds(text, mistake.line).first + mistake.column - 1;
  const std::size_t at = word.empty() ? std::string::npos : text.rfind(word, end);
  if (at == std::string::npos) return;
  mistake.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
  mistake.column = 1 + static_cast<int>(at - LineBounds(text, mistake.line).first);
}

// Blanks the line that an error stands on. False when that would change what the other lines mean.
bool LeaveOutLine(int number, std::string& text, std::set<std::string>& unread_fields) {
  const auto [begin, end] = LineBounds(text, number);
  const std::string_view line = std::string_view(text).substr(begin, end - begin);
  if (FieldName(line).empty() || !Balanced(line)) return false;
  unread_fields.emplace(FieldName(line));
  std::fill(text.begin() + begin, text.begin() + end, ' ');
  return true;
}

// One step of a path: `models[2]` -> name and index; -1 without an index.
struct Step {
  std::string name;
  int index = -1;
};

std::vector<Step> Steps(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view part = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    Step step;
    if (const std::size_t bracket = part.find('['); bracket != std::string_view::npos) {
      std::from_chars(part.data() + bracket + 1, part.data() + part.size(), step.index);
      part = part.substr(0, bracket);
    }
    step.name = std::string(part);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

void ParseText(std::string_view text, ParsedText& out) {
  std::string rest(text);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Collector collector;
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    out.locations = std::make_unique<Tree>();
    parser.WriteLocationsTo(out.locations.get());
    parser.AllowUnknownField(true);
    out.config.Clear();
    const bool parsed = parser.ParseFromString(rest, &out.config);
    for (std::vector<ConfigMistake>* found : {&collector.errors, &collector.warnings}) {
      for (ConfigMistake& mistake : *found) {
        PlaceOnWord(rest, mistake);
        mistake.message = WithHint(mistake.message);
      }
    }
    out.mistakes.insert(out.mistakes.end(), collector.errors.begin(), collector.errors.end());
    const bool last = parsed || collector.errors.empty() ||
                      !LeaveOutLine(collector.errors.back().line, rest, out.unread_fields);
    if (!last) continue;
    out.mistakes.insert(out.mistakes.end(), collector.warnings.begin(), collector.warnings.end());
    out.complete = parsed;
    return;
  }
  out.complete = false;
}

bool Locate(const Tree& locations, ConfigMistake& mistake) {
  const Tree* tree = &locations;
  const Descriptor* message = v1::ServerConfig::descriptor();
  for (const Step& step : Steps(mistake.field)) {
    const FieldDescriptor* field =
        message == nullptr ? nullptr : message->FindFieldByName(step.name);
    if (field == nullptr) return false;  // the name of a oneof
    const int index = field->is_repeated() ? std::max(step.index, 0) : -1;
    const TextFormat::ParseLocation at = tree->GetLocation(field, index);
    if (at.line < 0) return false;
    mistake.line = at.line + 1;
    mistake.column = at.column + 1;
    message = field->message_type();
    if (message == nullptr) return true;
    tree = tree->GetTreeForNested(field, index);
    if (tree == nullptr) return true;
  }
  return true;
}

}  // namespace bandana::server
