// Features by name over the wire, against the real server: Select, catalogue, explanations, counts,
// a schema that changes; and the SDK, which encodes where the device chooses.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bandana/client.h"
#include "bandana/v1/recommender.grpc.pb.h"
#include "common/base/file.h"
#include "common/features/encoder.h"
#include "tests/support/feature_schemas.h"
#include "tests/support/http_request.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tools/ctl/admin_client.h"

namespace bandana::testing {
namespace {

std::string Model(const std::string& name, const std::string& rest) {
  return absl::StrCat("models { name: '", name, "' features {", kShopSchema, "} ", rest, " }\n");
}

std::string Models() {
  const std::string window = " reporting { one_per_decision: true } ";
  return absl::StrCat(
      Model("open", "shared {} mode: NON_PRIVATE arms_max: 5000"),
      Model("effects", "effects { standard {} } mode: NON_PRIVATE"),
      Model("local", "shared {} mode: LOCAL_REWARD privacy { epsilon: 5 }" + window),
      Model("device",
            "shared {} mode: LOCAL_CONTEXT privacy { epsilon: 5 mechanism: PRIVUNIT }" + window),
      Model(
          "joint",
          "shared {} mode: JOINT privacy { epsilon: 5 delta: 1e-6 counter { steps_max: 10000 } }" +
              window),
      Model("counter",
            "shared {} mode: LOCAL_REWARD privacy { epsilon: 5 delta: 1e-6 mechanism: COUNTER }" +
                window),
      "models { name: 'raw' dimension: 2 shared {} mode: NON_PRIVATE }\n",
      "limits { arms_per_request_max: 5000 } drain_delay {}\n");
}

v1::SelectRequest Request(const std::string& text) {
  v1::SelectRequest request;
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(text, &request));
  if (request.user().empty()) request.set_user("ann");
  return request;
}

void AddArm(v1::SelectRequest& request, const std::string& id, const std::string& json) {
  v1::NamedArm& arm = *request.mutable_arms()->mutable_named_arms()->add_arms();
  arm.set_id(id);
  *arm.mutable_features() = ValuesOf(json);
}

v1::Arm ArmOf(std::uint32_t id, const std::string& name, const std::vector<std::string>& tags,
              const std::string& json) {
  v1::Arm arm;
  arm.set_id(id);
  arm.set_name(name);
  for (const std::string& tag : tags) arm.add_tags(tag);
  *arm.mutable_named_features() = ValuesOf(json);
  return arm;
}

class NamedFeaturesTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(Models()); }

  void Start(const std::string& config) {
    auto server = ServerProcess::Start({.config = config, .folder = folder_.path()});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    admin_ = *AdminClient::Connect(server_->listen(), absl::Seconds(60));
    stub_ = v1::Recommender::NewStub(
        grpc::CreateChannel(server_->listen(), grpc::InsecureChannelCredentials()));
  }

  absl::StatusOr<v1::SelectResponse> Select(const v1::SelectRequest& request) {
    grpc::ClientContext context;
    v1::SelectResponse response;
    const grpc::Status status = stub_->Select(&context, request, &response);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          status.error_message());
    }
    return response;
  }
  void Report(const std::string& model, const std::string& token, double reward) {
    grpc::ClientContext context;
    v1::ReportRequest request;
    v1::ReportResponse response;
    request.set_model(model);
    request.add_outcomes()->set_token(token);
    request.mutable_outcomes(0)->set_reward(reward);
    ASSERT_TRUE(stub_->Report(&context, request, &response).ok());
    ASSERT_EQ(response.results(0).code(), v1::APPLIED);
  }
  void Settle(const std::string& model) {
    for (int i = 0; i < 1000; ++i) {
      const auto stats = admin_->GetStats(model);
      if (stats.ok() && stats->applied_sequence() == stats->log_sequence()) return;
      absl::SleepFor(absl::Milliseconds(5));
    }
    FAIL() << "not applied";
  }
  // On phones rock sells, on the web jazz does.
  void Teach(const std::string& model, int events) {
    for (int i = 0; i < events; ++i) {
      v1::SelectRequest request = Request("model: '" + model + "'");
      const bool web = i % 2 == 0;
      *request.mutable_context() = ValuesOf(
          absl::StrCat(R"({"device": ")", web ? "web" : "ios", R"(", "hour": )", i % 24, "}"));
      AddArm(
          request, i % 4 < 2 ? "r" : "j",
          i % 4 < 2 ? R"({"price": 10, "tags": ["rock"]})" : R"({"price": 10, "tags": ["jazz"]})");
      const auto selection = Select(request);
      ASSERT_THAT(selection, IsOk());
      Report(model, selection->token(), web == (i % 4 >= 2) ? 1 : 0);
    }
    Settle(model);
  }
  v1::SelectRequest Shop(const std::string& model, const std::string& device) {
    v1::SelectRequest request = Request("model: '" + model + "' top_k: 2");
    *request.mutable_context() = ValuesOf(absl::StrCat(R"({"device": ")", device, R"("})"));
    AddArm(request, "r", R"({"price": 10, "tags": ["rock"]})");
    AddArm(request, "j", R"({"price": 10, "tags": ["jazz"]})");
    return request;
  }
  std::unique_ptr<Client> Connect(const std::string& model) {
    ClientOptions options;
    options.target = server_->listen();
    options.model = model;
    options.select_deadline = absl::Seconds(20);
    options.policy = PrivacyPolicy::AcceptAnything();
    options.posterior_interval = absl::Milliseconds(50);
    auto store = DeviceStore::Open(folder_.File(absl::StrCat("device", ++stores_)));
    EXPECT_THAT(store, IsOk());
    auto client = Client::Connect(options, *store);
    EXPECT_THAT(client, IsOk());
    return client.ok() ? *std::move(client) : nullptr;
  }

  const TempDir folder_;
  int stores_ = 0;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<AdminClient> admin_;
  std::unique_ptr<v1::Recommender::Stub> stub_;
};

TEST_F(NamedFeaturesTest, ArmsThatAreSentByNameHaveItOnThePage) {
  Teach("effects", 20);
  const HttpResult page = HttpRequest(server_->http_listen(), "/models/effects");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr(">r: "));
  EXPECT_THAT(page.body, HasSubstr("; j: "));
  EXPECT_THAT(page.body, Not(HasSubstr("unnamed")));
}

TEST_F(NamedFeaturesTest, LearnsWhatAContextLikesAndExplainsIt) {
  Teach("open", 200);
  const auto web = Select(Shop("open", "web"));
  ASSERT_THAT(web, IsOk());
  EXPECT_THAT(web->arm_names(), ElementsAre("j", "r"));
  EXPECT_THAT(web->positions(), ElementsAre(1u, 0u));
  EXPECT_THAT(Select(Shop("open", "ios"))->arm_names(), ElementsAre("r", "j"));

  v1::SelectRequest request = Shop("open", "web");
  request.set_explain(true);
  const auto explained = Select(request);
  ASSERT_THAT(explained, IsOk());
  ASSERT_EQ(explained->explanations_size(), 2);
  for (int rank = 0; rank < 2; ++rank) {
    double mean = 0;
    double cross = 0;
    for (const v1::ScorePart& part : explained->explanations(rank).parts()) {
      mean += part.mean();
      if (part.name() == "device x tags") cross = part.mean();
      EXPECT_GE(part.width(), 0);
    }
    EXPECT_NEAR(mean, explained->means(rank), 1e-12);
    EXPECT_TRUE(rank == 0 ? cross > 0.1 : cross < -0.1) << cross;
  }
}

TEST_F(NamedFeaturesTest, EffectsAreExplainedByTheirNamesAndKnowNamedArms) {
  Teach("effects", 60);
  v1::SelectRequest request = Shop("effects", "web");
  request.set_explain(true);
  const auto selection = Select(request);
  ASSERT_THAT(selection, IsOk());
  ASSERT_EQ(selection->explanations_size(), 2);
  double mean = 0;
  bool of_arm = false;
  for (const v1::ScorePart& part : selection->explanations(0).parts()) {
    mean += part.mean();
    of_arm = of_arm || (part.name().find("arm") != std::string::npos && part.mean() != 0);
  }
  EXPECT_NEAR(mean, selection->means(0), 1e-12);
  EXPECT_TRUE(of_arm) << selection->DebugString();
}

// docs/design/features.md#arms-by-name
TEST_F(NamedFeaturesTest, AnIdThatTheCatalogueHasAsANameIsThatArm) {
  Teach("effects", 60);
  const auto effect_of = [&](const std::string& name) {
    v1::SelectRequest request = Shop("effects", "web");
    request.set_explain(true);
    const auto selection = Select(request);
    EXPECT_THAT(selection, IsOk());
    for (int rank = 0; rank < 2; ++rank) {
      if (selection->arm_names(rank) != name) continue;
      for (const v1::ScorePart& part : selection->explanations(rank).parts()) {
        if (part.name() == "arm") return part.mean();
      }
    }
    return 0.0;
  };
  const double of_r = effect_of("r");
  const double of_j = effect_of("j");
  EXPECT_NE(of_r, 0);
  ASSERT_THAT(admin_->PutArms("effects", {ArmOf(5, "r", {}, "{}")}), IsOk());
  EXPECT_EQ(effect_of("r"), 0);  // of the new arm nothing is known yet
  EXPECT_EQ(effect_of("j"), of_j);
  ASSERT_THAT(admin_->RemoveArms("effects", {5}), IsOk());
  EXPECT_EQ(effect_of("r"), of_r);
}

TEST_F(NamedFeaturesTest, CatalogueByNameTagsAndExclusions) {
  ASSERT_THAT(admin_->PutArms(
                  "open", {ArmOf(1, "disc", {"music", "new"}, R"({"price": 10, "tags": ["rock"]})"),
                           ArmOf(2, "book", {"paper", "new"}, R"({"price": 10, "tags": ["jazz"]})"),
                           ArmOf(3, "pen", {"paper"}, R"({"price": 2})")}),
              IsOk());
  Teach("open", 100);
  const auto names = [&](const std::string& arms, const std::string& device) {
    v1::SelectRequest request = Request("model: 'open' top_k: 3 arms {" + arms + "}");
    *request.mutable_context() = ValuesOf(R"({"device": ")" + device + R"("})");
    const auto selection = Select(request);
    EXPECT_THAT(selection, IsOk());
    return std::vector<std::string>(selection->arm_names().begin(), selection->arm_names().end());
  };
  EXPECT_EQ(names("catalogue_arms { names: ['disc', 'book'] }", "web").front(), "book");
  EXPECT_EQ(names("catalogue_arms { ids: [1, 2] }", "ios").front(), "disc");
  EXPECT_EQ(names("catalogue_query {}", "web").size(), 3u);
  EXPECT_THAT(names("catalogue_query { tags_all: ['paper', 'new'] }", "web"), ElementsAre("book"));
  EXPECT_THAT(names("catalogue_query { tags_none: 'new' }", "web"), ElementsAre("pen"));
  EXPECT_THAT(names("catalogue_query { tags_any: 'new' excluded_names: 'book' }", "web"),
              ElementsAre("disc"));
  EXPECT_THAT(names("catalogue_query { excluded_ids: [1, 3, 99] }", "web"), ElementsAre("book"));
  EXPECT_THAT(Select(Request("model: 'open' arms { catalogue_query { tags_all: 'nothing' } }")),
              StatusIs(absl::StatusCode::kNotFound, "arms.catalogue_query: no arm"));
  EXPECT_THAT(Select(Request("model: 'open' arms { catalogue_arms { names: 'mug' } }")),
              StatusIs(absl::StatusCode::kNotFound,
                       "arms.catalogue_arms.names[0]: the model's catalogue has no arm \"mug\""));
  // A named arm and the catalogue's of the same values score alike.
  v1::SelectRequest named = Request("model: 'open'");
  *named.mutable_context() = ValuesOf(R"({"device": "web", "hour": 3})");
  AddArm(named, "x", R"({"price": 2})");
  v1::SelectRequest stored = Request("model: 'open' arms { catalogue_arms { names: 'pen' } }");
  *stored.mutable_context() = named.context();
  EXPECT_EQ(Select(named)->scores(0), Select(stored)->scores(0));

  // Names are of one arm each, and survive a restart.
  EXPECT_THAT(admin_->PutArms("open", {ArmOf(4, "pen", {}, "{}")}),
              StatusIs(absl::StatusCode::kInvalidArgument, "arm 4 has the name of arm 3"));
  EXPECT_THAT(admin_->PutArms("open", {ArmOf(3, "pencil", {}, "{}"), ArmOf(4, "pen", {}, "{}")}),
              IsOk());
  stub_.reset();
  admin_.reset();
  EXPECT_EQ(server_->Terminate(), 0);
  Start(Models());
  EXPECT_EQ(Select(Request("model: 'open' arms { catalogue_arms { names: 'pen' } }"))->arm_ids(0),
            4u);
}

// More arms than are scored one by one: the search finds what a scan finds.
TEST_F(NamedFeaturesTest, LargeCatalogueInAContext) {
  std::vector<v1::Arm> arms;
  for (std::uint32_t id = 0; id < 3000; ++id) {
    arms.push_back(ArmOf(id, id % 2 == 0 ? "" : absl::StrCat("a", id),
                         {id % 7 == 0 ? "even" : "odd"},
                         absl::StrCat(R"({"price": )", 1 + id % 97, R"(, "tags": [")",
                                      id % 3 == 0 ? "rock" : "jazz", R"("]})")));
  }
  ASSERT_THAT(admin_->PutArms("open", arms), IsOk());
  Teach("open", 200);
  for (const std::string device : {"web", "ios", "fridge"}) {
    v1::SelectRequest all = Request("model: 'open' top_k: 16 arms { catalogue_query {} }");
    *all.mutable_context() = ValuesOf(R"({"device": ")" + device + R"(", "hour": 5})");
    const auto searched = Select(all);
    ASSERT_THAT(searched, IsOk());
    v1::SelectRequest by_id = all;
    auto& ids = *by_id.mutable_arms()->mutable_catalogue_arms()->mutable_ids();
    for (std::uint32_t id = 0; id < 3000; ++id) ids.Add(id);
    const auto scanned = Select(by_id);
    ASSERT_THAT(scanned, IsOk());
    for (int rank = 0; rank < 16; ++rank) {
      EXPECT_EQ(searched->scores(rank), scanned->scores(rank)) << device << rank;
      EXPECT_EQ(searched->means(rank), scanned->means(rank));
    }
  }
}

TEST_F(NamedFeaturesTest, ValuesThatAreNoneAreRefusedNotedAndCounted) {
  v1::SelectRequest request = Shop("open", "web");
  AddArm(request, "e", R"({"price": "12 EUR"})");
  EXPECT_THAT(Select(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[2].features.price: must be a number, got \"12 EUR\""));
  request = Shop("open", "web");
  AddArm(request, "r", "{}");
  EXPECT_THAT(Select(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "arms[2].id: is there twice: \"r\""));
  request = Shop("open", "web");
  (*request.mutable_context()->mutable_fields())["colour"].set_string_value("red");
  EXPECT_THAT(Select(request), StatusIs(absl::StatusCode::kInvalidArgument, "has device, hour"));
  request = Shop("open", "fridge");
  AddArm(request, "e", R"({"price": 1e9})");
  const auto noted = Select(request);
  ASSERT_THAT(noted, IsOk());
  EXPECT_THAT(
      noted->notes(),
      ElementsAre(HasSubstr("context.device: must be a value of the schema, got \"fridge\""),
                  HasSubstr("arms[2].features.price: must be in [1, 500], got 1e+09")));
  const auto stats = admin_->GetStats("open");
  ASSERT_EQ(stats->features_size(), 4);
  EXPECT_EQ(stats->features(0).name(), "device");
  EXPECT_EQ(stats->features(0).unknown(), 1u);
  EXPECT_EQ(stats->features(1).missing(), 1u);
  EXPECT_EQ(stats->features(2).values(), 3u);
  EXPECT_EQ(stats->features(2).out_of_bounds(), 1u);
  EXPECT_EQ(stats->features(3).missing(), 1u);

  request = Request("model: 'raw'");
  AddArm(request, "a", "{}");
  EXPECT_THAT(Select(request), StatusIs(absl::StatusCode::kInvalidArgument,
                                        "arms.named_arms: the model has no schema"));
  request = Request("model: 'raw' context {} arms { inline_arms { features: [1, 0] } }");
  EXPECT_THAT(Select(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "context: the model has no schema"));
  request = Request("model: 'open' context {} arms { inline_arms {} }");
  request.mutable_arms()->mutable_inline_arms()->mutable_features()->Resize(39, 0.1);
  EXPECT_THAT(Select(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "context: is for named arms"));
  EXPECT_THAT(admin_->PutArms("open", {ArmOf(1, "", {}, R"({"price": true})")}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arm 1: named_features.price: must be a number, got true"));
}

TEST_F(NamedFeaturesTest, RawVectorsThatAreScaledAreSaid) {
  const auto selection =
      Select(Request("model: 'raw' arms { inline_arms { features: [20, 1, 0.5, 0.5] } }"));
  ASSERT_THAT(selection, IsOk());
  EXPECT_EQ(selection->arms_clipped(), 1u);
  v1::SelectRequest many = Request("model: 'raw' arms { inline_arms {} }");
  many.mutable_arms()->mutable_inline_arms()->mutable_features()->Resize(2000, 20);
  ASSERT_THAT(Select(many), IsOk());
  ASSERT_THAT(Select(many), IsOk());
  stub_.reset();
  admin_.reset();
  EXPECT_EQ(server_->Terminate(), 0);
  const std::string log = server_->process().err();
  const std::string line = "model raw: more than 1 % of the vectors";
  ASSERT_THAT(log, HasSubstr(line));
  EXPECT_EQ(log.find(line, log.find(line) + 1), std::string::npos) << log;
}

// Contexts are private: no value decides whether there is an event, none is quoted or counted.
TEST_F(NamedFeaturesTest, JointModelsTakeEveryValueAndCountNone) {
  v1::SelectRequest request = Shop("joint", "fridge-secret");
  (*request.mutable_context()->mutable_fields())["secret"].set_bool_value(true);
  AddArm(request, "e", R"({"price": "secret"})");
  const auto selection = Select(request);
  ASSERT_THAT(selection, IsOk());
  EXPECT_EQ(selection->notes_size(), 3);
  for (const std::string& note : selection->notes()) EXPECT_THAT(note, Not(HasSubstr("secret")));
  EXPECT_EQ(admin_->GetStats("joint")->features_size(), 0);
}

TEST_F(NamedFeaturesTest, AChangedSchemaIsRefusedByUpdateModel) {
  v1::ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      absl::StrCat("name: 'late' shared {} mode: NON_PRIVATE features {", kShopSchema, "}"),
      &config));
  ASSERT_THAT(admin_->CreateModel(config), IsOk());
  v1::UpdateModelRequest request;
  *request.mutable_config() = config;
  request.mutable_config()->mutable_features()->mutable_arm(0)->mutable_numeric()->set_high(9);
  request.mutable_update_mask()->add_paths("features");
  EXPECT_THAT(
      admin_->UpdateModel(request),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "features: changes what the vector means: entry 6: arm=price numeric 1 500"));
  EXPECT_THAT(Select(Shop("late", "web")), IsOk());
}

TEST_F(NamedFeaturesTest, AChangedSchemaIsRefusedAtARestart) {
  stub_.reset();
  admin_.reset();
  EXPECT_EQ(server_->Terminate(), 0);
  std::string changed = Models();
  changed.replace(changed.find("high: 500"), 9, "high: 900");
  const auto server = ServerProcess::Start({.config = changed, .folder = folder_.path()});
  EXPECT_THAT(
      server.status().message(),
      HasSubstr("features: changes what the vector means: entry 6: arm=price numeric 1 500"));
}

const std::vector<NamedArm> kArms = {
    {"r", Features().Number("price", 10).Texts("tags", {"rock"})},
    {"j", Features().Number("price", 10).Texts("tags", {"jazz"})},
};

TEST_F(NamedFeaturesTest, SdkSendsNamesWhereTheServerRanks) {
  const auto client = Connect("local");
  const Features context = Features().Text("device", "tv").Number("hour", 20);
  const auto selection = client->Select("ann", Arms::Named(kArms).In(context), 2);
  ASSERT_THAT(selection, IsOk());
  ASSERT_EQ(selection->arms.size(), 2u);
  for (const RankedArm& arm : selection->arms) EXPECT_EQ(arm.name, kArms[arm.position].id);
  EXPECT_THAT(selection->notes, ElementsAre(HasSubstr("context.device")));
  ASSERT_THAT(client->Report(*selection, 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 1u);
  const std::vector<NamedArm> wrong = {{"x", Features().Text("price", "12")}};
  EXPECT_THAT(client->Select("ann", Arms::Named(wrong)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "arms[0].features.price: must be a number, got \"12\""));
}

TEST_F(NamedFeaturesTest, SdkEncodesWhereTheDeviceRanks) {
  Teach("open", 100);
  const auto client = Connect("open");
  ASSERT_THAT(client->RefreshPosterior("ann"), IsOk());
  const Features web = Features().Text("device", "web").Number("hour", 5);
  const auto here = client->SelectOnDevice("ann", Arms::Named(kArms).In(web), 2);
  const auto there = client->Select("ann", Arms::Named(kArms).In(web), 2);
  ASSERT_THAT(here, IsOk());
  ASSERT_THAT(there, IsOk());
  EXPECT_EQ(here->arms[0].name, "j");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(here->arms[rank].name, there->arms[rank].name);
    EXPECT_NEAR(here->arms[rank].score, there->arms[rank].score, 1e-9);
  }
  EXPECT_EQ(client->Stats().values_encoded, 6u);
  ASSERT_THAT(client->Report(*here, 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 1u);
}

TEST_F(NamedFeaturesTest, SdkEncodesWhereTheDeviceCounts) {
  const auto client = Connect("counter");
  const Features web = Features().Text("device", "web").Number("hour", 5);
  const auto selection = client->Select("ann", Arms::Named(kArms).In(web), 2);
  ASSERT_THAT(selection, IsOk());
  for (const RankedArm& arm : selection->arms) EXPECT_EQ(arm.name, kArms[arm.position].id);
  EXPECT_EQ(client->Stats().values_encoded, 6u);
  ASSERT_THAT(client->Report(*selection, 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 1u);
}

TEST_F(NamedFeaturesTest, ArmsOfTheCatalogueHaveAContextInTheSdk) {
  ASSERT_THAT(
      admin_->PutArms("open", {ArmOf(1, "disc", {"new"}, R"({"price": 10, "tags": ["rock"]})"),
                               ArmOf(2, "book", {"new"}, R"({"price": 10, "tags": ["jazz"]})"),
                               ArmOf(3, "pen", {"new", "used"}, R"({"price": 10})")}),
      IsOk());
  Teach("open", 100);
  const auto client = Connect("open");
  const ArmQuery query = {.tags_all = {"new"}, .tags_none = {"used"}};
  const std::vector<std::string> names = {"book", "disc"};
  for (const std::string device : {"web", "ios"}) {
    const Features context = Features().Text("device", device);
    const std::string best = device == "web" ? "book" : "disc";
    const auto by_tags = client->Select("ann", Arms::Matching(query).In(context), 3);
    ASSERT_THAT(by_tags, IsOk());
    EXPECT_EQ(by_tags->arms.size(), 2u);
    EXPECT_EQ(by_tags->arms[0].name, best);
    const auto by_name = client->Select("ann", Arms::CatalogueNames(names).In(context));
    ASSERT_THAT(by_name, IsOk());
    EXPECT_EQ(by_name->arms[0].name, best);
  }
}

TEST_F(NamedFeaturesTest, SdkEncodesPrivateContextsAndQuotesNone) {
  const auto client = Connect("device");
  Features context = Features().Text("device", "secret").Flag("hour", true).Number("secret", 1);
  const auto selection = client->Select("ann", Arms::Named(kArms).In(context));
  ASSERT_THAT(selection, IsOk());
  EXPECT_EQ(selection->notes.size(), 3u);
  for (const std::string& note : selection->notes) EXPECT_THAT(note, Not(HasSubstr("secret")));
  ASSERT_THAT(client->Report(*selection, 1), IsOk());
  ASSERT_TRUE(client->Flush(absl::Seconds(30)));
  EXPECT_EQ(client->Stats().reports_applied, 1u);
  EXPECT_EQ(client->Stats().values_unknown, 1u);
  EXPECT_EQ(admin_->GetStats("device")->features_size(), 0);
}

}  // namespace
}  // namespace bandana::testing
