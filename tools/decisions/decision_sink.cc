#include "tools/decisions/decision_sink.h"

#include <utility>

#include "common/base/status.h"
#include "common/decisions/dsjson_writer.h"
#include "common/decisions/jsonl_writer.h"
#include "common/decisions/obp_rows.h"
#include "tools/decisions/packed_file.h"
#include "tools/decisions/sqlite_sink.h"

namespace bandana {
namespace {

// Text of one decision after another.
template <typename Rows>
class TextSink final : public DecisionSink {
 public:
  explicit TextSink(PackedFile file) : file_(std::move(file)) {}

  absl::Status Write(const LoggedDecision& decision) override {
    text_.clear();
    rows_.Append(decision, text_);
    return file_.Append(text_);
  }
  absl::Status Finish() override {
    text_.clear();
    rows_.End(text_);
    BANDANA_RETURN_IF_ERROR(file_.Append(text_));
    return file_.Finish();
  }

 private:
  PackedFile file_;
  Rows rows_;
  std::string text_;
};

// Formats whose decisions stand for themselves.
template <void (*AppendLines)(const LoggedDecision&, std::string&)>
struct Lines {
  void Append(const LoggedDecision& decision, std::string& text) { AppendLines(decision, text); }
  void End(std::string&) {}
};

template <typename Rows>
absl::StatusOr<std::unique_ptr<DecisionSink>> OpenText(const std::string& path) {
  BANDANA_ASSIGN_OR_RETURN(PackedFile file, PackedFile::Create(path));
  return std::make_unique<TextSink<Rows>>(std::move(file));
}

constexpr struct {
  std::string_view format;
  std::string_view suffix;
  absl::StatusOr<std::unique_ptr<DecisionSink>> (*open)(const std::string& path);
} kFormats[] = {{"jsonl", ".jsonl", OpenText<Lines<AppendJsonLines>>},
                {"obp", ".csv", OpenText<ObpRows>},
                {"dsjson", ".dsjson", OpenText<Lines<AppendDsjsonLine>>},
                {"sqlite", ".sqlite", OpenSqliteSink}};

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionSink>> OpenDecisionSink(const std::string& path,
                                                               std::string_view format) {
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  for (const auto& known : kFormats) {
    if (format.empty() ? name.ends_with(known.suffix) : format == known.format) {
      return known.open(path);
    }
  }
  if (!format.empty()) {
    return InvalidArgument("format: must be jsonl, obp, dsjson or sqlite, got \"", ToAbsl(format),
                           "\"");
  }
  return InvalidArgument(path,
                         ": must end in .jsonl, .csv, .dsjson or .sqlite (and perhaps .gz), "
                         "or a format must be given");
}

}  // namespace bandana
