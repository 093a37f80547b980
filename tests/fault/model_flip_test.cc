// Flipped bits in every kind of file that a model and its server keep: refused with an error that
// names what is damaged, or without any effect. BANDANA_FLIPS sets how many bits of each file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "server/models/folder/export.h"
#include "server/models/folder/noise_key_file.h"
#include "tests/support/hosted_model_fixture.h"
#include "tests/support/seeded_bits.h"
#include "tests/support/test_rng.h"

namespace bandana::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kEvents = 60;
constexpr int kTailEvents = 2;  // what a torn tail may take with it: docs/formats/log.md

int Flips() {
  const char* given = std::getenv("BANDANA_FLIPS");
  return given == nullptr ? 25 : std::atoi(given);
}

const char kOnce[] = " reporting { one_per_decision: true } ";

ModelSpec PlainSpec() { return IndependentSpec(kOnce); }
// With users of some 1.3 kB, so that a checkpoint has several chunks.
ModelSpec WideSpec() {
  return SpecOf(std::string("name: 'm' dimension: 16 mode: NON_PRIVATE independent {}"
                            " refresh_interval {}") +
                kOnce);
}
ModelSpec CentralSpec() {
  return SpecOf(std::string("name: 'm' dimension: 2 mode: CENTRAL_REWARD shared {}"
                            " refresh_interval {} privacy { epsilon: 2 delta: 1e-6"
                            " mechanism: COUNTER }") +
                kOnce);
}

// All of a model that its files hold: configuration, state with ledger and counters, catalogue. An
// export has random bytes in place of the running hash.
std::string Signature(HostedModel& model) {
  const absl::StatusOr<std::string> bytes = model.Export();
  if (!bytes.ok()) return bytes.status().ToString();
  absl::StatusOr<server::ExportedModel> exported = server::DecodeExport(*bytes);
  if (!exported.ok()) return exported.status().ToString();
  exported->checkpoint.state.position.hash = {};
  return server::EncodeExport(exported->config, server::EncodeAgain(exported->checkpoint),
                              *model.catalogue());
}

struct Tally {
  int flips = 0;
  int refused = 0;
  int without_effect = 0;
  int tail_cut = 0;
  int undetected = 0;
};

class ModelFlipTest : public ::testing::Test {
 protected:
  // A model whose newest checkpoint has entries after it; copied as a kill would leave it when
  // `killed`, else after its end.
  void Make(const ModelSpec& spec, bool killed) {
    SeededBits bits(5);
    server::HostedModelOptions options = Options(original_.path());
    fs::create_directories(original_.File("m"));
    auto model = *HostedModel::Open(spec, original_.File("m"), clock_, options);
    std::vector<double> features(spec.public_spec.dimension);
    features[0] = 0.6;
    features[1] = 0.8;
    v1::PutArmsResponse response;
    ASSERT_THAT(
        model->PutArms(std::vector<server::CatalogueArm>{{1, features, {"tag"}}}, &response),
        IsOk());
    for (int i = 0; i < kEvents; ++i) {
      const auto decision =
          DecisionOf(*model, clock_, 1 + i, features, "u" + std::to_string(i % users_));
      ASSERT_EQ(CodeOf(ReportOne(*model, decision, 0.5)), v1::APPLIED);
      if (i == 20 || i == 40) {
        ASSERT_THAT(model->Checkpoint(), IsOk());
      }
    }
    ASSERT_TRUE(Eventually([&] {
      const v1::GetStatsResponse stats = model->Stats();
      return stats.applied_sequence() == stats.log_sequence();
    }));
    if (!killed) model.reset();
    fs::copy(original_.path(), good_.path(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    model.reset();
    fs::remove(good_.File("m/log.sqlite-shm"));
    Reset();
    const auto again = Open(spec);
    ASSERT_THAT(again, IsOk());
    signature_ = Signature(**again);
    events_ = (*again)->Stats().reports_applied();
    ASSERT_EQ(events_, kEvents);
  }
  server::HostedModelOptions Options(const std::string& data_dir) {
    SeededBits bits(5);
    server::HostedModelOptions options;
    options.warn = [](const std::string&) {};
    options.checkpoint_base_bytes_min = base_bytes_min_;
    auto key = server::OpenNoiseKey(data_dir, bits);
    if (key.ok()) options.noise_key = *key;
    key_status_ = key.status();
    return options;
  }
  absl::StatusOr<std::unique_ptr<HostedModel>> Open(const ModelSpec& spec) {
    const server::HostedModelOptions options = Options(trial_.path());
    if (!key_status_.ok()) return key_status_;
    return HostedModel::Open(spec, trial_.File("m"), clock_, options);
  }
  void Reset() {
    fs::remove_all(trial_.path());
    fs::copy(good_.path(), trial_.path(), fs::copy_options::recursive);
  }
  void Flip(const std::string& name, std::uint64_t bit) {
    std::fstream file(trial_.File(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(bit / 8));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(bit / 8));
    file.put(static_cast<char>(byte ^ (1 << bit % 8)));
  }

  // Flips bits of every file, one at a time.
  void FlipEach(const ModelSpec& spec, const char* name) {
    TestRng rng(11);
    Tally all;
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(good_.path())) {
      if (entry.is_regular_file() && entry.file_size() > 0) {
        files.push_back(fs::relative(entry.path(), good_.path()).string());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      const std::uint64_t bits = 8 * fs::file_size(good_.File(file));
      Tally one;
      for (int i = 0; i < Flips(); ++i) {
        // Half of them where formats keep what matters most.
        const std::uint64_t bit =
            i % 2 == 0 ? rng.Bits() % bits : rng.Bits() % std::min<std::uint64_t>(bits, 8 * 4096);
        SCOPED_TRACE(file + ", bit " + std::to_string(bit));
        Reset();
        Flip(file, bit);
        ++one.flips;
        auto model = Open(spec);
        if (!model.ok()) {
          ++one.refused;
          EXPECT_TRUE(absl::IsDataLoss(model.status()) ||
                      absl::IsFailedPrecondition(model.status()) ||
                      absl::IsInvalidArgument(model.status()))
              << model.status();
          continue;
        }
        const std::uint64_t events = (*model)->Stats().reports_applied();
        if (Signature(**model) == signature_) {
          ++one.without_effect;
        } else if (file.ends_with("-wal") && events < events_ && events + kTailEvents >= events_) {
          ++one.tail_cut;  // the last transactions look like a torn tail
        } else {
          ++one.undetected;
          ADD_FAILURE() << "a flipped bit changed the state unnoticed";
        }
      }
      std::printf(
          "%s %-40s %4d flipped: %4d refused, %4d without effect, %d cut as a torn tail, %d "
          "undetected\n",
          name, file.c_str(), one.flips, one.refused, one.without_effect, one.tail_cut,
          one.undetected);
      all.flips += one.flips;
      all.refused += one.refused;
      all.without_effect += one.without_effect;
      all.tail_cut += one.tail_cut;
      all.undetected += one.undetected;
    }
    std::printf(
        "bit flips injected: %d, refused: %d, without effect: %d, cut as a torn tail: %d, "
        "undetected: %d\n",
        all.flips, all.refused, all.without_effect, all.tail_cut, all.undetected);
    EXPECT_GT(all.refused, all.flips / 10);
  }

  const TempDir original_, good_, trial_;
  int users_ = 3;
  std::uint64_t base_bytes_min_ = server::CheckpointStore::kBaseBytesMin;
  FakeClock clock_;
  absl::Status key_status_;
  std::string signature_;
  std::uint64_t events_ = 0;
};

TEST_F(ModelFlipTest, OfAModelThatWasClosed) {
  Make(PlainSpec(), /*killed=*/false);
  if (!HasFatalFailure()) FlipEach(PlainSpec(), "closed");
}

TEST_F(ModelFlipTest, OfAModelThatWasKilled) {
  Make(PlainSpec(), /*killed=*/true);
  if (!HasFatalFailure()) FlipEach(PlainSpec(), "killed");
}

// The newest checkpoint says what changed since another one.
TEST_F(ModelFlipTest, OfAModelWithABase) {
  users_ = 30;
  base_bytes_min_ = 0;
  Make(WideSpec(), /*killed=*/true);
  ASSERT_TRUE(
      fs::exists(good_.File("m/checkpoint-00000000000000000041.since-00000000000000000021")));
  if (!HasFatalFailure()) FlipEach(WideSpec(), "since a base");
}

TEST_F(ModelFlipTest, OfACentralModel) {
  Make(CentralSpec(), /*killed=*/true);
  if (!HasFatalFailure()) FlipEach(CentralSpec(), "central");
}

}  // namespace
}  // namespace bandana::testing
