// The difference between two checkpoints gives the second one back, and is small where little
// changed.
#include "server/models/folder/checkpoint_delta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/models/folder/content_chunks.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_rng.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

std::string RandomBytes(TestRng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng.Bits());
  return bytes;
}

// As an encoder would pass them on.
ByteSource PiecesOf(const std::string& bytes, std::size_t piece) {
  return [&bytes, piece](const ByteSink& sink) {
    absl::Status passed;
    for (std::size_t i = 0; i < bytes.size() && passed.ok(); i += piece)
      passed = sink(std::string_view(bytes).substr(i, piece));
    return passed;
  };
}

std::string All(const ByteSource& source) {
  std::string all;
  EXPECT_THAT(source([&](std::string_view bytes) {
                all += bytes;
                return absl::OkStatus();
              }),
              IsOk());
  return all;
}

CheckpointIndex IndexOf(const std::string& base, std::uint64_t sequence = 7) {
  const ByteSink nowhere = [](std::string_view) { return absl::OkStatus(); };
  return *CheckpointIndex::Of(sequence, PiecesOf(base, 1000), nowhere);
}

std::string DeltaOf(const std::string& base, const std::string& next) {
  return All(DeltaTo(IndexOf(base), PiecesOf(next, 3000)));
}

ReadBase ReadOf(const std::string& base) {
  return [&base](std::uint64_t offset, std::span<char> out) -> absl::Status {
    if (offset > base.size() || base.size() - offset < out.size()) {
      return absl::DataLossError("too short");
    }
    std::copy_n(base.data() + offset, out.size(), out.data());
    return absl::OkStatus();
  };
}

std::vector<std::string> ChunksOf(const std::string& bytes, std::size_t piece) {
  std::vector<std::string> chunks;
  ContentChunks cutter([&](std::string_view chunk) {
    chunks.emplace_back(chunk);
    return absl::OkStatus();
  });
  for (std::size_t i = 0; i < bytes.size(); i += piece)
    EXPECT_THAT(cutter.Add(std::string_view(bytes).substr(i, piece)), IsOk());
  EXPECT_THAT(cutter.Finish(), IsOk());
  return chunks;
}

TEST(ContentChunksTest, CutsAlikeInWhateverPieces) {
  TestRng rng(1);
  for (const std::string& bytes : {RandomBytes(rng, 200'000), std::string(100'000, '\0')}) {
    const std::vector<std::string> chunks = ChunksOf(bytes, bytes.size());
    std::string all;
    for (const std::string& chunk : chunks) {
      all += chunk;
      EXPECT_LE(chunk.size(), ContentChunks::kChunkBytesMax);
      const bool last = &chunk == &chunks.back();
      EXPECT_GE(chunk.size(), last ? 1 : ContentChunks::kChunkBytesMin);
    }
    EXPECT_TRUE(all == bytes);
    for (const std::size_t piece : {1, 999, 64'000}) EXPECT_TRUE(ChunksOf(bytes, piece) == chunks);
  }
  EXPECT_TRUE(ChunksOf("", 1).empty());
}

// Some 5 KiB: 4 KiB after the least length.
TEST(ContentChunksTest, AreSomeFiveKilobytes) {
  TestRng rng(2);
  const std::size_t count = ChunksOf(RandomBytes(rng, 5'000'000), 1 << 20).size();
  EXPECT_GT(count, 5'000'000 / 6500);
  EXPECT_LT(count, 5'000'000 / 4000);
}

TEST(ContentChunksTest, AnInsertionMovesTheCutsAfterIt) {
  TestRng rng(3);
  const std::string bytes = RandomBytes(rng, 300'000);
  const std::vector<std::string> before = ChunksOf(bytes, 4096);
  const std::vector<std::string> after = ChunksOf("inserted" + bytes, 4096);
  int alike = 0;
  for (const std::string& chunk : before) alike += std::ranges::count(after, chunk) > 0;
  EXPECT_GE(alike, static_cast<int>(before.size()) - 3);
}

TEST(CheckpointDeltaTest, GivesTheSecondOneBack) {
  TestRng rng(4);
  for (int trial = 0; trial < 60; ++trial) {
    const std::string base = RandomBytes(rng, rng.Index(200'000));
    std::string next = base;
    for (int edit = rng.Index(8); edit > 0; --edit) {
      const std::size_t at = rng.Index(static_cast<int>(next.size()) + 1);
      const std::size_t length = rng.Index(3000);
      switch (rng.Index(4)) {
        case 0:
          next.insert(at, RandomBytes(rng, length));
          break;
        case 1:
          next.erase(at, length);
          break;
        case 2:
          next.replace(at, length, RandomBytes(rng, std::min(length, next.size() - at)));
          break;
        default:  // the halves change places
          std::rotate(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(at), next.end());
      }
    }
    const std::string delta = DeltaOf(base, next);
    EXPECT_EQ(BaseOf(delta), 7u);
    const auto again = ApplyDelta(delta, ReadOf(base));
    ASSERT_THAT(again, IsOk());
    EXPECT_TRUE(*again == next) << trial;
  }
}

TEST(CheckpointDeltaTest, IsAsLargeAsWhatChanged) {
  TestRng rng(5);
  const std::string base = RandomBytes(rng, 1'000'000);
  EXPECT_LT(DeltaOf(base, base).size(), 100u);
  std::string next = base + "a longer end";
  for (int i = 0; i < 10; ++i) next[rng.Index(1'000'000)] ^= 1;
  EXPECT_LT(DeltaOf(base, next).size(), 11u * 2 * ContentChunks::kChunkBytesMax / 3);
  EXPECT_GT(DeltaOf(base, RandomBytes(rng, 1'000'000)).size(), 1'000'000u);
}

TEST(CheckpointDeltaTest, OfNothingAndToNothing) {
  TestRng rng(6);
  const std::string some = RandomBytes(rng, 20'000);
  const std::string nothing;
  EXPECT_TRUE(*ApplyDelta(DeltaOf(nothing, some), ReadOf(nothing)) == some);
  EXPECT_TRUE(*ApplyDelta(DeltaOf(some, nothing), ReadOf(some)) == nothing);
}

TEST(CheckpointDeltaTest, EveryDamageIsFound) {
  TestRng rng(7);
  const std::string base = RandomBytes(rng, 50'000);
  std::string next = base;
  next[25'000] ^= 1;
  const std::string delta = DeltaOf(base, next);
  for (std::size_t i = 0; i < delta.size(); i += 1 + delta.size() / 300) {
    std::string damaged = delta;
    damaged[i] ^= 1 << rng.Index(8);
    EXPECT_THAT(ApplyDelta(damaged, ReadOf(base)), StatusIs(absl::StatusCode::kDataLoss)) << i;
    EXPECT_THAT(ApplyDelta(delta.substr(0, i), ReadOf(base)), StatusIs(absl::StatusCode::kDataLoss))
        << i;
  }
  const std::string shorter = base.substr(0, 100);
  EXPECT_THAT(ApplyDelta(delta, ReadOf(shorter)), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(BaseOf("BANDCKPT and more bytes"), std::nullopt);
}

// A sink that fails ends the writing with its own error.
TEST(CheckpointDeltaTest, AFailureOnTheWayIsTheFailure) {
  TestRng rng(8);
  const std::string base = RandomBytes(rng, 20'000);
  const CheckpointIndex index = IndexOf(base);
  const ByteSink broken = [](std::string_view) { return absl::UnavailableError("disk"); };
  const ByteSource lost = [](const ByteSink&) { return absl::DataLossError("lost"); };
  const ByteSink nowhere = [](std::string_view) { return absl::OkStatus(); };
  EXPECT_THAT(DeltaTo(index, PiecesOf(base, 100))(broken),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(DeltaTo(index, lost)(nowhere), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(CheckpointIndex::Of(1, PiecesOf(base, 100), broken),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace bandana::server
