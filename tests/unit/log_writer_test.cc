#include "server/log/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "common/base/status.h"
#include "common/model/entries/records.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::Ge;

// Keeps transactions in memory; may be held up or told what to answer.
class FakeLog final : public UpdateLog {
 public:
  absl::Status Append(const LogBatch& batch) override {
    std::unique_lock lock(mutex_);
    ++appends_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    if (!answer_.ok()) return answer_;
    std::vector<std::string> records;
    for (const auto& record : batch.records) records.emplace_back(record.bytes);
    sequence_ += records.size();
    if (batch.trim_through > trimmed_) {
      trimmed_with_appends_ += batch.trim_through - trimmed_;
      trimmed_ = batch.trim_through;
    }
    transactions_.push_back(std::move(records));
    counters_ = batch.counters;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> FindOut() override {
    std::lock_guard lock(mutex_);
    ++questions_;
    changed_.notify_all();
    if (found_.ok() && *found_) ++sequence_;
    return found_;
  }
  absl::Status Read(const LogPosition&, int, std::vector<LogEntry>&) const override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<bool> Trim(std::uint64_t through, int entries_max) override {
    std::lock_guard lock(mutex_);
    trimmed_ = std::min(through, trimmed_ + static_cast<std::uint64_t>(entries_max));
    ++trims_;
    changed_.notify_all();
    return trimmed_ < through;
  }
  bool TrimsWithAppends() const override { return trims_with_appends; }
  void EraseTrimmed() override {
    std::lock_guard lock(mutex_);
    ++erasures_;
  }
  absl::Status ReadLeft(std::uint64_t, int, std::vector<LogEntry>&) const override {
    return absl::UnimplementedError("");
  }
  int erasures() const {
    std::lock_guard lock(mutex_);
    return erasures_;
  }
  LogPosition last() const override {
    std::lock_guard lock(mutex_);
    return {.sequence = sequence_};
  }
  std::uint64_t trimmed() const override {
    std::lock_guard lock(mutex_);
    return trimmed_;
  }
  absl::Status ForEachId(const std::function<void(const RememberedId&)>&) const override {
    return absl::OkStatus();
  }
  absl::Status ForEachChunk(const std::function<void(const IdChunk&)>&) const override {
    return absl::OkStatus();
  }
  absl::Status ForEachCell(const std::function<void(const Cell&)>&) const override {
    return absl::OkStatus();
  }
  std::int64_t forgotten_before() const override { return INT64_MIN; }
  const std::string& counters() const override { return counters_; }

  void Hold(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void Answer(absl::Status status) {
    std::lock_guard lock(mutex_);
    answer_ = std::move(status);
  }
  // Sets the answer of FindOut.
  void Find(absl::StatusOr<bool> found) {
    std::lock_guard lock(mutex_);
    found_ = std::move(found);
  }
  void AwaitQuestions(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return questions_ >= count; });
  }
  void AwaitAppends(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return appends_ >= count; });
  }
  void AwaitTrims(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return trims_ >= count; });
  }
  std::uint64_t trimmed_with_appends() const {
    std::lock_guard lock(mutex_);
    return trimmed_with_appends_;
  }
  std::atomic<bool> trims_with_appends{false};
  std::vector<std::vector<std::string>> transactions() const {
    std::lock_guard lock(mutex_);
    return transactions_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  absl::Status answer_;
  absl::StatusOr<bool> found_ = absl::UnknownError("away");
  int questions_ = 0;
  int appends_ = 0;
  int trims_ = 0;
  int erasures_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t trimmed_ = 0;
  std::uint64_t trimmed_with_appends_ = 0;
  std::vector<std::vector<std::string>> transactions_;
  std::string counters_;
};

// Admits everything but "no"; counts what stands.
class FakeGate final : public AppendGate {
 public:
  Admission Judge(std::string_view record, LogBatch& batch) override {
    if (record == "no") return Admission::kDuplicate;
    ++staged_;
    if (record.starts_with("pay ")) batch.AddOwned("debit");
    batch.Add(record);
    return Admission::kAppend;
  }
  void Complete(LogBatch&) override {}
  std::optional<std::int64_t> ForgetBefore() override { return std::nullopt; }
  std::string EncodeCounters() override { return std::to_string(admitted + staged_); }
  bool CountersChanged() const override { return changed.load(); }
  void Commit(const LogPosition&, bool stored) override {
    admitted += staged_;
    staged_ = 0;
    if (stored) changed = false;
  }
  void Rollback() override {
    staged_ = 0;
    ++rollbacks;
  }

  std::atomic<int> admitted{0};
  std::atomic<int> rollbacks{0};
  std::atomic<bool> changed{false};

 private:
  int staged_ = 0;
};

struct Answer {
  absl::Status status;
  std::vector<Admission> admissions;
};

class LogWriterTest : public ::testing::Test {
 protected:
  void Start(LogWriter::Options options = {.idle_interval = absl::Milliseconds(20)}) {
    writer_ = std::make_unique<LogWriter>(log_, gate_, options);
  }
  std::future<Answer> Submit(std::vector<std::string> records, Notice notice = Notice::kOpen) {
    auto promise = std::make_shared<std::promise<Answer>>();
    const absl::Status queued = writer_->Submit(
        std::move(records),
        [promise](const absl::Status& status, std::span<const Admission> a) {
          promise->set_value({status, {a.begin(), a.end()}});
        },
        notice);
    if (!queued.ok()) promise->set_value({queued, {}});
    return promise->get_future();
  }

  FakeLog log_;
  FakeGate gate_;
  std::unique_ptr<LogWriter> writer_;
};

TEST_F(LogWriterTest, AnswersEachRecordAfterTheTransaction) {
  Start();
  log_.Hold(true);
  auto answer = Submit({"a", "no", "b"});
  log_.AwaitAppends(1);
  EXPECT_EQ(answer.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  log_.Hold(false);
  EXPECT_THAT(answer.get().admissions,
              ElementsAre(Admission::kAppend, Admission::kDuplicate, Admission::kAppend));
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("a", "b")));
}

TEST_F(LogWriterTest, EntriesThatARecordNeedsGoBeforeItInItsTransaction) {
  Start();
  EXPECT_THAT(Submit({"a", "pay b"}).get().admissions,
              ElementsAre(Admission::kAppend, Admission::kAppend));
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("a", "debit", "pay b")));
}

TEST_F(LogWriterTest, TrimsInTheTransactionsOfGroupsWhereTheLogCan) {
  for (const bool can : {false, true}) {
    SCOPED_TRACE(can);
    writer_.reset();
    const std::uint64_t before = log_.trimmed();
    log_.trims_with_appends = can;
    Start({.trim_entries = 10});
    ASSERT_THAT(Submit(std::vector<std::string>(30, "a")).get().status, IsOk());
    log_.Hold(true);
    auto first = Submit({"b"});
    while (writer_->queued() > 0) std::this_thread::yield();
    writer_->TrimThrough(before + 25);
    auto second = Submit({"c"});
    log_.Hold(false);
    EXPECT_THAT(first.get().status, IsOk());
    EXPECT_THAT(second.get().status, IsOk());
    while (log_.trimmed() < before + 25) std::this_thread::yield();
    EXPECT_EQ(log_.trimmed_with_appends(), can ? 10u : 0u);
  }
}

TEST_F(LogWriterTest, WritesNoKindThatAnotherServerCannotRead) {
  const auto read = std::make_shared<std::atomic<int>>(kEntryKindRead - 1);
  Start({.idle_interval = absl::Milliseconds(20), .kind_read = read});
  const std::string newest = Encode(SeenRecord{.time = absl::UnixEpoch(), .user = 7});
  ASSERT_EQ(EntryKindOf(newest), kEntryKindRead);
  EXPECT_THAT(Submit({"a", newest}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "a server of an earlier version"));
  EXPECT_THAT(Submit({"a"}).get().status, IsOk());
  // The entry that the gate adds is refused as well.
  *read = 'd';
  EXPECT_THAT(Submit({"pay b"}).get().status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(gate_.rollbacks, 1);
  // Nobody waits for it: it is let go, and does not hold up what comes.
  ASSERT_THAT(writer_->Submit({"pay c"}, nullptr), IsOk());
  while (gate_.rollbacks < 2) std::this_thread::yield();
  *read = 'z';
  EXPECT_THAT(Submit({"pay b", newest}).get().status, IsOk());
  EXPECT_THAT(log_.transactions(),
              ElementsAre(ElementsAre("a"), ElementsAre("debit", "pay b", newest)));
}

TEST_F(LogWriterTest, WhatWaitsGoesTogetherUpToTheGroupLimit) {
  Start({.group_records_max = 3});
  log_.Hold(true);
  auto first = Submit({"0"});
  log_.AwaitAppends(1);
  std::vector<std::future<Answer>> rest;
  for (const char* record : {"1", "2", "3", "4"}) rest.push_back(Submit({record}));
  rest.push_back(Submit({"5", "6", "7", "8"}));  // a call stays together, even a large one
  log_.Hold(false);
  for (auto& answer : rest) EXPECT_THAT(answer.get().status, IsOk());
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("0"), ElementsAre("1", "2", "3"),
                                               ElementsAre("4"), ElementsAre("5", "6", "7", "8")));
}

TEST_F(LogWriterTest, AFullQueueIsUnavailable) {
  Start({.queue_records_max = 2});
  log_.Hold(true);
  auto first = Submit({"0"});
  log_.AwaitAppends(1);
  auto second = Submit({"1", "2"});
  EXPECT_THAT(Submit({"3"}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "queue is full"));
  log_.Hold(false);
  EXPECT_THAT(second.get().status, IsOk());
}

TEST_F(LogWriterTest, SoIsOneThatIsFullOfBytes) {
  Start({.queue_bytes_max = 10});
  log_.Hold(true);
  auto first = Submit({"12345678"});
  log_.AwaitAppends(1);
  auto second = Submit({"12345", "12345"});  // what is being written waits no more
  EXPECT_THAT(Submit({"1"}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "10 bytes wait, at most 10 may"));
  log_.Hold(false);
  EXPECT_THAT(first.get().status, IsOk());
  EXPECT_THAT(second.get().status, IsOk());
  EXPECT_THAT(Submit({"1234567890"}).get().status, IsOk());
}

TEST_F(LogWriterTest, DuplicatesAloneNeedNoTransaction) {
  Start();
  EXPECT_THAT(Submit({"no"}).get().admissions, ElementsAre(Admission::kDuplicate));
  EXPECT_THAT(log_.transactions(), IsEmpty());
}

TEST_F(LogWriterTest, ChangedCountersAreStoredWithinTheInterval) {
  Start();
  gate_.changed = true;
  log_.AwaitAppends(1);
  while (log_.transactions().empty()) std::this_thread::yield();
  EXPECT_THAT(log_.transactions(), ElementsAre(IsEmpty()));
}

TEST_F(LogWriterTest, AFullDiskFailsCallersKeepsTheRestAndHeals) {
  Start();
  log_.Answer(absl::ResourceExhaustedError("disk"));
  ASSERT_THAT(writer_->Submit({"kept"}, nullptr), IsOk());
  EXPECT_THAT(Submit({"a"}).get().status, StatusIs(absl::StatusCode::kUnavailable, "no space"));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kResourceExhausted, "no space"));
  EXPECT_THAT(writer_->Submit({"more"}, nullptr), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(gate_.rollbacks, Ge(1));
  log_.Answer(absl::OkStatus());
  while (!writer_->Health().ok()) std::this_thread::yield();
  EXPECT_THAT(Submit({"b"}).get().status, IsOk());
  std::vector<std::string> all;
  for (const auto& records : log_.transactions()) {
    all.insert(all.end(), records.begin(), records.end());
  }
  EXPECT_THAT(all, ElementsAre("kept", "b"));
  EXPECT_EQ(gate_.admitted, 2);
}

TEST_F(LogWriterTest, AnyOtherFailureIsForGood) {
  Start();
  log_.Answer(absl::UnavailableError("fsync"));
  EXPECT_THAT(Submit({"a"}).get().status, StatusIs(absl::StatusCode::kUnavailable, "fsync"));
  log_.Answer(absl::OkStatus());
  EXPECT_THAT(Submit({"b"}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "until the server is restarted"));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnavailable));
  writer_.reset();
  EXPECT_THAT(log_.transactions(), IsEmpty());
}

const LogWriter::Options kHasty = {.patience = absl::Hours(1),
                                   .find_out_interval = absl::Milliseconds(2)};

TEST_F(LogWriterTest, ATransactionOfUnknownOutcomeThatIsDurableIsNotSentAgain) {
  Start(kHasty);
  log_.Answer(absl::UnknownError("cut"));
  auto answer = Submit({"a"});
  log_.AwaitQuestions(3);
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  log_.Answer(absl::OkStatus());
  log_.Find(true);
  EXPECT_THAT(answer.get().status, IsOk());
  EXPECT_THAT(log_.transactions(), IsEmpty());  // the fake kept nothing, and was not asked again
  EXPECT_EQ(gate_.admitted, 1);
  EXPECT_THAT(writer_->Health(), IsOk());
}

TEST_F(LogWriterTest, OneThatIsNotIsSentAgain) {
  Start(kHasty);
  log_.Answer(absl::UnknownError("cut"));
  auto answer = Submit({"a"});
  log_.AwaitQuestions(1);
  log_.Answer(absl::OkStatus());
  log_.Find(false);
  EXPECT_THAT(answer.get().status, IsOk());
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("a")));
  EXPECT_EQ(gate_.admitted, 1);
}

TEST_F(LogWriterTest, CallersAreToldThatNothingIsPromisedAndWhatWasSentStillCounts) {
  LogWriter::Options options = kHasty;
  options.patience = absl::ZeroDuration();
  Start(options);
  log_.Answer(absl::UnknownError("cut"));
  EXPECT_THAT(Submit({"a"}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "does not answer: cut"));
  EXPECT_THAT(Submit({"b"}).get().status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer_->Submit({"c"}, nullptr), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnknown));
  log_.Answer(absl::OkStatus());
  log_.Find(true);
  while (!writer_->Health().ok()) std::this_thread::yield();
  EXPECT_THAT(Submit({"d"}).get().status, IsOk());
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("d")));
  EXPECT_EQ(gate_.admitted, 2);
  EXPECT_EQ(gate_.rollbacks, 0);
}

TEST_F(LogWriterTest, AWriterThatStopsWhileAnOutcomeIsUnknownPromisesNothing) {
  Start(kHasty);
  log_.Answer(absl::UnknownError("cut"));
  auto answer = Submit({"a"});
  log_.AwaitQuestions(1);
  writer_.reset();
  EXPECT_THAT(answer.get().status, StatusIs(absl::StatusCode::kUnavailable, "it is not known"));
}

TEST_F(LogWriterTest, ALogOfAnotherServerTakesNothingAndSaysSo) {
  Start();
  log_.Answer(absl::AbortedError("two has it"));
  EXPECT_THAT(Submit({"a"}).get().status, StatusIs(absl::StatusCode::kUnavailable,
                                                   "does not own the log any more: two has it"));
  EXPECT_THAT(Submit({"b"}).get().status, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kAborted, "two has it"));
}

// Others would hear by the refusal of a selection that a hidden report came.
TEST_F(LogWriterTest, WhatAHushedRecordFindsIsToldByTheNextOneThatIsNot) {
  Start();
  log_.Answer(absl::UnavailableError("fsync"));
  EXPECT_THAT(Submit({"a"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "until the server is restarted: fsync"));
  log_.Answer(absl::OkStatus());
  EXPECT_THAT(writer_->Health(), IsOk());
  EXPECT_THAT(Submit({"no"}).get().status, IsOk());  // it needs no transaction
  EXPECT_THAT(Submit({"b"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "fsync"));
  EXPECT_THAT(writer_->Health(), IsOk());
  EXPECT_THAT(writer_->Submit({"c"}, nullptr), IsOk());
  while (writer_->Health().ok()) std::this_thread::yield();
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnavailable, "fsync"));
  EXPECT_THAT(log_.transactions(), IsEmpty());
}

TEST_F(LogWriterTest, SoIsADatabaseThatIsAway) {
  LogWriter::Options options = kHasty;
  options.patience = absl::ZeroDuration();
  Start(options);
  log_.Answer(absl::UnknownError("cut"));
  EXPECT_THAT(Submit({"a"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "does not answer"));
  EXPECT_THAT(writer_->Health(), IsOk());
  EXPECT_THAT(Submit({"b"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "does not answer: away"));
  EXPECT_THAT(writer_->Health(), IsOk());
  ASSERT_THAT(writer_->Submit({"c"}, nullptr), IsOk());
  while (writer_->Health().ok()) std::this_thread::yield();
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnknown, "away"));
  log_.Answer(absl::OkStatus());
  log_.Find(true);
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnknown));
  while (log_.transactions().empty()) std::this_thread::yield();
  EXPECT_THAT(log_.transactions(), ElementsAre(ElementsAre("c")));
  EXPECT_THAT(writer_->Health(), IsOk());
}

TEST_F(LogWriterTest, OthersWaitForItAsLongAsIfTheyHadFoundItOut) {
  LogWriter::Options options = kHasty;
  options.patience = absl::Milliseconds(300);
  Start(options);
  log_.Answer(absl::UnknownError("cut"));
  auto hidden = Submit({"a"}, Notice::kHidden);
  EXPECT_THAT(hidden.get().status, StatusIs(absl::StatusCode::kUnavailable, "does not answer"));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(Submit({"b"}).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "does not answer"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(300));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kUnknown));
}

TEST_F(LogWriterTest, SpaceRunsOutAndComesBackForOthersAloneAsIfNoHushedRecordCame) {
  LogWriter::Options options;
  options.idle_interval = absl::Hours(1);
  Start(options);
  log_.Answer(absl::ResourceExhaustedError("disk"));
  EXPECT_THAT(Submit({"a"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "no space"));
  EXPECT_THAT(writer_->Health(), IsOk());
  EXPECT_THAT(Submit({"b"}).get().status, StatusIs(absl::StatusCode::kUnavailable, "no space"));
  log_.Answer(absl::OkStatus());
  EXPECT_THAT(Submit({"c"}, Notice::kHidden).get().status,
              StatusIs(absl::StatusCode::kUnavailable, "no space"));
  EXPECT_THAT(writer_->Health(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Submit({"d"}).get().status, IsOk());
  EXPECT_THAT(Submit({"e"}, Notice::kHidden).get().status, IsOk());
  EXPECT_THAT(writer_->Health(), IsOk());
}

TEST_F(LogWriterTest, StoppingCompletesWhatIsQueued) {
  Start();
  log_.Hold(true);
  auto first = Submit({"0"});
  log_.AwaitAppends(1);
  auto second = Submit({"1"});
  std::thread release([this] { log_.Hold(false); });
  writer_.reset();
  release.join();
  EXPECT_THAT(first.get().status, IsOk());
  EXPECT_THAT(second.get().status, IsOk());
}

TEST_F(LogWriterTest, TrimsInSlicesBetweenAppends) {
  Start({.trim_entries = 10});
  writer_->TrimThrough(35);
  log_.AwaitTrims(4);
  EXPECT_EQ(log_.trimmed(), 35);
  writer_->TrimThrough(20);
  EXPECT_THAT(Submit({"a"}).get().status, IsOk());
  EXPECT_EQ(log_.trimmed(), 35);
}

TEST_F(LogWriterTest, AnErasureIsAnsweredOnceTheLogIsTrimmed) {
  Start({.trim_entries = 10});
  std::promise<absl::Status> erased;
  ASSERT_THAT(writer_->EraseThrough(25, [&](const absl::Status& s) { erased.set_value(s); }),
              IsOk());
  EXPECT_THAT(erased.get_future().get(), IsOk());
  EXPECT_EQ(log_.trimmed(), 25);
  EXPECT_EQ(log_.erasures(), 1);
  // Nothing is left to trim: the log is asked all the same.
  std::promise<absl::Status> again;
  ASSERT_THAT(writer_->EraseThrough(20, [&](const absl::Status& s) { again.set_value(s); }),
              IsOk());
  EXPECT_THAT(again.get_future().get(), IsOk());
  EXPECT_EQ(log_.erasures(), 2);
  writer_->Close(Unavailable("closed"));
  EXPECT_THAT(writer_->EraseThrough(30, [](const absl::Status&) {}),
              StatusIs(absl::StatusCode::kUnavailable, "closed"));
}

}  // namespace
}  // namespace bandana::server
