// Client::Connect: options, store, connection; the rest is the core's.
#include <utility>

#include "bandana/client.h"
#include "client/core/policy.h"
#include "client/src/base/transport.h"
#include "client/src/client_impl.h"
#include "client/src/seams.h"
#include "common/base/status.h"

namespace bandana {
namespace device {
namespace {

ChannelSecurity SecurityOf(const TransportSecurity& security) {
  return {.ca_file = security.ca_file,
          .certificate_file = security.certificate_file,
          .private_key_file = security.private_key_file,
          .server_name = security.server_name,
          .token_file = security.token_file};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options,
                                                std::shared_ptr<DeviceStore> store,
                                                const Seams& seams) {
  BANDANA_RETURN_IF_ERROR(CheckOptions(options));
  if (store == nullptr) return InvalidArgument("store must not be null");
  auto transport = OpenTransport(options.target, SecurityOf(options.security),
                                 options.leave == ClientOptions::Leave::kAtStart);
  if (!transport.ok()) return Annotate(transport.status(), "options.security");
  return ClientImpl::Connect(options, std::static_pointer_cast<Store>(std::move(store)), seams,
                             *std::move(transport));
}

}  // namespace device

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ClientOptions& options,
                                                        std::shared_ptr<DeviceStore> store) {
  return device::Connect(options, std::move(store), {});
}

}  // namespace bandana
