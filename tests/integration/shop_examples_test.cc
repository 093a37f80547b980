// The shops of examples/ learn what sells where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "tests/support/child_process.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {
namespace {

class ShopExamplesTest : public ::testing::Test {
 protected:
  // Runs a shop against a new server; what of the last 50 rounds sold.
  static int SoldBy(std::vector<std::string> program, bool with_store) {
    const TempDir folder;
    const auto config = ReadFile(SHOP_CONFIG, 1 << 16);
    EXPECT_THAT(config, IsOk());
    const auto server = ServerProcess::Start({.config = *config, .folder = folder.path()});
    EXPECT_THAT(server, IsOk());
    program.push_back((*server)->listen());
    if (with_store) program.push_back(folder.File("device.db"));
    ChildProcess shop(program);
    EXPECT_EQ(shop.Wait(), 0) << shop.err();
    int sold = -1;
    EXPECT_EQ(std::sscanf(shop.out().c_str(), "%d of the last 50 sold", &sold), 1) << shop.out();
    return sold;
  }
};

// By chance 25 sell. Rewards have no noise: what is learnt is certain after some ten rounds.
TEST_F(ShopExamplesTest, GrpcLearns) { EXPECT_GE(SoldBy({SHOP_GRPC}, false), 45); }
TEST_F(ShopExamplesTest, SdkLearns) { EXPECT_GE(SoldBy({SHOP_SDK}, true), 45); }

}  // namespace
}  // namespace bandana::testing
