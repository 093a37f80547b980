#include "server/service/connections/first_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

namespace bandana::server {
namespace {

using ::testing::Eq;

// The first bytes of OpenSSL when it offers these protocols.
std::string HelloOf(const std::vector<std::string>& protocols) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  &SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), &SSL_free);
  std::string list;
  for (const std::string& name : protocols) list += static_cast<char>(name.size()) + name;
  if (!list.empty()) {
    SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(list.data()),
                        static_cast<unsigned>(list.size()));
  }
  SSL_set_tlsext_host_name(ssl.get(), "bandana.example");
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(ssl.get());
  SSL_do_handshake(ssl.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

TEST(FirstBytes, PlainConnectionsAreToldByThePreface) {
  EXPECT_THAT(ProtocolOf("", false), Eq(std::nullopt));
  EXPECT_THAT(ProtocolOf("PRI * HT", false), Eq(std::nullopt));
  EXPECT_THAT(ProtocolOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false), Eq(WireProtocol::kHttp2));
  EXPECT_THAT(ProtocolOf("P", false), Eq(std::nullopt));
  EXPECT_THAT(ProtocolOf("POST /v1", false), Eq(WireProtocol::kHttp1));
  EXPECT_THAT(ProtocolOf("\x16\x03\x01", false), Eq(WireProtocol::kHttp1));
}

TEST(FirstBytes, ClientHellosAreToldByTheProtocolsThatTheyOffer) {
  EXPECT_THAT(ProtocolOf(HelloOf({"grpc-exp", "h2"}), true), Eq(WireProtocol::kHttp2));
  EXPECT_THAT(ProtocolOf(HelloOf({"h2", "http/1.1"}), true), Eq(WireProtocol::kHttp1));
  EXPECT_THAT(ProtocolOf(HelloOf({"http/1.1"}), true), Eq(WireProtocol::kHttp1));
  EXPECT_THAT(ProtocolOf(HelloOf({}), true), Eq(WireProtocol::kHttp1));
  EXPECT_THAT(ProtocolOf("GET / HTTP/1.1", true), Eq(WireProtocol::kHttp2));
}

// No part of a hello decides before the whole is there, and no byte in it makes the reader run
// beyond the end.
TEST(FirstBytes, PartsWaitAndOddBytesDoNoHarm) {
  const std::string hello = HelloOf({"h2", "http/1.1"});
  ASSERT_GT(hello.size(), 100u);
  for (std::size_t size = 0; size < hello.size(); ++size) {
    EXPECT_THAT(ProtocolOf(std::string_view(hello).substr(0, size), true), Eq(std::nullopt))
        << size;
  }
  for (std::size_t at = 5; at < hello.size(); ++at) {
    for (const char odd : {'\0', '\x7f', '\xff'}) {
      std::string other = hello;
      other[at] = odd;
      EXPECT_NE(ProtocolOf(other, true), std::nullopt) << at;
    }
  }
}

}  // namespace
}  // namespace bandana::server
