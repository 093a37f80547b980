// Checkpoints under an operator's key.
#include "server/models/folder/checkpoint_seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/seeded_bits.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using ::testing::HasSubstr;
using ::testing::Not;

std::shared_ptr<const CheckpointSeal> SealOf(int fill) {
  std::array<std::byte, CheckpointSeal::kKeyBytes> key{};
  key.fill(static_cast<std::byte>(fill));
  return *CheckpointSeal::Create(key);
}

std::string Sealed(const CheckpointSeal& seal, std::string_view plain, BitSource& bits,
                   std::size_t piece = 1 << 20) {
  const ByteSource pieces = [&](const ByteSink& sink) {
    absl::Status passed;
    for (std::size_t i = 0; i < plain.size() && passed.ok(); i += piece)
      passed = sink(plain.substr(i, piece));
    return passed;
  };
  std::string file;
  const ByteSink append = [&](std::string_view bytes) {
    file += bytes;
    return absl::OkStatus();
  };
  EXPECT_THAT(seal.Seal(pieces, bits, append), IsOk());
  return file;
}

TEST(CheckpointSealTest, APieceAtATimeIsTheSameFile) {
  std::string plain;
  for (int i = 0; i < 1000; ++i) plain += static_cast<char>(i % 251);
  SeededBits whole_bits(1);
  const std::string whole = Sealed(*SealOf(1), plain, whole_bits);
  for (const std::size_t piece : {1, 7, 16, 999}) {
    SeededBits bits(1);
    EXPECT_TRUE(Sealed(*SealOf(1), plain, bits, piece) == whole) << piece;
  }
  SeededBits bits(1);
  EXPECT_THAT(SealOf(1)->Open(Sealed(*SealOf(1), "", bits)), IsOkAndHolds(""));
}

// Neither the source's failure nor the file's makes a file that looks whole.
TEST(CheckpointSealTest, AFailureOnTheWayIsTheFailure) {
  SeededBits bits(1);
  const ByteSource full = [](const ByteSink& sink) { return sink("plain"); };
  const ByteSource lost = [](const ByteSink&) { return absl::DataLossError("lost"); };
  const ByteSink nowhere = [](std::string_view) { return absl::OkStatus(); };
  const ByteSink broken = [](std::string_view) { return absl::UnavailableError("disk"); };
  EXPECT_THAT(SealOf(1)->Seal(lost, bits, nowhere), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(SealOf(1)->Seal(full, bits, broken), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(CheckpointSealTest, OpensWhatItSealedAndNothingElse) {
  SeededBits bits(1);
  const std::string plain(1000, 'p');
  const std::string file = Sealed(*SealOf(1), plain, bits);
  EXPECT_THAT(SealOf(1)->Open(file), IsOkAndHolds(plain));
  EXPECT_THAT(file, Not(HasSubstr("pppp")));
  EXPECT_NE(file, Sealed(*SealOf(1), plain, bits));  // another nonce
  EXPECT_THAT(SealOf(2)->Open(file),
              StatusIs(absl::StatusCode::kFailedPrecondition, "sealed with another key"));
  EXPECT_THAT(server::Unseal(nullptr, file),
              StatusIs(absl::StatusCode::kFailedPrecondition, "sealed"));
  EXPECT_THAT(server::Unseal(nullptr, "plain"), IsOkAndHolds("plain"));
}

TEST(CheckpointSealTest, EveryFlippedBitAndEveryCutIsDataLoss) {
  SeededBits bits(1);
  const std::string file = Sealed(*SealOf(1), "some checkpoint", bits);
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ASSERT_THAT(SealOf(1)->Open(flipped), StatusIs(absl::StatusCode::kDataLoss)) << bit;
  }
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_THAT(SealOf(1)->Open(file.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss));
  }
}

// The checksum is no secret: whoever makes it fit still cannot change what the key sealed.
TEST(CheckpointSealTest, AChangeWithAFittingChecksumIsDataLoss) {
  SeededBits bits(1);
  std::string file = Sealed(*SealOf(1), "some checkpoint", bits);
  for (const std::size_t at : {std::size_t{30}, file.size() - 50}) {  // nonce, content
    std::string changed = file.substr(0, file.size() - sizeof(Sha256Digest));
    changed[at] = static_cast<char>(changed[at] ^ 1);
    changed += AsChars(Sha256Of(changed));
    EXPECT_THAT(SealOf(1)->Open(changed),
                StatusIs(absl::StatusCode::kDataLoss, "sealed checkpoint: its seal"));
  }
}

TEST(CheckpointSealTest, KeyFilesHold64HexadecimalDigitsForTheirOwnerAlone) {
  const TempDir folder;
  const std::string path = folder.File("key");
  const auto write = [&](const std::string& text, int mode) {
    ASSERT_THAT(WriteFileDurably(path, text, 0600), IsOk());
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
  };
  EXPECT_THAT(CheckpointSeal::FromFile(path),
              StatusIs(absl::StatusCode::kNotFound, "checkpoint_key_file"));
  const std::string digits(64, 'a');
  write(digits + "\n", 0600);
  ASSERT_THAT(CheckpointSeal::FromFile(path), IsOk());
  SeededBits bits(1);
  std::array<std::byte, 32> key{};
  key.fill(std::byte{0xaa});
  EXPECT_THAT(
      (*CheckpointSeal::Create(key))->Open(Sealed(**CheckpointSeal::FromFile(path), "x", bits)),
      IsOkAndHolds("x"));
  write(digits, 0640);
  EXPECT_THAT(CheckpointSeal::FromFile(path),
              StatusIs(absl::StatusCode::kFailedPrecondition, "checkpoint_key_file"));
  for (const std::string& bad :
       {digits + "a", digits.substr(1), std::string(64, 'g'), std::string()}) {
    write(bad, 0600);
    const auto seal = CheckpointSeal::FromFile(path);
    EXPECT_THAT(seal, StatusIs(absl::StatusCode::kInvalidArgument, "checkpoint_key_file"));
    // Never the content.
    if (!bad.empty()) {
      EXPECT_THAT(std::string(seal.status().message()), Not(HasSubstr(bad)));
    }
  }
}

class SealedModelTest : public HostedModelTest {
 protected:
  void Event(HostedModel& model, std::uint64_t number) {
    ASSERT_EQ(CodeOf(ReportOne(model, DecisionOf(model, clock_, number, {1, 0}), 1)), v1::APPLIED);
  }
};

TEST_F(SealedModelTest, ItsCheckpointsOpenWithItsKeyAlone) {
  options_.checkpoint_seal = SealOf(1);
  {
    const auto model = Open(SharedSpec());
    Event(*model, 1);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  EXPECT_EQ(StatisticsOf(*Open(SharedSpec()))[0].events, 1);
  options_.checkpoint_seal = SealOf(2);
  EXPECT_THAT(TryOpen(SharedSpec()), StatusIs(absl::StatusCode::kFailedPrecondition, "model m"));
  options_.checkpoint_seal = nullptr;
  EXPECT_THAT(TryOpen(SharedSpec()), StatusIs(absl::StatusCode::kFailedPrecondition, "model m"));
  // Nothing was set aside as damaged.
  options_.checkpoint_seal = SealOf(1);
  EXPECT_EQ(StatisticsOf(*Open(SharedSpec()))[0].events, 1);
}

TEST_F(SealedModelTest, PlainCheckpointsAreReadAndTheNextOnesSealed) {
  {
    const auto model = Open(SharedSpec());
    Event(*model, 1);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  options_.checkpoint_seal = SealOf(1);
  {
    const auto model = Open(SharedSpec());
    Event(*model, 2);
    ASSERT_THAT(model->Checkpoint(), IsOk());
  }
  const std::string newest = folder_.File("checkpoint-00000000000000000002");
  EXPECT_TRUE(ReadFile(newest, 1 << 20)->starts_with("BANDSEAL"));
  EXPECT_EQ(StatisticsOf(*Open(SharedSpec()))[0].events, 2);
}

}  // namespace
}  // namespace bandana::server
