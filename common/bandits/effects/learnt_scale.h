// The scale of one effect, learnt while it serves, from what each event says of it.
#pragma once

#include "absl/status/status.h"
#include "common/base/bytes.h"

namespace bandana {

// The logarithm eta of (prior variance / declared prior variance), by Fisher scoring on the
// squared error of the prediction. With mu the predicted reward, v its variance and err the error,
// an event adds err dmu/deta / v to the slope and (dmu/deta)^2 / v to the information. Only the
// mean's part of log N(err; 0, v) is taken: the variance's part would shrink every effect where
// the declared noise is too large. A function of the sequence of calls, the same on every
// processor.
class LearntScale {
 public:
  // One event: the error, its variance, and how the prediction moves with eta.
  void Add(double error, double variance, double moves) {
    slope_ += error * moves / variance;
    information_ += moves * moves / variance;
  }
  // One step to where the events since the last step point; they are forgotten.
  void Step();
  // A twentieth up, as far as scales may go.
  void Raise();
  // Prior variance / declared prior variance.
  double factor() const;

  void Encode(ByteWriter& out) const;
  // Errors: DATA_LOSS.
  absl::Status Decode(ByteReader& in);

 private:
  double eta_ = 0;
  double slope_ = 0;
  double information_ = 0;
};

}  // namespace bandana
