#include "server/models/folder/publication.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/cord.h"
#include "common/base/bytes.h"
#include "common/base/file.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kPublicationMagic = "BANDPUBL";
constexpr std::uint32_t kPublicationVersion = 1;
constexpr std::uint32_t kVersionWithTotals = 2;
constexpr char kNeedsEpoch[] = "bandana.models/needs-epoch";

void PutTotals(const PrivacyTotals& totals, ByteWriter& out) {
  for (const std::uint64_t total :
       {totals.pure, totals.mu_squared, totals.rho, totals.variation, totals.releases_pure,
        totals.releases_gaussian, totals.releases_zcdp}) {
    out.U64(total);
  }
}

PrivacyTotals TotalsFrom(ByteReader& in) {
  PrivacyTotals totals;
  for (std::uint64_t* total :
       {&totals.pure, &totals.mu_squared, &totals.rho, &totals.variation, &totals.releases_pure,
        &totals.releases_gaussian, &totals.releases_zcdp}) {
    *total = in.U64();
  }
  return totals;
}

std::string PublicationPathOf(const std::string& folder) { return folder + "/published"; }

absl::Status OtherHistory(std::uint64_t sequence) {
  return DataLoss("log entry ", sequence,
                  " is not the one after which this model published: the log was put back and has "
                  "gone on differently; import the state as a new model instead");
}

}  // namespace

Published PublishedOf(const ModelState& state, bool apart) {
  Published published{.known = true, .position = state.position};
  if (!apart) return published;
  published.epoch = state.epoch;
  published.totals = state.ledger.largest();
  return published;
}

absl::Status WritePublished(const std::string& folder, const std::array<std::byte, 16>& instance,
                            const Published& published) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Fixed(AsBytes(kPublicationMagic));
  out.U32(published.epoch > 0 ? kVersionWithTotals : kPublicationVersion);
  out.Fixed(instance);
  out.U64(published.position.sequence);
  out.Fixed(published.position.hash);
  if (published.epoch > 0) {
    out.U64(published.epoch);
    PutTotals(published.totals, out);
  }
  out.Fixed(Sha256Of(bytes));
  return WriteFileDurably(PublicationPathOf(folder), bytes, 0600);
}

absl::StatusOr<Published> ReadPublished(const std::string& folder,
                                        const std::array<std::byte, 16>& instance) {
  std::error_code error;
  if (!std::filesystem::exists(PublicationPathOf(folder), error)) return Published{};
  const absl::StatusOr<std::string> read = ReadFile(PublicationPathOf(folder), 4096);
  if (!read.ok()) return read.status();
  const std::string_view bytes = *read;
  const std::size_t size = bytes.size() - std::min(bytes.size(), sizeof(Sha256Digest));
  const std::string_view body = bytes.substr(0, size);
  ByteReader in(body);
  bool known = in.Take(kPublicationMagic.size()) == kPublicationMagic;
  const std::uint32_t version = in.U32();
  known = known && (version == kPublicationVersion || version == kVersionWithTotals);
  std::array<std::byte, 16> stored{};
  in.Fixed(stored);
  Published published{.known = true};
  published.position.sequence = in.U64();
  in.Fixed(published.position.hash);
  if (known && version == kVersionWithTotals) {
    published.epoch = in.U64();
    published.totals = TotalsFrom(in);
  }
  if (!known || !in.Done() || AsChars(Sha256Of(body)) != bytes.substr(size) || stored != instance) {
    return DataLoss(PublicationPathOf(folder), ": damaged, or of another model");
  }
  return published;
}

absl::Status NeedsEpoch(std::string_view why) {
  absl::Status status = FailedPrecondition(
      ToAbsl(why),
      "; `bandana-ctl epoch open` charges every user once more, opens a new epoch and goes on from "
      "what the database holds");
  status.SetPayload(kNeedsEpoch, absl::Cord());
  return status;
}

bool IsNeedsEpoch(const absl::Status& status) { return status.GetPayload(kNeedsEpoch).has_value(); }

PublishedCheck::PublishedCheck(const LogPosition& published, const LogPosition& start,
                               const LogPosition& published_at_start, bool apart)
    : published_(published) {
  if (published.sequence == 0 || published.sequence > start.sequence) return;
  if (apart && published.sequence < start.sequence) return;
  // Not after the checkpoint: at it, or what it had seen published.
  if (published != start && published != published_at_start) {
    start_ = OtherHistory(published.sequence);
  }
}

absl::Status PublishedCheck::See(const LogPosition& position) const {
  if (position.sequence == published_.sequence && position != published_) {
    return OtherHistory(position.sequence);
  }
  return absl::OkStatus();
}

absl::Status PublishedCheck::Finish(const LogPosition& last) const {
  if (last.sequence >= published_.sequence) return absl::OkStatus();
  return DataLoss("the log ends at entry ", last.sequence,
                  ", and this model published after entry ", published_.sequence,
                  ": an older copy of the log was put back");
}

absl::Status PublishedCheck::Compare(const Published& published, const ModelState& state) {
  const PrivacyTotals& now = state.ledger.largest();
  const PrivacyTotals both = Parallel(now, published.totals);
  if (state.epoch >= published.epoch && both == now) return absl::OkStatus();
  return DataLoss("the log has epoch ", state.epoch, " and this model published in epoch ",
                  published.epoch, ", or the ledger has less than was charged by then");
}

}  // namespace bandana::server
