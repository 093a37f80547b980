// A client's channel to a server: TLS from files, a bearer token from a file.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/channel/bearer_token.h"

namespace grpc {
class Channel;
class ChannelArguments;
class ClientContext;
}  // namespace grpc

namespace bandana {

struct ChannelSecurity {
  std::string ca_file;  // PEM; who may have signed the server's certificate. Empty: plaintext
  std::string certificate_file;  // PEM chain of this client; with private_key_file, or neither
  std::string private_key_file;  // PEM, private (ReadPrivateFile)
  std::string server_name;       // the name in the server's certificate; empty: the target's host
  std::string token_file;        // bearer token; empty: none
};

// Threads: safe. Certificates are read once; the token is read again when its file changes.
class Connection {
 public:
  // Does not wait for the server. Errors: INVALID_ARGUMENT fields that do not go together;
  // FAILED_PRECONDITION a token over plaintext to another machine, a secret that others may read;
  // those of the files.
  static absl::StatusOr<Connection> Open(const std::string& target, const ChannelSecurity& security,
                                         grpc::ChannelArguments& arguments);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  // Puts the token into a call that has not started.
  void Authorize(grpc::ClientContext& context) const;

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<BearerToken> token_;  // null: none
};

}  // namespace bandana
