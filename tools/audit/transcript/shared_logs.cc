#include "tools/audit/transcript/shared_logs.h"

#include <filesystem>
#include <utility>

#include "common/base/status.h"

namespace bandana::audit {
namespace {

using server::UpdateLog;

std::string NameOf(const std::string& folder) { return std::filesystem::path(folder).filename(); }

// The owner's log, which others read as long as it is open.
class OwnersLog final : public UpdateLog {
 public:
  explicit OwnersLog(std::shared_ptr<UpdateLog> log) : log_(std::move(log)) {}

  absl::Status Read(const LogPosition& after, int entries_max,
                    std::vector<LogEntry>& out) const override {
    return log_->Read(after, entries_max, out);
  }
  absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                        std::vector<LogEntry>& out) const override {
    return log_->ReadLeft(sequence, entries_max, out);
  }
  LogPosition last() const override { return log_->last(); }
  std::uint64_t trimmed() const override { return log_->trimmed(); }
  std::int64_t term() const override { return log_->term(); }
  absl::Status Append(const server::LogBatch& batch) override { return log_->Append(batch); }
  absl::StatusOr<bool> FindOut() override { return log_->FindOut(); }
  absl::StatusOr<bool> Trim(std::uint64_t through, int entries_max) override {
    return log_->Trim(through, entries_max);
  }
  void EraseTrimmed() override { log_->EraseTrimmed(); }
  absl::Status ForEachId(const std::function<void(const RememberedId&)>& visit) const override {
    return log_->ForEachId(visit);
  }
  absl::Status ForEachChunk(
      const std::function<void(const server::IdChunk&)>& visit) const override {
    return log_->ForEachChunk(visit);
  }
  absl::Status ForEachCell(const std::function<void(const Cell&)>& visit) const override {
    return log_->ForEachCell(visit);
  }
  std::int64_t forgotten_before() const override { return log_->forgotten_before(); }
  const std::string& counters() const override { return log_->counters(); }

 private:
  const std::shared_ptr<UpdateLog> log_;
};

// Up to where a look has said that it ends.
class FollowersLog final : public server::FollowedLog {
 public:
  explicit FollowersLog(std::weak_ptr<const UpdateLog> log) : log_(std::move(log)) {}

  absl::Status Read(const LogPosition& after, int entries_max,
                    std::vector<LogEntry>& out) const override {
    return ReadBy([&](const UpdateLog& log) { return log.Read(after, entries_max, out); }, out);
  }
  absl::Status ReadLeft(std::uint64_t sequence, int entries_max,
                        std::vector<LogEntry>& out) const override {
    return ReadBy([&](const UpdateLog& log) { return log.ReadLeft(sequence, entries_max, out); },
                  out);
  }
  LogPosition last() const override { return last_; }
  std::uint64_t trimmed() const override { return trimmed_; }
  void Advance(const LogPosition& last, std::uint64_t trimmed) override {
    last_ = last;
    trimmed_ = trimmed;
  }

 private:
  template <typename ReadSome>
  absl::Status ReadBy(ReadSome read, std::vector<LogEntry>& out) const {
    const std::shared_ptr<const UpdateLog> log = log_.lock();
    if (log == nullptr) return Unavailable("the owner's log is closed");
    BANDANA_RETURN_IF_ERROR(read(*log));
    while (!out.empty() && out.back().position.sequence > last_.sequence) out.pop_back();
    return absl::OkStatus();
  }

  const std::weak_ptr<const UpdateLog> log_;
  LogPosition last_;
  std::uint64_t trimmed_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UpdateLog>> SharedLogs::Open(const std::string& folder,
                                                            const server::LogUse& use) const {
  BANDANA_ASSIGN_OR_RETURN(std::shared_ptr<UpdateLog> log, sqlite_->Open(folder, use));
  const std::lock_guard lock(mutex_);
  owned_[NameOf(folder)] = {.folder = folder, .log = log};
  return std::make_unique<OwnersLog>(std::move(log));
}

absl::StatusOr<SharedLogs::Owned> SharedLogs::Find(const std::string& folder) const {
  const std::lock_guard lock(mutex_);
  const auto found = owned_.find(NameOf(folder));
  if (found == owned_.end()) return Unavailable("nobody owns the model in ", folder);
  return found->second;
}

absl::StatusOr<server::SharedModel> SharedLogs::Look(const std::string& folder) const {
  BANDANA_ASSIGN_OR_RETURN(const Owned owned, Find(folder));
  const std::shared_ptr<const UpdateLog> log = owned.log.lock();
  if (log == nullptr) return Unavailable("nobody owns the model in ", folder);
  server::SharedModel seen;
  seen.stored.name = NameOf(folder);
  seen.term = 1;
  seen.owned = true;
  seen.owner = "owner";
  seen.last = log->last();
  seen.trimmed = log->trimmed();
  return seen;
}

absl::StatusOr<std::shared_ptr<server::StateStore>> SharedLogs::OpenState(const std::string& folder,
                                                                          bool draws_noise) const {
  const auto owned = Find(folder);
  return sqlite_->OpenState(owned.ok() ? owned->folder : folder, draws_noise);
}

absl::StatusOr<std::unique_ptr<server::FollowedLog>> SharedLogs::Follow(
    const std::string& folder, const server::LogUse&) const {
  BANDANA_ASSIGN_OR_RETURN(const Owned owned, Find(folder));
  return std::make_unique<FollowersLog>(owned.log);
}

}  // namespace bandana::audit
