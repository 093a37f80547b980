// An application sees abseil and the standard library, and nothing that the SDK is made of. The
// object library client_public_headers compiles the same headers with client/include alone.
#include "bandana/client.h"
#include "bandana/options.h"
#include "bandana/store.h"

#if defined(GOOGLE_PROTOBUF_VERSION) || defined(GRPCPP_GRPCPP_H) || \
    defined(EIGEN_WORLD_VERSION) || defined(SQLITE_VERSION) || defined(OPENSSL_VERSION_MAJOR)
#error "a public header includes a library that applications must not see"
#endif

#include <gtest/gtest.h>

#include <type_traits>

namespace bandana {
namespace {

TEST(ClientHeadersTest, OnlyTheSdkMakesStores) {
  EXPECT_FALSE(std::is_default_constructible_v<DeviceStore>);
  EXPECT_FALSE(std::is_copy_constructible_v<DeviceStore>);
}

TEST(ClientHeadersTest, DefaultsDemandLocalProvenPrivacy) {
  const PrivacyPolicy policy;
  EXPECT_TRUE(policy.require_local);
  EXPECT_TRUE(policy.require_proven);
  EXPECT_FALSE(policy.allow_research);
  EXPECT_LE(policy.epsilon_max, 2.0);
  EXPECT_EQ(policy.delta_max, 0.0);
}

}  // namespace
}  // namespace bandana
