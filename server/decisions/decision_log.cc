#include "server/decisions/decision_log.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// Decisions that wait for the disk: some 30,000 of 25 arms.
constexpr std::size_t kQueueBytesMax = 16 << 20;
// Rewards that wait; they come no faster than the model's own log takes them.
constexpr std::size_t kRewardsWaitingMax = 2 << 20;
// A thread that sleeps so long after it was woken is woken seldom.
constexpr std::chrono::milliseconds kGathered(50);
constexpr absl::Duration kHousekeepingInterval = absl::Seconds(1);
constexpr absl::Duration kWarningInterval = absl::Minutes(10);
// The model's own log needs room as well, and it must not be the one that stops.
constexpr std::uint64_t kFreeBytesMin = std::uint64_t{128} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionLog>> DecisionLog::Open(Options options) {
  BANDANA_ASSIGN_OR_RETURN(auto store, DecisionStore::Open(options.store));
  std::unique_ptr<DecisionLog> log(new DecisionLog(std::move(options), std::move(store)));
  log->Publish();
  log->warned_of_ = log->figures().lost;
  log->Housekeeping(log->options_.now());
  if (!log->options_.stepped) log->thread_ = std::thread([raw = log.get()] { raw->Run(); });
  return log;
}

DecisionLog::~DecisionLog() { Close(); }

void DecisionLog::Add(std::string decision, std::string_view user, bool deferred) {
  if (deferred && !store_->counts().deferred()) store_->counts().SetDeferred();
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    store_->counts().Take();
    const bool fits = added_.bytes + decision.size() <= kQueueBytesMax;
    if (closed_ || !fits || disk_full_.load(std::memory_order_relaxed)) return;
    wake = added_.empty();
    added_.bytes += decision.size();
    added_.decisions.push_back({std::move(decision), std::string(user)});
  }
  if (wake) wake_.notify_one();
}

void DecisionLog::AddRewards(std::span<const RewardRow> rows, std::uint64_t through) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    wake = added_.empty() && !rows.empty();
    added_.through = std::max(added_.through, through);
    if (added_.rewards.size() + rows.size() > kRewardsWaitingMax) {
      added_.rewards.clear();
      added_.decisions.clear();
      added_.bytes = 0;
      added_.gave_up = true;
    } else {
      added_.rewards.insert(added_.rewards.end(), rows.begin(), rows.end());
    }
  }
  if (wake) wake_.notify_one();
}

void DecisionLog::Run() {
  std::unique_lock lock(mutex_);
  while (!closed_) {
    wake_.wait_for(lock, absl::ToChronoMilliseconds(kHousekeepingInterval),
                   [&] { return closed_ || !added_.empty(); });
    if (closed_) return;  // Close writes the rest
    if (!added_.empty()) wake_.wait_for(lock, kGathered, [&] { return closed_; });
    lock.unlock();
    {
      const std::lock_guard writing(writing_);
      Drain();
      Publish();
      Housekeeping(options_.now());
    }
    lock.lock();
  }
}

void DecisionLog::Drain() {
  draining_.decisions.clear();
  draining_.rewards.clear();
  draining_.bytes = 0;
  draining_.gave_up = false;
  draining_.through = 0;
  {
    const std::lock_guard lock(mutex_);
    std::swap(draining_, added_);
  }
  const absl::Time now = options_.now();
  if (!draining_.empty()) Write(draining_, now);
  if (draining_.through > written_.sequence) written_ = {draining_.through, now};
}

absl::Status DecisionLog::SyncAll() {
  BANDANA_RETURN_IF_ERROR(store_->Sync());
  if (written_.sequence > through().sequence) store_->counts().SetThrough(written_);
  return absl::OkStatus();
}

void DecisionLog::Write(Batch& batch, absl::Time now) {
  if (batch.gave_up) {
    store_->GiveUp();
    options_.warn("decision_log: rewards came faster than the disk takes them; its lines are gone");
  }
  lines_.clear();
  for (Added& added : batch.decisions) {
    const absl::StatusOr<UserPseudonym> user = options_.key->Of(added.user);
    if (user.ok()) lines_.push_back({.decision = std::move(added.decision), .user = *user});
  }
  store_->Append(lines_, now);
  const absl::Status put = store_->AppendRewards(batch.rewards, now);
  if (!put.ok()) {
    options_.warn(absl::StrCat(
        "decision_log: a reward could not be written, so its lines are gone: ", put.message()));
  }
}

void DecisionLog::Housekeeping(absl::Time now) {
  if (now >= kept_at_ && now < kept_at_ + kHousekeepingInterval) return;
  kept_at_ = now;
  const absl::StatusOr<std::uint64_t> free = options_.free_bytes(options_.store.folder);
  const bool full = free.ok() && *free < kFreeBytesMin;
  disk_full_.store(full, std::memory_order_relaxed);
  store_->Retain(now, full);
  Publish();
  // A machine that fails loses at most this interval's lines.
  SyncAll().IgnoreError();
  WarnOfLosses(now);
}

void DecisionLog::WarnOfLosses(absl::Time now) {
  const std::uint64_t lost = figures().lost;
  if (lost <= warned_of_ || now < warned_at_ + kWarningInterval) return;
  options_.warn(absl::StrCat("decision_log: ", lost - warned_of_,
                             " decisions were dropped, because the disk is full or slow"));
  warned_of_ = lost;
  warned_at_ = now;
}

void DecisionLog::Publish() {
  const DecisionStore::Figures figures = store_->figures();
  lines_there_.store(figures.lines, std::memory_order_relaxed);
  bytes_there_.store(figures.bytes, std::memory_order_relaxed);
  oldest_nanos_.store(
      figures.oldest == absl::InfiniteFuture() ? 0 : absl::ToUnixNanos(figures.oldest),
      std::memory_order_relaxed);
  // Nothing moves from the queue into the files meanwhile.
  const std::lock_guard lock(mutex_);
  const DecisionCounts& counts = store_->counts();
  lost_.store(counts.taken() - counts.written() - added_.decisions.size(),
              std::memory_order_relaxed);
}

DecisionLog::Figures DecisionLog::figures() const {
  const std::int64_t oldest = oldest_nanos_.load(std::memory_order_relaxed);
  return {.lines = lines_there_.load(std::memory_order_relaxed),
          .lost = lost_.load(std::memory_order_relaxed),
          .bytes = bytes_there_.load(std::memory_order_relaxed),
          .oldest = oldest == 0 ? absl::InfiniteFuture() : absl::FromUnixNanos(oldest)};
}

void DecisionLog::Flush() {
  const std::lock_guard writing(writing_);
  Drain();
  if (const absl::Status synced = SyncAll(); !synced.ok()) {
    store_->GiveUp();
    options_.warn(absl::StrCat("decision_log: its files are not durable, so its lines are gone: ",
                               synced.message()));
  }
  Publish();
}

absl::StatusOr<std::uint64_t> DecisionLog::Erase(std::span<const std::string> users) {
  std::vector<UserPseudonym> pseudonyms;
  for (const std::string& user : users) {
    BANDANA_ASSIGN_OR_RETURN(pseudonyms.emplace_back(), options_.key->Of(user));
  }
  return Erase(pseudonyms);
}

absl::StatusOr<std::uint64_t> DecisionLog::Erase(std::span<const UserPseudonym> users) {
  const std::lock_guard writing(writing_);
  Drain();
  return store_->Erase(users);
}

absl::Status DecisionLog::RemoveAll() {
  const std::lock_guard writing(writing_);
  Drain();
  store_->RemoveAll();
  Publish();
  return figures().lines == 0 ? absl::OkStatus()
                              : Unavailable("decision_log: its lines cannot be removed");
}

void DecisionLog::GiveUpSince(absl::Time time) {
  const std::lock_guard writing(writing_);
  Drain();
  store_->GiveUpSince(time);
  Publish();
}

absl::Status DecisionLog::TakeBackFrom(std::uint64_t sequence) {
  const std::lock_guard writing(writing_);
  BANDANA_RETURN_IF_ERROR(store_->TakeBackFrom(sequence));
  const DecisionCounts::Through before = through();
  if (before.sequence >= sequence) store_->counts().SetThrough({sequence - 1, before.time});
  return absl::OkStatus();
}

absl::Status DecisionLog::Look(const std::function<absl::Status(const DecisionStore&)>& look) {
  const std::lock_guard writing(writing_);
  Drain();
  return look(*store_);
}

void DecisionLog::Step() {
  if (!options_.stepped) return;
  const std::lock_guard writing(writing_);
  Drain();
  Publish();
  Housekeeping(options_.now());
}

void DecisionLog::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard writing(writing_);
  Drain();
  SyncAll().IgnoreError();
  Publish();
}

}  // namespace bandana::server
