#include "server/log/log_writer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "common/base/status.h"
#include "common/model/entries/records.h"

namespace bandana::server {

LogWriter::LogWriter(UpdateLog& log, AppendGate& gate, const Options& options)
    : log_(log), gate_(gate), options_(options) {
  if (!options_.stepped) thread_ = std::thread([this] { Run(); });
}

LogWriter::~LogWriter() { Close(Unavailable("the log is closing")); }

void LogWriter::Close(const absl::Status& why) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_.ok()) return;
    closed_ = why;
    stop_ = true;
  }
  changed_.notify_one();
  if (options_.stepped) {
    Run();
  } else {
    thread_.join();
  }
}

absl::Status LogWriter::Submit(std::vector<std::string> records, AppendDone done, Notice notice) {
  std::size_t bytes = 0;
  for (const std::string& record : records) {
    BANDANA_RETURN_IF_ERROR(CheckKind(record));
    bytes += record.size();
  }
  Request request{std::move(records), std::move(done), bytes, notice,
                  std::chrono::steady_clock::now()};
  {
    std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    if (!failed_.ok()) return failed_;
    if (!away_.ok()) return away_;
    // Records without a caller that could repeat them are not taken while they cannot be written.
    // A hidden one must not be the first to find space again.
    if ((!request.done || notice == Notice::kHidden) && !full_disk_.ok()) return full_disk_;
    const int count = static_cast<int>(request.records.size());
    Load& load = LoadOf(notice);
    if (load.records + count > options_.queue_records_max) {
      return Unavailable("the log's queue is full: ", load.records, " records wait, at most ",
                         options_.queue_records_max, " may");
    }
    if (load.bytes + bytes > options_.queue_bytes_max) {
      return Unavailable("the log's queue is full: ", load.bytes, " bytes wait, at most ",
                         options_.queue_bytes_max, " may");
    }
    load.Add(request);
    queue_.push_back(std::move(request));
    fresh_ = true;
  }
  changed_.notify_one();
  return absl::OkStatus();
}

absl::Status LogWriter::CheckKind(std::string_view record) const {
  if (options_.kind_read == nullptr) return absl::OkStatus();
  const int kind = EntryKindOf(record);
  const int read = options_.kind_read->load(std::memory_order_relaxed);
  if (kind <= read) return absl::OkStatus();
  return Unavailable("this needs a log entry of kind ", kind,
                     ", and a server of an earlier version that shares the log reads kinds up to ",
                     read, ": update that server, or stop it");
}

void LogWriter::TrimThrough(std::uint64_t sequence) {
  {
    std::lock_guard lock(mutex_);
    if (sequence <= trim_through_) return;
    trim_through_ = sequence;
    trimming_ = true;
  }
  changed_.notify_one();
}

absl::Status LogWriter::EraseThrough(std::uint64_t sequence,
                                     std::function<void(absl::Status)> done) {
  {
    std::lock_guard lock(mutex_);
    if (!closed_.ok()) return closed_;
    if (!failed_.ok()) return failed_;
    trim_through_ = std::max(trim_through_, sequence);
    trimming_ = erase_ = true;
    erasures_.push_back(std::move(done));
  }
  changed_.notify_one();
  return absl::OkStatus();
}

absl::Status LogWriter::Health() const {
  std::lock_guard lock(mutex_);
  if (!failed_.ok()) return fenced_ ? absl::AbortedError(failed_.message()) : failed_;
  if (!away_.ok()) return absl::UnknownError(away_.message());
  return full_disk_.ok() ? full_disk_ : absl::ResourceExhaustedError(full_disk_.message());
}

int LogWriter::queued() const {
  std::lock_guard lock(mutex_);
  return queued_[static_cast<std::size_t>(Notice::kOpen)].records;
}

void LogWriter::Run() {
  while (WaitForWork()) Pass();
  Write(TakeGroup());  // counters of rejected reports must not wait for the next start
  Finish();
}

void LogWriter::Step() {
  do {
    Pass();
  } while (due());
}

bool LogWriter::due() const {
  std::lock_guard lock(mutex_);
  return full_disk_.ok() && HasWork();
}

void LogWriter::Pass() {
  const std::uint64_t trimmed = log_.trimmed();
  Write(TakeGroup());
  bool trim = false;
  {
    std::lock_guard lock(mutex_);
    trim = trim_due();
  }
  if (trim && log_.trimmed() == trimmed) TrimSlice();
  absl::Status failed;
  {
    std::lock_guard lock(mutex_);
    failed = failed_;
  }
  if (!failed.ok()) AnswerErasures(failed);
}

std::uint64_t LogWriter::TrimWithGroup() const {
  if (!log_.TrimsWithAppends()) return 0;
  const std::uint64_t trimmed = log_.trimmed();
  const std::uint64_t next = trimmed + static_cast<std::uint64_t>(options_.trim_entries);
  std::lock_guard lock(mutex_);
  const std::uint64_t to = std::min({trim_through_, next, log_.last().sequence});
  return trim_due() && to > trimmed ? to : 0;
}

void LogWriter::AnswerErasures(const absl::Status& status) {
  std::vector<std::function<void(absl::Status)>> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.swap(erasures_);
  }
  for (const auto& done : waiting) done(status);
}

void LogWriter::Finish() {
  Requests rest;
  {
    std::lock_guard lock(mutex_);
    rest.swap(queue_);
  }
  Finish(std::move(rest), {}, Unavailable("the log is closing"));
  AnswerErasures(Unavailable("the log is closing"));
}

bool LogWriter::WaitForWork() {
  std::unique_lock lock(mutex_);
  // Requests that wait for space are tried again at the interval, or together with a new request.
  const auto work = [this] { return stop_ || (full_disk_.ok() ? HasWork() : fresh_); };
  changed_.wait_for(lock, absl::ToChronoMilliseconds(options_.idle_interval), work);
  return !stop_ || (!queue_.empty() && full_disk_.ok());
}

LogWriter::Requests LogWriter::TakeGroup() {
  Requests group;
  std::lock_guard lock(mutex_);
  int count = 0;
  while (!queue_.empty()) {
    const int records = static_cast<int>(queue_.front().records.size());
    if (count > 0 && count + records > options_.group_records_max) break;
    count += records;
    LoadOf(queue_.front().notice).Remove(queue_.front());
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  fresh_ = false;
  return group;
}

void LogWriter::Write(Requests group) {
  bool probe = false;  // an empty transaction finds out whether there is space again
  absl::Status failed;
  {
    std::lock_guard lock(mutex_);
    failed = failed_;
    probe = !full_disk_.ok();
  }
  if (!failed.ok()) return Finish(std::move(group), {}, failed);
  batch_.records.clear();
  batch_.owned.clear();
  batch_.cells.clear();
  batch_.chunks.clear();
  verdicts_.clear();
  Notice notice = Notice::kHidden;  // of the transaction
  const auto changes = [this] { return batch_.records.size() + batch_.cells.size(); };
  for (const Request& request : group) {
    const std::size_t before = changes();
    for (const std::string& record : request.records) {
      verdicts_.push_back(gate_.Judge(record, batch_));
    }
    if (changes() > before) notice = std::min(notice, request.notice);
  }
  gate_.Complete(batch_);
  batch_.forget_before = gate_.ForgetBefore();
  // Counters alone can wait for company, but not longer than the interval.
  const auto now = std::chrono::steady_clock::now();
  const bool counters_due = options_.stepped || group.empty() ||
                            now - stored_at_ >= absl::ToChronoMilliseconds(options_.idle_interval);
  const bool by_itself = batch_.forget_before || probe || (counters_due && gate_.CountersChanged());
  if (by_itself) notice = Notice::kOpen;
  const bool store = by_itself || changes() > 0;
  absl::Status status;
  if (store) {
    stored_at_ = now;
    batch_.counters = gate_.EncodeCounters();
    batch_.trim_through = TrimWithGroup();
    // The entries that the gate has added are checked as well.
    for (const NewRecord& record : batch_.records) status.Update(CheckKind(record.bytes));
    if (status.ok()) {
      status = Note(Settle([this] { return log_.Append(batch_); }, group, notice), notice);
    } else {
      LetGo(group);
    }
  }
  if (status.ok()) {
    gate_.Commit(log_.last(), store);
  } else {
    gate_.Rollback();
  }
  Finish(std::move(group), verdicts_, status);
}

void LogWriter::LetGo(Requests& group) {
  for (Request& request : group) {
    if (!request.done) request.done = [](const absl::Status&, std::span<const Admission>) {};
  }
}

void LogWriter::TrimSlice() {
  std::uint64_t through = 0;
  {
    std::lock_guard lock(mutex_);
    through = trim_through_;
    if (std::exchange(erase_, false)) log_.EraseTrimmed();
  }
  bool more = true;  // where it is found out later that a slice was dropped
  const auto trim = [&] {
    const absl::StatusOr<bool> dropped = log_.Trim(through, options_.trim_entries);
    if (dropped.ok()) more = *dropped;
    return dropped.status();
  };
  Requests nobody;
  const absl::Status trimmed = Settle(trim, nobody, Notice::kOpen);
  Note(trimmed, Notice::kOpen).IgnoreError();
  if (!trimmed.ok()) return AnswerErasures(trimmed);
  if (more) return;
  {
    std::lock_guard lock(mutex_);
    if (trim_through_ != through || erase_) return;
    trimming_ = false;
  }
  AnswerErasures(absl::OkStatus());
}

absl::Status LogWriter::Settle(const std::function<absl::Status()>& change, Requests& group,
                               Notice notice) {
  if (!unseen_.ok()) return unseen_;
  absl::Status status = change();
  const auto began = std::chrono::steady_clock::now();
  while (absl::IsUnknown(status)) {
    {
      std::unique_lock lock(mutex_);
      const bool stop =
          options_.stepped ||
          changed_.wait_for(lock, absl::ToChronoMilliseconds(options_.find_out_interval),
                            [this] { return stop_; });
      if (stop) return Unavailable("it is not known what became of it: ", status.message());
    }
    // Others wait for it from the moment on in which they would have found it out.
    const auto over = [now = std::chrono::steady_clock::now(), this](auto since) {
      return now - since >= absl::ToChronoMilliseconds(options_.patience);
    };
    if (over(began)) AnswerAway(status, group, notice);
    const auto others = OthersWaitSince();
    if (others && over(*others)) AnswerAway(status, group, Notice::kOpen);
    const absl::StatusOr<bool> durable = log_.FindOut();
    status = !durable.ok() ? durable.status() : *durable ? absl::OkStatus() : change();
  }
  return status;
}

std::optional<std::chrono::steady_clock::time_point> LogWriter::OthersWaitSince() const {
  const std::lock_guard lock(mutex_);
  const auto first = std::ranges::find(queue_, Notice::kOpen, &Request::notice);
  if (first == queue_.end()) return std::nullopt;
  return first->queued_at;
}

void LogWriter::AnswerAway(const absl::Status& why, Requests& group, Notice notice) {
  const absl::Status away = Unavailable("the log's database does not answer: ", why.message());
  // Records without a caller wait on.
  const auto told = [notice](const Request& request) {
    return request.done && request.notice >= notice;
  };
  Requests waiting;
  {
    const std::lock_guard lock(mutex_);
    if (notice == Notice::kOpen) away_ = away;
    for (auto request = queue_.begin(); request != queue_.end();) {
      if (!told(*request)) {
        ++request;
        continue;
      }
      LoadOf(request->notice).Remove(*request);
      waiting.push_back(std::move(*request));
      request = queue_.erase(request);
    }
  }
  for (const Request& request : waiting) request.done(away, {});
  // Theirs may still become durable: then a repeat is a duplicate.
  for (Request& request : group) {
    if (!told(request)) continue;
    request.done(away, {});
    request.done = [](const absl::Status&, std::span<const Admission>) {};
  }
}

absl::Status LogWriter::Note(const absl::Status& status, Notice notice) {
  std::lock_guard lock(mutex_);
  away_ = absl::OkStatus();
  if (status.ok()) {
    full_disk_ = status;
    return status;
  }
  const std::string message(status.message());
  const bool open = notice == Notice::kOpen;
  if (absl::IsResourceExhausted(status)) {
    const absl::Status full = Unavailable("no space for the log: ", message);
    if (open) full_disk_ = full;
    return full;
  }
  // After a failed sync nobody knows what is on the disk: trying again could acknowledge what is
  // lost.
  const bool fenced = absl::IsAborted(status);
  const absl::Status failed =
      fenced ? Unavailable("this server does not own the log any more: ", message)
             : Unavailable("the log has failed and takes nothing until the server is restarted: ",
                           message);
  if (!open) {
    unseen_ = status;
    return failed;
  }
  fenced_ = fenced;
  failed_ = failed;
  return failed;
}

void LogWriter::Finish(Requests group, std::span<const Admission> verdicts,
                       const absl::Status& status) {
  Requests waiting;
  for (Request& request : group) {
    const std::size_t count = request.records.size();
    if (request.done) {
      if (!status.ok()) {
        request.done(status, {});
      } else {
        request.done(status, verdicts.first(count));
      }
    } else if (!status.ok()) {
      waiting.push_back(std::move(request));
    }
    if (status.ok()) verdicts = verdicts.subspan(count);
  }
  if (waiting.empty()) return;
  std::lock_guard lock(mutex_);
  if (!failed_.ok() || stop_) return;
  for (auto request = waiting.rbegin(); request != waiting.rend(); ++request) {
    LoadOf(request->notice).Add(*request);
    queue_.push_front(std::move(*request));
  }
}

}  // namespace bandana::server
