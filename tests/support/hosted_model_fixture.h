// A hosted model in a folder of its own, on a clock that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/models/hosted_model.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model_harness.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

using server::HostedModel;

class HostedModelTest : public ::testing::Test {
 protected:
  std::unique_ptr<server::HostedModel> Open(const ModelSpec& spec) {
    absl::StatusOr<std::unique_ptr<server::HostedModel>> model = TryOpen(spec);
    EXPECT_THAT(model, IsOk());
    return *std::move(model);
  }
  absl::StatusOr<std::unique_ptr<server::HostedModel>> TryOpen(const ModelSpec& spec) {
    server::HostedModelOptions options = options_;
    options.tick_max = absl::Milliseconds(2);
    options.warn = [this](const std::string& message) { warnings_.push_back(message); };
    return server::HostedModel::Open(spec, folder_.path(), clock_, options);
  }
  void WaitApplied(const server::HostedModel& model) {
    ASSERT_TRUE(Eventually([&] {
      const v1::GetStatsResponse stats = model.Stats();
      return stats.applied_sequence() == stats.log_sequence();
    }));
  }

  TempDir folder_;
  FakeClock clock_;
  server::HostedModelOptions options_;
  std::vector<std::string> warnings_;
};

}  // namespace bandana::testing
