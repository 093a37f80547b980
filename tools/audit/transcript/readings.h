// Everything that operators read of a world's server besides its answers: metrics, pages, the log.
#pragma once

#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "server/ops/observation/call_lines.h"
#include "server/ops/observation/connection_watch.h"
#include "server/ops/observation/history.h"
#include "server/ops/observation/metrics.h"
#include "server/ops/observation/posterior_ages.h"
#include "server/ops/observation/refusal_watch.h"
#include "tools/audit/transcript/recorder.h"

namespace bandana::audit {

// Observes the calls of the listeners, with times that no machine decides. Not thread-safe.
class Readings final : public server::CallObserver, public server::CallLog {
 public:
  // Both must outlive it.
  Readings(const Clock& clock, Recorder& recorder);

  void OnStart(const server::Rpc& rpc, absl::Duration waited) override;
  void OnCall(const server::Rpc& rpc, int status_code, absl::Duration duration) override;
  void Write(const server::CallRecord& record) override;
  // A machine that stands still for a second must not draw a line's name in one world alone.
  absl::Duration slow() const override { return absl::InfiniteDuration(); }
  // A line of the server's log; `model` may be empty.
  void Warn(std::string_view model, std::string_view message);

  // Gets the records of calls whose callers trace them.
  server::CallLog& spans() { return spans_; }

  std::uint64_t lines_dropped() const { return lines_.dropped(); }
  // A second has passed, say.
  void Tick(const server::ServerView& view);
  void RecordPages(const server::ServerView& view, const server::ProcessStats& process) const;

 private:
  // All that a span is made of (server/ops/spans.h).
  class Spans final : public server::CallLog {
   public:
    explicit Spans(const Readings& of) : of_(of) {}
    void Write(const server::CallRecord& record) override;

   private:
    const Readings& of_;
  };

  const Clock& clock_;
  Recorder& recorder_;
  Spans spans_{*this};
  server::Metrics metrics_;
  server::History history_;
  server::CallLines lines_;
  server::ConnectionWatch connections_{[this](const std::string& line) { Warn("", line); }};
};

// Since when models wait or refuse, as one server of a world sees it.
class ModelWatches {
 public:
  explicit ModelWatches(Readings& readings)
      : refusals_([&readings](bool, const std::string& line) { readings.Warn("", line); }) {}
  void See(std::vector<server::ModelView>& models, absl::Time now) {
    ages_.See(models, now);
    refusals_.See(models, now);
  }

 private:
  server::PosteriorAges ages_;
  server::RefusalWatch refusals_;
};

}  // namespace bandana::audit
