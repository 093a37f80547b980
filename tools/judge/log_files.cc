#include "tools/judge/log_files.h"

#include <filesystem>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/decisions/jsonl_reader.h"
#include "server/decisions/decision_reader.h"
#include "tools/decisions/packed_file.h"

namespace bandana {
namespace {

// A folder's decisions have numbers in place of lines.
class FolderSource : public DecisionStream {
 public:
  static absl::StatusOr<std::unique_ptr<DecisionStream>> Open(const std::string& folder) {
    server::DecisionReader::Options options;
    options.folders = {folder};
    options.now = absl::Now();
    options.users = true;
    BANDANA_ASSIGN_OR_RETURN(auto reader, server::DecisionReader::Open(std::move(options)));
    return std::make_unique<FolderSource>(std::move(reader));
  }
  explicit FolderSource(std::unique_ptr<server::DecisionReader> reader)
      : reader_(std::move(reader)) {}

  absl::StatusOr<Next> Read(LoggedDecision& decision, DecisionFault&) override {
    BANDANA_ASSIGN_OR_RETURN(const bool found, reader_->Next(decision));
    number_ += found;
    return found ? Next::kDecision : Next::kEnd;
  }
  std::uint64_t line() const override { return number_; }

 private:
  const std::unique_ptr<server::DecisionReader> reader_;
  std::uint64_t number_ = 0;
};

absl::StatusOr<std::unique_ptr<DecisionStream>> OpenLog(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return FolderSource::Open(path);
  BANDANA_ASSIGN_OR_RETURN(DecisionBytes bytes, OpenPackedFile(path));
  return std::make_unique<JsonlReader>(std::move(bytes));
}

}  // namespace

std::string LogFiles::Name() const {
  return paths_.size() > 1 ? absl::StrCat(paths_[at_], ": ") : "";
}

absl::Status LogFiles::Open() {
  auto source = OpenLog(paths_[at_]);
  BANDANA_RETURN_IF_ERROR(Annotate(source.status(), paths_[at_]));
  source_ = *std::move(source);
  return absl::OkStatus();
}

absl::Status LogFiles::Start() {
  at_ = 0;
  return Open();
}

absl::StatusOr<DecisionStream::Next> LogFiles::Read(LoggedDecision& decision,
                                                    DecisionFault& fault) {
  for (;;) {
    auto next = source_->Read(decision, fault);
    BANDANA_RETURN_IF_ERROR(Annotate(next.status(), paths_[at_]));
    if (*next == DecisionStream::Next::kFault) fault.message = Name() + fault.message;
    if (*next != DecisionStream::Next::kEnd || at_ + 1 == paths_.size()) return *next;
    ++at_;
    BANDANA_RETURN_IF_ERROR(Open());
  }
}

std::string LogFiles::Where() const { return absl::StrCat(Name(), "line ", source_->line()); }

}  // namespace bandana
