// Reports of private contexts.
#include "common/model/entries/records.h"
#include "common/promise/mechanism.h"
#include "server/models/admission/report_check.h"

namespace bandana::server {
namespace {

class ContextCheck final : public ReportCheck<ReportedContext> {
 public:
  explicit ContextCheck(const ContextReports& reports) : reports_(reports) {}

  std::variant<CheckedReport, v1::RejectReason> Check(const ReportedContext& report,
                                                      absl::Time now) const override {
    if (!reports_.Fits({.seed = report.seed, .values = report.values}))
      return v1::OUTPUT_OUT_OF_RANGE;
    return CheckedReport{.request = Encode(ContextRecord{.id = report.id,
                                                         .epoch = report.epoch,
                                                         .received = now,
                                                         .seed = report.seed,
                                                         .values = report.values})};
  }

 private:
  const ContextReports& reports_;
};

}  // namespace

CheckOf<ReportedContext> MakeContextCheck(const ModelSpec& spec) {
  return std::make_unique<ContextCheck>(*spec.public_spec.made->contexts());
}

}  // namespace bandana::server
