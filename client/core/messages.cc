#include "client/core/messages.h"

#include <cstring>

#include "common/base/wire_reader.h"
#include "common/base/wire_writer.h"

namespace bandana::device {
namespace {

bool Read(std::string_view message, Outcome& out) {
  WireReader in(message);
  std::int32_t code = 0;
  std::int32_t reason = 0;
  while (in.Next()) {
    if (in.field() == 1) in.Number(code);
    if (in.field() == 2) in.Number(reason);
    if (in.field() == 3) in.Number(out.acknowledged_step);
  }
  out.code = static_cast<OutcomeCode>(code);
  out.reason = static_cast<RejectReason>(reason);
  return in.ok();
}

bool Read(std::string_view message, TokenResult& out) {
  WireReader in(message);
  std::int32_t code = 0;
  while (in.Next()) {
    if (in.field() == 2) in.Number(code);
    const auto selection = in.field() == 1 ? in.Message() : std::nullopt;
    if (!selection) continue;
    WireReader inner(*selection);
    while (inner.Next()) {
      if (inner.field() == 7) inner.Bytes(out.token);
    }
    if (!inner.ok()) return false;
  }
  out.code = static_cast<absl::StatusCode>(code);
  return in.ok();
}

// The elements of the list that is field `field`.
template <typename Element>
std::optional<std::vector<Element>> ReadList(std::string_view response, int field) {
  std::vector<Element> elements;
  WireReader in(response);
  while (in.Next()) {
    const auto message = in.field() == field ? in.Message() : std::nullopt;
    if (message && !Read(*message, elements.emplace_back())) return std::nullopt;
  }
  if (!in.ok()) return std::nullopt;
  return elements;
}

}  // namespace

std::string ModelRequestBytes(std::string_view model) {
  std::string request;
  WireWriter(request).Bytes(1, model);
  return request;
}

std::string ReportsRequestBytes(const ReportForm& form, std::string_view model,
                                std::string_view policy_hash,
                                std::span<const std::string_view> reports) {
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  if (form.policy_hash < form.reports) writer.Bytes(form.policy_hash, policy_hash);
  for (const std::string_view report : reports) writer.Message(form.reports, report);
  if (form.policy_hash > form.reports) writer.Bytes(form.policy_hash, policy_hash);
  return request;
}

std::string CounterRequestBytes(std::string_view model, std::string_view policy_hash,
                                std::string_view report) {
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  writer.Bytes(2, policy_hash);
  writer.Message(4, report);
  return request;
}

std::string InlineArmBytes(std::string_view packed_arm) {
  // Both lists are little-endian on the wire, as they are packed.
  const std::size_t features = packed_arm.size() / sizeof(double) * sizeof(double);
  std::string arm;
  WireWriter writer(arm);
  writer.Bytes(1, packed_arm.substr(0, features));
  writer.Bytes(2, packed_arm.substr(features));
  return arm;
}

std::string TokenRequestBytes(std::string_view model, std::string_view user,
                              std::string_view packed_arm, std::string_view policy_hash) {
  std::string arms;
  WireWriter(arms).Message(1, InlineArmBytes(packed_arm));
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  writer.Bytes(2, user);
  writer.Message(3, arms);
  writer.Number(4, 1);  // top_k
  writer.Bytes(15, policy_hash);
  return request;
}

std::string ActivateRequestBytes(std::string_view model, std::string_view token,
                                 std::string_view policy_hash) {
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  writer.Message(2, token);
  writer.Bytes(4, policy_hash);
  return request;
}

std::string BatchRequestBytes(std::span<const std::string> selects) {
  std::string request;
  WireWriter writer(request);
  for (const std::string& select : selects) writer.Message(1, select);
  return request;
}

std::optional<std::vector<Outcome>> ReadOutcomes(std::string_view response) {
  return ReadList<Outcome>(response, 1);
}

std::optional<std::vector<Outcome>> ReadCounterOutcomes(std::string_view response) {
  return ReadList<Outcome>(response, 2);
}

std::optional<std::vector<TokenResult>> ReadTokens(std::string_view response) {
  return ReadList<TokenResult>(response, 1);
}

}  // namespace bandana::device
