// The ground that tests of the service's calls stand on: models that they make, tokens under keys
// of their own, and a clock that they move.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "server/service/tokens/token.h"
#include "server/service/tokens/token_keys.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

class ServiceTest : public ::testing::Test {
 protected:
  TempDir folder_;
  FakeClock clock_;
  std::unique_ptr<server::TokenKeys> keys_ =
      server::TokenKeys::Open({.file = folder_.File("keys"), .poll_interval = absl::ZeroDuration()},
                              clock_)
          .value();
  server::TokenCodec tokens_{*keys_};
  FakeRegistry registry_;
};

}  // namespace bandana::testing
