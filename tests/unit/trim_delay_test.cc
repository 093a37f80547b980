#include "server/models/trim_delay.h"

#include <gtest/gtest.h>

namespace bandana::server {
namespace {

TEST(TrimDelayTest, EntriesStayForAWhileAfterTheyCouldGo) {
  TrimDelay trims;
  absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(trims.Due(now, 10), 0u);
  now += kEntriesStay / 2;
  EXPECT_EQ(trims.Due(now, 20), 0u);
  now += kEntriesStay / 2;
  EXPECT_EQ(trims.Due(now, 30), 10u);
  now += kEntriesStay / 4;
  EXPECT_EQ(trims.Due(now, 30), 10u) << "and again";
  now += kEntriesStay;
  EXPECT_EQ(trims.Due(now, 40), 30u);
}

}  // namespace
}  // namespace bandana::server
