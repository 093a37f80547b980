#include "client/core/selection/posterior_message.h"

#include "common/base/status.h"
#include "common/base/wire_reader.h"
#include "common/base/wire_writer.h"

namespace bandana::device {

std::string PosteriorRequestBytes(std::string_view model, std::string_view user,
                                  std::uint64_t if_newer_than) {
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  writer.Bytes(2, user);
  writer.Number(3, if_newer_than);
  return request;
}

absl::StatusOr<PosteriorResponse> ReadPosteriorResponse(std::string_view bytes) {
  PosteriorResponse response;
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) in.Flag(response.not_modified);
    if (in.field() == 2) in.Number(response.version);
    if (in.field() == 4) in.Reals(response.means);
    if (in.field() == 5) in.Reals(response.covariances);
    if (in.field() == 6) in.Reals(response.alphas);
    if (in.field() == 8) in.Real(response.constant_mean);
    if (in.field() == 9) in.Real(response.constant_variance);
  }
  if (!in.ok()) return Internal("the server's answer is not a posterior");
  return response;
}

std::string ArmEffectsRequestBytes(std::string_view model, std::string_view tag,
                                   std::uint64_t if_newer_than, std::uint64_t first_arm) {
  std::string request;
  WireWriter writer(request);
  writer.Bytes(1, model);
  writer.Bytes(2, tag);
  writer.Number(3, if_newer_than);
  writer.Number(4, first_arm);
  return request;
}

absl::StatusOr<ArmEffectsPage> ReadArmEffectsPage(std::string_view bytes) {
  ArmEffectsPage page;
  WireReader in(bytes);
  while (in.Next()) {
    if (in.field() == 1) in.Flag(page.not_modified);
    if (in.field() == 2) in.Number(page.version);
    if (in.field() == 3) in.Fixed(page.ids);
    if (in.field() == 4) in.Floats(page.means);
    if (in.field() == 5) in.Floats(page.variances);
    if (in.field() == 6) in.Number(page.next_arm);
    if (in.field() == 7) in.Real(page.unknown_mean);
    if (in.field() == 8) in.Real(page.unknown_variance);
  }
  if (!in.ok()) return Internal("the server's answer is not a page of effects");
  return page;
}

std::string JoinArmEffectsPages(std::string_view pages, std::uint64_t first_version) {
  std::string joined(pages);
  WireWriter writer(joined);
  writer.Present(2, first_version);
  writer.Present(6, 0);  // no further page
  return joined;
}

}  // namespace bandana::device
