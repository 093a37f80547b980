// The handling of one event of a model on this device: how it is paid for, what is held of a
// reaction, and the one draw. Every mode and mechanism is one of these objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/core/delivery/report_form.h"
#include "client/core/release.h"
#include "client/core/secret_bytes.h"
#include "client/core/tables.h"
#include "client/core/writer.h"
#include "common/mechanisms/reward_range.h"

namespace bandana::device {

// The model's epoch.
class ModelEpoch {
 public:
  virtual ~ModelEpoch() = default;
  // As last heard from the server.
  virtual std::uint64_t value() const = 0;
  // Asks the server, without blocking: it may have gone into another one.
  virtual void AskAgain() = 0;
};

// How and when a draw takes place.
struct Draw {
  Payment payment = Payment::kDebited;
  std::uint64_t epoch = 0;  // of the model
  absl::Time now;
  absl::Time forget_at;  // until when it is remembered that the decision has its report
};

// Who ranks the arms of a model.
enum class RankedBy : std::uint8_t {
  kServer,
  // The server, and Select keeps the features: events are made with those of the arm shown.
  kServerKept,
  // The device: contexts are private, and nothing but reports leaves.
  kDevice,
};

// The traits of a model's events that the rest of the client must know.
struct EventTraits {
  // How its reports travel.
  ReportForm form;
  RankedBy ranked_by = RankedBy::kServer;
  // The server names a window in this range with every arm that it ranks. Rewards are clipped to
  // it.
  std::optional<RewardRange> windows_in;
};

// Privacy:  what Release writes is all that ever leaves of an event. Whatever of it is not drawn
//           (token, rank, epoch, times) stands in the row since the decision.
//           All but Hold runs inside transactions, and sees nothing of the core but those.
class EventMechanism {
 public:
  virtual ~EventMechanism() = default;

  virtual const EventTraits& traits() const = 0;

  // The clipped input of the draw, kHeldBytes of them for every reward. Missing and NaN mean the
  // default reward. `window`: of the arm shown, if it has one.
  virtual SecretBytes Hold(std::optional<double> reward,
                           const std::optional<RewardRange>& window) const = 0;

  // Debits so many events of the user, all or none, for draws in later transactions. Errors:
  // FAILED_PRECONDITION the user has fewer left.
  virtual absl::Status Debit(Transaction& transaction, const std::string& user,
                             int events) const = 0;
  // The error that Debit would have, and no debit.
  virtual absl::Status MayDebit(Transaction& transaction, const std::string& user,
                                int events) const = 0;

  // Draws the report of the decision `row` from `held` (made by Hold), once, and remembers that.
  // Reports of one event: writes the row, with the bytes that will be sent in row.report. Counters:
  // takes a step of the stream row.stream, which is set; the row is not written. Errors:
  // FAILED_PRECONDITION events or steps are used up; UNAVAILABLE entropy failed: nothing drawn or
  // written, a debit made stands.
  virtual absl::StatusOr<device::Release> Release(Transaction& transaction, ReportRow& row,
                                                  const SecretBytes& held,
                                                  const Draw& draw) const = 0;
};

}  // namespace bandana::device
