// The models that a server knows, by name: those that it serves, and those that are absent.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/shared_cell.h"
#include "common/base/status.h"
#include "common/design/model_spec.h"
#include "server/models/hosted_model.h"
#include "server/models/model_directory.h"
#include "server/models/replicas/followed_model.h"

namespace bandana::server {

// An opened model, and the same object by its role.
struct OpenedModel {
  std::shared_ptr<ServedModel> model;
  HostedModel* owned = nullptr;       // null: another server owns it
  FollowedModel* followed = nullptr;  // null: this server owns it
};

struct ModelEntry {
  OpenedModel opened;                     // null: absent
  bool configured = false;                // else it was made at run time
  std::shared_ptr<const ModelSpec> spec;  // null: its stored configuration is not readable
  std::string fingerprint;                // FingerprintOf(*spec) as it was opened
  absl::Status why;                       // it is absent
  bool opening = false;                   // it is absent, but not for long
  bool retired = false;                   // another server owns it, and it is not followed yet
  bool differs = false;                   // it is absent: its owner computes something else

  const std::shared_ptr<ServedModel>& model() const { return opened.model; }
  // Whether it hides reports (HidesReports). The worst is assumed of a model whose configuration
  // nobody can read.
  bool MayHideReports() const;
};

// An entry of a model that is about to be opened.
ModelEntry OpeningEntry(std::shared_ptr<const ModelSpec> spec, bool configured);

// Everything that a restart would take up, as far as it can differ: the configuration, and the
// files that it names.
std::string FingerprintOf(const ModelSpec& spec);

// Threads: safe. Readers wait for nobody's work: each change makes a new map.
class ModelSet {
 public:
  using Models = std::map<std::string, ModelEntry, std::less<>>;

  ModelSet() { models_.store(std::make_shared<const Models>()); }

  // Called with each new map before readers see it, one call at a time. Before all other calls.
  void OnChange(std::function<void(const Models&)> changed) { changed_ = std::move(changed); }
  // Calls `prepare`, then what OnChange has set with the present map, while no change goes on.
  void Renew(const std::function<void()>& prepare);

  std::shared_ptr<const Models> All() const { return models_.load(); }
  std::optional<ModelEntry> EntryOf(std::string_view name) const;
  std::shared_ptr<ServedModel> Find(std::string_view name) const;  // null: unknown or absent
  std::vector<std::shared_ptr<ServedModel>> List() const;          // by name
  std::vector<AbsentModel> Absent() const;                         // by name
  // Whether one of them hides reports, or may, be it absent.
  bool hides_reports() const { return hides_reports_; }

  void Set(const std::string& name, ModelEntry entry);
  void Remove(const std::string& name);
  // Takes the place of the entry's model; one that failed leaves it absent. Returns its status. A
  // model that is not in the set any more is not added.
  absl::Status Replace(const std::string& name, absl::StatusOr<OpenedModel> opened);

 private:
  void Change(const std::function<void(Models&)>& change);

  std::mutex mutex_;  // for changes
  std::function<void(const Models&)> changed_ = [](const Models&) {};
  std::atomic<bool> hides_reports_{false};
  SharedCell<const Models> models_;
};

}  // namespace bandana::server
