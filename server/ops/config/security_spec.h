// TlsConfig and AccessConfig as checked values.
#pragma once

#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "bandana/v1/config.pb.h"
#include "common/promise/field_checks.h"
#include "server/service/access/access.h"
#include "server/service/tls/tls_files.h"

namespace bandana::server {

struct TlsSpec {
  TlsFiles files;
  bool require_client_certificate = false;
  absl::Duration reload_interval;
};

// Reads the files, relative to `folder`, and reports what does not fit (LoadTls) at `now`.
TlsSpec ParseTls(const v1::TlsConfig& config, std::string_view folder, absl::Time now,
                 const FieldChecks& checks);

// `tls` null: plaintext. Reads the key files of issuers, relative to `folder`.
AccessRules ParseAccess(const v1::AccessConfig& config, std::string_view folder, const TlsSpec* tls,
                        const FieldChecks& checks);

// The digest of 64 hexadecimal digits; nullopt of any other text.
std::optional<Sha256Digest> DigestFromHex(std::string_view hex);

// `select, report`; `none` of an empty set.
std::string ToString(Roles roles);

// The lines of SecuritySummary about who may come in.
std::string AccessSummary(const std::optional<AccessRules>& access);

// Two or more lines in words, for --check_config and the start-up log: transport, who may come in.
// Never a token or a digest.
std::string SecuritySummary(const std::optional<TlsSpec>& tls,
                            const std::optional<AccessRules>& access);

}  // namespace bandana::server
