#include "client/core/stream_privatizer.h"

#include <array>
#include <utility>

#include "client/core/features.h"
#include "client/core/report_bytes.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::device {

absl::StatusOr<std::unique_ptr<EventMechanism>> StreamPrivatizer::Create(Options stream,
                                                                         EventOptions options) {
  BANDANA_ASSIGN_OR_RETURN(const std::uint64_t cost, LedgerCost(stream.cost));
  return std::unique_ptr<EventMechanism>(
      new StreamPrivatizer(std::move(stream), std::move(options), cost));
}

SecretBytes StreamPrivatizer::Hold(std::optional<double> reward,
                                   const std::optional<RewardRange>&) const {
  return HeldReward::Clip(reward, options_.range, options_.default_reward).Pack();
}

// PROOF: device_stream begin
absl::StatusOr<StreamRow> StreamPrivatizer::Open(Transaction& transaction, const std::string& user,
                                                 std::uint64_t epoch) const {
  StreamRows& streams = transaction.tables.streams();
  for (const StreamRow& old : streams.Of(options_.policy, user)) {
    if (old.owner == stream_.owner && old.end == StreamEnd::kNone) {
      streams.End(old, StreamEnd::kEpoch);
    }
  }
  // The name says nothing about the reward, so it need not come from the sampler's source.
  std::array<std::byte, 16> name;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(name));
  StreamRow stream = {.policy = options_.policy,
                      .owner = stream_.owner,
                      .user = user,
                      .epoch = epoch,
                      .stream = std::string(AsChars(name))};
  streams.Add(stream);
  transaction.ledger.DebitStream(transaction.tables, AccountOf(user), stream, rho_cost_);
  return stream;
}

absl::StatusOr<device::Release> StreamPrivatizer::Release(Transaction& transaction, ReportRow& row,
                                                          const SecretBytes& held,
                                                          const device::Draw& draw) const {
  if (const auto before = ReleasedBefore(transaction.tables, row.number)) return *before;
  const auto reward = HeldReward::Unpack(held.get());
  if (!reward) return Internal("a held reward has a wrong length");
  if (row.opening.epoch != draw.epoch) {
    return FailedPrecondition("the model is in another epoch than it was at the decision");
  }
  auto current = transaction.tables.streams().Current(options_.policy, stream_.owner, row.user,
                                                      row.opening.epoch);
  if (!current || (current->end != StreamEnd::kNone && !IsFinal(current->end))) {
    BANDANA_ASSIGN_OR_RETURN(current, Open(transaction, row.user, draw.epoch));
  }
  if (current->end == StreamEnd::kNone && current->step >= design().step_cap()) {
    transaction.tables.streams().End(*current, StreamEnd::kExhausted);
    current->end = StreamEnd::kExhausted;
  }
  if (current->end != StreamEnd::kNone) {
    // A new epoch would allow a new stream.
    transaction.after.emplace_back([model = stream_.epoch] { model->AskAgain(); });
    return FailedPrecondition("the user's counter takes no more steps in this epoch (",
                              ToAbsl(NameOf(current->end)), "): steps_max is ",
                              design().step_cap());
  }
  if (!transaction.ledger.IsDurable(current->id)) return device::Release::kAfterCommit;
  if (draw.payment == Payment::kBlock) {
    BANDANA_ASSIGN_OR_RETURN(const Ledger::Grant grant,
                             transaction.ledger.Take(transaction.tables, AccountOf(row.user)));
    if (grant == Ledger::Grant::kAfterCommit) return device::Release::kAfterCommit;
  }
  BANDANA_RETURN_IF_ERROR(TakeStep(transaction, *current, row, *reward));
  transaction.tables.MarkDrawn(row.number, draw.forget_at);
  row.stream = current->id;
  return device::Release::kDone;
}

absl::Status StreamPrivatizer::TakeStep(Transaction& transaction, StreamRow& stream,
                                        const ReportRow& row, const HeldReward& reward) const {
  StreamRows& streams = transaction.tables.streams();
  BANDANA_ASSIGN_OR_RETURN(const SecretBytes before, streams.State(stream));
  BANDANA_ASSIGN_OR_RETURN(CounterStream counter, CounterStream::Restore(design(), before));
  if (counter.step() != stream.step) return DataLoss("counter stream: a state of another step");
  BANDANA_ASSIGN_OR_RETURN(const std::vector<double> moment,
                           counter.Step(FeaturesOfRank(row.features, 0, design().grid().dimension),
                                        reward, stream_.centre, *options_.bits));
  stream.step = counter.step();
  streams.Put(stream, counter.Save());
  streams.AddStep(stream.id, {.step = stream.step,
                              .number = row.number,
                              .content = CounterReportBytes(moment, row.token, row.opening.shown)});
  return absl::OkStatus();
}
// PROOF: device_stream end

}  // namespace bandana::device
