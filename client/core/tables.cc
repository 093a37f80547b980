#include "client/core/tables.h"

#include <algorithm>
#include <utility>

#include "client/core/cells.h"
#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

// About 20 MB on the device; a decision older than that counts as reported.
constexpr std::int64_t kDrawnMax = 1'000'000;
constexpr int kForgetEvery = 64;
constexpr int kForgetRows = 256;
// Summarized when the store is opened with more entries than this.
constexpr std::int64_t kLedgerEntriesMax = 65'536;
// The device's time, among the rows that are kept.
constexpr std::string_view kNoModel;
constexpr char kTimeName[] = "time";
// The run that found the rows older than they had been, once that shows nowhere else.
constexpr char kOlderName[] = "older";

// The run whose start forgot every earlier decision; 0: none did last. The number of a decision is
// no multiple of 2^32 less one: it would be the last of 2^32 in a run.
std::int64_t RunThatForgot(DecisionNumber forgotten) {
  const DecisionNumber next = forgotten + 1;
  return next % (DecisionNumber{1} << kDecisionRunShift) == 0 ? next >> kDecisionRunShift : 0;
}

}  // namespace

Tables::Tables(std::unique_ptr<Rows> rows)
    : host_(std::move(rows)),
      sealed_(host_.get(), nullptr),
      ledger_(&sealed_, &store_),
      streams_(&sealed_),
      reports_(&sealed_),
      kept_(&sealed_) {}

absl::StatusOr<std::unique_ptr<Tables>> Tables::Create(std::unique_ptr<Rows> rows,
                                                       const MakeSealer& make_sealer) {
  std::unique_ptr<Tables> tables(new Tables(std::move(rows)));
  BANDANA_ASSIGN_OR_RETURN(tables->store_, StoreRow::Read(tables->sealed_));
  BANDANA_ASSIGN_OR_RETURN(tables->sealer_, make_sealer(tables->identity()));
  tables->sealed_.set_sealer(tables->sealer_.get());
  BANDANA_RETURN_IF_ERROR(tables->CheckKey());
  BANDANA_RETURN_IF_ERROR(tables->Load(/*verify=*/true));
  return tables;
}

// A store without a run is new: whoever opens it first decides.
absl::Status Tables::CheckKey() {
  if (store_.run > 0) return store_.CheckKey(*sealer_);
  BANDANA_RETURN_IF_ERROR(store_.SealKeyCheck(*sealer_));
  store_.Write(sealed_);
  return sealed_.failure();
}

absl::Status Tables::Load(bool verify) {
  BANDANA_RETURN_IF_ERROR(ledger_.Load());
  BANDANA_RETURN_IF_ERROR(streams_.Load(verify));
  BANDANA_RETURN_IF_ERROR(reports_.Load());
  policies_.clear();
  sealed_.Scan(Table::kPolicies, {}, [this](const Record& row) {
    policies_.push_back(
        {IntegerAt(row, 0), BytesAt(row, 1), BytesAt(row, 2), RealAt(row, 3), RealAt(row, 4)});
    return true;
  });
  drawn_count_ = 0;
  sealed_.Scan(Table::kDrawn, {}, [this](const Record&) {
    ++drawn_count_;
    return true;
  });
  ReadTime();
  moved_ = false;
  return sealed_.failure();
}

absl::Status Tables::Reload() {
  BANDANA_ASSIGN_OR_RETURN(store_, StoreRow::Read(sealed_));
  return Load(/*verify=*/false);
}

std::int64_t Tables::NextRun(std::uint64_t after) {
  store_.run = std::max(store_.run, static_cast<std::int64_t>(after)) + 1;
  store_.Write(sealed_);
  if (ledger_.entries() > kLedgerEntriesMax) {
    ledger_.Summarize();
    moved_ = true;
  }
  return store_.run;
}

StoreMark Tables::Mark() const {
  return {.identity = store_.identity,
          .position = store_.position,
          .run = static_cast<std::uint64_t>(store_.run),
          .events = ledger_.total().events + store_.lost_events,
          .streams = ledger_.total().streams + store_.lost_streams,
          .ledger_hash = ledger_.head()};
}

void Tables::SavePosition() {
  if (!std::exchange(moved_, false)) return;
  ++store_.position;
  store_.Write(sealed_);
}

void Tables::Debit(const LedgerEntry& entry) {
  moved_ = true;
  ledger_.Append(entry);
}

int Tables::RecoverFromRollback(const StoreMark& anchor) {
  const StoreMark mark = Mark();
  store_.lost_events += anchor.events > mark.events ? anchor.events - mark.events : 0;
  store_.lost_streams += anchor.streams > mark.streams ? anchor.streams - mark.streams : 0;
  store_.position = std::max(store_.position, anchor.position);
  moved_ = true;
  // Open decisions may have been drawn meanwhile. Reports that the copy has drawn may be sent once
  // more.
  for (const DecisionNumber number : reports_.numbers()) {
    if (!sealed_.Get(Table::kDrawn, {number})) reports_.Delete(number);
  }
  const std::uint64_t run = std::max(mark.run, anchor.run);
  ForgetUpTo(static_cast<DecisionNumber>((run + 1) << kDecisionRunShift) - 1);
  int ended = 0;
  for (const PolicyRow& policy : policies_) {
    for (const StreamRow& stream : streams_.Of(policy.id, {})) {
      if (stream.end != StreamEnd::kNone) continue;
      streams_.End(stream, StreamEnd::kRolledBack);
      streams_.DropSteps(stream.id);
      ++ended;
    }
  }
  return ended;
}

PolicyId Tables::AddPolicy(const PolicyRow& policy) {
  for (const PolicyRow& known : policies_) {
    if (known.model == policy.model && known.hash == policy.hash) return known.id;
  }
  PolicyRow added = policy;
  added.id = policies_.empty() ? 1 : policies_.back().id + 1;
  sealed_.Put(Table::kPolicies, {added.id, added.model, added.hash, added.epsilon, added.delta});
  policies_.push_back(added);
  return added.id;
}

std::vector<PolicyRow> Tables::PoliciesOf(std::string_view model) const {
  std::vector<PolicyRow> rows;
  std::copy_if(policies_.begin(), policies_.end(), std::back_inserter(rows),
               [model](const PolicyRow& policy) { return policy.model == model; });
  return rows;
}

int Tables::Adopt(OwnerId owner, const std::vector<PolicyRow>& policies,
                  const std::set<OwnerId>& live) {
  std::set<PolicyId> ids;
  for (const PolicyRow& policy : policies) ids.insert(policy.id);
  return reports_.Adopt(owner, ids, live);
}

void Tables::ReadTime() {
  time_ = {};
  const auto kept = kept_.Of(kNoModel);
  const auto found = kept.find(kTimeName);
  if (found == kept.end()) return;
  ByteReader reader(found->second);
  time_.latest = absl::FromUnixMicros(reader.I64());
  time_.ahead = absl::Microseconds(reader.I64());
}

void Tables::KeepTime(const DeviceTime& time) {
  if (time.latest < time_.latest + absl::Seconds(1) && time.ahead == time_.ahead) return;
  time_ = time;
  std::string bytes;
  ByteWriter(bytes).I64(absl::ToUnixMicros(time.latest));
  ByteWriter(bytes).I64(absl::ToInt64Microseconds(time.ahead));
  kept_.Put(kNoModel, kTimeName, bytes);
}

std::int64_t Tables::RunFoundOlder() {
  if (const std::int64_t run = RunThatForgot(store_.forgotten); run != 0) return run;
  const auto kept = kept_.Of(kNoModel);
  const auto found = kept.find(kOlderName);
  return found == kept.end() ? 0 : ByteReader(found->second).I64();
}

Drawn Tables::DrawnState(DecisionNumber number) {
  if (number <= store_.forgotten) return Drawn::kForgotten;
  return sealed_.Get(Table::kDrawn, {number}) ? Drawn::kYes : Drawn::kNo;
}

void Tables::MarkDrawn(DecisionNumber number, absl::Time forget_at) {
  if (sealed_.Get(Table::kDrawn, {number})) {
    return sealed_.Fail(Unavailable("device store: a decision is drawn a second time"));
  }
  moved_ = true;
  ++drawn_count_;
  sealed_.Put(Table::kDrawn, {number, absl::ToUnixMicros(forget_at)});
}

void Tables::ForgetDrawnAround(DecisionNumber number, absl::Time now) {
  if (number % kForgetEvery == 0) ForgetDrawn(now, kDrawnMax, kForgetRows);
}

void Tables::ForgetDrawn(absl::Time now, std::int64_t count_max, int limit) {
  DecisionNumber last = 0;
  std::int64_t kept = drawn_count_;
  sealed_.Scan(Table::kDrawn, {}, [&](const Record& row) {
    if (absl::FromUnixMicros(IntegerAt(row, 1)) > now && kept <= count_max) return false;
    last = IntegerAt(row, 0);
    --kept;
    return --limit > 0;
  });
  if (last == 0) return;
  if (const std::int64_t run = RunThatForgot(store_.forgotten); run != 0) {
    std::string bytes;
    ByteWriter(bytes).I64(run);
    kept_.Put(kNoModel, kOlderName, bytes);
  }
  ForgetUpTo(last);
}

void Tables::ForgetUpTo(DecisionNumber last) {
  store_.forgotten = last;
  store_.Write(sealed_);
  std::vector<DecisionNumber> numbers;
  sealed_.Scan(Table::kDrawn, {}, [&](const Record& row) {
    if (IntegerAt(row, 0) > last) return false;
    numbers.push_back(IntegerAt(row, 0));
    return true;
  });
  for (const DecisionNumber number : numbers) sealed_.Erase(Table::kDrawn, {number});
  drawn_count_ -= static_cast<std::int64_t>(numbers.size());
}

}  // namespace bandana::device
