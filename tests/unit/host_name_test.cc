// Under which names a plaintext listener may be asked.
#include "server/service/connections/host_name.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace bandana::server {
namespace {

TEST(HostName, OnLoopbackOnlyLoopbackNamesAreOwn) {
  const Address listen{.host = "127.0.0.1", .port = 7073};
  for (const char* host :
       {"localhost", "LocalHost:7073", "127.0.0.1", "127.9.9.9:1", "[::1]:7073"}) {
    EXPECT_TRUE(IsOwnHost(listen, host)) << host;
  }
  for (const char* host : {"evil.example", "evil.example:7073", "intranet", "10.0.0.5", "", ":7073",
                           "localhost.evil.example"}) {
    EXPECT_FALSE(IsOwnHost(listen, host)) << host;
  }
}

TEST(HostName, ElsewhereNamesThatAnybodyMayHaveAreNotOwn) {
  const Address listen{.host = "0.0.0.0", .port = 7073};
  for (const char* host :
       {"localhost:7073", "10.0.0.5:7073", "[fd00::5]:7073", "[fd00::5]", "server-a:7071",
        "bandana.shop.svc.cluster.local:7073", "bandana.INTERNAL", "nas.home.arpa", "bandana."}) {
    EXPECT_TRUE(IsOwnHost(listen, host)) << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:7073", "evil.example.", "10.0.0.5.evil.example",
        "local.example", "", ":7073", "[evil.example]"}) {
    EXPECT_FALSE(IsOwnHost(listen, host)) << host;
  }
}

TEST(HostName, TheListenersAndTheMachinesNameAreOwn) {
  EXPECT_TRUE(IsOwnHost({.host = "bandana.shop.example"}, "Bandana.Shop.Example:7071"));
  EXPECT_FALSE(IsOwnHost({.host = "bandana.shop.example"}, "shop.example:7071"));
  char name[256] = "";
  ASSERT_EQ(::gethostname(name, sizeof name - 1), 0);
  EXPECT_TRUE(IsOwnHost({.host = "::"}, name));
}

}  // namespace
}  // namespace bandana::server
