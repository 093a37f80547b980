#include "server/service/tls/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpcpp/security/server_credentials.h>

#include <mutex>
#include <utility>

#include "common/base/status.h"

namespace bandana::server {

// One listener's view: gRPC asks before each handshake whether the certificates have changed. The
// C++ file watcher of gRPC 1.51 drops working certificates when new ones do not fit together; this
// callback of its C API keeps them.
class TlsReloader::Listener final : public grpc::ServerCredentials {
 public:
  explicit Listener(std::shared_ptr<TlsReloader> reloader)
      : reloader_(std::move(reloader)),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                RequestType(reloader_->options_), &Listener::Fetch, this))) {}
  ~Listener() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  static grpc_ssl_client_certificate_request_type RequestType(const TlsOptions& options) {
    if (options.files.client_ca_file.empty()) return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    return options.require_client_certificate
               ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
               : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
  }

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* user_data, grpc_ssl_server_certificate_config** config) {
    Listener& self = *static_cast<Listener*>(user_data);
    const std::lock_guard lock(self.mutex_);
    std::shared_ptr<const TlsMaterial> material = self.reloader_->material();
    if (material == self.fetched_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair = {material->private_key_pem.c_str(),
                                             material->certificate_pem.c_str()};
    // gRPC 1.51 aborts without authorities, also where it asks no client for a certificate.
    const std::string& ca =
        material->client_ca_pem.empty() ? material->certificate_pem : material->client_ca_pem;
    *config = grpc_ssl_server_certificate_config_create(ca.c_str(), &pair, 1);
    self.fetched_ = std::move(material);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<TlsReloader> reloader_;
  std::mutex mutex_;
  std::shared_ptr<const TlsMaterial> fetched_;  // what gRPC has
  grpc_server_credentials* const credentials_;
};

TlsReloader::TlsReloader(const TlsOptions& options, const Clock& clock)
    : options_(options), clock_(clock) {}

absl::StatusOr<std::shared_ptr<TlsReloader>> TlsReloader::Open(const TlsOptions& options,
                                                               const Clock& clock) {
  std::shared_ptr<TlsReloader> reloader(new TlsReloader(options, clock));
  {
    const std::lock_guard lock(reloader->look_mutex_);
    reloader->versions_ = reloader->VersionsNow();
    BANDANA_RETURN_IF_ERROR(reloader->Load());
  }
  reloader->thread_ = std::thread([raw = reloader.get()] { raw->Follow(); });
  return reloader;
}

TlsReloader::~TlsReloader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<grpc::ServerCredentials> TlsReloader::Credentials(
    const std::shared_ptr<TlsReloader>& reloader) {
  return std::make_shared<Listener>(reloader);
}

TlsReloader::Versions TlsReloader::VersionsNow() const {
  return {.certificate = VersionOf(options_.files.certificate_file),
          .private_key = VersionOf(options_.files.private_key_file),
          .client_ca = VersionOf(options_.files.client_ca_file)};
}

absl::Status TlsReloader::Load() {
  auto material = std::make_shared<TlsMaterial>();
  TlsMistake mistake;
  const bool loaded = LoadTls(options_.files, clock_.Now(), *material, mistake);
  const std::lock_guard lock(mutex_);
  if (!loaded) {
    ++failures_;
    return Annotate(mistake.status, "tls");
  }
  material_ = std::move(material);
  return absl::OkStatus();
}

absl::Status TlsReloader::Look() {
  const std::lock_guard lock(look_mutex_);
  // Versions before content: what changes in between is seen at the next look.
  const Versions versions = VersionsNow();
  if (versions == versions_) return absl::OkStatus();
  absl::Status status = Load();
  if (status.ok()) versions_ = versions;
  if (options_.on_reload) options_.on_reload(status);
  return status;
}

std::shared_ptr<const TlsMaterial> TlsReloader::material() const {
  const std::lock_guard lock(mutex_);
  return material_;
}

absl::Time TlsReloader::not_after() const {
  const std::lock_guard lock(mutex_);
  return material_->not_after;
}

std::int64_t TlsReloader::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void TlsReloader::Follow() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (stopped_.wait_for(lock, absl::ToChronoNanoseconds(options_.reload_interval),
                            [this] { return stopping_; })) {
        return;
      }
    }
    Look().IgnoreError();  // on_reload has told
  }
}

}  // namespace bandana::server
