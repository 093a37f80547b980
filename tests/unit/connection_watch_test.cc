// The lines about refused connections.
#include "server/ops/observation/connection_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

class ConnectionWatchTest : public ::testing::Test {
 protected:
  void Refuse(Refusal why, int times) {
    listeners_["listen"].refused[static_cast<std::size_t>(why)] += times;
  }
  void SeeAt(int seconds) { watch_.See(listeners_, absl::FromUnixSeconds(seconds)); }

  std::map<std::string, ConnectionStats> listeners_ = {{"listen", {}}, {"api_listen", {}}};
  std::vector<std::string> lines_;
  ConnectionWatch watch_{[this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(ConnectionWatchTest, SaysWhatAListenerRefusesOnceAMinute) {
  SeeAt(1000);
  EXPECT_THAT(lines_, IsEmpty());
  Refuse(Refusal::kTooFast, 3);
  SeeAt(1001);
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("listen: refused new connections: 3 too_fast; "));
  Refuse(Refusal::kTooFast, 5);
  SeeAt(1030);
  EXPECT_THAT(lines_, SizeIs(1));
  Refuse(Refusal::kFull, 1);
  SeeAt(1061);
  ASSERT_THAT(lines_, SizeIs(2));
  EXPECT_THAT(lines_[1], HasSubstr(": 1 full, 5 too_fast; "));
  SeeAt(2000);
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(ConnectionWatchTest, GoesOnWhenTheClockGoesBack) {
  Refuse(Refusal::kTooFast, 1);
  SeeAt(100'000);
  Refuse(Refusal::kTooFast, 1);
  SeeAt(1000);
  EXPECT_THAT(lines_, SizeIs(2));
}

// A listener is left out while a model hides when its reports come.
TEST_F(ConnectionWatchTest, SaysNothingOfListenersThatAreLeftOut) {
  Refuse(Refusal::kTooFast, 1);
  listeners_.erase("listen");
  SeeAt(1000);
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace bandana::server
