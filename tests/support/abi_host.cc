#include "tests/support/abi_host.h"

#include <algorithm>
#include <limits>

namespace bandana::testing {
namespace {

std::string Frame(char flags, const std::string& content) {
  std::string frame(1, flags);
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(content.size() >> shift);
  return frame + content;
}

AbiRow KeyOf(std::int32_t table, const AbiRow& row) {
  bandana_table form = {};
  form.size = sizeof form;
  bandana_table_form(table, &form);
  return {row.begin(), row.begin() + form.keys};
}

}  // namespace

std::vector<bandana_cell> CellsOf(const AbiRow& row) {
  std::vector<bandana_cell> cells;
  for (const AbiCell& cell : row) {
    cells.push_back({cell.kind, 0, cell.integer, cell.real, BytesFor(cell.bytes)});
  }
  return cells;
}

AbiRow RowFrom(const bandana_cell* cells, std::size_t count) {
  AbiRow row;
  for (std::size_t i = 0; i < count; ++i) {
    row.push_back({cells[i].kind, cells[i].integer, cells[i].real, TextFrom(cells[i].bytes)});
  }
  return row;
}

std::string WebBody(const std::string& message, const std::string& trailers) {
  return Frame(0, message) + Frame('\x80', trailers);
}

AbiHost::AbiHost() = default;
AbiHost::~AbiHost() { bandana_device_free(device); }

bandana_hooks AbiHost::Hooks() {
  bandana_hooks hooks = {};
  hooks.size = sizeof hooks;
  hooks.context = this;
  hooks.call = [](void* context, const bandana_call* call) {
    Of(context).hooks_called.emplace_back("call");
    Call made{call->id,
              call->path,
              TextFrom(call->body).substr(5),
              call->deadline_ms,
              call->wait_for_ready != 0,
              call->keep_connection != 0,
              TextFrom(call->target),
              {}};
    for (std::size_t i = 0; i < call->headers_count; ++i) {
      made.headers.emplace_back(call->headers[i].name, call->headers[i].value);
    }
    Of(context).calls.push_back(std::move(made));
  };
  hooks.commit = [](void* context, const bandana_commit* commit) { Of(context).Commit(*commit); };
  hooks.random = [](void* context, void* out, std::size_t size) {
    return Of(context).Random(out, size);
  };
  hooks.wall_ns = [](void* context) { return Of(context).wall_ns; };
  hooks.elapsed_ns = [](void* context) { return Of(context).elapsed_ns; };
  hooks.wake = [](void* context, std::int64_t at) {
    Of(context).hooks_called.emplace_back("wake");
    Of(context).wake_ns = at;
  };
  hooks.mark = [](void* context, const bandana_mark* mark) {
    Of(context).hooks_called.emplace_back("mark");
    Of(context).mark = *mark;
  };
  hooks.tell = [](void* context, const bandana_result* result) { Of(context).Tell(*result); };
  return hooks;
}

void AbiHost::Commit(const bandana_commit& commit) {
  hooks_called.emplace_back("commit");
  commits.push_back(commit.id);
  if (commit_code == 0) {
    for (std::size_t i = 0; i < commit.count; ++i) {
      const bandana_change& change = commit.changes[i];
      const AbiRow row = RowFrom(change.cells, change.count);
      if (change.erased != 0) {
        rows.erase({change.table, row});
      } else {
        rows[{change.table, KeyOf(change.table, row)}] = row;
      }
    }
  }
  if (free_in_commit) bandana_device_free(device);
  if (answers_commits) bandana_committed(device, commit.id, commit_code);
}

void AbiHost::Tell(const bandana_result& result) {
  hooks_called.emplace_back("tell");
  Told one{result.tag,    result.kind,  result.code, TextFrom(result.message),
           result.client, result.value, {},          std::nullopt};
  for (std::size_t i = 0; i < result.selections_count; ++i) {
    one.handles.push_back(TextFrom(result.selections[i].handle));
  }
  if (result.spent != nullptr) one.spent = *result.spent;
  if (result.kind == BANDANA_CONNECTED && result.code == 0) client = result.client;
  told.push_back(std::move(one));
}

int AbiHost::Random(void* out, std::size_t size) {
  code_inside_random = bandana_wake(device);
  auto* const bytes = static_cast<unsigned char*>(out);
  for (std::size_t i = 0; i < size; ++i) {
    random_ = random_ * 1664525 + 1013904223;
    bytes[i] = static_cast<unsigned char>(random_ >> 24);
  }
  return entropy_fails ? 1 : 0;
}

int AbiHost::Open(Rows content, const bandana_mark* seen, bool durable) {
  bandana_device_free(device);
  calls.clear();
  told.clear();
  rows = std::move(content);
  const bandana_hooks hooks = Hooks();
  if (const int code = bandana_device_new(&hooks, &device); code != 0) return code;
  for (const auto& [key, row] : rows) {
    const auto cells = CellsOf(row);
    if (const int code = bandana_load(device, key.first, cells.data(), cells.size()); code != 0) {
      return code;
    }
  }
  bandana_start_of start = {};
  start.size = sizeof start;
  start.durable = durable ? 1 : 0;
  start.seen = seen;
  return bandana_start(device, &start, 1);
}

bandana_options AbiHost::Options(std::string_view model) {
  bandana_options options;
  bandana_options_init(&options);
  options.target = BytesFor("host");
  options.model = BytesFor(model);
  options.epsilon_max = std::numeric_limits<double>::infinity();
  options.delta_max = 1;
  options.require_proven = 0;
  options.require_local = 0;
  options.allow_research = 1;
  return options;
}

int AbiHost::Connect(std::string_view model, std::uint64_t tag) {
  const bandana_options options = Options(model);
  return bandana_connect(device, &options, tag);
}

int AbiHost::Select(std::string_view user, std::uint64_t tag, int by, int slots) {
  const double features[] = {1, 0, 0, 1};
  bandana_arms arms = {};
  arms.size = sizeof arms;
  arms.features = features;
  arms.features_count = std::size(features);
  bandana_request request = {};
  request.size = sizeof request;
  request.by = by;
  request.top_k = 1;
  request.slots = slots;
  request.user = BytesFor(user);
  request.arms = &arms;
  return bandana_select(device, client, &request, tag);
}

int AbiHost::Report(const std::string& handle, double reward, std::uint64_t tag) {
  bandana_report_of report = {};
  report.size = sizeof report;
  report.handle = BytesFor(handle);
  report.reward = reward;
  return bandana_report(device, client, &report, tag);
}

int AbiHost::AnswerWith(const Call& call, int http_status, const std::string& body,
                        const std::vector<bandana_header>& headers) {
  bandana_answer_of_call answer = {};
  answer.size = sizeof answer;
  answer.http_status = http_status;
  answer.headers = headers.data();
  answer.headers_count = headers.size();
  answer.body = BytesFor(body);
  return bandana_answer(device, call.id, &answer);
}

int AbiHost::Answer(const Call& call, const std::string& message) {
  return AnswerWith(call, 200, WebBody(message));
}

void AbiHost::Pass(std::int64_t nanos) {
  wall_ns += nanos;
  elapsed_ns += nanos;
  bandana_wake(device);
}

void AbiHost::PassAndAnswer(std::int64_t nanos,
                            const std::function<std::string(const Call&)>& message) {
  Pass(nanos);
  while (!calls.empty()) {
    const Call call = TakeCall();
    Answer(call, message(call));
  }
}

void AbiHost::Restart() {
  random_ = 1;
  wall_ns = kWallStart;
  elapsed_ns = kElapsedStart;
}

AbiHost::Told AbiHost::Result(std::uint64_t tag) const {
  const auto found =
      std::find_if(told.rbegin(), told.rend(), [tag](const Told& one) { return one.tag == tag; });
  return found == told.rend() ? Told{.code = -1} : *found;
}

AbiHost::Call AbiHost::TakeCall() {
  if (calls.empty()) return {};
  Call call = calls.front();
  calls.pop_front();
  return call;
}

}  // namespace bandana::testing
