#include "tests/conformance/schedule_host.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>

#include "common/base/sha256.h"

namespace bandana::conformance {
namespace {

bandana_bytes BytesOf(const std::string& text) { return {text.data(), text.size()}; }
std::string TextOf(const bandana_bytes& bytes) {
  return bytes.size == 0 ? "" : std::string(static_cast<const char*>(bytes.data), bytes.size);
}
std::string HexOf(std::string_view bytes) { return ToHex(AsBytes(bytes)); }

std::string CellText(const bandana_cell& cell) {
  switch (cell.kind) {
    case BANDANA_INTEGER:
      return "i" + std::to_string(cell.integer);
    case BANDANA_REAL:
      return "r" + std::to_string(std::bit_cast<std::uint64_t>(cell.real));
    default:
      return "b" + HexOf(TextOf(cell.bytes));
  }
}

}  // namespace

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

ScheduleHost::~ScheduleHost() {
  if (device_ != 0) bandana_device_free(device_);
}

bandana_hooks ScheduleHost::Hooks() {
  bandana_hooks hooks = {};
  hooks.size = sizeof hooks;
  hooks.context = this;
  hooks.call = [](void* context, const bandana_call* call) {
    ScheduleHost& host = *static_cast<ScheduleHost*>(context);
    const std::string body = TextOf(call->body);
    host.calls_.push_back(
        {call->id, call->path, body.substr(std::min<std::size_t>(5, body.size()))});
    std::string line = "call " + std::to_string(call->id) + " " + call->path + " " + HexOf(body);
    for (std::size_t i = 0; i < call->headers_count; ++i) {
      line += std::string(" ") + call->headers[i].name + "=" + call->headers[i].value;
    }
    host.Say(line + " " + std::to_string(call->deadline_ms) + " " +
             std::to_string(call->wait_for_ready) + " " + std::to_string(call->keep_connection) +
             " " + TextOf(call->target));
  };
  hooks.commit = [](void* context, const bandana_commit* commit) {
    static_cast<ScheduleHost*>(context)->Commit(*commit);
  };
  hooks.random = [](void* context, void* out, std::size_t size) {
    return static_cast<ScheduleHost*>(context)->Random(static_cast<unsigned char*>(out), size);
  };
  hooks.wall_ns = [](void* context) { return static_cast<ScheduleHost*>(context)->wall_ns_; };
  hooks.elapsed_ns = [](void* context) { return static_cast<ScheduleHost*>(context)->elapsed_ns_; };
  hooks.wake = [](void* context, std::int64_t at) {
    ScheduleHost& host = *static_cast<ScheduleHost*>(context);
    host.wake_ns_ = at;
    host.Say("wake " + std::to_string(at));
  };
  hooks.mark = [](void* context, const bandana_mark* mark) {
    ScheduleHost& host = *static_cast<ScheduleHost*>(context);
    host.mark_ = *mark;
    host.Say("mark " + std::to_string(mark->position) + " " + std::to_string(mark->run) + " " +
             std::to_string(mark->events) + " " + std::to_string(mark->streams) + " " +
             HexOf({reinterpret_cast<const char*>(mark->ledger_hash), sizeof mark->ledger_hash}));
  };
  hooks.tell = [](void* context, const bandana_result* result) {
    static_cast<ScheduleHost*>(context)->Tell(*result);
  };
  return hooks;
}

int ScheduleHost::Random(unsigned char* out, std::size_t size) {
  if (entropy_fails_) return 1;
  for (std::size_t i = 0; i < size; ++i, ++drawn_) {
    const Sha256Digest block = Sha256Of("bandana schedule " + std::to_string(schedule_) + " " +
                                        std::to_string(drawn_ / 32));
    out[i] = static_cast<unsigned char>(block[drawn_ % 32]);
  }
  return 0;
}

void ScheduleHost::Commit(const bandana_commit& commit) {
  changes_.clear();
  Say("commit " + std::to_string(commit.id) + " " + std::to_string(commit.erased_private));
  for (std::size_t i = 0; i < commit.count; ++i) {
    const bandana_change& change = commit.changes[i];
    Change& kept = changes_.emplace_back(Change{change.table, change.erased != 0, {}});
    std::string line = (kept.erased ? "erase " : "put ") + std::to_string(change.table);
    for (std::size_t k = 0; k < change.count; ++k) {
      kept.cells.push_back(CellText(change.cells[k]));
      line += " " + kept.cells.back();
    }
    Say(line);
  }
  if (commits_ == "hold") {
    held_ = commit.id;
    return;
  }
  const bool stands = commits_ == "stand";
  if (stands) Apply();
  bandana_committed(device_, commit.id, stands ? 0 : BANDANA_UNAVAILABLE);
}

void ScheduleHost::Apply() {
  for (const Change& change : changes_) {
    bandana_table table = {};
    table.size = sizeof table;
    bandana_table_form(change.table, &table);
    const Row key(change.cells.begin(), change.cells.begin() + table.keys);
    if (change.erased) {
      rows_.erase({change.table, key});
    } else {
      rows_[{change.table, key}] = change.cells;
    }
  }
}

void ScheduleHost::Tell(const bandana_result& result) {
  std::string line = "told " + std::to_string(result.tag) + " " + std::to_string(result.kind) +
                     " " + std::to_string(result.code) + " " + std::to_string(result.client) + " " +
                     std::to_string(result.value);
  for (std::size_t i = 0; i < result.selections_count; ++i) {
    handles_.push_back(TextOf(result.selections[i].handle));
    line += " " + HexOf(handles_.back());
  }
  if (result.spent != nullptr) line += " " + std::to_string(result.spent->events);
  Say(line + " " + TextOf(result.message));
  if (result.kind == BANDANA_CONNECTED && result.code == 0) client_ = result.client;
}

void ScheduleHost::Returned(const char* function, int code) {
  if (code != 0)
    Say(std::string("returned ") + function + " " + std::to_string(code) + " " + bandana_error());
}

// A crash, if there was a device: rows that are not durable are gone.
void ScheduleHost::Open() {
  if (device_ != 0) bandana_device_free(device_);
  device_ = client_ = 0;
  held_.reset();
  calls_.clear();
  wake_ns_ = -1;
  commits_ = "stand";
  entropy_fails_ = false;
  const bandana_hooks hooks = Hooks();
  Returned("device_new", bandana_device_new(&hooks, &device_));
  for (const auto& [key, row] : rows_) {
    std::vector<bandana_cell> cells;
    std::deque<std::string> bytes;
    for (const std::string& text : row) {
      bandana_cell& cell = cells.emplace_back();
      cell.kind = text[0] == 'i' ? BANDANA_INTEGER : text[0] == 'r' ? BANDANA_REAL : BANDANA_BYTES;
      if (text[0] == 'i') cell.integer = std::stoll(text.substr(1));
      if (text[0] == 'r') cell.real = std::bit_cast<double>(std::stoull(text.substr(1)));
      if (text[0] == 'b')
        cell.bytes = BytesOf(bytes.emplace_back(Unhex(std::string_view(text).substr(1))));
    }
    Returned("load", bandana_load(device_, key.first, cells.data(), cells.size()));
  }
  bandana_start_of start = {};
  start.size = sizeof start;
  start.durable = 1;
  start.seen = mark_ ? &*mark_ : nullptr;
  Returned("start", bandana_start(device_, &start, ++tag_));
}

void ScheduleHost::Connect(const Step& step) {
  bandana_options options;
  bandana_options_init(&options);
  const std::string target = "server";
  options.target = BytesOf(target);
  options.model = BytesOf(step.text);
  options.leave = static_cast<int>(step.number);
  options.events_per_user_max = static_cast<std::uint64_t>(step.second);
  options.epsilon_max = std::bit_cast<double>(step.bits);
  Returned("connect", bandana_connect(device_, &options, ++tag_));
}

void ScheduleHost::Select(const Step& step) {
  constexpr double kFeatures[] = {1, 0, 0, 1, 0.6, 0.8};
  constexpr std::uint32_t kIds[] = {3, 4, 5};
  bandana_arms arms = {};
  arms.size = sizeof arms;
  arms.features = kFeatures;
  arms.features_count = std::size(kFeatures);
  arms.ids = kIds;
  arms.ids_count = std::size(kIds);
  bandana_request request = {};
  request.size = sizeof request;
  request.by = static_cast<int>(step.second);
  request.top_k = 1;
  request.slots = static_cast<int>(step.number);
  request.user = BytesOf(step.text);
  request.arms = &arms;
  Returned("select", bandana_select(device_, client_, &request, ++tag_));
}

void ScheduleHost::Report(const Step& step) {
  bandana_report_of report = {};
  report.size = sizeof report;
  report.handle = BytesOf(handles_[static_cast<std::size_t>(step.number)]);
  report.reward = std::bit_cast<double>(step.bits);
  Returned("report", bandana_report(device_, client_, &report, ++tag_));
}

void ScheduleHost::Answer(const Step& step) {
  std::erase_if(
      calls_, [&](const Call& call) { return static_cast<std::int64_t>(call.id) == step.number; });
  std::vector<bandana_header> headers;
  for (const auto& [name, value] : step.headers) headers.push_back({name.c_str(), value.c_str()});
  bandana_answer_of_call answer = {};
  answer.size = sizeof answer;
  answer.http_status = static_cast<int>(step.second);
  answer.headers = headers.data();
  answer.headers_count = headers.size();
  answer.body = BytesOf(step.text);
  Returned("answer", bandana_answer(device_, static_cast<std::uint64_t>(step.number), &answer));
}

std::vector<std::string> ScheduleHost::Run(const Step& step) {
  wall_ns_ = step.wall_ns;
  elapsed_ns_ = step.elapsed_ns;
  const bandana_bytes text = BytesOf(step.text);
  if (step.kind == "open") {
    Open();
  } else if (step.kind == "connect") {
    Connect(step);
  } else if (step.kind == "select") {
    Select(step);
  } else if (step.kind == "activate") {
    const bandana_bytes handle = BytesOf(handles_[static_cast<std::size_t>(step.number)]);
    Returned("activate", bandana_activate(device_, client_, &handle, ++tag_));
  } else if (step.kind == "report") {
    Report(step);
  } else if (step.kind == "refresh") {
    Returned("refresh", bandana_refresh_posterior(device_, client_, &text, ++tag_));
  } else if (step.kind == "spent") {
    Returned("spent", bandana_read_spent(device_, client_, &text, ++tag_));
  } else if (step.kind == "begin") {
    Returned("begin", bandana_begin(device_, client_));
  } else if (step.kind == "flush") {
    Returned("flush", bandana_flush(device_, client_, ++tag_));
  } else if (step.kind == "close") {
    Returned("close", bandana_close(device_, client_));
    client_ = 0;
  } else if (step.kind == "wake") {
    Returned("wake", bandana_wake(device_));
  } else if (step.kind == "answer") {
    Answer(step);
  } else if (step.kind == "commits") {
    commits_ = step.text;
  } else if (step.kind == "committed" && held_) {
    if (step.number == 0) Apply();
    const std::uint64_t commit = *std::exchange(held_, std::nullopt);
    commits_ = "stand";
    Returned("committed", bandana_committed(device_, commit, static_cast<int>(step.number)));
  } else if (step.kind == "entropy") {
    entropy_fails_ = step.number != 0;
  }
  return std::exchange(lines_, {});
}

}  // namespace bandana::conformance
