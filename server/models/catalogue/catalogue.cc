#include "server/models/catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace bandana::server {
namespace {

// Arms of a page that is made: there is room for more before it must be split.
constexpr std::size_t kArmsPerPage = 96;
// A page with fewer is joined with the next one.
constexpr std::size_t kArmsPerPageMin = 32;
// Texts without an arm that are kept in any case.
constexpr std::uint64_t kNamesSpare = 1024;

// A catalogue's pages lie anywhere in memory, and each has a count of those who share it.
constexpr std::size_t kCountsAhead = 16;
void PrefetchCount(std::span<const std::shared_ptr<const ArmPage>> pages, std::size_t i) {
  // It stands before the page, by make_shared.
  if (i < pages.size()) __builtin_prefetch(reinterpret_cast<const char*>(pages[i].get()) - 16, 1);
}

// The change of one id.
struct Change {
  std::uint32_t id = 0;
  const CatalogueArm* arm = nullptr;  // nullptr: removed
};

// Ascending by id, each once: the last of those given.
std::vector<Change> SortChanges(std::span<const CatalogueArm> arms,
                                std::span<const std::uint32_t> removed) {
  std::vector<Change> changes;
  changes.reserve(arms.size() + removed.size());
  for (const CatalogueArm& arm : arms) changes.push_back({.id = arm.id, .arm = &arm});
  for (const std::uint32_t id : removed) changes.push_back({.id = id});
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.id < b.id; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (i + 1 < changes.size() && changes[i + 1].id == changes[i].id) continue;
    changes[kept++] = changes[i];
  }
  changes.resize(kept);
  return changes;
}

// The arms of a page after its changes, which it takes from the front of `changes`: those with ids
// below `end`.
void Merge(const ArmPage* page, std::uint64_t end, std::span<const Change>& changes,
           std::vector<ArmSource>& arms) {
  const std::uint32_t rows = page == nullptr ? 0 : page->size();
  std::uint32_t row = 0;
  while (!changes.empty() && changes.front().id < end) {
    const Change change = changes.front();
    changes = changes.subspan(1);
    for (; row < rows && page->ids()[row] < change.id; ++row) arms.push_back({page, row});
    if (row < rows && page->ids()[row] == change.id) ++row;
    if (change.arm != nullptr) arms.push_back({.page = nullptr, .row = 0, .arm = change.arm});
  }
  for (; row < rows; ++row) arms.push_back({page, row});
}

// Asks in time for what a look at ranges of the next pages reads, and a search after it: where
// their columns are, then the numbers of those.
void PrefetchColumns(std::span<const std::shared_ptr<const ArmPage>> pages, std::size_t page,
                     std::span<const NumberRange> ranges) {
  constexpr std::size_t kColumnsAhead = 4;
  constexpr std::size_t kNumbersAhead = 2;
  constexpr std::size_t kDoublesPerLine = 8;
  if (page + kColumnsAhead < pages.size()) {
    const ArmPage& later = *pages[page + kColumnsAhead];
    __builtin_prefetch(later.columns().columns().data());
    later.Prefetch();
  }
  if (page + kNumbersAhead >= pages.size()) return;
  for (const ArmColumns::Column& column : pages[page + kNumbersAhead]->columns().columns()) {
    if (std::ranges::find(ranges, column.field, &NumberRange::field) == ranges.end()) continue;
    for (std::size_t i = 0; i < column.values.size(); i += kDoublesPerLine) {
      __builtin_prefetch(column.values.data() + i);
    }
  }
}

}  // namespace

Catalogue::Catalogue(CatalogueShape shape)
    : shape_(std::move(shape)), names_(std::make_shared<CatalogueNames>(shape_)) {}

Catalogue::~Catalogue() {
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    PrefetchCount(pages_, i + kCountsAhead);
    pages_[i].reset();
  }
}

std::shared_ptr<const Catalogue> Catalogue::Make(int dimension,
                                                 const std::vector<CatalogueArm>& arms) {
  return Make({.dimension = dimension, .has_keys = false, .groups = {}}, arms);
}

std::shared_ptr<const Catalogue> Catalogue::Make(CatalogueShape shape,
                                                 const std::vector<CatalogueArm>& arms) {
  return Catalogue(std::move(shape)).With(arms, {});
}

std::shared_ptr<const Catalogue> Catalogue::With(std::span<const CatalogueArm> arms,
                                                 std::span<const std::uint32_t> removed) const {
  const std::vector<Change> sorted = SortChanges(arms, removed);
  std::span<const Change> changes(sorted);
  auto next = std::make_shared<Catalogue>(shape_);
  next->names_ = names_;
  const std::size_t most = pages_.size() + sorted.size() / kArmsPerPage + 2;
  next->pages_.reserve(most);
  next->first_ids_.reserve(most);
  next->first_rows_.reserve(most + 1);
  next->tag_bits_.reserve(most);
  next->page_names_.reserve(most);
  std::vector<ArmSource> pending;  // arms for which there is no page yet
  const auto make_pages = [&] {
    if (pending.empty()) return;
    const bool fits = pending.size() <= ArmPage::kArmsMax;
    const std::size_t count = fits ? 1 : (pending.size() + kArmsPerPage - 1) / kArmsPerPage;
    for (std::size_t i = 0, begin = 0; i < count; ++i) {
      const std::size_t end = pending.size() * (i + 1) / count;
      next->Append(std::make_shared<const ArmPage>(shape_, *names_,
                                                   std::span(pending).subspan(begin, end - begin)));
      begin = end;
    }
    pending.clear();
  };
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const std::uint64_t end = i + 1 < pages_.size() ? first_ids_[i + 1] : std::uint64_t{1} << 32;
    const bool changed = !changes.empty() && changes.front().id < end;
    if (!changed && pending.empty()) {
      PrefetchCount(pages_, i + kCountsAhead);
      next->AppendShared(*this, i);
      continue;
    }
    Merge(pages_[i].get(), end, changes, pending);
    if (pending.size() >= kArmsPerPageMin) make_pages();
  }
  Merge(nullptr, std::uint64_t{1} << 32, changes, pending);
  make_pages();
  if (!next->HasTooManyNames()) return next;
  std::vector<CatalogueArm> all;
  next->ForEach([&](const CatalogueEntry& entry) {
    all.push_back(next->ArmOf(entry));
    return true;
  });
  return Make(shape_, all);
}

void Catalogue::Append(std::shared_ptr<const ArmPage> page) {
  if (first_rows_.empty()) first_rows_.push_back(0);
  first_ids_.push_back(page->ids().front());
  first_rows_.push_back(first_rows_.back() + page->size());
  tag_bits_.push_back(page->tag_bits());
  page_names_.push_back(static_cast<std::uint32_t>(page->names()));
  names_in_pages_ += page_names_.back();
  named_pages_ += page->has_names() ? 1 : 0;
  facts_pages_ += page->has_facts() ? 1 : 0;
  pages_.push_back(std::move(page));
}

void Catalogue::AppendShared(const Catalogue& from, std::size_t i) {
  if (first_rows_.empty()) first_rows_.push_back(0);
  first_ids_.push_back(from.first_ids_[i]);
  first_rows_.push_back(first_rows_.back() + from.first_rows_[i + 1] - from.first_rows_[i]);
  tag_bits_.push_back(from.tag_bits_[i]);
  page_names_.push_back(from.page_names_[i]);
  names_in_pages_ += from.page_names_[i];
  named_pages_ += from.named_pages_ > 0 && from.pages_[i]->has_names() ? 1 : 0;
  facts_pages_ += from.facts_pages_ > 0 && from.pages_[i]->has_facts() ? 1 : 0;
  pages_.push_back(from.pages_[i]);
}

bool Catalogue::HasTooManyNames() const {
  return names_->size() > kNamesSpare + 2 * names_in_pages_;
}

CatalogueEntry Catalogue::At(std::size_t page, std::uint32_t row) const {
  const ArmPage& in = *pages_[page];
  return {.id = in.ids()[row],
          .features = in.features(row),
          .keys = in.keys(row),
          .page = &in,
          .row = row};
}

std::optional<CatalogueEntry> Catalogue::Find(std::uint32_t id) const {
  const auto after = std::upper_bound(first_ids_.begin(), first_ids_.end(), id);
  if (after == first_ids_.begin()) return std::nullopt;
  const auto page = static_cast<std::size_t>(after - first_ids_.begin()) - 1;
  const std::uint32_t row = pages_[page]->Find(id);
  if (row == pages_[page]->size()) return std::nullopt;
  return At(page, row);
}

CatalogueArm Catalogue::ArmOf(const CatalogueEntry& entry) const {
  CatalogueArm arm{.id = entry.id,
                   .features = {entry.features.begin(), entry.features.end()},
                   .tags = {},
                   .groups = {}};
  for (const std::uint32_t tag : entry.page->tags(entry.row)) {
    arm.tags.push_back(names_->tags.text(tag));
  }
  const std::span<const std::uint32_t> groups = entry.page->groups(entry.row);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g] == ArmNames::kNone) continue;
    arm.groups.emplace(shape_.groups[g], names_->groups[g]->text(groups[g]));
  }
  arm.name = NameOf(entry);
  entry.page->ReadFacts(entry.row, *names_, arm.facts);
  return arm;
}

float Catalogue::ReadBeliefs(std::size_t page, std::span<const float> weights,
                             std::span<float> means) const {
  const ArmPage& in = *pages_[page];
  const auto weight = [&](std::size_t part) { return weights.empty() ? 1.0f : weights[part]; };
  in.ReadMeans(means);
  if (!weights.empty()) {
    for (float& mean : means) mean *= weights[0];
  }
  float variance = weight(0) * weight(0) * in.variance_max();
  if (shape_.groups.empty()) return variance;
  for (std::size_t g = 0; g < names_->groups.size(); ++g) {
    variance += weight(g + 1) * weight(g + 1) * names_->groups[g]->variance_max();
  }
  for (std::uint32_t row = 0; row < in.size(); ++row) {
    const std::span<const std::uint32_t> groups = in.groups(row);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g] == ArmNames::kNone) continue;
      means[row] += weight(g + 1) * names_->groups[g]->mean(groups[g]);
    }
  }
  return variance;
}

bool Catalogue::FindRanges(const ArmFilter& filter, std::vector<NumberRange>& ranges) const {
  for (const FieldRange& range : filter.where) {
    const std::uint32_t field = names_->fields.Find(range.field);
    if (field == ArmNames::kNone) return false;
    ranges.push_back({.field = field, .least = range.least, .most = range.most});
  }
  if (!filter.available_at || facts_pages_ == 0) return true;
  const auto now = static_cast<double>(absl::ToUnixMillis(*filter.available_at));
  const auto add = [&](std::string_view end, NumberRange range) {
    range.field = names_->fields.Find(end);
    range.absent_passes = true;
    if (range.field != ArmNames::kNone) ranges.push_back(range);
  };
  add(CatalogueNames::kAvailableFrom, {.most = now});
  add(CatalogueNames::kAvailableTo, {.least = now + 1});  // whole milliseconds
  return true;
}

std::optional<std::size_t> Catalogue::FindGroup(std::string_view group) const {
  const auto found = std::ranges::find(shape_.groups, group);
  if (found == shape_.groups.end()) return std::nullopt;
  return static_cast<std::size_t>(found - shape_.groups.begin());
}

bool Catalogue::HasField(std::string_view field) const {
  const bool is_time =
      field == CatalogueNames::kAvailableFrom || field == CatalogueNames::kAvailableTo;
  return !is_time && names_->fields.Find(field) != ArmNames::kNone;
}

bool Catalogue::IsOnOffer(const FilterNumbers& numbers, const CatalogueEntry& entry) const {
  if (std::ranges::binary_search(numbers.excluded, entry.id)) return false;
  return std::ranges::all_of(numbers.ranges, [&](const NumberRange& range) {
    return entry.page->columns().Passes(range, entry.row);
  });
}

FilterNumbers Catalogue::NumbersOf(const ArmFilter& filter) const {
  FilterNumbers numbers;
  // Tags that no arm has: none matches where all are asked for, or one of them alone.
  const auto find = [&](const std::vector<std::string>& tags, std::vector<std::uint32_t>& out) {
    for (const std::string& tag : tags) {
      const std::uint32_t number = names_->tags.Find(tag);
      if (number != ArmNames::kNone) out.push_back(number);
    }
    return out.size() == tags.size();
  };
  find(filter.tags_any, numbers.any);
  numbers.nothing =
      !find(filter.tags_all, numbers.all) || (numbers.any.empty() && !filter.tags_any.empty());
  find(filter.tags_none, numbers.none);
  if (!FindRanges(filter, numbers.ranges)) numbers.nothing = true;
  for (const std::uint32_t tag : numbers.any) numbers.any_bits |= ArmPage::TagBit(tag);
  for (const std::uint32_t tag : numbers.all) numbers.all_bits |= ArmPage::TagBit(tag);
  numbers.excluded = filter.excluded_ids;
  for (const std::string& name : filter.excluded_names) {
    if (const auto entry = FindName(name)) numbers.excluded.push_back(entry->id);
  }
  std::sort(numbers.excluded.begin(), numbers.excluded.end());
  numbers.everything = !numbers.nothing && filter.tags_any.empty() && filter.tags_all.empty() &&
                       numbers.none.empty() && numbers.excluded.empty() && numbers.ranges.empty();
  return numbers;
}

bool Catalogue::MayMatch(const FilterNumbers& numbers, std::size_t page) const {
  const std::uint64_t bits = tag_bits_[page];
  return (numbers.any.empty() || (bits & numbers.any_bits) != 0) &&
         (bits & numbers.all_bits) == numbers.all_bits;
}

void Catalogue::FindMatching(const FilterNumbers& numbers, std::size_t page,
                             ArmPage::Rows& rows) const {
  const ArmPage& in = *pages_[page];
  std::bitset<ArmPage::kArmsMax> matching;
  matching.set();
  if (!numbers.any.empty()) matching = in.Tagged(numbers.any);
  for (const std::uint32_t tag : numbers.all) matching &= in.Tagged({&tag, 1});
  if (!numbers.none.empty()) matching &= ~in.Tagged(numbers.none);
  const auto [first, last] = std::minmax(in.ids().front(), in.ids().back());
  for (auto id = std::lower_bound(numbers.excluded.begin(), numbers.excluded.end(), first);
       id != numbers.excluded.end() && *id <= last; ++id) {
    const std::uint32_t row = in.Find(*id);
    if (row < in.size()) matching.reset(row);
  }
  if (!numbers.ranges.empty()) PrefetchColumns(pages_, page, numbers.ranges);
  std::array<std::uint8_t, ArmPage::kArmsMax> marks;
  const std::span<std::uint8_t> used = std::span(marks).first(in.size());
  for (std::uint32_t row = 0; row < in.size(); ++row) {
    marks[row] = static_cast<std::uint8_t>(matching.test(row));
  }
  for (const NumberRange& range : numbers.ranges) in.columns().Keep(range, used);
  // Eight marks at a time, and of these those that are set.
  std::ranges::fill(std::span(marks).subspan(in.size()), std::uint8_t{0});
  rows.clear();
  for (std::uint32_t row = 0; row < in.size(); row += sizeof(std::uint64_t)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, marks.data() + row, sizeof eight);
    for (; eight != 0; eight &= eight - 1) {
      const auto set = row + static_cast<std::uint32_t>(std::countr_zero(eight)) / 8;
      rows.push_back(static_cast<std::uint8_t>(set));
    }
  }
}

std::optional<CatalogueEntry> Catalogue::FindName(std::string_view name) const {
  const std::uint32_t number = names_->arms.Find(name);
  if (number == ArmNames::kNone) return std::nullopt;
  const std::optional<CatalogueEntry> holder = Find(names_->arms.holder(number));
  if (holder && holder->page->name(holder->row) == number) return holder;
  return std::nullopt;
}

std::string_view Catalogue::NameOf(const CatalogueEntry& entry) const {
  const std::uint32_t number = entry.page->name(entry.row);
  return number == ArmNames::kNone ? std::string_view() : names_->arms.text(number);
}

std::size_t Catalogue::bytes() const {
  std::size_t sum =
      pages_.capacity() * (sizeof pages_[0] + 2 * sizeof first_ids_[0] + sizeof tag_bits_[0]);
  for (const auto& page : pages_) sum += page->bytes();
  return sum;
}

}  // namespace bandana::server
