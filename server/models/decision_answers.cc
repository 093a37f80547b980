#include "server/models/decision_answers.h"

#include <chrono>
#include <thread>
#include <utility>

#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/decisions/jsonl_writer.h"
#include "server/decisions/decision_reader.h"

namespace bandana::server {
namespace {

// A follower sees entries some tenths of a second late.
constexpr std::chrono::milliseconds kLook(10);
constexpr int kLooksMax = 300;

}  // namespace

absl::Status DecisionAnswers::CheckKept() const {
  if (log_ != nullptr) return absl::OkStatus();
  return FailedPrecondition("model ", spec_.public_spec.name,
                            " keeps no decisions: its configuration has no decision_log");
}

absl::StatusOr<LoggedModel::DecisionFiles> DecisionAnswers::Files(
    const DecisionExport::Range& range) const {
  BANDANA_RETURN_IF_ERROR(CheckKept());
  LoggedModel::DecisionFiles out{.now = clock_.Now(), .server = ToHex(instance_)};
  if (part_ != nullptr) {
    BANDANA_RETURN_IF_ERROR(part_->CatchUp().status());
    BANDANA_ASSIGN_OR_RETURN(out.servers, part_->Keepers());
    out.server = part_->self();
  }
  BANDANA_RETURN_IF_ERROR(log_->Look([&](const DecisionStore& store) {
    out.files = DecisionExport::Of(store, range);
    return absl::OkStatus();
  }));
  return out;
}

absl::StatusOr<PartAnswer> DecisionAnswers::Answer(const PartQuestion& question,
                                                   ApplyLoop& loop) const {
  BANDANA_RETURN_IF_ERROR(CheckKept());
  if (part_ == nullptr || question.instance != instance_) {
    return FailedPrecondition("model ", spec_.public_spec.name, ": of another instance");
  }
  for (int looks = 0; loop.applied() < question.sequence; ++looks) {
    if (looks == kLooksMax) return Unavailable("the model's log is not followed so far");
    std::this_thread::sleep_for(kLook);
  }
  log_->Flush();
  PartAnswer answer{.server = part_->self()};
  BANDANA_ASSIGN_OR_RETURN(answer.erased, part_->CatchUp());
  if (!question.user.empty()) {
    BANDANA_ASSIGN_OR_RETURN(answer.lines, LinesOf(question.user));
  }
  return answer;
}

absl::StatusOr<std::vector<std::string>> DecisionAnswers::LinesOf(const std::string& user) const {
  std::vector<std::string> lines;
  if (log_ == nullptr) return lines;
  if (part_ != nullptr) BANDANA_RETURN_IF_ERROR(part_->CatchUp().status());
  DecisionReader::Options options{.now = clock_.Now()};
  BANDANA_ASSIGN_OR_RETURN(options.only, log_->key().Of(user));
  BANDANA_RETURN_IF_ERROR(log_->Look([&](const DecisionStore& store) -> absl::Status {
    options.folders = {store.folder()};
    BANDANA_ASSIGN_OR_RETURN(const auto reader, DecisionReader::Open(options));
    LoggedDecision decision;
    for (;;) {
      BANDANA_ASSIGN_OR_RETURN(const bool there, reader->Next(decision));
      if (!there) return absl::OkStatus();
      AppendJsonLines(decision, lines.emplace_back());
    }
  }));
  return lines;
}

}  // namespace bandana::server
