#include "server/models/registry/model_set.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/design/identity.h"
#include "common/promise/event_rule.h"

namespace bandana::server {

bool ModelEntry::MayHideReports() const {
  return spec == nullptr || HidesReports(spec->public_spec);
}

ModelEntry OpeningEntry(std::shared_ptr<const ModelSpec> spec, bool configured) {
  return {.configured = configured,
          .spec = std::move(spec),
          .why = Unavailable("is being opened"),
          .opening = true};
}

std::string FingerprintOf(const ModelSpec& spec) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    spec.config.SerializeToCodedStream(&out);
  }
  absl::StrAppend(&bytes, IdentityOf(spec, {}).graph);
  const auto add_time = [&](const std::string& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    absl::StrAppend(&bytes, file, error ? 0 : time.time_since_epoch().count());
  };
  if (!spec.arms_file.empty()) add_time(spec.arms_file);
  if (spec.effects && !spec.effects->users_file.empty()) add_time(spec.effects->users_file);
  return bytes;
}

std::optional<ModelEntry> ModelSet::EntryOf(std::string_view name) const {
  const auto models = models_.load();
  const auto found = models->find(name);
  return found == models->end() ? std::nullopt : std::optional(found->second);
}

std::shared_ptr<ServedModel> ModelSet::Find(std::string_view name) const {
  const auto models = models_.load();
  const auto found = models->find(name);
  return found == models->end() ? nullptr : found->second.model();
}

std::vector<std::shared_ptr<ServedModel>> ModelSet::List() const {
  std::vector<std::shared_ptr<ServedModel>> list;
  const auto models = models_.load();  // kept: another thread may replace it meanwhile
  for (const auto& [name, entry] : *models) {
    if (entry.model() != nullptr) list.push_back(entry.model());
  }
  return list;
}

std::vector<AbsentModel> ModelSet::Absent() const {
  std::vector<AbsentModel> absent;
  const auto models = models_.load();
  for (const auto& [name, entry] : *models) {
    if (entry.model() == nullptr) absent.push_back({name, entry.why, entry.opening});
  }
  return absent;
}

void ModelSet::Renew(const std::function<void()>& prepare) {
  const std::lock_guard lock(mutex_);
  prepare();
  changed_(*models_.load());
}

void ModelSet::Set(const std::string& name, ModelEntry entry) {
  Change([&](Models& models) { models[name] = std::move(entry); });
}

void ModelSet::Remove(const std::string& name) {
  Change([&](Models& models) { models.erase(name); });
}

absl::Status ModelSet::Replace(const std::string& name, absl::StatusOr<OpenedModel> opened) {
  absl::Status status = opened.status();
  std::optional<ModelEntry> entry = EntryOf(name);
  if (!entry) return absl::OkStatus();
  entry->opened = opened.ok() ? *std::move(opened) : OpenedModel();
  entry->retired = false;
  entry->why = status;
  Set(name, *std::move(entry));
  return status;
}

void ModelSet::Change(const std::function<void(Models&)>& change) {
  const std::lock_guard lock(mutex_);
  Models next = *models_.load();
  change(next);
  changed_(next);
  hides_reports_ = std::any_of(next.begin(), next.end(),
                               [](const auto& named) { return named.second.MayHideReports(); });
  models_.store(std::make_shared<const Models>(std::move(next)));
}

}  // namespace bandana::server
