// Signed tokens: which are taken, and that none of the usual attacks gets in.
#include "server/service/access/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/hmac.h>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "server/service/access/gatekeeper.h"
#include "server/service/transport/rpcs.h"
#include "tests/support/fake_clock.h"
#include "tests/support/signed_tokens.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;
using Kind = SigningKey::Kind;

constexpr char kIssuer[] = "https://id.example";
constexpr char kAudience[] = "bandana";

class JwtTest : public ::testing::Test {
 protected:
  JwtTest() { Put({&rsa_, &ec_, &ed_}); }

  static std::string SetOf(const std::vector<const SigningKey*>& keys) {
    std::string text = "{\"keys\":[";
    for (std::size_t i = 0; i < keys.size(); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : ",", keys[i]->Jwk());
    }
    return text + "]}";
  }
  void Put(const std::vector<const SigningKey*>& keys) { Write(SetOf(keys)); }
  void Write(const std::string& text) {
    ASSERT_THAT(WriteFileDurably(folder_.File("keys.json"), text, 0644), IsOk());
  }
  std::string Claims(const std::string& subject = "ann") const {
    return UsualClaims(kIssuer, kAudience, subject, clock_.Now());
  }

  JwtIssuerRules Issuer() {
    JwtIssuerRules rules{.issuer = kIssuer, .audience = kAudience};
    auto keys = JwtKeyFile::Open(folder_.File("keys.json"));
    EXPECT_THAT(keys, IsOk());
    rules.keys = *keys;
    rules.roles = Role::kSelect;
    return rules;
  }
  Gatekeeper& gatekeeper() {
    if (gatekeeper_ == nullptr) {
      AccessRules rules;
      rules.jwt_issuers = {Issuer()};
      gatekeeper_ = std::make_unique<Gatekeeper>(std::move(rules), clock_);
    }
    return *gatekeeper_;
  }
  Admittance Admit(const std::string& token, const char* rpc = "bandana.v1.Recommender/Select") {
    const std::string value = "Bearer " + token;
    return gatekeeper().Admit(Credentials{.authorization = {value}, .subjects = {}}, FindRule(rpc));
  }
  void ExpectRefused(const std::string& token, const std::string& why) {
    EXPECT_THAT(Admit(token).status, StatusIs(absl::StatusCode::kUnauthenticated, why)) << token;
  }

  FakeClock clock_;
  const TempDir folder_;
  const SigningKey rsa_{Kind::kRsa, "rsa-1"};
  const SigningKey ec_{Kind::kEc, "ec-1"};
  const SigningKey ed_{Kind::kEd, "ed-1"};
  std::unique_ptr<Gatekeeper> gatekeeper_;
};

TEST_F(JwtTest, TakesEachAlgorithm) {
  for (const SigningKey* key : {&rsa_, &ec_, &ed_}) {
    const Admittance admittance = Admit(key->Token(Claims()));
    ASSERT_THAT(admittance.status, IsOk()) << key->algorithm();
    EXPECT_EQ(admittance.caller.principal->name, "jwt:18:https://id.example:ann");
    EXPECT_EQ(NameOf(admittance.caller), "jwt:https://id.example");  // no person in a log
  }
}

TEST_F(JwtTest, AudienceMayBeAList) {
  const std::int64_t now = absl::ToUnixSeconds(clock_.Now());
  const auto claims = [&](const std::string& audience) {
    return absl::StrCat(R"({"iss":")", kIssuer, R"(","sub":"ann","exp":)", now + 60, R"(,"aud":)",
                        audience, "}");
  };
  EXPECT_THAT(Admit(ed_.Token(claims(R"(["other","bandana"])"))).status, IsOk());
  ExpectRefused(ed_.Token(claims(R"(["other"])")), "another audience");
  ExpectRefused(ed_.Token(claims("7")), "another audience");
}

TEST_F(JwtTest, NoneAndSharedSecretsAreNeverTaken) {
  for (const char* name : {"none", "None", "NONE", "HS256", "HS512", "RS512", ""}) {
    const std::string header = absl::StrCat(R"({"alg":")", name, R"(","kid":"rsa-1"})");
    ExpectRefused(JoinToken(header, Claims(), ""), "RS256, ES256 or EdDSA");
    ExpectRefused(rsa_.TokenWithHeader(header, Claims()), "RS256, ES256 or EdDSA");
  }
  // The public key as the secret of an HMAC.
  const std::string pem = rsa_.PublicPem();
  const std::string header = R"({"alg":"HS256","kid":"rsa-1"})";
  const std::string text = testing::Base64Url(header) + "." + testing::Base64Url(Claims());
  unsigned char mac[32];
  unsigned size = sizeof mac;
  HMAC(EVP_sha256(), pem.data(), static_cast<int>(pem.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size);
  ExpectRefused(JoinToken(header, Claims(), std::string(reinterpret_cast<char*>(mac), size)),
                "RS256, ES256 or EdDSA");
}

TEST_F(JwtTest, TheKeySaysHowATokenIsSigned) {
  // Signed by one key, named after another, or with the name of another algorithm.
  ExpectRefused(ec_.TokenWithHeader(R"({"alg":"ES256","kid":"rsa-1"})", Claims()), "another way");
  ExpectRefused(ec_.TokenWithHeader(R"({"alg":"RS256","kid":"rsa-1"})", Claims()),
                "wrong signature");
  ExpectRefused(ed_.TokenWithHeader(R"({"alg":"EdDSA","kid":"ec-1"})", Claims()), "another way");
  const SigningKey forger(Kind::kEd, "ed-1");
  ExpectRefused(forger.Token(Claims()), "wrong signature");
  ExpectRefused(ed_.TokenWithHeader(R"({"alg":"EdDSA","kid":"ed-2"})", Claims()),
                "a key that is not known");
  ExpectRefused(ed_.TokenWithHeader(R"({"alg":"EdDSA"})", Claims()), "names no key");
  // A key that the token brings along counts for nothing.
  ExpectRefused(
      forger.TokenWithHeader(
          absl::StrCat(R"({"alg":"EdDSA","kid":"ed-1","jwk":)", forger.Jwk(), "}"), Claims()),
      "wrong signature");
  ExpectRefused(ed_.TokenWithHeader(R"({"alg":"EdDSA","kid":"ed-1","crit":["exp"]})", Claims()),
                "critical");
}

TEST_F(JwtTest, AChangedTokenHasAWrongSignature) {
  const std::string good = ed_.Token(Claims());
  ASSERT_THAT(Admit(good).status, IsOk());
  const std::size_t dot = good.find('.');
  const std::string other = ed_.Token(Claims("bob"));
  const std::size_t second = good.rfind('.');
  // The claims of one with the signature of another.
  ExpectRefused(other.substr(0, other.rfind('.')) + good.substr(second), "wrong signature");
  ExpectRefused(good.substr(0, second) + ".", "wrong signature");
  ExpectRefused(good.substr(0, second + 1) + std::string(86, 'A'), "wrong signature");
  ExpectRefused(good.substr(0, dot) + ".e30" + good.substr(second), "issuer");
  // r and s of zero.
  const std::string ec = ec_.Token(Claims());
  ExpectRefused(ec.substr(0, ec.rfind('.') + 1) + testing::Base64Url(std::string(64, '\0')),
                "wrong signature");
}

TEST_F(JwtTest, TimesHaveAMinuteOfGrace) {
  const std::string token = ed_.Token(Claims());  // an hour from now
  clock_.Advance(absl::Hours(1) + absl::Seconds(59));
  EXPECT_THAT(Admit(token).status, IsOk());
  clock_.Advance(absl::Seconds(1));
  ExpectRefused(token, "has expired");  // though it was verified before
  clock_.Advance(-absl::Hours(1) - absl::Seconds(120));
  EXPECT_THAT(Admit(token).status, IsOk());
  const std::string early = ed_.Token(UsualClaims(kIssuer, kAudience, "ann", clock_.Now()));
  clock_.Advance(-absl::Seconds(61));
  ExpectRefused(early, "not valid yet");
  ExpectRefused(ed_.Token(R"({"iss":"https://id.example","aud":"bandana","sub":"ann"})"),
                "does not say when it expires");
  for (const char* odd : {"\"9999999999\"", "1e300", "null", "true", "[9999999999]"}) {
    ExpectRefused(
        ed_.Token(absl::StrCat(R"({"iss":"https://id.example","aud":"bandana","sub":"ann","exp":)",
                               odd, "}")),
        "does not say when it expires");
  }
}

TEST_F(JwtTest, IssuerAudienceAndSubjectMustFit) {
  ExpectRefused(ed_.Token(UsualClaims("https://other.example", kAudience, "ann", clock_.Now())),
                "issuer");
  ExpectRefused(ed_.Token(UsualClaims(kIssuer, "other", "ann", clock_.Now())), "another audience");
  ExpectRefused(ed_.Token(Claims("")), "names no subject");
  ExpectRefused(ed_.Token(Claims(std::string(257, 'x'))), "names no subject");
}

TEST_F(JwtTest, MalformedTextIsRefused) {
  const std::string good = ed_.Token(Claims());
  const std::size_t dot = good.find('.');
  ExpectRefused(std::string(20'000, 'e'), "not known");
  ExpectRefused("ey" + std::string(9000, 'A') + ".e30.e30", "too long");
  ExpectRefused("ey.e30", "not known");  // two parts are no such token
  ExpectRefused("eyJ!.e30.e30", "no base64url");
  ExpectRefused("eyJ=.e30.e30", "no base64url");
  ExpectRefused("eyJhIjox.e30.e30", "no object");  // cut JSON
  ExpectRefused("ey" + good.substr(dot), "no");
  // A key twice: who signs and who reads might not mean the same one.
  ExpectRefused(ed_.TokenWithHeader(R"({"alg":"EdDSA","kid":"ed-1","alg":"EdDSA"})", Claims()),
                "no object");
  ExpectRefused(good.substr(0, dot) + "." + std::string(7000, 'A') + good.substr(good.rfind('.')),
                "no object");
  std::string deep = R"({"alg":"EdDSA","kid":"ed-1","x":)";
  deep += std::string(100, '[') + std::string(100, ']') + "}";
  ExpectRefused(ed_.TokenWithHeader(deep, Claims()), "no object");
}

TEST_F(JwtTest, SubjectsHaveTheRightsOfTheirIssuerAndRatesOfTheirOwn) {
  JwtIssuerRules issuer = Issuer();
  issuer.models = {"news"};
  issuer.calls_per_second = 0.1;
  issuer.burst = 2;
  issuer.new_users_per_day = 1;
  AccessRules rules;
  rules.jwt_issuers = {issuer};
  gatekeeper_ = std::make_unique<Gatekeeper>(rules, clock_);
  const std::string ann = ed_.Token(Claims("ann"));
  const Admittance first = Admit(ann);
  ASSERT_THAT(first.status, IsOk());
  EXPECT_THAT(AuthorizeModel(first.caller, "news"), IsOk());
  EXPECT_THAT(AuthorizeModel(first.caller, "shop"),
              StatusIs(absl::StatusCode::kPermissionDenied, "model"));
  EXPECT_THAT(Admit(ann, "bandana.v1.Recommender/Report").status,
              StatusIs(absl::StatusCode::kPermissionDenied, "role"));
  EXPECT_THAT(Admit(ann).status, IsOk());
  // Another token of hers, and rules that are read anew, find the same rate.
  EXPECT_THAT(Admit(ec_.Token(Claims("ann"))).status,
              StatusIs(absl::StatusCode::kResourceExhausted, "rate"));
  gatekeeper_->Replace(rules);
  EXPECT_THAT(Admit(ann).status, StatusIs(absl::StatusCode::kResourceExhausted, "rate"));
  const Admittance bob = Admit(ed_.Token(Claims("bob")));
  EXPECT_THAT(bob.status, IsOk());
  ASSERT_NE(first.caller.new_users, nullptr);
  EXPECT_TRUE(first.caller.new_users->Take("news", "u"));
  EXPECT_FALSE(first.caller.new_users->Take("news", "v"));
  EXPECT_TRUE(bob.caller.new_users->Take("news", "v"));
}

TEST_F(JwtTest, KeysFollowTheirFile) {
  const std::string old = ed_.Token(Claims());
  ASSERT_THAT(Admit(old).status, IsOk());
  const SigningKey next(Kind::kEd, "ed-2");
  Put({&next});
  EXPECT_THAT(Admit(old).status, IsOk());  // nobody has looked yet
  EXPECT_EQ(gatekeeper().LookAtKeys().taken.size(), 1);
  ExpectRefused(old, "a key that is not known");  // though it was verified before
  EXPECT_THAT(Admit(next.Token(Claims())).status, IsOk());

  Write("{ broken");
  const Gatekeeper::KeyNews news = gatekeeper().LookAtKeys();
  ASSERT_EQ(news.failed.size(), 1);
  EXPECT_THAT(news.failed[0], HasSubstr("keys.json"));
  EXPECT_TRUE(gatekeeper().LookAtKeys().failed.empty());  // said once
  EXPECT_THAT(Admit(next.Token(Claims("bob"))).status, IsOk());
  Put({&ed_});
  EXPECT_EQ(gatekeeper().LookAtKeys().taken.size(), 1);
  EXPECT_THAT(Admit(old).status, IsOk());
}

TEST_F(JwtTest, NewKeysAreTakenBesideOddOnes) {
  ASSERT_THAT(Admit(ed_.Token(Claims())).status, IsOk());
  const SigningKey next(Kind::kEd, "ed-2");
  const SigningKey weak(Kind::kRsa, "weak", 1024);
  Put({&weak, &next});
  const Gatekeeper::KeyNews news = gatekeeper().LookAtKeys();
  EXPECT_EQ(news.taken.size(), 1);
  EXPECT_THAT(news.left_out, ElementsAre(HasSubstr("keys.json: keys[0] is left out: the RSA key")));
  EXPECT_TRUE(news.failed.empty());
  EXPECT_THAT(Admit(next.Token(Claims())).status, IsOk());
}

TEST_F(JwtTest, ATokenOfAPrincipalComesFirst) {
  AccessRules rules;
  Principal app{.name = "app", .token_digest = Sha256Of("eyJ.a.b")};
  app.roles = Role::kSelect;
  rules.principals = {app};
  rules.jwt_issuers = {Issuer()};
  gatekeeper_ = std::make_unique<Gatekeeper>(rules, clock_);
  EXPECT_EQ(NameOf(Admit("eyJ.a.b").caller), "app");
  EXPECT_THAT(Admit(ed_.Token(Claims())).status, IsOk());
}

TEST(JwtKeys, NameWhatIsWrong) {
  const SigningKey key(Kind::kEd, "a");
  const SigningKey weak(Kind::kRsa, "weak", 1024);
  const auto parse = [](const std::string& text) { return ParseJwtKeys(text).status(); };
  EXPECT_THAT(parse("[]"), StatusIs(absl::StatusCode::kInvalidArgument, "is no JSON Web Key Set"));
  EXPECT_THAT(parse("{\"keys\":[]}"), StatusIs(absl::StatusCode::kInvalidArgument, "keys: none"));
  EXPECT_THAT(parse("{\"keys\":[7]}"), StatusIs(absl::StatusCode::kInvalidArgument, "keys[0]"));
  EXPECT_THAT(parse("{\"keys\":[" + weak.Jwk() + "]}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "keys: none is left; keys[0] is left out: the RSA key has 1024 bits"));
  EXPECT_THAT(parse(R"({"keys":[{"kty":"EC","crv":"P-256","kid":"x","x":"AA","y":"AA"}]})"),
              StatusIs(absl::StatusCode::kInvalidArgument, "keys[0] is left out: x and y"));
  const std::string off_curve(43, 'A');
  EXPECT_THAT(
      parse(R"({"keys":[{"kty":"EC","crv":"P-256","kid":"x","x":")" + off_curve + R"(","y":")" +
            off_curve + R"("}]})"),
      StatusIs(absl::StatusCode::kInvalidArgument, "keys[0] is left out: x and y are no point"));
  // Keys of other kinds and uses stand beside.
  const auto set = ParseJwtKeys(R"({"keys":[{"kty":"oct","k":"AAAA","kid":"s"},)" + key.Jwk() +
                                "," + SigningKey(Kind::kEd, "enc").Jwk(R"(,"use":"enc")") + "]}");
  ASSERT_THAT(set, IsOk());
  EXPECT_EQ(set->keys.size(), 1);
  EXPECT_TRUE(set->left_out.empty());
}

// RFC 7517, section 5: whoever reads a set ignores the keys that it cannot use.
TEST(JwtKeys, OddKeysSpoilNoOthers) {
  const SigningKey good(Kind::kEd, "good");
  const SigningKey twice(Kind::kEd, "good");
  const SigningKey weak(Kind::kRsa, "weak", 1024);
  const auto set = ParseJwtKeys(R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"},7,)" +
                                weak.Jwk() + "," + good.Jwk() + "," + twice.Jwk() + "]}");
  ASSERT_THAT(set, IsOk());
  ASSERT_EQ(set->keys.size(), 1);
  EXPECT_EQ(set->keys.begin()->first, "good");
  EXPECT_THAT(set->left_out,
              ElementsAre(HasSubstr("keys[0] is left out: kid must have"),
                          HasSubstr("keys[1] is left out: must be an object"),
                          HasSubstr("keys[2] is left out: the RSA key has 1024 bits"),
                          HasSubstr("keys[4] is left out: kid is that of a key before it")));
}

TEST(JwtKeys, MayBeginWithAByteOrderMark) {
  const SigningKey key(Kind::kEd, "a");
  const std::string text = "{\"keys\":[" + key.Jwk() + "]}";
  EXPECT_THAT(ParseJwtKeys("\xEF\xBB\xBF" + text), IsOk());
  EXPECT_THAT(ParseJwtKeys("\xFF\xFE" + text),
              StatusIs(absl::StatusCode::kInvalidArgument, "the text is UTF-16"));
}

}  // namespace
}  // namespace bandana::server
