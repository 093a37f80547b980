#include "server/service/context_json.h"

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "nlohmann/json.hpp"

namespace bandana::server {
namespace {

google::protobuf::Struct StructOf(const std::string& json) {
  google::protobuf::Struct out;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &out).ok());
  return out;
}

// As protobuf's own writer says it, whatever is in it.
TEST(ContextJsonTest, ItIsTheObjectThatWasSent) {
  for (const std::string json :
       {R"({})", R"({"hour":13.25,"country":"de","member":true,"none":null})",
        R"({"a \"quoted\" name\n":"\u00fc \\ \u0001","tags":["x",1,[],{"deep":[false]}]})",
        R"({"small":1e-300,"third":0.3333333333333333,"large":-1e300,"zero":0})"}) {
    const google::protobuf::Struct context = StructOf(json);
    std::string text = "before ";
    AppendContext(context, text);
    ASSERT_TRUE(text.starts_with("before "));
    std::string theirs;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(context, &theirs).ok());
    EXPECT_EQ(nlohmann::json::parse(text.substr(7)), nlohmann::json::parse(theirs)) << text;
  }
}

TEST(ContextJsonTest, MembersAreInTheOrderOfTheirNames) {
  std::string text;
  AppendContext(StructOf(R"({"c":1,"a":2.5,"b":"x"})"), text);
  EXPECT_EQ(text, R"({"a":2.5,"b":"x","c":1})");
}

TEST(ContextJsonTest, NumbersThatAreNotFiniteLeaveNothing) {
  for (const double number :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    google::protobuf::Struct context = StructOf(R"({"a":1,"z":[{}]})");
    (*(*context.mutable_fields())["z"]
          .mutable_list_value()
          ->mutable_values(0)
          ->mutable_struct_value()
          ->mutable_fields())["deep"]
        .set_number_value(number);
    std::string text = "before";
    AppendContext(context, text);
    EXPECT_EQ(text, "before");
  }
}

}  // namespace
}  // namespace bandana::server
