#include "tools/audit/transcript/readings.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "server/ops/observation/pages.h"

namespace bandana::audit {
namespace {

// How long a call waits and takes: whatever the machine does, the same in both worlds.
constexpr absl::Duration kWait = absl::Microseconds(30);
constexpr absl::Duration kWork = absl::Microseconds(300);

}  // namespace

Readings::Readings(const Clock& clock, Recorder& recorder)
    : clock_(clock),
      recorder_(recorder),
      lines_(clock, [this](absl::Time, bool, const std::string& text) {
        recorder_.Text(Observer::kOthers, "log", text);
      }) {}

void Readings::OnStart(const server::Rpc& rpc, absl::Duration /*waited*/) {
  metrics_.OnStart(rpc, kWait);
}

void Readings::OnCall(const server::Rpc& rpc, int status_code, absl::Duration /*duration*/) {
  metrics_.OnCall(rpc, status_code, kWait + kWork);
}

void Readings::Write(const server::CallRecord& record) {
  server::CallRecord line = record;
  line.duration = kWait + kWork;
  lines_.Write(line);
}

void Readings::Spans::Write(const server::CallRecord& record) {
  server::CallRecord span = record;
  span.duration = kWait + kWork;
  of_.recorder_.Text(Observer::kOthers, "span",
                     absl::StrCat(server::CallLine(span), " parent=", span.parent_id));
}

void Readings::Warn(std::string_view model, std::string_view message) {
  recorder_.Text(Observer::kOthers, "log", absl::StrCat(ToAbsl(model), ": ", ToAbsl(message)));
}

void Readings::Tick(const server::ServerView& view) {
  connections_.See(view.connections, clock_.Now());
  metrics_.Tick(view);
  history_.Tick(view, metrics_.Totals(), /*resident_bytes=*/0, clock_.Now());
  lines_.Flush();
}

void Readings::RecordPages(const server::ServerView& view,
                           const server::ProcessStats& process) const {
  recorder_.Lines(Observer::kOthers, "metrics", metrics_.Render(view, process));
  std::vector<std::string> paths = {"/", "/readyz"};
  for (const server::ModelView& model : view.models) paths.push_back("/models/" + model.name);
  for (const std::string& path : paths) {
    recorder_.Lines(Observer::kOthers, "page " + path,
                    server::Page(path, view, metrics_, history_, clock_.Now()).body);
  }
}

}  // namespace bandana::audit
