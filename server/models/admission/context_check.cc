// Reports of private contexts.
#include "server/models/admission/report_check.h"

namespace bandana::server {
namespace {

class ContextCheck final : public ReportCheck<ReportedContext> {
 public:
  explicit ContextCheck(const ContextMechanism& mechanism) : mechanism_(mechanism) {}

  std::variant<CheckedReport, v1::RejectReason> Check(const ReportedContext& report,
                                                      absl::Time now) const override {
    const bool fits = mechanism_.privunit() != nullptr || mechanism_.Fits(report.values);
    if (!fits) return v1::OUTPUT_OUT_OF_RANGE;
    return CheckedReport{.request = Encode(ContextRecord{.id = report.id,
                                                         .epoch = report.epoch,
                                                         .received = now,
                                                         .seed = report.seed,
                                                         .values = report.values})};
  }

 private:
  const ContextMechanism& mechanism_;
};

}  // namespace

CheckOf<ReportedContext> MakeContextCheck(const ContextMechanism& mechanism) {
  return std::make_unique<ContextCheck>(mechanism);
}

}  // namespace bandana::server
