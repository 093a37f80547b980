// Two servers of one store in a process: one that owns models, behind a real listener for peers,
// and what follows them beside it.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "common/base/file.h"
#include "server/ops/peers.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fake_model.h"
#include "tests/support/temp_dir.h"

namespace bandana::testing {

class OwnersTest : public ::testing::Test {
 protected:
  OwnersTest() { EXPECT_TRUE(WriteFileDurably(key_file_, std::string(64, 'a'), 0600).ok()); }

  // A listener for peers over these models.
  std::unique_ptr<server::Peers> Serve(server::ModelAdministration& registry) {
    server::ServerSpec spec;
    spec.peers =
        server::PeersSpec{.listen = {.host = "127.0.0.1", .port = 0}, .key_file = key_file_};
    spec.limits.calls_in_flight_max = 512;
    spec.limits.arms_per_request_max = 100;
    spec.limits.watches_max = 4;
    auto peers = std::move(server::Peers::Open(spec, clock_)).value();
    const absl::Status serves = peers->Serve(spec, {.registry = registry,
                                                    .tokens = tokens_,
                                                    .decision_index = *far_index_,
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

  // The credentials of a server that has another key file, or this one.
  server::PeerIdentity IdentityOf(char key, const std::string& address = "127.0.0.1:1") const {
    const std::string file = folder_.File(std::string("key of ") + key);
    EXPECT_TRUE(WriteFileDurably(file, std::string(64, key), 0600).ok());
    return server::MakePeerIdentity(server::PeerSecret({.key_file = file}).value(), address)
        .value();
  }
  // Calls a listener for peers as a server with this identity does.
  static std::shared_ptr<grpc::Channel> ChannelOf(const server::PeerIdentity& identity,
                                                  const std::string& address) {
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = identity.authority_pem;
    tls.pem_private_key = identity.private_key_pem;
    tls.pem_cert_chain = identity.certificate_pem;
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(server::PeerNameOf(address));
    return grpc::CreateCustomChannel(address, grpc::SslCredentials(tls), arguments);
  }

  std::unique_ptr<server::DecisionIndex> OpenIndex() {
    return std::move(server::DecisionIndex::Open({}, clock_)).value();
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
  std::unique_ptr<server::DecisionIndex> far_index_ = OpenIndex();
  std::unique_ptr<server::DecisionIndex> near_index_ = OpenIndex();
};

}  // namespace bandana::testing
