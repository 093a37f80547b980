// OpenSSL's objects that the files of this room own.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>

#include "common/base/free_with.h"

namespace bandana::server {

using OwnedBio = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using OwnedCertificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

}  // namespace bandana::server
