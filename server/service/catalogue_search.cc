#include "server/service/catalogue_search.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/ranking/arm_search.h"

namespace bandana::server {
namespace {

// Pages are the runs of the search; `pages` tells which.
void LookAtPages(const CatalogueSearch& search, std::span<const float> part_weights,
                 ArmSearch& arms, std::vector<std::size_t>& pages) {
  std::array<float, ArmPage::kArmsMax> means;
  const Catalogue& catalogue = search.catalogue;
  catalogue.ForEachMatching(
      search.filter, [&](std::size_t page, std::span<const std::uint8_t> rows) {
        const ArmPage& in = *catalogue.pages()[page];
        ArmRun run;
        run.sketch = &in.sketch();
        run.rows = rows;
        const std::span<float> of_page = std::span(means).first(in.size());
        if (in.has_beliefs()) {
          run.means = of_page;
          run.variance_max = catalogue.ReadBeliefs(page, part_weights, of_page);
        }
        if (!search.boosts.empty()) {
          if (!in.has_beliefs()) std::ranges::fill(of_page, 0.0f);
          run.means = of_page;
          run.means_error = AddBoosts(search.boosts, in, of_page);
        }
        arms.Look(run);
        pages.push_back(page);
        return true;
      });
}

}  // namespace

bool IsForSearch(const v1::ArmSet& arms, int arms_max, const Catalogue& catalogue,
                 const OfferRules& offer) {
  if (!arms.has_catalogue_query() || catalogue.size() < kSearchArmsMin) return false;
  const v1::CatalogueQuery& query = arms.catalogue_query();
  if (!CheckQuery(query).ok()) return false;
  // All are counted only where they may be too many.
  const auto most = static_cast<std::size_t>(arms_max);
  const bool all_fit = static_cast<std::size_t>(catalogue.size()) <= most;
  const std::size_t enough = all_fit ? std::size_t{kSearchArmsMin} : most + 1;
  std::size_t found = 0;
  catalogue.ForEachMatching(FilterOf(query, offer),
                            [&](std::size_t page, std::span<const std::uint8_t> rows) {
                              found += rows.empty() ? catalogue.pages()[page]->size() : rows.size();
                              return found < enough;
                            });
  return found >= kSearchArmsMin && (all_fit || found <= most);
}

std::optional<SearchCount> SearchArms(const CatalogueSearch& search, NodePosterior& scratch,
                                      ArmBlock& block, ArmScores& scores) {
  const std::optional<ScoreLaw> law = search.posterior.Law(search.whom, scratch);
  if (!law) return std::nullopt;
  NodePosterior folded;
  const bool in_context = !search.named.no_context();
  if (in_context && !search.named.Fold(*law->posterior, folded)) return std::nullopt;
  ArmSearch arms(in_context ? folded : *law->posterior,
                 {.mean = law->mean, .variance = law->variance}, search.top_k);
  std::vector<std::size_t> pages;
  LookAtPages(search, law->part_weights, arms, pages);
  const Catalogue& catalogue = search.catalogue;
  const auto found = arms.Finish(search.tie_key, [&](std::span<const ArmPlace> places,
                                                     ArmScores& out) {
    block.Clear();
    for (const ArmPlace& place : places) {
      AddArm(catalogue.At(pages[place.run], place.row), block);
    }
    search.named.Join(block);
    search.posterior.Score(search.whom, {.features = block.arms, .keys = block.keys}, scratch, out);
    if (search.boosts.empty()) return;
    for (std::size_t i = 0; i < places.size(); ++i) {
      out.scores[i] += BoostOf(search.boosts, catalogue.At(pages[places[i].run], places[i].row));
    }
  });
  block.Clear();
  scores.means.clear();
  scores.widths.clear();
  scores.scores.clear();
  for (const FoundArm& arm : found) {
    AddArm(catalogue.At(pages[arm.place.run], arm.place.row), block);
    block.positions.push_back(arm.place.position);
    scores.means.push_back(arm.mean);
    scores.widths.push_back(arm.width);
    scores.scores.push_back(arm.score);
  }
  search.named.Join(block);
  return SearchCount{.arms = arms.arms(), .scored = arms.scored(), .ties = arms.ties()};
}

}  // namespace bandana::server
