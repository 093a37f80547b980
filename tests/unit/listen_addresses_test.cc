#include "server/service/connections/listen_addresses.h"

#include <gtest/gtest.h>

#include <optional>

#include "server/service/connections/acceptor.h"

namespace bandana::server {
namespace {

// Whether the system has it so; nothing: this machine has not the addresses.
std::optional<bool> SystemExcludes(const std::string& a, const std::string& b) {
  std::optional<bool> excludes;
  // A stranger may have the second address: then another port is tried.
  for (int tries = 0; tries < 3 && excludes.value_or(true); ++tries) {
    const auto first = Acceptor::Bind(ToString({a, 0}), {});
    if (!first.ok()) return std::nullopt;
    const auto port = static_cast<std::uint16_t>((*first)->port());
    if (!Acceptor::Bind(ToString({b, 0}), {}).ok()) return std::nullopt;
    excludes = !Acceptor::Bind(ToString({b, port}), {}).ok();
  }
  return excludes;
}

TEST(ListenAddresses, ExcludeEachOtherAsTheSystemHasIt) {
  const std::string hosts[] = {"127.0.0.1", "127.0.0.2", "0.0.0.0",         "localhost",
                               "::1",       "::",        "::ffff:127.0.0.1"};
  int compared = 0;
  for (const std::string& a : hosts) {
    for (const std::string& b : hosts) {
      const std::optional<bool> excludes = SystemExcludes(a, b);
      if (!excludes) continue;
      EXPECT_EQ(Exclude({a, 7070}, {b, 7070}), *excludes) << a << " " << b;
      ++compared;
    }
  }
  EXPECT_GE(compared, 16);
}

TEST(ListenAddresses, OtherPortsAndAnyPortExcludeNobody) {
  EXPECT_FALSE(Exclude({"127.0.0.1", 7070}, {"127.0.0.1", 7071}));
  EXPECT_FALSE(Exclude({"127.0.0.1", 0}, {"127.0.0.1", 0}));
  EXPECT_FALSE(Exclude({"no.such.name.invalid", 7070}, {"127.0.0.1", 7070}));
}

}  // namespace
}  // namespace bandana::server
