// The host's durable rows in memory: reads come from here, and each commit hands the host what
// changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "client/core/callback.h"
#include "client/core/rows.h"

namespace bandana::abi {

// Private cells are in clear here, and are erased when they go. Threads: not thread-safe.
class MirroredRows final : public device::Rows {
 public:
  // A commit waits for its answer.
  using OnCommit = device::Callback<void(std::uint64_t id, bool erased_private)>;
  // A row that changed: null where it was erased.
  using VisitChange =
      device::Callback<void(device::Table, const device::Record& key, const device::Record* row)>;

  explicit MirroredRows(OnCommit on_commit) : on_commit_(std::move(on_commit)) {}
  ~MirroredRows() override;

  // A durable row of the host, without its digest. Errors: INVALID_ARGUMENT one of this key is
  // here.
  absl::Status Load(device::Table table, device::Record row);
  bool empty() const;
  // The changes of the commit that waits, while it waits. False: it is another one.
  bool VisitChanges(std::uint64_t id, const VisitChange& visit) const;
  // The host's word. False: no such commit waits.
  bool Answer(std::uint64_t id, const absl::Status& status);

  absl::StatusOr<std::optional<device::Record>> Get(device::Table table,
                                                    const device::Record& key) override;
  absl::Status Scan(device::Table table, const device::ScanRange& range,
                    const Visit& visit) override;
  absl::Status Put(device::Table table, const device::Record& row) override;
  absl::Status Erase(device::Table table, const device::Record& key) override;
  void Commit(Committed committed) override;
  void Rollback() override;
  void NoteErasure() override { erased_private_ = true; }

 private:
  using Content = std::map<device::Record, device::Record>;

  Content& Of(device::Table table) { return content_[static_cast<std::size_t>(table)]; }
  // Keeps what the row was before the transaction.
  void KeepFormer(device::Table table, const device::Record& key);
  void Forget();

  const OnCommit on_commit_;
  std::array<Content, device::kTables> content_;
  std::map<std::pair<device::Table, device::Record>, std::optional<device::Record>> former_;
  bool erased_private_ = false;
  std::uint64_t commits_ = 0;
  Committed waiting_;  // of commit number commits_; null: none waits
};

}  // namespace bandana::abi
