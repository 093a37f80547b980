// Facts of arms: from files and messages, in pages, in the store, and what filters say of them.
#include "common/design/files/arm_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/design/files/arms_tsv.h"
#include "server/models/catalogue/arm_store.h"
#include "server/models/catalogue/catalogue.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

using server::ArmFilter;
using server::Catalogue;
using server::CatalogueArm;

absl::Time At(std::int64_t milliseconds) { return absl::FromUnixMillis(milliseconds); }

TEST(ArmFactsTest, ArmsTsvHasFieldsAndTimes) {
  const auto arms = ParseArmsTsv(
      "1\t-\t1\t-\t-\tprice=19.5,stock=-3\t2026-11-01T00:00:00Z/2026-12-01T00:00:00+01:00\n"
      "2\t-\t1\t-\t-\t-\t/1970-01-01T00:00:01Z\n3\t-\t1\t-\tname\tprice=1e3\n",
      1, 10);
  ASSERT_THAT(arms, IsOk());
  EXPECT_THAT((*arms)[0].facts.fields, ElementsAre(Pair("price", 19.5), Pair("stock", -3)));
  EXPECT_EQ((*arms)[0].facts.available_from, At(1793491200000));
  EXPECT_EQ((*arms)[0].facts.available_to, At(1796079600000));
  EXPECT_EQ((*arms)[1].facts.available_from, absl::InfinitePast());
  EXPECT_EQ((*arms)[1].facts.available_to, At(1000));
  EXPECT_THAT((*arms)[2].facts.fields, ElementsAre(Pair("price", 1000)));
  for (const TsvArm& arm : *arms) {
    ArmFacts again;
    ASSERT_THAT(ParseFields(FieldsText(arm.facts), again), IsOk());
    const std::string times = AvailabilityText(arm.facts);
    ASSERT_THAT(times.empty() ? absl::OkStatus() : ParseAvailability(times, again), IsOk());
    EXPECT_EQ(again, arm.facts);
  }
}

TEST(ArmFactsTest, MistakesNameTheField) {
  const struct {
    const char* columns;
    const char* message;
  } cases[] = {
      {"price", "the sixth field must be"},
      {"price=x", "fields.price: must be a number"},
      {"price=", "fields.price: must be a number"},
      {"price=inf", "fields.price: must be finite"},
      {"price=1,", "the fields end with a comma"},
      {"price=1,price=2", "fields.price: is there twice"},
      {"Price=1", "fields: "},
      {"-\tnow", "the seventh field must be FROM/TO"},
      {"-\tnow/", "available_from: must be a time"},
      {"-\t/tomorrow", "available_to: must be a time"},
      {"-\t2026-11-01T00:00:00Z/2026-11-01T00:00:00Z", "available_to: must be after"},
      {"-\t/\tmore", "more than seven fields"},
  };
  for (const auto& c : cases) {
    const std::string line = std::string("1\t-\t1\t-\t-\t") + c.columns + "\n";
    EXPECT_THAT(ParseArmsTsv(line, 1, 10),
                StatusIs(Code::kInvalidArgument, std::string("line 1: ") + c.message))
        << c.columns;
  }
}

TEST(ArmFactsTest, MessagesKeepFactsAndRefuseTimesThatAreNone) {
  v1::Arm arm;
  FillFacts({.fields = {{"price", 2.5}}, .available_from = At(-1500), .available_to = At(7)}, arm);
  EXPECT_EQ(arm.available_from().seconds(), -2);
  EXPECT_EQ(arm.available_from().nanos(), 500'000'000);
  const auto facts = FactsOf(arm);
  ASSERT_THAT(facts, IsOk());
  EXPECT_THAT(facts->fields, ElementsAre(Pair("price", 2.5)));
  EXPECT_EQ(facts->available_from, At(-1500));
  EXPECT_EQ(facts->available_to, At(7));
  arm.mutable_available_to()->set_nanos(1'000'000'000);
  EXPECT_THAT(FactsOf(arm), StatusIs(Code::kInvalidArgument, "available_to: "));
  arm.mutable_available_from()->set_seconds(std::int64_t{1} << 60);
  EXPECT_THAT(FactsOf(arm), StatusIs(Code::kInvalidArgument, "available_from: "));
}

TEST(ArmFactsTest, AtMostSixteenFields) {
  ArmFacts facts;
  for (int i = 0; i < 16; ++i) facts.fields["f" + std::to_string(i)] = i;
  EXPECT_THAT(CheckFacts(facts), IsOk());
  facts.fields["more"] = 1;
  EXPECT_THAT(CheckFacts(facts), StatusIs(Code::kInvalidArgument, "fields: at most 16, got 17"));
}

CatalogueArm MakeArm(std::uint32_t id, TestRng& rng) {
  CatalogueArm arm{.id = id, .features = {rng.Normal()}, .tags = {}};
  if (id % 3 == 0) arm.tags.push_back("third");
  if (rng.Uniform() < 0.7) arm.facts.fields["price"] = rng.Index(40);
  if (rng.Uniform() < 0.3) arm.facts.fields["stock"] = rng.Index(3);
  if (rng.Uniform() < 0.2) arm.facts.available_from = At(rng.Index(100));
  if (rng.Uniform() < 0.2) arm.facts.available_to = At(100 + rng.Index(100));
  return arm;
}

bool Passes(const ArmFilter& filter, const CatalogueArm& arm) {
  for (const server::FieldRange& range : filter.where) {
    const auto field = arm.facts.fields.find(range.field);
    if (field == arm.facts.fields.end()) return false;
    if (!(field->second >= range.least && field->second <= range.most)) return false;
  }
  if (!filter.available_at) return true;
  return arm.facts.available_from <= *filter.available_at &&
         *filter.available_at < arm.facts.available_to;
}

std::vector<std::uint32_t> Matching(const Catalogue& catalogue, const ArmFilter& filter) {
  std::vector<std::uint32_t> ids;
  catalogue.ForEachMatching(filter, [&](std::size_t page, std::span<const std::uint8_t> rows) {
    const std::size_t n = rows.empty() ? catalogue.pages()[page]->size() : rows.size();
    for (std::uint32_t i = 0; i < n; ++i) {
      ids.push_back(catalogue.At(page, rows.empty() ? i : rows[i]).id);
    }
    return true;
  });
  return ids;
}

TEST(ArmFactsTest, FiltersAreAsASlowOneSaysWhileArmsChange) {
  TestRng rng(11);
  std::map<std::uint32_t, CatalogueArm> arms;
  std::shared_ptr<const Catalogue> catalogue =
      std::make_shared<const Catalogue>(server::CatalogueShape{.dimension = 1});
  for (int round = 0; round < 60; ++round) {
    std::vector<CatalogueArm> put;
    std::vector<std::uint32_t> removed;
    for (int i = 0; i < 40; ++i) {
      const auto id = static_cast<std::uint32_t>(rng.Index(2000));
      if (rng.Uniform() < 0.2 && std::ranges::find(put, id, &CatalogueArm::id) == put.end()) {
        removed.push_back(id);
        arms.erase(id);
      } else if (std::ranges::find(removed, id) == removed.end()) {
        put.push_back(MakeArm(id, rng));
        arms.insert_or_assign(id, put.back());
      }
    }
    catalogue = catalogue->With(put, removed);
    const double least = rng.Index(40);
    ArmFilter filter;
    if (round % 3 != 0)
      filter.where.push_back({.field = "price", .least = least, .most = least + 9});
    if (round % 4 == 0) filter.where.push_back({.field = "stock", .least = 1});
    if (round % 2 == 0) filter.available_at = At(rng.Index(220));
    std::vector<std::uint32_t> expected;
    for (const auto& [id, arm] : arms) {
      const auto entry = catalogue->Find(id);
      ASSERT_TRUE(entry);
      EXPECT_EQ(catalogue->ArmOf(*entry).facts, arm.facts) << id;
      if (filter.tags_any.empty()) {
        EXPECT_EQ(catalogue->IsOnOffer(catalogue->NumbersOf(filter), *entry), Passes(filter, arm));
      }
      if (Passes(filter, arm)) expected.push_back(id);
    }
    ASSERT_EQ(Matching(*catalogue, filter), expected) << round;
  }
}

TEST(ArmFactsTest, AFieldThatNoArmHasMatchesNothing) {
  TestRng rng(1);
  const auto catalogue = Catalogue::Make(1, {MakeArm(0, rng), MakeArm(1, rng), MakeArm(2, rng)});
  EXPECT_TRUE(catalogue->HasField("price"));
  EXPECT_FALSE(catalogue->HasField("weight"));
  ArmFilter filter;
  filter.where.push_back({.field = "weight"});
  EXPECT_THAT(Matching(*catalogue, filter), ElementsAre());
}

TEST(ArmFactsTest, TheStoreKeepsThem) {
  const TempDir folder;
  TestRng rng(6);
  std::vector<CatalogueArm> put;
  for (std::uint32_t id = 0; id < 20; ++id) put.push_back(MakeArm(id, rng));
  put[3].name = "three";
  {
    auto store = *server::ArmStore::Open(folder.File("arms.sqlite"));
    ASSERT_THAT(store.Put(put), IsOk());
  }
  auto store = *server::ArmStore::Open(folder.File("arms.sqlite"));
  const auto arms = store.Load();
  ASSERT_THAT(arms, IsOk());
  ASSERT_EQ(arms->size(), put.size());
  for (std::size_t i = 0; i < put.size(); ++i) {
    EXPECT_EQ((*arms)[i].facts, put[i].facts);
    EXPECT_EQ((*arms)[i].name, put[i].name);
    EXPECT_EQ((*arms)[i].tags, put[i].tags);
  }
}

}  // namespace
}  // namespace bandana::testing
