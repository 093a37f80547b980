// The servers that share this one's store, as the store shows them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/shared_cell.h"
#include "server/log/log_engine.h"
#include "server/log/store_watch.h"

namespace bandana::server {

// The model as the view has it; null: it does not.
const SharedModel* SharedIn(const StoreView& view, std::string_view name);

// Threads: all methods are safe.
class Cluster {
 public:
  // `address`: where the others reach this server; empty: it shares its store with nobody. `warn`
  // is told when servers of another version come and go.
  Cluster(std::shared_ptr<const LogEngine> log, std::string address,
          std::function<void(const std::string&)> warn);

  const std::string& address() const { return address_; }
  // Whether servers share the store.
  bool shared() const { return watch_ != nullptr; }
  // One look, which all models see. Requires shared(). Errors: those of StoreWatch::Look.
  absl::StatusOr<std::shared_ptr<const StoreView>> Look();
  // The newest look; null: there was none yet.
  std::shared_ptr<const StoreView> seen() const { return seen_.load(); }
  // Addresses of the other servers at the newest look.
  std::vector<std::string> Others() const;
  // Tells the others that this server serves a log under this term. Whoever calls again at the next
  // look need not know whether it failed.
  void Serve(const std::string& log, std::int64_t term);
  // This server is about to end, and takes nothing over.
  void Leave();
  bool leaving() const { return leaving_; }
  // StoreView::kind_read, as it was seen last.
  std::shared_ptr<const std::atomic<int>> kind_read() const { return kind_read_; }

 private:
  const std::string address_;
  const std::function<void(const std::string&)> warn_;
  std::mutex mutex_;                         // for what follows
  const std::unique_ptr<StoreWatch> watch_;  // null: nobody shares the store
  std::string reads_least_;                  // StoreView's
  SharedCell<const StoreView> seen_;
  SharedCell<const std::vector<std::string>> others_;  // null: none was seen yet
  std::atomic<bool> leaving_{false};
  const std::shared_ptr<std::atomic<int>> kind_read_;
};

}  // namespace bandana::server
