#include "client/core/report_bytes.h"

#include <vector>

#include "common/base/wire_reader.h"
#include "common/base/wire_writer.h"

namespace bandana::device {
namespace {

std::string_view Chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Both messages begin with it.
constexpr int kToken = 1;
constexpr char kTokenTag = kToken << 3 | 2;

// The report after its token.
std::string_view WithoutToken(std::string_view report) {
  if (report.empty() || report.front() != kTokenTag) return report;
  std::uint64_t size = 0;
  std::size_t at = 1;
  for (int shift = 0; at < report.size() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(report[at++]);
    size |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  return size <= report.size() - at ? report.substr(at + size) : std::string_view();
}

}  // namespace

std::string PerturbedReportBytes(std::string_view token, int shown, const PerturbedReward& reward,
                                 bool whole_range) {
  std::string report;
  WireWriter writer(report);
  writer.Bytes(kToken, token);
  writer.Number(2, static_cast<std::uint32_t>(shown));
  writer.Number(3, reward.output());
  writer.Number(4, whole_range ? 1 : 0);
  return report;
}

std::string OutcomeBytes(std::string_view token, int shown, std::optional<double> reward) {
  std::string report;
  WireWriter writer(report);
  writer.Bytes(kToken, token);
  if (reward) writer.Real(2, *reward);
  writer.Number(3, static_cast<std::uint32_t>(shown));
  return report;
}

std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedDirection& direction) {
  std::string report;
  WireWriter writer(report);
  writer.Bytes(1, Chars(id));
  writer.Number(2, epoch);
  writer.Bytes(3, Chars(direction.seed()));
  return report;
}

std::string ContextReportBytes(std::span<const std::byte, 16> id, std::uint64_t epoch,
                               const PerturbedStatistics& statistics) {
  std::string report;
  WireWriter writer(report);
  writer.Bytes(1, Chars(id));
  writer.Number(2, epoch);
  writer.PackedIntegers(4, statistics.grid());
  return report;
}

std::string CounterReportBytes(std::span<const double> moment, std::string_view token, int shown) {
  std::string step;
  WireWriter in_step(step);
  in_step.Bytes(1, token);
  in_step.Number(2, static_cast<std::uint32_t>(shown));
  std::string report;
  WireWriter writer(report);
  writer.PackedReals(3, moment);
  writer.Message(4, step);
  return report;
}

std::string JoinCounterSteps(std::string_view stream, std::uint64_t last_step,
                             std::span<const std::string_view> steps) {
  std::string_view moment;
  std::vector<std::string_view> additions;
  for (const std::string_view step : steps) {
    moment = {};
    WireReader in(step);
    while (in.Next()) {
      if (in.field() == 3) moment = in.Message().value_or(std::string_view());
      if (in.field() == 4) additions.push_back(in.Message().value_or(std::string_view()));
    }
  }
  std::string report;
  WireWriter writer(report);
  writer.Bytes(1, stream);
  writer.Number(2, last_step);
  writer.Bytes(3, moment);
  for (const std::string_view addition : additions) writer.Message(4, addition);
  return report;
}

std::string ReplaceToken(std::string_view report, std::string_view token) {
  std::string replaced;
  WireWriter(replaced).Bytes(kToken, token);
  return replaced.append(WithoutToken(report));
}

}  // namespace bandana::device
