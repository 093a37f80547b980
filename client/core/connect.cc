#include "client/core/connect.h"

#include <optional>
#include <string>
#include <utility>

#include "client/core/backoff.h"
#include "client/core/messages.h"
#include "client/core/model_answer.h"
#include "client/core/policy.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::device {
namespace {

class Connecting final : public std::enable_shared_from_this<Connecting> {
 public:
  Connecting(const ClientOptions& options, const ClientHost& host, const RowsOrigin& rows,
             ClientCore::Made made)
      : options_(options),
        host_(host),
        rows_(rows),
        made_(std::move(made)),
        end_(host.timers->Elapsed() + options.connect_timeout) {}

  void Start() {
    if (!at_start()) return Ask();
    const MonotoneClock& clock = host_.state->ClockOver(*host_.wall);
    host_.state->Push({.before = [self = shared_from_this(), &clock] { self->now_ = clock.Now(); },
                       .operation =
                           [self = shared_from_this()](Transaction& transaction) {
                             self->LookAtRows(transaction.tables);
                             return absl::OkStatus();
                           },
                       .committed =
                           [self = shared_from_this()](const absl::Status& looked) {
                             if (!looked.ok() || !self->remembered_) return self->Ask();
                             self->Agree(*self->remembered_, /*is_start=*/false);
                           }});
  }

 private:
  bool at_start() const { return options_.leave == ClientOptions::Leave::kAtStart; }
  absl::Duration left() const { return end_ - host_.timers->Elapsed(); }

  void LookAtRows(Tables& tables) {
    if (!rows_.taken_over && !tables.reports().IsAnyOpen(now_)) return;
    const auto answers = tables.kept().Of(options_.model);
    const auto model = answers.find(std::string(KeptAnswers::kModel));
    if (model != answers.end()) remembered_ = model->second;
  }

  void Ask() {
    host_.calls->Make(
        Method::kGetModel, ModelRequestBytes(options_.model),
        {.deadline = left(), .wait_for_ready = true},
        [self = shared_from_this()](const Answer& answer, const std::string& response) {
          self->OnAnswer(answer, response);
        });
  }

  void OnAnswer(const Answer& answer, const std::string& response) {
    const absl::StatusCode code = answer.status.code();
    if (code == absl::StatusCode::kOk) {
      if (at_start())
        KeptAnswers(host_.state, options_.model, {}).Put(KeptAnswers::kModel, response);
      return Agree(response, !rows_.taken_over);
    }
    if (code == absl::StatusCode::kDeadlineExceeded) {
      return made_(Unavailable("no server at ", options_.target, " within ",
                               absl::FormatDuration(options_.connect_timeout)));
    }
    if (code != absl::StatusCode::kUnavailable && code != absl::StatusCode::kResourceExhausted) {
      return made_(answer.status);
    }
    const absl::Duration pause =
        BackoffWithPushback({options_.backoff_min, options_.backoff_max}, attempt_++,
                            SystemBits().NextWord().value_or(0), answer.pushback);
    // At a start the model is asked for once, as Client::Begin does it.
    if (at_start() || pause >= left() ||
        !host_.timers->RunAfter(pause, [self = shared_from_this()] { self->Ask(); })) {
      made_(Unavailable("no answer from ", options_.target, " within ",
                        absl::FormatDuration(options_.connect_timeout), ": ",
                        answer.status.message()));
    }
  }

  void Agree(const std::string& response, bool is_start) {
    const auto model = ReadModelAnswer(response);
    absl::Status agreed = model.status();
    if (agreed.ok()) agreed = Check(model->spec);
    if (!agreed.ok()) return made_(agreed);
    ClientCore::Create(options_, host_, *model, is_start, made_);
  }

  absl::Status Check(const PublicSpec& spec) const {
    if (spec.name != options_.model) {
      return FailedPrecondition("the server answered with model ", spec.name, " instead of ",
                                options_.model);
    }
    BANDANA_RETURN_IF_ERROR(CheckPolicy(spec, options_.policy));
    BANDANA_RETURN_IF_ERROR(CheckStore(spec, rows_.durable));
    return CheckLeave(spec, options_.leave);
  }

  const ClientOptions options_;
  const ClientHost host_;
  const RowsOrigin rows_;
  const ClientCore::Made made_;
  const absl::Duration end_;
  int attempt_ = 0;
  absl::Time now_;  // of LookAtRows
  std::optional<std::string> remembered_;
};

}  // namespace

void Connect(const ClientOptions& options, const ClientHost& host, const RowsOrigin& rows,
             ClientCore::Made made) {
  std::make_shared<Connecting>(options, host, rows, std::move(made))->Start();
}

}  // namespace bandana::device
