#include "common/channel/channel.h"

#include <grpcpp/grpcpp.h>

#include "common/base/address.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana {
namespace {

constexpr std::uint64_t kPemBytesMax = 1 << 20;

absl::Status CheckFields(const std::string& target, const ChannelSecurity& security) {
  const bool tls = !security.ca_file.empty();
  if (security.certificate_file.empty() != security.private_key_file.empty()) {
    return InvalidArgument("a client certificate and its private key go together: one is missing");
  }
  if (!tls && !(security.certificate_file.empty() && security.server_name.empty())) {
    return InvalidArgument(
        "a client certificate or a server name needs a CA file: without one the "
        "channel is plaintext");
  }
  if (!tls && !security.token_file.empty() && !IsLocalTarget(target)) {
    return FailedPrecondition("a token is not sent over plaintext to ", target,
                              ", which is not a loopback address: a CA file is needed");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(
    const ChannelSecurity& security) {
  if (security.ca_file.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  BANDANA_ASSIGN_OR_RETURN(options.pem_root_certs, ReadTextFile(security.ca_file, kPemBytesMax));
  if (options.pem_root_certs.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
    return InvalidArgument(security.ca_file, " holds no PEM certificate");
  }
  if (!security.certificate_file.empty()) {
    BANDANA_ASSIGN_OR_RETURN(options.pem_cert_chain,
                             ReadTextFile(security.certificate_file, kPemBytesMax));
    BANDANA_ASSIGN_OR_RETURN(options.pem_private_key,
                             ReadPrivateFile(security.private_key_file, kPemBytesMax));
  }
  return grpc::SslCredentials(options);
}

}  // namespace

absl::StatusOr<Connection> Connection::Open(const std::string& target,
                                            const ChannelSecurity& security,
                                            grpc::ChannelArguments& arguments) {
  BANDANA_RETURN_IF_ERROR(CheckFields(target, security));
  Connection connection;
  BANDANA_ASSIGN_OR_RETURN(const auto credentials, CredentialsOf(security));
  if (!security.token_file.empty()) {
    BANDANA_ASSIGN_OR_RETURN(connection.token_, BearerToken::Open(security.token_file));
  }
  if (!security.server_name.empty()) arguments.SetSslTargetNameOverride(security.server_name);
  connection.channel_ = grpc::CreateCustomChannel(target, credentials, arguments);
  return connection;
}

void Connection::Authorize(grpc::ClientContext& context) const {
  if (token_ != nullptr) context.AddMetadata("authorization", token_->Header());
}

}  // namespace bandana
