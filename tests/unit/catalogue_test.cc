// Catalogues that share pages, against a plain map of arms.
#include "server/models/catalogue/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/models/catalogue/arm_rules.h"
#include "server/models/catalogue/arm_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

const CatalogueShape kShape{.dimension = 3, .has_keys = true, .groups = {"genre", "seller"}};

CatalogueArm MakeArm(std::uint32_t id, TestRng& rng) {
  CatalogueArm arm{.id = id, .features = {rng.Normal(), rng.Normal(), rng.Normal()}, .tags = {}};
  for (int t = 0; t < 6; ++t) {
    if (rng.Uniform() < 0.2) arm.tags.push_back("tag" + std::to_string(t * t * rng.Index(20)));
  }
  if (rng.Uniform() < 0.5) arm.groups["genre"] = "g" + std::to_string(rng.Index(5));
  if (rng.Uniform() < 0.3) arm.groups["seller"] = "s" + std::to_string(rng.Index(500));
  return arm;
}

using Reference = std::map<std::uint32_t, CatalogueArm>;

void ExpectSameArm(const Catalogue& catalogue, const CatalogueEntry& entry,
                   const CatalogueArm& arm) {
  EXPECT_EQ(entry.id, arm.id);
  const CatalogueArm found = catalogue.ArmOf(entry);
  EXPECT_EQ(found.id, arm.id);
  EXPECT_EQ(found.features, arm.features);
  EXPECT_EQ(found.tags, arm.tags);
  EXPECT_EQ(found.groups, arm.groups);
  const auto key = [&](const std::string& group) {
    const auto value = arm.groups.find(group);
    return value == arm.groups.end() ? kAbsent : GroupKey(group, value->second);
  };
  EXPECT_THAT(entry.keys, ElementsAre(ArmKey(arm.id), key("genre"), key("seller")));
}

std::vector<std::uint32_t> Tagged(const Catalogue& catalogue,
                                  const std::vector<std::string>& tags) {
  std::vector<std::uint32_t> ids;
  catalogue.ForEachMatching(
      {.tags_any = tags}, [&](std::size_t page, std::span<const std::uint8_t> rows) {
        const std::size_t n = rows.empty() ? catalogue.pages()[page]->size() : rows.size();
        for (std::uint32_t i = 0; i < n; ++i) {
          ids.push_back(catalogue.At(page, rows.empty() ? i : rows[i]).id);
        }
        return true;
      });
  return ids;
}

void ExpectSame(const Catalogue& catalogue, const Reference& arms) {
  ASSERT_EQ(catalogue.size(), static_cast<int>(arms.size()));
  auto expected = arms.begin();
  catalogue.ForEach([&](const CatalogueEntry& entry) {
    ExpectSameArm(catalogue, entry, expected->second);
    ++expected;
    return !::testing::Test::HasFailure();
  });
  for (const auto& page : catalogue.pages()) {
    ASSERT_GE(page->size(), 1);
    ASSERT_LE(page->size(), ArmPage::kArmsMax);
    EXPECT_EQ(page->sketch().size(), static_cast<int>(page->size()));
  }
  const std::vector<std::vector<std::string>> queries = {
      {}, {"tag0"}, {"tag4", "tag9"}, {"tag25", "unknown"}, {"unknown"}};
  for (const auto& tags : queries) {
    std::vector<std::uint32_t> ids;
    for (const auto& [id, arm] : arms) {
      const bool has = std::any_of(arm.tags.begin(), arm.tags.end(), [&](const auto& tag) {
        return std::find(tags.begin(), tags.end(), tag) != tags.end();
      });
      if (tags.empty() || has) ids.push_back(id);
    }
    EXPECT_EQ(Tagged(catalogue, tags), ids);
  }
}

TEST(CataloguePagesTest, ChangesGiveWhatMakingAnewGives) {
  TestRng rng(1);
  for (const int ids : {30, 1000, 100'000}) {
    Reference arms;
    auto catalogue = Catalogue::Make(kShape, {});
    for (int change = 0; change < 60; ++change) {
      std::vector<CatalogueArm> put;
      std::set<std::uint32_t> touched;
      const int size = rng.Uniform() < 0.2 ? 400 : rng.Index(12);
      const bool dense = rng.Uniform() < 0.3;
      const auto from = static_cast<std::uint32_t>(rng.Index(ids));
      for (int i = 0; i < size; ++i) {
        const auto id = dense ? from + static_cast<std::uint32_t>(i)
                              : static_cast<std::uint32_t>(rng.Index(ids)) * 40'000;
        if (!touched.insert(id).second) continue;
        put.push_back(MakeArm(id, rng));
      }
      std::vector<std::uint32_t> removed;
      const double part = rng.Uniform() < 0.1 ? 0.9 : 0.05;
      for (const auto& [id, arm] : arms) {
        if (rng.Uniform() < part && touched.insert(id).second) removed.push_back(id);
      }
      if (change % 7 == 0) removed.push_back(4'294'967'295);  // unknown
      const auto before = catalogue;
      const Reference arms_before = arms;
      catalogue = catalogue->With(put, removed);
      for (const CatalogueArm& arm : put) arms[arm.id] = arm;
      for (const std::uint32_t id : removed) arms.erase(id);
      ExpectSame(*catalogue, arms);
      ExpectSame(*before, arms_before);
      if (HasFailure()) FAIL() << "change " << change << " of " << ids;
    }
    for (const auto& [id, arm] : arms) {
      const auto found = catalogue->Find(id);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->id, id);
      EXPECT_EQ(found->features.data(), catalogue->Find(id)->page->features(found->row).data());
      if (!arms.contains(id + 1)) {
        EXPECT_FALSE(catalogue->Find(id + 1));
      }
    }
  }
}

TEST(CataloguePagesTest, AChangeSharesThePagesThatItDoesNotReach) {
  TestRng rng(2);
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 10'000; ++id) arms.push_back(MakeArm(id, rng));
  const auto before = Catalogue::Make(kShape, arms);
  const auto after = before->With(std::vector{MakeArm(5000, rng), MakeArm(5001, rng)},
                                  std::vector<std::uint32_t>{7});
  std::set<const ArmPage*> old;
  for (const auto& page : before->pages()) old.insert(page.get());
  std::size_t fresh = 0;
  for (const auto& page : after->pages()) fresh += old.contains(page.get()) ? 0 : 1;
  EXPECT_EQ(before->pages().size(), after->pages().size());
  EXPECT_LE(fresh, 3);
  EXPECT_EQ(after->size(), 9999);
}

// Texts that no arm has any more do not pile up.
TEST(CataloguePagesTest, ForgetsTextsThatNoArmHas) {
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 100; ++id) arms.push_back({id, {1, 2, 3}, {"always"}});
  auto catalogue = Catalogue::Make(kShape, arms);
  for (int i = 0; i < 20'000; ++i) {
    CatalogueArm arm{7, {1, 2, 3}, {"tag" + std::to_string(i)}};
    catalogue = catalogue->With(std::vector{arm}, {});
    ASSERT_LE(catalogue->names(), 1024 + 2 * 101 + 1);
  }
  EXPECT_THAT(Tagged(*catalogue, {"tag19999"}), ElementsAre(7));
  EXPECT_EQ(Tagged(*catalogue, {"always"}).size(), 99);
}

TEST(CataloguePagesTest, PagesKeepBeliefsOfTheirArms) {
  TestRng rng(4);
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 200; ++id) arms.push_back(MakeArm(id, rng));
  auto catalogue = Catalogue::Make(kShape, arms);
  const auto seven = *catalogue->Find(7);
  seven.page->SetBelief(seven.row, 0.5, 0.25);
  catalogue = catalogue->With(std::vector{MakeArm(8, rng)}, std::vector<std::uint32_t>{3});
  const auto found = *catalogue->Find(7);
  EXPECT_NE(found.page, seven.page);
  EXPECT_EQ(found.page->mean(found.row), 0.5);
  EXPECT_EQ(found.page->variance_max(), 0.25);
  EXPECT_FALSE(Catalogue::Make(1, {{1, {1}, {}}})->At(0, 0).page->has_beliefs());
}

TEST(ArmRulesTest, GroupsAreThoseOfTheModel) {
  const server::ArmRules rules{
      .dimension = 1, .feature_l2_max = 1, .reject_features = false, .groups = {"genre"}};
  std::uint64_t clipped = 0;
  const auto check = [&](const std::string& name, const std::string& value) {
    CatalogueArm arm{.id = 4, .features = {0.5}, .tags = {}, .groups = {{name, value}}};
    return server::CheckArm(rules, arm, clipped);
  };
  EXPECT_THAT(check("genre", "rock = roll"), IsOk());
  EXPECT_THAT(check("seller", "a"),
              StatusIs(absl::StatusCode::kInvalidArgument, "arm 4 is in the group seller"));
  for (const std::string& value : {std::string(), std::string(65, 'a'), std::string("a,b"),
                                   std::string("a\tb"), std::string("-"), std::string("a\nb")}) {
    EXPECT_THAT(check("genre", value),
                StatusIs(absl::StatusCode::kInvalidArgument, "arm 4, group genre"))
        << value;
  }
}

TEST(CataloguePagesTest, NamesGoWithTheirArms) {
  const auto arm = [](std::uint32_t id, const std::string& name) {
    return CatalogueArm{.id = id,
                        .features = std::vector<double>(kShape.dimension, 0.5),
                        .tags = {},
                        .groups = {},
                        .name = name};
  };
  const auto id_of = [](const Catalogue& catalogue, const std::string& name) {
    const auto entry = catalogue.FindName(name);
    return entry ? static_cast<int>(entry->id) : -1;
  };
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 500; ++id) arms.push_back(arm(id, "n" + std::to_string(id)));
  const auto first = Catalogue::Make(kShape, arms);
  EXPECT_EQ(id_of(*first, "n7"), 7);
  EXPECT_EQ(id_of(*first, "n500"), -1);
  EXPECT_TRUE(first->has_names());
  // One arm takes the name of another, which loses it; one goes; one gets none.
  const std::vector<CatalogueArm> put = {arm(7, "seven"), arm(8, "n7"), arm(9, "")};
  const auto next = first->With(put, std::vector<std::uint32_t>{10});
  EXPECT_EQ(id_of(*next, "n7"), 8);
  EXPECT_EQ(id_of(*next, "seven"), 7);
  for (const std::string gone : {"n8", "n9", "n10"}) EXPECT_EQ(id_of(*next, gone), -1) << gone;
  EXPECT_EQ(id_of(*next, "n300"), 300);
  EXPECT_EQ(next->NameOf(*next->Find(8)), "n7");
  EXPECT_EQ(next->NameOf(*next->Find(9)), "");
}

TEST(CataloguePagesTest, FiltersAreAsASlowOneSays) {
  TestRng rng(9);
  const std::vector<std::string> tags = {"a", "b", "c", "d", "rare"};
  std::vector<CatalogueArm> arms;
  for (std::uint32_t id = 0; id < 700; ++id) {
    CatalogueArm arm{.id = 2 * id, .features = std::vector<double>(kShape.dimension, 0.5)};
    for (std::size_t t = 0; t < tags.size(); ++t) {
      if (rng.Uniform() < (t == 4 ? 0.01 : 0.4)) arm.tags.push_back(tags[t]);
    }
    if (id % 3 == 0) arm.name = "n" + std::to_string(id);
    arms.push_back(arm);
  }
  const auto catalogue = Catalogue::Make(kShape, arms);
  const auto some = [&](int most) {
    std::vector<std::string> chosen;
    for (int i = rng.Index(most + 1); i > 0; --i) {
      chosen.push_back(rng.Uniform() < 0.1 ? "unknown"
                                           : tags[static_cast<std::size_t>(rng.Index(5))]);
    }
    return chosen;
  };
  for (int round = 0; round < 300; ++round) {
    server::ArmFilter filter{.tags_any = some(2), .tags_all = some(2), .tags_none = some(2)};
    for (int i = rng.Index(4); i > 0; --i) {
      filter.excluded_ids.push_back(static_cast<std::uint32_t>(rng.Index(1500)));
      filter.excluded_names.push_back("n" + std::to_string(rng.Index(800)));
    }
    std::vector<std::uint32_t> expected;
    for (const CatalogueArm& arm : arms) {
      const auto has = [&](const std::string& tag) {
        return std::ranges::find(arm.tags, tag) != arm.tags.end();
      };
      const bool passes =
          (filter.tags_any.empty() || std::ranges::any_of(filter.tags_any, has)) &&
          std::ranges::all_of(filter.tags_all, has) &&
          std::ranges::none_of(filter.tags_none, has) &&
          std::ranges::find(filter.excluded_ids, arm.id) == filter.excluded_ids.end() &&
          (arm.name.empty() ||
           std::ranges::find(filter.excluded_names, arm.name) == filter.excluded_names.end());
      if (passes) expected.push_back(arm.id);
    }
    std::vector<std::uint32_t> found;
    catalogue->ForEachMatching(filter, [&](std::size_t page, std::span<const std::uint8_t> rows) {
      const std::size_t n = rows.empty() ? catalogue->pages()[page]->size() : rows.size();
      for (std::uint32_t i = 0; i < n; ++i) {
        found.push_back(catalogue->At(page, rows.empty() ? i : rows[i]).id);
      }
      return true;
    });
    ASSERT_EQ(found, expected) << round;
  }
}

TEST(ArmStoreTest, KeepsNames) {
  const TempDir folder;
  TestRng rng(6);
  std::vector<CatalogueArm> put = {MakeArm(1, rng), MakeArm(2, rng), MakeArm(3, rng)};
  put[1].name = "two";
  put[2].name = "three";
  put[2].groups.clear();
  {
    auto store = *server::ArmStore::Open(folder.File("arms.sqlite"));
    ASSERT_THAT(store.Put(std::vector<CatalogueArm>{put[0]}), IsOk());
    ASSERT_THAT(store.Put(put), IsOk());
  }
  auto store = *server::ArmStore::Open(folder.File("arms.sqlite"));
  const auto loaded = store.Load();
  ASSERT_THAT(loaded, IsOk());
  ASSERT_EQ(loaded->size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*loaded)[i].name, put[i].name);
    EXPECT_EQ((*loaded)[i].groups, put[i].groups);
  }
}

// Former versions took texts from files as they were; answers with such bytes cannot be read.
TEST(ArmStoreTest, TextsThatAreNoUtf8AreReadEscaped) {
  const testing::TempDir folder;
  auto store = *server::ArmStore::Open(folder.File("arms.sqlite"));
  CatalogueArm arm{.id = 7, .features = {1}, .tags = {"caf\xE9", "caf\xE8", "ok"}};
  arm.name = "caf\xE9";
  ASSERT_THAT(store.Put({&arm, 1}), IsOk());
  const auto arms = store.Load();
  ASSERT_THAT(arms, IsOk());
  ASSERT_EQ(arms->size(), 1u);
  EXPECT_THAT((*arms)[0].tags, ElementsAre("caf\\xe9", "caf\\xe8", "ok"));
  EXPECT_EQ((*arms)[0].name, "caf\\xe9");
}

TEST(ArmStoreTest, KeepsGroupsAndCountsArms) {
  const TempDir folder;
  const std::string path = folder.File("arms.sqlite");
  TestRng rng(5);
  Reference arms;
  {
    auto store = *server::ArmStore::Open(path);
    for (int i = 0; i < 30; ++i) {
      std::vector<CatalogueArm> put;
      std::set<std::uint32_t> ids;
      while (ids.size() < 5) ids.insert(static_cast<std::uint32_t>(rng.Index(60)));
      for (const std::uint32_t id : ids) put.push_back(MakeArm(id, rng));
      ASSERT_THAT(store.Put(put), IsOk());
      for (const CatalogueArm& arm : put) arms[arm.id] = arm;
      const auto gone = static_cast<std::uint32_t>(rng.Index(60));
      ASSERT_THAT(store.Remove(std::vector<std::uint32_t>{gone, gone}), IsOk());
      arms.erase(gone);
    }
  }
  auto store = *server::ArmStore::Open(path);
  const auto loaded = store.Load();
  ASSERT_THAT(loaded, IsOk());
  ExpectSame(*Catalogue::Make(kShape, *loaded), arms);
}

}  // namespace
}  // namespace bandana::server
