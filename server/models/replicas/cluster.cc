#include "server/models/replicas/cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/model/entries/records.h"

namespace bandana::server {

const SharedModel* SharedIn(const StoreView& view, std::string_view name) {
  const auto found =
      std::ranges::find_if(view.models, [&](const auto& one) { return one.stored.name == name; });
  return found == view.models.end() ? nullptr : &*found;
}

Cluster::Cluster(std::shared_ptr<const LogEngine> log, std::string address,
                 std::function<void(const std::string&)> warn)
    : address_(std::move(address)),
      warn_(std::move(warn)),
      watch_(address_.empty() ? nullptr : log->Watch(address_)),
      kind_read_(std::make_shared<std::atomic<int>>(kEntryKindRead)) {}

absl::StatusOr<std::shared_ptr<const StoreView>> Cluster::Look() {
  const std::lock_guard lock(mutex_);
  BANDANA_ASSIGN_OR_RETURN(StoreView view, watch_->Look());
  std::vector<std::string> others = view.servers;
  std::erase(others, address_);
  // Addresses without a proof are called by nobody; who must reach all learns that it cannot.
  others.insert(others.end(), view.unproven.size(), "");
  others_.store(std::make_shared<const std::vector<std::string>>(std::move(others)));
  kind_read_->store(view.kind_read);
  if (reads_least_ != view.reads_least) {
    reads_least_ = view.reads_least;
    warn_(view.reads_least.empty()
              ? std::string("every server reads again what this version writes")
              : absl::StrCat("server ", view.reads_least, " reads log entries of kinds up to ",
                             view.kind_read, ", this version writes kinds up to ", kEntryKindRead,
                             ": what needs others waits until that server is "
                             "updated or gone"));
  }
  auto seen = std::make_shared<const StoreView>(std::move(view));
  seen_.store(seen);
  return seen;
}

std::vector<std::string> Cluster::Others() const {
  const auto others = others_.load();
  return others == nullptr ? std::vector<std::string>() : *others;
}

void Cluster::Serve(const std::string& log, std::int64_t term) {
  const std::lock_guard lock(mutex_);
  watch_->Serve(log, term).IgnoreError();
}

void Cluster::Leave() {
  leaving_ = true;
  const std::lock_guard lock(mutex_);
  if (watch_ != nullptr) watch_->Leave();
}

}  // namespace bandana::server
