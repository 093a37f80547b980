// Reports of the devices' counter streams.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "common/model/entries/records.h"
#include "common/promise/mechanism.h"
#include "server/models/admission/report_check.h"
#include "server/models/admission/reported_event.h"

namespace bandana::server {
namespace {

// Whether a device that follows the protocol can have released it: the sum of the increments that
// are covered and 64 deviations of its noise.
bool MomentFits(const CounterDesign& design, std::uint64_t step, std::span<const double> moment) {
  const double increment =
      std::ldexp(static_cast<double>(design.grid().norm_bound), design.grid().exponent);
  const double bound = increment * static_cast<double>(design.Covered(step)) +
                       64 * std::sqrt(design.PredictedVariance(step));
  return std::all_of(moment.begin(), moment.end(),
                     [&](double value) { return std::abs(value) <= bound; });
}

class CounterCheck final : public ReportCheck<ReportedCounter> {
 public:
  CounterCheck(const ModelSpec& spec, const CounterDesign& design) : spec_(spec), design_(design) {}

  std::variant<CheckedReport, v1::RejectReason> Check(const ReportedCounter& report,
                                                      absl::Time now) const override {
    if (report.step > design_.step_cap()) return v1::STREAM_EXHAUSTED;
    if (!MomentFits(design_, report.step, report.moment)) return v1::OUTPUT_OUT_OF_RANGE;
    CounterRecord record{.stream = report.stream, .received = now};
    record.step = report.step;
    record.moment = report.moment;
    for (std::size_t i = 0; i < report.decisions.size(); ++i) {
      record.steps.emplace_back();
      if (!report.decisions[i]) continue;
      const v1::RejectReason reason = Add(*report.decisions[i], report.shown[i], record);
      if (reason != v1::REJECT_REASON_UNSPECIFIED) return reason;
    }
    if (record.steps.back().readable) record.last = record.steps.back().id;
    return CheckedReport{.request = Encode(record)};
  }

 private:
  // Fills in the record's last step, of the stream that the steps before are of.
  v1::RejectReason Add(const Decision& decision, std::uint32_t shown, CounterRecord& record) const {
    if (!MayShow(spec_, decision, shown)) return v1::SHOWN_OUT_OF_RANGE;
    if (!FitsModel(spec_, decision)) return v1::TOKEN_INVALID;
    const EventRecord event = EventOf(decision, shown);
    const bool first = record.epoch == 0;
    if (!first && event.epoch != record.epoch) return v1::TOKEN_FOREIGN;
    if (!first && (event.node != record.node || event.user != record.user)) {
      return v1::TOKEN_INVALID;
    }
    record.epoch = event.epoch;
    record.node = event.node;
    record.user = event.user;
    record.steps.back() = {
        .readable = true, .id = event.id, .time = event.time, .features = event.features};
    return v1::REJECT_REASON_UNSPECIFIED;
  }

  const ModelSpec& spec_;
  const CounterDesign& design_;
};

}  // namespace

CheckOf<ReportedCounter> MakeCounterCheck(const ModelSpec& spec) {
  return std::make_unique<CounterCheck>(spec, spec.public_spec.made->counter()->design);
}

}  // namespace bandana::server
