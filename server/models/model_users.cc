// A model's actions on single users: deletion, listing, export.
#include <algorithm>
#include <future>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/bandits/statistics.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/user_nodes.h"
#include "common/model/learners/learner.h"
#include "server/models/model.h"
#include "server/models/user_entries.h"
#include "server/models/users/kept_nodes.h"

namespace bandana::server {
namespace {

constexpr std::uint32_t kUsersListed = 1000;
constexpr int kReadEntries = 4096;

// A file that is there while bytes of deleted users may be left.
constexpr char kErasingFile[] = "erasing";

}  // namespace

absl::Status Model::KeepNodes() {
  BANDANA_ASSIGN_OR_RETURN(KeptNodes kept, KeptNodes::Read(*state_));
  return kept.Take(spec_) ? kept.Write(*state_) : absl::OkStatus();
}

absl::Status Model::PutUsers(UserBatch& batch, v1::PutUsersResponse* out) {
  BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
  BANDANA_ASSIGN_OR_RETURN(const KeptNodes kept, KeptNodes::Read(*state_));
  BANDANA_RETURN_IF_ERROR(kept.Check(spec_, batch));
  return user_groups_->Put(batch, out);
}

absl::Status Model::DeleteByEntry(std::span<const std::string> ids) {
  const absl::Time now = clock_.Now();
  // Where the server counts what a user may spend, nobody comes back within an epoch; elsewhere
  // earlier decisions are remembered as long as one may be reported.
  const bool counted = spec_.public_spec.events_per_user_max > 0 || path_->debits()->debits();
  const bool keeps = counted && !PoolsUsers(spec_);
  DeleteRequest request{
      .now = now,
      .until = keeps ? absl::InfiniteFuture() : now + spec_.public_spec.token_lifetime,
      .ids = {ids.begin(), ids.end()}};
  BANDANA_ASSIGN_OR_RETURN(const Admission admission, AppendAndWait(request));
  return admission == Admission::kAppend ? absl::OkStatus() : Undecided(admission);
}

absl::StatusOr<v1::DeleteUsersResponse> Model::DeleteUsers(std::span<const std::string> ids) {
  BANDANA_RETURN_IF_ERROR(CheckUserIds(ids));
  BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
  const std::lock_guard lock(deletions_);
  v1::DeleteUsersResponse response;
  if (KnowsLinesAlone()) {
    // An event that was acknowledged has its row, which goes as well.
    BANDANA_RETURN_IF_ERROR(loop_->Look([](const ModelState&, const Learner&) {}));
    // Also at other servers, before they know of the deletion.
    if (part_ != nullptr) AskOthersOf(log_->last().sequence, "");
    BANDANA_RETURN_IF_ERROR(EraseDecisions(ids, response));
    return response;
  }
  BANDANA_RETURN_IF_ERROR(user_groups_->CheckDelete(ids));
  BANDANA_RETURN_IF_ERROR(state_->Write(kErasingFile, ""));
  absl::flat_hash_set<EffectKey> deleted;
  BANDANA_ASSIGN_OR_RETURN(const std::vector<EffectKey> removed, user_groups_->Remove(ids));
  deleted.insert(removed.begin(), removed.end());
  BANDANA_ASSIGN_OR_RETURN(KeptNodes kept, KeptNodes::Read(*state_));
  if (kept.Forget(ids)) BANDANA_RETURN_IF_ERROR(kept.Write(*state_));
  if (user_groups_->deletes_by_entry()) BANDANA_RETURN_IF_ERROR(DeleteByEntry(ids));
  if (effects_ != nullptr) {
    std::vector<EffectKey> keys;
    for (const std::string& id : ids) keys.push_back(UserKey(id));
    const PairParts::Keys known = effects_->Known(keys);
    deleted.insert(known.begin(), known.end());
    // Also of those of whom nothing is known: an event may have been on its way.
    BANDANA_RETURN_IF_ERROR(AppendAndWait(FreeRecord{.keys = keys}).status());
  }
  BANDANA_RETURN_IF_ERROR(Annotate(EraseForgotten(), "deleted, and not yet erased"));
  // Last: an event of theirs that was on its way has its row by now.
  BANDANA_RETURN_IF_ERROR(EraseDecisions(ids, response));
  response.set_deleted(static_cast<std::uint32_t>(deleted.size()));
  response.set_users(static_cast<std::uint32_t>(user_groups_->size()));
  return response;
}

bool Model::KnowsLinesAlone() const {
  return decisions_ != nullptr && !spec_.effects &&
         UserNodesOf(spec_).known() == UserNodes::Known::kNobody;
}

std::vector<PartAnswer> Model::AskOthersOf(std::uint64_t sequence, const std::string& user) const {
  if (!options_.ask_parts) return {};
  return options_.ask_parts(
      {.model = spec_.public_spec.name, .instance = instance_, .sequence = sequence, .user = user});
}

absl::Status Model::EraseDecisions(std::span<const std::string> ids,
                                   v1::DeleteUsersResponse& response) {
  if (options_.parts != nullptr) return ErasePartsOf(ids, response);
  if (decisions_ == nullptr) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t lines, decisions_->Erase(ids));
  response.set_decisions(lines);
  return absl::OkStatus();
}

absl::Status Model::ErasePartsOf(std::span<const std::string> ids,
                                 v1::DeleteUsersResponse& response) {
  // Also where this server keeps none: another one's configuration may ask for it.
  BANDANA_ASSIGN_OR_RETURN(const LogParts kept, options_.parts->Read(instance_));
  if (kept.keepers.empty()) return absl::OkStatus();
  BANDANA_ASSIGN_OR_RETURN(const auto key, options_.parts->Key());
  std::vector<UserPseudonym> users;
  for (const std::string& id : ids) {
    BANDANA_ASSIGN_OR_RETURN(users.emplace_back(), key->Of(id));
  }
  // Durable before anybody erases, so that a server that is away does it later.
  std::uint64_t number = 0;
  BANDANA_RETURN_IF_ERROR(
      options_.parts->Change(instance_, [&](LogParts& parts) { number = AddErasure(parts, users); })
          .status());
  std::uint64_t lines = 0;
  if (part_ != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(lines, part_->CatchUp());
  }
  for (const PartAnswer& answer : AskOthersOf(log_->last().sequence, "")) lines += answer.erased;
  BANDANA_ASSIGN_OR_RETURN(const LogParts parts, options_.parts->Read(instance_));
  for (const std::string& server : Outstanding(parts, number)) {
    response.add_servers_outstanding(server);
  }
  response.set_decisions(lines);
  return absl::OkStatus();
}

absl::Status Model::FillDecisions(const std::string& id, v1::ExportUserResponse& out) {
  BANDANA_ASSIGN_OR_RETURN(std::vector<std::string> lines, ReadDecisions().LinesOf(id));
  if (part_ != nullptr) {
    BANDANA_ASSIGN_OR_RETURN(const std::vector<std::string> keepers, part_->Keepers());
    std::vector<std::string> missing = keepers;
    std::erase(missing, part_->self());
    for (PartAnswer& answer : AskOthersOf(log_->last().sequence, id)) {
      std::erase(missing, answer.server);
      lines.insert(lines.end(), std::make_move_iterator(answer.lines.begin()),
                   std::make_move_iterator(answer.lines.end()));
    }
    *out.mutable_servers_missing() = {missing.begin(), missing.end()};
  }
  for (std::string& line : lines) {
    v1::UserEntry& entry = *out.add_entries();
    entry.set_kind("decision_line");
    entry.set_record(std::move(line));
  }
  return absl::OkStatus();
}

absl::Status Model::EraseForgotten() {
  std::uint64_t sequence = 0;
  for (bool written = false; !written;) {
    Step();
    BANDANA_ASSIGN_OR_RETURN(const ApplyLoop::Captured captured, loop_->Capture());
    sequence = captured->sequence();
    BANDANA_ASSIGN_OR_RETURN(written, checkpoints_->WriteAlone(*captured));
  }
  // Before entries go: other servers' decisions have rewards in them as well.
  if (decisions_ != nullptr) decisions_->Flush();
  if (part_ != nullptr) AskOthersOf(sequence, "");
  std::promise<absl::Status> erased;
  BANDANA_RETURN_IF_ERROR(writer_->EraseThrough(
      sequence, [&erased](const absl::Status& status) { erased.set_value(status); }));
  Step();
  const absl::Status done = erased.get_future().get();
  if (!done.ok()) return Unavailable(done.message());
  users_.Wipe();
  return state_->Remove(kErasingFile);
}

void Model::FinishErasing() {
  const absl::StatusOr<bool> begun = state_->Has(kErasingFile);
  if (begun.ok() && !*begun) return;
  const absl::Status done = begun.ok() ? EraseForgotten() : begun.status();
  if (!done.ok()) warn_(absl::StrCat("erasing deleted users: ", done.message()));
}

absl::StatusOr<v1::ListUsersResponse> Model::ListUsers(std::string_view after,
                                                       std::uint32_t limit) const {
  if (limit > kUsersListed) {
    return InvalidArgument("limit: must be in [0, ", kUsersListed, "], got ", limit);
  }
  BANDANA_ASSIGN_OR_RETURN(std::vector<v1::User> users,
                           user_groups_->List(after, limit == 0 ? kUsersListed : limit));
  v1::ListUsersResponse response;
  for (v1::User& user : users) response.add_users()->Swap(&user);
  return response;
}

absl::Status Model::FillNode(int node, v1::ExportUserResponse& out) {
  out.set_own_node(true);
  return loop_->Look([&](const ModelState& state, const Learner& learner) {
    if (node >= learner.nodes()) return;
    const NodeStatistics& sums = learner.statistics(node);
    out.set_events(sums.events);
    const int d = static_cast<int>(sums.moment.size());
    for (int i = 0; i < d; ++i) {
      for (int k = 0; k < d; ++k) {
        out.add_gram(sums.gram[PackedIndex(std::max(i, k), std::min(i, k))]);
      }
    }
    std::vector<double> moment = sums.moment;
    // With a counter the sums hold the middle of the reward range, and the releases the rest.
    const auto release = path_->ReleaseOf(state, node);
    const std::vector<double>& released = release.value().moment;
    for (std::size_t i = 0; i < moment.size() && released.size() == moment.size(); ++i) {
      moment[i] += released[i];
    }
    out.mutable_moment()->Assign(moment.begin(), moment.end());
  });
}

absl::Status Model::FillEntries(const std::string& id, v1::ExportUserResponse& out) const {
  UserEntries entries(id, spec_.public_spec.dimension);
  std::vector<LogEntry> read;
  const std::uint64_t last = log_->last().sequence;
  for (std::uint64_t at = log_->trimmed(); at < last;) {
    read.clear();
    const absl::Status status = log_->ReadLeft(at, kReadEntries, read);
    for (const LogEntry& entry : read) BANDANA_RETURN_IF_ERROR(entries.Look(entry, out));
    const std::uint64_t read_through = read.empty() ? at : read.back().position.sequence;
    // The log may have been trimmed meanwhile: then what is left is read.
    const std::uint64_t next = std::max(read_through, log_->trimmed());
    if (next == at) return status.ok() ? DataLoss("log entry ", at + 1, " is missing") : status;
    at = next;
  }
  return absl::OkStatus();
}

absl::Status Model::FillHeld(const std::string& id, v1::ExportUserResponse& out) {
  std::uint64_t owner = UserKey(id);
  if (out.own_node()) {
    BANDANA_ASSIGN_OR_RETURN(const int node, ResolveUser(id));
    owner = OwnerOf(node, "");
  }
  BANDANA_ASSIGN_OR_RETURN(const WindowValues values, ReportedValues(owner));
  std::vector<ClosedWindow> held;
  for (const auto& [decision, value] : values) held.push_back({decision, value.reward});
  std::ranges::sort(held, {}, &ClosedWindow::id);
  for (const ClosedWindow& window : held) {
    v1::UserEntry& entry = *out.add_entries();
    entry.set_kind("held");
    entry.set_record(Encode(CloseRecord{.now = absl::UnixEpoch(), .windows = {window}}));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ExportUserResponse> Model::ExportUser(const std::string& id) {
  BANDANA_RETURN_IF_ERROR(CheckUserIds({&id, 1}));
  BANDANA_ASSIGN_OR_RETURN(const auto change, BeginChange());
  Step();
  v1::ExportUserResponse response;
  bool known = false;
  if (!KnowsLinesAlone()) {
    BANDANA_ASSIGN_OR_RETURN(known, user_groups_->Fill(id, *response.mutable_user()));
  }
  response.mutable_user()->set_id(id);
  if (user_groups_->owns_node(id)) {
    BANDANA_ASSIGN_OR_RETURN(const int node, ResolveUser(id));
    BANDANA_RETURN_IF_ERROR(FillNode(node, response));
  }
  if (effects_ != nullptr) FillUserEffects(effects_->OfUser(UserKey(id)), response);
  if (arm_notes_.seen != nullptr) FillSeen(*arm_notes_.seen, UserKey(id), response);
  if (user_groups_->deletes_by_entry()) BANDANA_RETURN_IF_ERROR(FillEntries(id, response));
  BANDANA_RETURN_IF_ERROR(FillHeld(id, response));
  BANDANA_RETURN_IF_ERROR(FillDecisions(id, response));
  known = known || response.effects_size() > 0 || response.entries_size() > 0 ||
          response.seen_size() > 0 || response.servers_missing_size() > 0;
  if (!known) return NotFound("id: not a user of model ", spec_.public_spec.name);
  return response;
}

}  // namespace bandana::server
