#include "tools/fleet/report.h"

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "tools/base/json.h"

namespace bandana {
namespace {

const char* Name(RunEnd end) {
  switch (end) {
    case RunEnd::kCompleted:
      return "completed";
    case RunEnd::kInterrupted:
      return "interrupted";
    case RunEnd::kServerAway:
      return "server_away";
    case RunEnd::kMisfit:
      return "misfit";
  }
  return "";
}

double PerSecond(const RunReport& report) {
  const double seconds = absl::ToDoubleSeconds(report.result.elapsed);
  return seconds > 0 ? static_cast<double>(report.result.tally.sums().decisions) / seconds : 0;
}

void WriteLatency(JsonWriter& json, const char* key, const LatencyHistogram& histogram) {
  const auto microseconds = [&](double q) {
    return absl::ToDoubleMicroseconds(histogram.Quantile(q));
  };
  json.Key(key).BeginObject();
  json.Key("p50").Number(microseconds(0.5)).Key("p90").Number(microseconds(0.9));
  json.Key("p99").Number(microseconds(0.99)).Key("p999").Number(microseconds(0.999));
  json.Key("max").Number(absl::ToDoubleMicroseconds(histogram.max())).EndObject();
}

void WriteOutcome(JsonWriter& json, const RunReport& report) {
  const Tally& tally = report.result.tally;
  const CurvePoint& sums = tally.sums();
  json.Key("decisions").Integer(sums.decisions);
  json.Key("errors").Integer(tally.errors());
  json.Key("reports_acknowledged").Integer(tally.reports_acknowledged());
  json.Key("decisions_per_second").Number(PerSecond(report));
  WriteLatency(json, "select_latency_us", tally.select_latency);
  WriteLatency(json, "report_latency_us", tally.report_latency);
  json.Key("reward").Number(sums.reward);
  json.Key("random_reward").Number(sums.random_reward);
  json.Key("normalized_reward").Number(sums.reward / sums.random_reward);
  json.Key("regret").Number(sums.regret);
  json.Key("random_regret").Number(sums.random_regret);
  json.Key("epsilon_spent").Number(report.spent_max.epsilon_event);
  json.Key("delta_spent").Number(report.spent_max.delta_event);
}

void WriteCurve(JsonWriter& json, const std::vector<CurvePoint>& curve) {
  json.Key("curve").BeginArray();
  for (const CurvePoint& point : curve) {
    json.BeginObject().Key("decisions").Integer(point.decisions);
    json.Key("regret").Number(point.regret).Key("random_regret").Number(point.random_regret);
    json.Key("reward").Number(point.reward).Key("random_reward").Number(point.random_reward);
    json.EndObject();
  }
  json.EndArray();
}

void WriteCircumstances(JsonWriter& json, const RunReport& report) {
  json.Key("end").Text(Name(report.result.end));
  json.Key("device").Text(report.device);
  json.Key("rounds").Integer(report.options.rounds);
  json.Key("seed").Integer(report.options.seed);
  json.Key("seconds").Number(absl::ToDoubleSeconds(report.result.elapsed));
  if (report.options.rate > 0) {
    json.Key("rate_per_second").Number(report.options.rate);
    json.Key("arrivals").Text(report.options.poisson ? "poisson" : "uniform");
    WriteLatency(json, "send_lateness_us", report.result.tally.send_lateness);
    json.Key("late_sends").Integer(report.result.late_sends);
  } else {
    json.Key("in_flight").Integer(report.options.in_flight);
  }
  json.Key("environment").BeginObject().Key("name").Text(report.environment.name);
  json.Key("users")
      .Integer(report.environment.users)
      .Key("users_seen")
      .Integer(report.result.users.size());
  json.Key("dimension")
      .Integer(report.environment.dimension)
      .Key("pool")
      .Integer(report.environment.pool);
  json.Key("settings").BeginArray();
  for (const std::string& setting : report.settings) json.Text(setting);
  json.EndArray().EndObject();
  json.Key("model").BeginObject().Key("name").Text(report.model.name);
  json.Key("local").Boolean(report.model.local).Key("mechanism").Text(report.model.mechanism);
  json.Key("guarantee").Text(report.model.guarantee);
  json.Key("epsilon")
      .Number(report.model.epsilon)
      .Key("delta")
      .Number(report.model.delta)
      .EndObject();
}

void WriteDelivery(JsonWriter& json, const RunReport& report) {
  const Tally& tally = report.result.tally;
  json.Key("epsilon_spent_user_max").Number(report.spent_max.epsilon_user);
  json.Key("errors_by_code").BeginObject();
  for (const auto& [code, count] : tally.errors_by_code())
    json.Key(absl::StatusCodeToString(code)).Integer(count);
  json.EndObject();
  json.Key("decisions_abandoned").Integer(tally.abandoned());
  json.Key("answers_invalid").Integer(tally.invalid_answers());
  json.Key("reports_applied").Integer(tally.reports_applied());
  json.Key("reports_duplicate").Integer(tally.reports_duplicate());
  json.Key("reports_refused").Integer(tally.reports_refused());
  json.Key("delivery_attempts").Integer(report.client.delivery_attempts);
  json.Key("rewards_clipped").Integer(report.client.rewards_clipped);
}

}  // namespace

bool Succeeded(const RunReport& report) {
  const Tally& tally = report.result.tally;
  return report.result.end == RunEnd::kCompleted &&
         tally.sums().decisions == report.options.rounds &&
         tally.reports_acknowledged() == report.options.rounds;
}

std::string ToJson(const RunReport& report) {
  JsonWriter json;
  json.BeginObject();
  WriteOutcome(json, report);
  WriteCircumstances(json, report);
  WriteDelivery(json, report);
  WriteCurve(json, report.result.tally.curve());
  json.EndObject();
  return json.Take();
}

std::string ToText(const RunReport& report) {
  const Tally& tally = report.result.tally;
  const CurvePoint& sums = tally.sums();
  const auto milliseconds = [](const LatencyHistogram& histogram, double q) {
    return absl::ToDoubleMilliseconds(histogram.Quantile(q));
  };
  std::string text =
      absl::StrFormat("%s on %s: %d of %d decisions (%s), %.0f per second\n", report.model.name,
                      report.environment.name, sums.decisions, report.options.rounds,
                      Name(report.result.end), PerSecond(report));
  absl::StrAppendFormat(&text, "regret     %.1f, random %.1f\n", sums.regret, sums.random_regret);
  absl::StrAppendFormat(&text, "reward     %.1f, random %.1f\n", sums.reward, sums.random_reward);
  absl::StrAppendFormat(
      &text, "select ms  p50 %.2f  p99 %.2f  max %.2f\n", milliseconds(tally.select_latency, 0.5),
      milliseconds(tally.select_latency, 0.99), milliseconds(tally.select_latency, 1));
  absl::StrAppendFormat(
      &text, "report ms  p50 %.2f  p99 %.2f  max %.2f\n", milliseconds(tally.report_latency, 0.5),
      milliseconds(tally.report_latency, 0.99), milliseconds(tally.report_latency, 1));
  absl::StrAppendFormat(&text, "reports    %d acknowledged, %d errors, %d abandoned\n",
                        tally.reports_acknowledged(), tally.errors(), tally.abandoned());
  if (report.model.local) {
    absl::StrAppendFormat(
        &text, "privacy    epsilon %g per event on the device, %g for all events of one user\n",
        report.spent_max.epsilon_event, report.spent_max.epsilon_user);
  }
  if (report.result.late_sends > 0) {
    absl::StrAppendFormat(&text,
                          "warning    %d decisions started more than 1 ms late: the machine could "
                          "not keep the rate\n",
                          report.result.late_sends);
  }
  return text;
}

}  // namespace bandana
