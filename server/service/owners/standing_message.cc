#include "server/service/owners/standing_message.h"

#include <array>
#include <cstring>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

// The order of the message.
template <typename Totals>
auto FieldsOf(Totals& totals) {
  return std::array{&totals.pure,         &totals.mu_squared,    &totals.rho,
                    &totals.variation,    &totals.releases_pure, &totals.releases_gaussian,
                    &totals.releases_zcdp};
}

absl::Status TakeDigest(const std::string& bytes, Sha256Digest& digest) {
  if (bytes.size() != digest.size()) return InvalidArgument("a digest must have 32 bytes");
  std::memcpy(digest.data(), bytes.data(), digest.size());
  return absl::OkStatus();
}

}  // namespace

internal::StandResponse ToProto(const Standing& standing) {
  internal::StandResponse message;
  message.set_name(standing.name);
  const Published& published = standing.published;
  message.set_known(published.known);
  message.set_sequence(published.position.sequence);
  message.set_hash(std::string(AsChars(published.position.hash)));
  message.set_epoch(published.epoch);
  for (const std::uint64_t* total : FieldsOf(published.totals)) message.add_totals(*total);
  for (const std::string& name : standing.others) message.add_others(name);
  message.set_in_touch(standing.in_touch);
  for (const ReleasedBy& one : standing.released) {
    internal::ReleasedBy& released = *message.add_released();
    released.set_sequence(one.sequence);
    released.set_digest(std::string(AsChars(one.digest)));
  }
  return message;
}

absl::StatusOr<Standing> ParseStanding(const internal::StandResponse& message) {
  Standing standing{.name = message.name(), .in_touch = message.in_touch()};
  standing.others.assign(message.others().begin(), message.others().end());
  Published& published = standing.published;
  published.known = message.known();
  published.position.sequence = message.sequence();
  BANDANA_RETURN_IF_ERROR(TakeDigest(message.hash(), published.position.hash));
  published.epoch = message.epoch();
  const auto totals = FieldsOf(published.totals);
  if (static_cast<std::size_t>(message.totals_size()) != totals.size()) {
    return InvalidArgument("totals: must have ", totals.size(), " numbers");
  }
  for (std::size_t i = 0; i < totals.size(); ++i) *totals[i] = message.totals(static_cast<int>(i));
  for (const internal::ReleasedBy& one : message.released()) {
    ReleasedBy& released = standing.released.emplace_back();
    released.sequence = one.sequence();
    BANDANA_RETURN_IF_ERROR(TakeDigest(one.digest(), released.digest));
  }
  return standing;
}

}  // namespace bandana::server
