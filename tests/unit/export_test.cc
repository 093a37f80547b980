// Exports: their layout against a slow reference, their headers, their arms, and what is damaged.
#include "server/models/folder/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/sha256.h"
#include "server/models/folder/export_header.h"
#include "server/models/import_check.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

constexpr auto kDamaged = absl::StatusCode::kDataLoss;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

v1::ModelConfig Config() {
  return testing::SpecOf("name: 'm' dimension: 3 mode: NON_PRIVATE independent {}").config;
}

// A state with this many users of d = 3.
Checkpoint StateOf(int users, TestRng& rng) {
  Checkpoint state;
  state.dimension = 3;
  state.state.position.sequence = 7;
  for (int u = 0; u < users; ++u) {
    state.users.push_back(absl::StrCat("user", u));
    NodeStatistics node;
    node.events = static_cast<std::uint64_t>(rng.Index(100));
    for (int i = 0; i < 6; ++i) node.gram.push_back(rng.Uniform());
    for (int i = 0; i < 3; ++i) node.moment.push_back(rng.Uniform());
    state.statistics.push_back(node);
    state.state.events_at_epoch.push_back(0);
  }
  return state;
}

std::vector<CatalogueArm> ArmsOf(int count, bool groups, TestRng& rng) {
  std::vector<CatalogueArm> arms;
  for (int a = 0; a < count; ++a) {
    CatalogueArm& arm = arms.emplace_back();
    arm.id = static_cast<std::uint32_t>(a);
    for (int i = 0; i < 3; ++i) arm.features.push_back(rng.Uniform());
    for (int t = rng.Index(3); t > 0; --t) arm.tags.push_back(absl::StrCat("tag", t));
    if (groups && rng.Index(2) == 1) arm.groups["kind"] = absl::StrCat("value", a % 5);
  }
  return arms;
}

std::shared_ptr<const Catalogue> CatalogueOf(const std::vector<CatalogueArm>& arms, bool groups) {
  CatalogueShape shape{.dimension = 3, .has_keys = groups, .groups = {}};
  if (groups) shape.groups = {"kind"};
  return Catalogue::Make(shape, arms);
}

// The layout of docs/formats/checkpoint.md, in one string: what former versions wrote and read.
std::string Reference(const v1::ModelConfig& config, const std::string& checkpoint,
                      const std::vector<CatalogueArm>& arms, bool groups,
                      const std::string& users) {
  std::string bytes = "BANDEXPT";
  ByteWriter out(bytes);
  out.U32(groups ? 2 : 1);
  out.Block(config.SerializeAsString());
  out.Block(checkpoint);
  out.U64(arms.size());
  for (const CatalogueArm& arm : arms) {
    out.U32(arm.id);
    out.Doubles(arm.features);
    out.U8(static_cast<std::uint8_t>(arm.tags.size()));
    for (const std::string& tag : arm.tags) out.Block(tag);
    if (!groups) continue;
    out.U8(static_cast<std::uint8_t>(arm.groups.size()));
    for (const auto& [name, value] : arm.groups) {
      out.Block(name);
      out.Block(value);
    }
  }
  if (groups) out.Block(users);
  out.Fixed(Sha256Of(bytes));
  return bytes;
}

TEST(ExportBytes, NamesOfArmsCome) {
  TestRng rng(12);
  const Checkpoint state = StateOf(2, rng);
  const std::vector<CatalogueArm> arms = {
      {.id = 1, .features = {1, 0, 0}, .tags = {"a"}, .groups = {{"kind", "x"}}, .name = "one"},
      {.id = 2, .features = {0, 1, 0}, .tags = {}},
      {.id = 9, .features = {0, 0, 1}, .tags = {}, .groups = {}, .name = "nine"}};
  for (const bool groups : {false, true}) {
    const std::string bytes =
        EncodeExport(v1::ModelConfig(), EncodeAgain(state), *CatalogueOf(arms, groups));
    const auto view = LookAtExport(bytes);
    ASSERT_THAT(view, IsOk());
    EXPECT_EQ(view->version, 3u);
    std::vector<std::string> names;
    ASSERT_THAT(view->arms.ForEach([&](const CatalogueArm& arm) {
      names.push_back(arm.name);
      return absl::OkStatus();
    }),
                IsOk());
    EXPECT_THAT(names, ::testing::ElementsAre("one", "", "nine"));
  }
}

TEST(ExportBytes, FactsOfArmsCome) {
  TestRng rng(12);
  const Checkpoint state = StateOf(2, rng);
  std::vector<CatalogueArm> arms = {
      {.id = 1, .features = {1, 0, 0}, .tags = {"a"}, .groups = {{"kind", "x"}}, .name = "one"},
      {.id = 2, .features = {0, 1, 0}, .tags = {}}};
  arms[1].facts = {.fields = {{"price", 9.5}, {"stock", 0}},
                   .available_from = absl::FromUnixMillis(5)};
  for (const bool groups : {false, true}) {
    const std::string bytes =
        EncodeExport(v1::ModelConfig(), EncodeAgain(state), *CatalogueOf(arms, groups));
    const auto view = LookAtExport(bytes);
    ASSERT_THAT(view, IsOk());
    EXPECT_EQ(view->version, 4u);
    std::vector<CatalogueArm> read;
    ASSERT_THAT(view->arms.ForEach([&](CatalogueArm arm) {
      read.push_back(std::move(arm));
      return absl::OkStatus();
    }),
                IsOk());
    ASSERT_EQ(read.size(), 2);
    EXPECT_EQ(read[0].name, "one");
    EXPECT_FALSE(read[0].facts.any());
    EXPECT_EQ(read[1].facts, arms[1].facts);
  }
}

std::string UsersOf(int count) {
  std::string bytes;
  ByteWriter(bytes).U64(static_cast<std::uint64_t>(count));
  return bytes + std::string(static_cast<std::size_t>(count), 'u');
}

std::string WithDigest(std::string body) {
  const Sha256Digest digest = Sha256Of(body);
  body += AsChars(digest);
  return body;
}

TEST(ExportBytes, AreTheSameInPieces) {
  TestRng rng(11);
  // The last ones have pieces of checkpoint and arms: more than 1 MiB each.
  for (const int size : {0, 1, 2, 300, 40'000}) {
    for (const bool groups : {false, true}) {
      const Checkpoint state = StateOf(size, rng);
      const std::vector<CatalogueArm> arms = ArmsOf(size, groups, rng);
      const auto catalogue = CatalogueOf(arms, groups);
      const std::string users = groups ? UsersOf(size) : "";
      const v1::ModelConfig config = Config();
      ExportSource source{
          .config = config,
          .checkpoint = [&](const ByteSink& sink) { return EncodeAgain(state, sink); },
          .catalogue = *catalogue};
      if (groups) source.users = [&](const ByteSink& sink) { return sink(users); };
      auto file = TempFile::InMemory();
      ASSERT_THAT(file, IsOk());
      ASSERT_THAT(WriteExport(source, *file), IsOk());
      const std::string expected = Reference(config, EncodeAgain(state), arms, groups, users);
      EXPECT_TRUE(file->Map()->bytes() == expected) << size << " " << groups;
      EXPECT_TRUE(EncodeExport(config, EncodeAgain(state), *catalogue, users) == expected);

      const auto back = DecodeExport(expected);
      ASSERT_THAT(back, IsOk());
      EXPECT_EQ(back->checkpoint.users, state.users);
      EXPECT_EQ(back->users, users);
      std::size_t next = 0;
      EXPECT_THAT(back->arms.ForEach([&](const CatalogueArm& arm) {
        EXPECT_EQ(arm.features, arms[next].features);
        EXPECT_EQ(arm.groups, arms[next].groups);
        EXPECT_EQ(arm.tags, arms[next++].tags);
        return absl::OkStatus();
      }),
                  IsOk());
      EXPECT_EQ(next, arms.size());

      const auto header = HeaderOfExport(expected);
      ASSERT_THAT(header, IsOk());
      EXPECT_EQ(header->version(), groups ? 2u : 1u);
      EXPECT_EQ(header->bytes(), expected.size());
      EXPECT_EQ(header->nodes(), static_cast<std::uint32_t>(size));
      EXPECT_EQ(header->arms(), static_cast<std::uint32_t>(size));
      EXPECT_EQ(header->users(), groups ? static_cast<std::uint32_t>(size) : 0u);
      EXPECT_EQ(header->config().SerializeAsString(), config.SerializeAsString());
      EXPECT_FALSE(header->config_abridged());
      EXPECT_THAT(CheckPromised(*header, expected), IsOk());
    }
  }
}

TEST(ExportBytes, AFailingPartIsTheResult) {
  const v1::ModelConfig config = Config();
  const auto catalogue = CatalogueOf({}, false);
  const auto fail = [](const ByteSink&) { return absl::ResourceExhaustedError("full"); };
  const auto none = [](const ByteSink&) { return absl::OkStatus(); };
  for (const bool users : {false, true}) {
    ExportSource source{.config = config, .checkpoint = none, .catalogue = *catalogue};
    (users ? source.users : source.checkpoint) = fail;
    auto file = TempFile::InMemory();
    EXPECT_THAT(WriteExport(source, *file), StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  }
  // A sink that fails stops the encoder.
  TestRng rng(1);
  int calls = 0;
  EXPECT_THAT(EncodeAgain(StateOf(40'000, rng),
                          [&](std::string_view) {
                            ++calls;
                            return absl::ResourceExhaustedError("full");
                          }),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(calls, 1);
}

TEST(ExportBytes, EveryFlipAndEveryCutIsFound) {
  TestRng rng(2);
  const std::string bytes = EncodeExport(Config(), EncodeAgain(StateOf(2, rng)),
                                         *CatalogueOf(ArmsOf(2, true, rng), true), UsersOf(2));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_THAT(DecodeExport(bad), StatusIs(kDamaged)) << i;
    EXPECT_THAT(DecodeExport(bytes.substr(0, i)), StatusIs(kDamaged)) << i;
    // Neither crashes nor reads on; what it says is compared with the bytes after the checksum.
    (void)HeaderOfExport(bad).status().ok();
    (void)HeaderOfExport(bytes.substr(0, i)).status().ok();
  }
}

// Sound checksums around lengths that are not.
TEST(ExportBytes, CountsThatTheBytesDoNotHoldAreRefused) {
  TestRng rng(3);
  const std::string checkpoint = EncodeAgain(StateOf(1, rng));
  const auto export_of = [&](std::uint64_t arms, bool groups) {
    std::string bytes = "BANDEXPT";
    ByteWriter out(bytes);
    out.U32(groups ? 2 : 1);
    out.Block(Config().SerializeAsString());
    out.Block(checkpoint);
    out.U64(arms);
    if (groups) out.Block("");
    return WithDigest(bytes);
  };
  for (const bool groups : {false, true}) {
    EXPECT_THAT(DecodeExport(export_of(0, groups)), IsOk());
    for (const std::uint64_t arms : {std::uint64_t{1}, std::uint64_t{1} << 40, UINT64_MAX}) {
      EXPECT_THAT(DecodeExport(export_of(arms, groups)), StatusIs(kDamaged)) << arms;
    }
  }
}

TEST(ExportHeader, AWrongPromiseNamesTheField) {
  TestRng rng(4);
  const std::string bytes = EncodeExport(Config(), EncodeAgain(StateOf(2, rng)),
                                         *CatalogueOf(ArmsOf(2, true, rng), true), UsersOf(2));
  const v1::ExportHeader header = *HeaderOfExport(bytes);
  const std::map<std::string, std::function<void(v1::ExportHeader&)>> changes = {
      {"bytes", [](auto& h) { h.set_bytes(h.bytes() + 1); }},
      {"version", [](auto& h) { h.set_version(1); }},
      {"nodes", [](auto& h) { h.set_nodes(3); }},
      {"arms", [](auto& h) { h.set_arms(1); }},
      {"users", [](auto& h) { h.set_users(0); }},
      {"config", [](auto& h) { h.mutable_config()->set_dimension(4); }}};
  ASSERT_THAT(CheckPromised(header, bytes), IsOk());
  for (const auto& [field, change] : changes) {
    v1::ExportHeader wrong = header;
    change(wrong);
    EXPECT_THAT(CheckPromised(wrong, bytes), StatusIs(kInvalid, "header: " + field));
  }
}

TEST(ExportHeader, ALargeGraphIsLeftOutOfIt) {
  TestRng rng(5);
  v1::ModelConfig config = Config();
  v1::UserMap& users = *config.mutable_goblin()->mutable_users();
  for (int i = 0; i < 300'000; ++i) {
    users.add_ids(absl::StrCat("somebody", i));
    users.add_nodes(0);
  }
  const std::string bytes =
      EncodeExport(config, EncodeAgain(StateOf(1, rng)), *CatalogueOf({}, false));
  const auto header = HeaderOfExport(bytes);
  ASSERT_THAT(header, IsOk());
  EXPECT_TRUE(header->config_abridged());
  EXPECT_LT(header->ByteSizeLong(), 1000);
  EXPECT_EQ(header->config().dimension(), 3u);
  EXPECT_THAT(CheckPromised(*header, bytes), IsOk());
}

TEST(ImportCheck, KeepsSomeOfTheDiskForTheLogs) {
  EXPECT_THAT(CheckDisk("an import", 100, 3, 1000, "/data"), IsOk());
  EXPECT_THAT(CheckDisk("an import", 320, 3, 1000, "/data"),
              StatusIs(absl::StatusCode::kResourceExhausted, "an import of 320 bytes needs 3"));
  const std::uint64_t free = std::uint64_t{10} << 30;
  EXPECT_THAT(CheckDisk("an export", free - (64 << 20), 1, free, "/data"), IsOk());
  EXPECT_THAT(CheckDisk("an export", free - (64 << 20) + 1, 1, free, "/data"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(CheckDisk("an import", UINT64_MAX, 3, free, "/data"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(CheckDisk("an import", 1, 3, 0, "/data"),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace bandana::server
