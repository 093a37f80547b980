// Ways to the other servers of a store, owners of what is followed here above all: gRPC channels by
// address, kept. Whoever answers there must prove that it has the store's key and that the address
// is its own, before it is told anything: both sides show a certificate of PeerIdentity.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bandana/internal/peer.pb.h"
#include "bandana/v1/admin.grpc.pb.h"
#include "bandana/v1/recommender.pb.h"
#include "server/service/tls/peer_identity.h"
#include "server/service/transport/handlers.h"

namespace grpc {
class Status;
}  // namespace grpc

namespace bandana::server {

// Threads: all methods are safe, and but for Forget wait for nobody; one thread takes the answers.
// A call's messages must live until its Finish, which is called once, on that thread or at once.
//
// The owner's own errors are passed on. UNAVAILABLE, in the same words each time: nobody owns the
// model, or the owner does not answer, or does not take this server for one of its peers.
class OwnerChannels {
 public:
  struct Options {
    PeerIdentity identity;                       // of this server
    absl::Duration patience = absl::Seconds(5);  // with each call but Admin's
    int decisions_max = 4096;                    // on their way at a time
  };
  explicit OwnerChannels(Options options);
  // Gives up what is on its way. Nobody may call any more.
  ~OwnerChannels();
  OwnerChannels(const OwnerChannels&) = delete;
  OwnerChannels& operator=(const OwnerChannels&) = delete;

  // Hands a call on as it is. `owner`: its address; empty: nobody owns the model.
  void Hand(const std::string& owner, const v1::ReportRequest& request,
            v1::ReportResponse& response, Finish finish);
  void Hand(const std::string& owner, const v1::ActivateRequest& request,
            v1::ActivateResponse& response, Finish finish);
  void Hand(const std::string& owner, const v1::SubmitRequest& request,
            v1::SubmitResponse& response, Finish finish);

  // Whether there is a connection to a server; where there is none, one is made.
  bool Reaches(const std::string& server);
  // Gives up the calls that were handed to an address: who is there may have frozen.
  void GiveUp(const std::string& owner);

  // Sends decisions on a connection of their own, so that they never wait behind a report. A
  // decision that is lost, also beyond decisions_max, stays lost: nothing is learnt of it.
  void Record(const std::string& owner, const internal::RecordRequest& request);

  // Has another server forget named decisions, and waits for it. `server` empty: one whose address
  // is not known. Errors: UNAVAILABLE it does not answer, or could not.
  absl::Status Forget(const std::string& server, const internal::ForgetRequest& request);

  // Asks the servers at these addresses at once, and waits for a second at most: those that have
  // answered well, in order.
  std::vector<internal::StandResponse> Stand(std::span<const std::string> servers,
                                             const internal::StandRequest& request);

  // Asks the servers at these addresses at once, and waits for ten seconds at most: those that have
  // answered well, in order.
  std::vector<internal::PartResponse> Part(std::span<const std::string> servers,
                                           const internal::PartRequest& request);

  // For calls that may wait. nullptr: nobody owns the model.
  std::shared_ptr<v1::Admin::StubInterface> Admin(const std::string& owner);
  // The status that a call that was handed on is answered with.
  static absl::Status StatusOf(const grpc::Status& status);

 private:
  class Body;
  const std::unique_ptr<Body> body_;
};

// The status for an owner who does not answer.
absl::Status OwnerAway();

}  // namespace bandana::server
