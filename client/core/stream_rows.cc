#include "client/core/stream_rows.h"

#include <utility>

#include "client/core/cells.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr std::size_t kStreamOwner = 2;
constexpr std::size_t kAcknowledged = 8;
constexpr std::size_t kStreamState = 9;

StreamRow ReadStream(const Record& row) {
  return {.id = IntegerAt(row, 0),
          .policy = IntegerAt(row, 1),
          .owner = IntegerAt(row, 2),
          .user = BytesAt(row, 3),
          .epoch = CountAt(row, 4),
          .stream = BytesAt(row, 5),
          .end = static_cast<StreamEnd>(IntegerAt(row, 6)),
          .step = CountAt(row, 7),
          .acknowledged = CountAt(row, 8)};
}

}  // namespace

std::string_view NameOf(StreamEnd end) {
  switch (end) {
    case StreamEnd::kNone:
      return "";
    case StreamEnd::kExhausted:
      return "exhausted";
    case StreamEnd::kForked:
      return "forked";
    case StreamEnd::kGap:
      return "gap";
    case StreamEnd::kToken:
      return "token";
    case StreamEnd::kEpoch:
      return "epoch";
    case StreamEnd::kPolicy:
      return "policy";
    case StreamEnd::kRolledBack:
      return "rolled back";
    case StreamEnd::kRefused:
      return "refused";
  }
  return "unknown";
}

absl::Status StreamRows::Load(bool verify) {
  streams_.clear();
  of_user_.clear();
  rows_->Scan(Table::kStreams, {}, [this](Record& row) {
    StreamRow stream = ReadStream(row);
    of_user_[{stream.policy, stream.user}].insert(stream.id);
    streams_[stream.id] = std::move(stream);
    return true;
  });
  if (verify) rows_->Scan(Table::kSteps, {}, [](const Record&) { return true; });
  return rows_->failure();
}

void StreamRows::Add(StreamRow& row) {
  row.id = streams_.empty() ? 1 : streams_.rbegin()->first + 1;
  streams_[row.id] = row;
  of_user_[{row.policy, row.user}].insert(row.id);
  Put(row, SecretBytes());
}

std::optional<StreamRow> StreamRows::Find(StreamId id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StreamRow> StreamRows::Current(PolicyId policy, OwnerId owner, std::string_view user,
                                             std::uint64_t epoch) const {
  const auto found = of_user_.find({policy, std::string(user)});
  if (found == of_user_.end()) return std::nullopt;
  for (auto id = found->second.rbegin(); id != found->second.rend(); ++id) {
    const StreamRow& row = streams_.at(*id);
    if (row.owner == owner && row.epoch == epoch) return row;
  }
  return std::nullopt;
}

std::vector<StreamRow> StreamRows::Of(PolicyId policy, std::string_view user) const {
  std::vector<StreamRow> rows;
  if (user.empty()) {
    for (const auto& [id, row] : streams_) {
      if (row.policy == policy) rows.push_back(row);
    }
    return rows;
  }
  const auto found = of_user_.find({policy, std::string(user)});
  if (found == of_user_.end()) return rows;
  for (const StreamId id : found->second) rows.push_back(streams_.at(id));
  return rows;
}

std::optional<Record> StreamRows::Stored(StreamId id) { return rows_->Get(Table::kStreams, {id}); }

absl::StatusOr<SecretBytes> StreamRows::State(const StreamRow& row) {
  if (row.step == 0 || row.end != StreamEnd::kNone) return SecretBytes();
  auto stored = Stored(row.id);
  BANDANA_RETURN_IF_ERROR(rows_->failure());
  if (!stored) return SecretBytes();
  SecretBytes state(TakeBytes(*stored, kStreamState));
  if (CountAt(*stored, 7) != row.step) {
    return DataLoss("device store: a stream row is of another step");
  }
  return state;
}

void StreamRows::Put(const StreamRow& row, const SecretBytes& state) {
  streams_[row.id] = row;
  rows_->Put(Table::kStreams, {row.id, row.policy, row.owner, row.user, CountCell(row.epoch),
                               row.stream, static_cast<std::int64_t>(row.end), CountCell(row.step),
                               CountCell(row.acknowledged), state.get()});
}

void StreamRows::AddStep(StreamId stream, const StepRow& step) {
  rows_->Put(Table::kSteps, {stream, CountCell(step.step), step.number, step.content});
}

absl::StatusOr<std::vector<StepRow>> StreamRows::Steps(StreamId stream, std::uint64_t after,
                                                       int limit) {
  std::vector<StepRow> rows;
  if (limit <= 0) return rows;
  rows_->Scan(
      Table::kSteps, {.prefix = {stream}, .after = static_cast<std::int64_t>(after)},
      [&](Record& row) {
        rows.push_back(
            {.step = CountAt(row, 1), .number = IntegerAt(row, 2), .content = TakeBytes(row, 3)});
        return rows.size() < static_cast<std::size_t>(limit);
      });
  BANDANA_RETURN_IF_ERROR(rows_->failure());
  return rows;
}

int StreamRows::CountSteps(StreamId stream) {
  int count = 0;
  rows_->Scan(Table::kSteps, {.prefix = {stream}}, [&count](const Record&) {
    ++count;
    return true;
  });
  return count;
}

void StreamRows::Acknowledge(StreamId stream, std::uint64_t step) {
  DropSteps(stream, step);
  const auto found = streams_.find(stream);
  auto stored = Stored(stream);
  if (found == streams_.end() || !stored) return;
  found->second.acknowledged = step;
  (*stored)[kAcknowledged] = CountCell(step);
  rows_->Put(Table::kStreams, *std::move(stored));
}

void StreamRows::End(const StreamRow& row, StreamEnd end) {
  StreamRow ended = row;
  ended.end = end;
  Put(ended, SecretBytes());
  rows_->NoteErasure();
}

std::vector<DecisionNumber> StreamRows::DropSteps(StreamId stream, std::uint64_t last) {
  std::vector<std::uint64_t> steps;
  std::vector<DecisionNumber> numbers;
  rows_->Scan(Table::kSteps, {.prefix = {stream}}, [&](const Record& row) {
    if (CountAt(row, 1) > last) return false;
    steps.push_back(CountAt(row, 1));
    numbers.push_back(IntegerAt(row, 2));
    return true;
  });
  for (const std::uint64_t step : steps) rows_->Erase(Table::kSteps, {stream, CountCell(step)});
  return numbers;
}

void StreamRows::Adopt(OwnerId owner, PolicyId policy, const std::set<OwnerId>& live) {
  for (auto& [id, row] : streams_) {
    if (row.policy != policy || row.owner == owner || live.contains(row.owner)) continue;
    auto stored = Stored(id);
    if (!stored) continue;
    row.owner = owner;
    (*stored)[kStreamOwner] = owner;
    rows_->Put(Table::kStreams, *std::move(stored));
  }
}

}  // namespace bandana::device
