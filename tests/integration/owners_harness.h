// Two servers of one store in a process: one that owns models, behind a real listener for peers,
// and what follows them beside it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "common/base/file.h"
#include "server/ops/peers.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_certificates.h"

namespace bandana::testing {

class OwnersTest : public ::testing::Test {
 protected:
  OwnersTest() { EXPECT_TRUE(WriteFileDurably(key_file_, std::string(64, 'a'), 0600).ok()); }

  // A listener for peers over these models. `tls`: with a certificate for localhost.
  std::unique_ptr<server::Peers> Serve(server::ModelRegistry& registry, bool tls = false) {
    server::ServerSpec spec;
    spec.peers =
        server::PeersSpec{.listen = {.host = "127.0.0.1", .port = 0}, .key_file = key_file_};
    if (tls) UseTls(spec);
    spec.limits.calls_in_flight_max = 512;
    spec.limits.arms_per_request_max = 100;
    spec.limits.watches_max = 4;
    auto peers = std::move(server::Peers::Open(spec, clock_)).value();
    const absl::Status serves = peers->Serve(spec, {.registry = registry,
                                                    .tokens = tokens_,
                                                    .book = *far_book_,
                                                    .clock = clock_,
                                                    .log = &log_,
                                                    .admin = {}});
    EXPECT_TRUE(serves.ok()) << serves;
    return peers;
  }

  // Counts lines.
  class Lines final : public server::CallLog {
   public:
    void Write(const server::CallRecord&) override { lines_.fetch_add(1); }
    int lines() const { return lines_.load(); }

   private:
    std::atomic<int> lines_{0};
  };

  void UseTls(server::ServerSpec& spec) {
    const TestAuthority authority("peers");
    const absl::Time now = absl::Now();
    WritePair(folder_.path(), "s",
              authority.Issue({.common_name = "s",
                               .dns_names = {"localhost"},
                               .not_before = std::min(now, clock_.Now()) - absl::Hours(1),
                               .not_after = std::max(now, clock_.Now()) + absl::Hours(1)}));
    EXPECT_TRUE(WriteFileDurably(folder_.File("ca.pem"), authority.certificate(), 0644).ok());
    spec.tls = server::TlsSpec{.files = {.certificate_file = folder_.File("s.pem"),
                                         .private_key_file = folder_.File("s.key")},
                               .reload_interval = absl::Minutes(1)};
    spec.peers->listen.host = "localhost";
    spec.peers->ca_file = folder_.File("ca.pem");
  }

  std::unique_ptr<server::DecisionBook> OpenBook() {
    return std::move(server::DecisionBook::Open({}, clock_)).value();
  }

  TempDir folder_;
  const std::string key_file_ = folder_.File("key");
  FakeClock clock_;
  std::unique_ptr<server::TokenKeys> keys_ =
      server::TokenKeys::Open({.file = folder_.File("keys"), .poll_interval = absl::ZeroDuration()},
                              clock_)
          .value();
  server::TokenCodec tokens_{*keys_};
  Lines log_;
  std::unique_ptr<server::DecisionBook> far_book_ = OpenBook();
  std::unique_ptr<server::DecisionBook> near_book_ = OpenBook();
};

}  // namespace bandana::testing
