// The server's description of a model's coupling for those who list models: nothing about its
// users.
#include "common/design/coupling_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kSecret[] = "who-is-in-it";
constexpr int kNumber = 7;

void Fill(Message& message);

// Every field of every kind, as often as it may be there.
void FillField(Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& r = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return Fill(many ? *r.AddMessage(&message, &field) : *r.MutableMessage(&message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? r.AddString(&message, &field, kSecret) : r.SetString(&message, &field, kSecret);
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? r.AddInt32(&message, &field, kNumber) : r.SetInt32(&message, &field, kNumber);
    case FieldDescriptor::CPPTYPE_INT64:
      return many ? r.AddInt64(&message, &field, kNumber) : r.SetInt64(&message, &field, kNumber);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? r.AddUInt32(&message, &field, kNumber) : r.SetUInt32(&message, &field, kNumber);
    case FieldDescriptor::CPPTYPE_UINT64:
      return many ? r.AddUInt64(&message, &field, kNumber) : r.SetUInt64(&message, &field, kNumber);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? r.AddDouble(&message, &field, kNumber) : r.SetDouble(&message, &field, kNumber);
    case FieldDescriptor::CPPTYPE_BOOL:
      return many ? r.AddBool(&message, &field, true) : r.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return many ? r.AddEnumValue(&message, &field, 1) : r.SetEnumValue(&message, &field, 1);
    default:
      ADD_FAILURE() << field.full_name() << ": a type that this test does not fill";
  }
}

void Fill(Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    FillField(message, *message.GetDescriptor()->field(i));
  }
}

// The numbers and choices that may be shown of a message.
int Singles(const google::protobuf::Descriptor& message) {
  int singles = 0;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    singles += !field.is_repeated() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
               field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
  }
  return singles;
}

// Reads the couplings from the message's own description: a new one is tested as it is added.
TEST(RedactUsersTest, LeavesNumbersAndChoicesOfEveryCoupling) {
  const auto& couplings = *v1::ModelConfig::descriptor()->FindOneofByName("coupling");
  ASSERT_GT(couplings.field_count(), 0);
  for (int i = 0; i < couplings.field_count(); ++i) {
    const FieldDescriptor& coupling = *couplings.field(i);
    SCOPED_TRACE(coupling.name());
    v1::ModelConfig config;
    config.set_name("m");
    FillField(config, coupling);
    RedactUsers(config);
    EXPECT_EQ(config.name(), "m");
    EXPECT_THAT(config.SerializeAsString(), Not(HasSubstr(kSecret)));
    ASSERT_TRUE(config.GetReflection()->HasField(config, &coupling));
    const Message& left = config.GetReflection()->GetMessage(config, &coupling);
    std::vector<const FieldDescriptor*> fields;
    left.GetReflection()->ListFields(left, &fields);
    EXPECT_EQ(fields.size(), Singles(*left.GetDescriptor()));
    EXPECT_EQ(GraphOf(config) == nullptr ? 0 : GraphOf(config)->ByteSizeLong(), 0);
    EXPECT_EQ(UsersOf(config) == nullptr ? 0 : UsersOf(config)->ByteSizeLong(), 0);
  }
}

TEST(RedactUsersTest, LeavesAConfigurationWithoutACouplingAsItIs) {
  v1::ModelConfig config;
  config.set_name("m");
  RedactUsers(config);
  EXPECT_EQ(config.coupling_case(), v1::ModelConfig::COUPLING_NOT_SET);
  EXPECT_EQ(config.name(), "m");
}

TEST(CouplingMessageTest, FindsGraphAndUsersWhereverTheyAre) {
  v1::ModelConfig config;
  EXPECT_EQ(GraphOf(config), nullptr);
  EXPECT_EQ(MutableUsersOf(config), nullptr);
  config.mutable_independent();
  EXPECT_EQ(GraphOf(config), nullptr);
  EXPECT_EQ(UsersOf(config), nullptr);
  config.mutable_goblin()->mutable_graph()->set_users(3);
  config.mutable_goblin()->mutable_users()->add_ids("u");
  EXPECT_EQ(GraphOf(config)->users(), 3);
  EXPECT_EQ(UsersOf(config)->ids(0), "u");
  MutableGraphOf(config)->set_users(4);
  EXPECT_EQ(config.goblin().graph().users(), 4);
}

}  // namespace
}  // namespace bandana::testing
