// The arms a model knows by id. Immutable; a change makes a new catalogue, which shares with the
// old one all pages that the change does not reach.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ranking/effect_key.h"
#include "server/models/catalogue/arm_filter.h"
#include "server/models/catalogue/arm_page.h"

namespace bandana::server {

// An arm as the catalogue holds it; valid as long as the catalogue.
struct CatalogueEntry {
  std::uint32_t id = 0;
  std::span<const double> features;  // d, finite, |x|_2 <= feature_l2_max
  // Models with effects: ArmKey(id), then the key of the value of each declared group, kAbsent
  // where the arm is in none. Else empty.
  std::span<const EffectKey> keys;
  const ArmPage* page = nullptr;
  std::uint32_t row = 0;
};

// Threads: immutable, but for the beliefs in its pages.
class Catalogue {
 public:
  explicit Catalogue(CatalogueShape shape);
  ~Catalogue();
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;
  // Where arms have equal ids, the last stays. Requires features of the shape's dimension, and
  // groups of the shape.
  static std::shared_ptr<const Catalogue> Make(CatalogueShape shape,
                                               const std::vector<CatalogueArm>& arms);
  static std::shared_ptr<const Catalogue> Make(int dimension,
                                               const std::vector<CatalogueArm>& arms);
  // Adds or replaces `arms`, removes the arms with ids in `removed`; an id is in one of the two.
  // Cost: of the pages that these arms are in, and some nanoseconds per other page.
  std::shared_ptr<const Catalogue> With(std::span<const CatalogueArm> arms,
                                        std::span<const std::uint32_t> removed) const;

  int dimension() const { return shape_.dimension; }
  int parts() const { return shape_.parts(); }
  int size() const { return first_rows_.empty() ? 0 : static_cast<int>(first_rows_.back()); }
  std::optional<CatalogueEntry> Find(std::uint32_t id) const;

  // Arms in ascending order of id are the rows of one page after the other.
  std::span<const std::shared_ptr<const ArmPage>> pages() const { return pages_; }
  CatalogueEntry At(std::size_t page, std::uint32_t row) const;
  // As it was put.
  CatalogueArm ArmOf(const CatalogueEntry& entry) const;
  // Calls `body` with each entry in order of id until it returns false.
  template <typename Body>
  void ForEach(const Body& body) const {
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      for (std::uint32_t row = 0; row < pages_[page]->size(); ++row) {
        if (!body(At(page, row))) return;
      }
    }
  }
  // Calls `body` with a page and rows of it, wherever arms pass the filter; where all do, with each
  // page and no rows, which means all. Until it returns false.
  template <typename Body>
  void ForEachMatching(const ArmFilter& filter, const Body& body) const {
    const FilterNumbers numbers = NumbersOf(filter);
    if (numbers.nothing) return;
    ArmPage::Rows rows;
    // Pages lie anywhere in memory: what is read next is asked for in time.
    constexpr std::size_t kAhead = 4;
    for (std::size_t page = 0; page < pages_.size(); ++page) {
      if (page + 2 * kAhead < pages_.size()) __builtin_prefetch(pages_[page + 2 * kAhead].get());
      if (numbers.everything && page + kAhead < pages_.size()) pages_[page + kAhead]->Prefetch();
      if (!numbers.everything) {
        if (!MayMatch(numbers, page)) continue;
        FindMatching(numbers, page, rows);
        if (rows.empty()) continue;
      }
      if (!body(page, std::span<const std::uint8_t>(rows))) return;
    }
  }
  // The arm of this name. While a later catalogue is made that gives the name to another arm, none
  // may be found for some milliseconds.
  std::optional<CatalogueEntry> FindName(std::string_view name) const;
  // "" where the arm has none.
  std::string_view NameOf(const CatalogueEntry& entry) const;
  bool has_names() const { return named_pages_ > 0; }
  // Whether any arm has facts.
  bool has_facts() const { return facts_pages_ > 0; }
  // Whether an arm has this field, or had it before.
  bool HasField(std::string_view field) const;
  // Whether the arm passes the ranges and exclusions of the filter, whatever its tags.
  bool IsOnOffer(const FilterNumbers& numbers, const CatalogueEntry& entry) const;
  FilterNumbers NumbersOf(const ArmFilter& filter) const;
  // Numbers of texts: of a tag, ArmNames::kNone where no arm ever had it; of a group of the shape.
  std::uint32_t FindTag(std::string_view tag) const { return names_->tags.Find(tag); }
  std::optional<std::size_t> FindGroup(std::string_view group) const;
  // The values of a group of the shape.
  const ArmNames& group_values(std::size_t group) const { return *names_->groups[group]; }
  bool HasNamesOf(const Catalogue& other) const { return names_ == other.names_; }
  // Means of what the arms of a page have of their own, as last believed: of each arm and of its
  // groups. Returns a bound of their variances. Requires keys. `weights`: ScoreLaw::part_weights.
  float ReadBeliefs(std::size_t page, std::span<const float> weights, std::span<float> means) const;
  // Texts of arms that there are, and of some that there were.
  std::uint64_t names() const { return names_->size(); }
  std::size_t bytes() const;  // but for the names

 private:
  void Append(std::shared_ptr<const ArmPage> page);
  // Page `i` of `from`, without a look at it.
  void AppendShared(const Catalogue& from, std::size_t i);
  // Appends the ranges of fields, and of times of availability. False: no arm has one of the
  // fields.
  bool FindRanges(const ArmFilter& filter, std::vector<NumberRange>& ranges) const;
  bool MayMatch(const FilterNumbers& numbers, std::size_t page) const;
  void FindMatching(const FilterNumbers& numbers, std::size_t page, ArmPage::Rows& rows) const;
  bool HasTooManyNames() const;

  CatalogueShape shape_;
  std::shared_ptr<CatalogueNames> names_;
  std::vector<std::shared_ptr<const ArmPage>> pages_;  // none is empty
  std::vector<std::uint32_t> first_ids_;               // by page
  std::vector<std::uint32_t> first_rows_;              // by page, and after the last one
  std::vector<std::uint64_t> tag_bits_;                // by page
  std::vector<std::uint32_t> page_names_;              // by page
  std::uint64_t names_in_pages_ = 0;
  std::size_t named_pages_ = 0;  // that have an arm with a name
  std::size_t facts_pages_ = 0;  // that have an arm with facts
};

}  // namespace bandana::server
