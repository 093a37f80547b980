#include "common/design/coupling_message.h"

#include "common/base/sha256.h"

namespace bandana {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The field of the coupling that is set; nullptr: none is.
const FieldDescriptor* CouplingField(const v1::ModelConfig& config) {
  return config.GetReflection()->GetOneofFieldDescriptor(
      config, config.GetDescriptor()->FindOneofByName("coupling"));
}

// The field of the message whose type is `wanted`; nullptr: there is none.
const FieldDescriptor* FieldOfType(const google::protobuf::Descriptor& message,
                                   const google::protobuf::Descriptor& wanted) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (message.field(i)->message_type() == &wanted && !message.field(i)->is_repeated()) {
      return message.field(i);
    }
  }
  return nullptr;
}

template <typename Part>
const Part* PartOf(const v1::ModelConfig& config) {
  const FieldDescriptor* const coupling = CouplingField(config);
  if (coupling == nullptr) return nullptr;
  const FieldDescriptor* const part = FieldOfType(*coupling->message_type(), *Part::descriptor());
  if (part == nullptr) return nullptr;
  const Message& message = config.GetReflection()->GetMessage(config, coupling);
  return static_cast<const Part*>(&message.GetReflection()->GetMessage(message, part));
}

template <typename Part>
Part* MutablePartOf(v1::ModelConfig& config) {
  const FieldDescriptor* const coupling = CouplingField(config);
  if (coupling == nullptr) return nullptr;
  const FieldDescriptor* const part = FieldOfType(*coupling->message_type(), *Part::descriptor());
  if (part == nullptr) return nullptr;
  Message* const message = config.GetReflection()->MutableMessage(&config, coupling);
  return static_cast<Part*>(message->GetReflection()->MutableMessage(message, part));
}

// A number or a choice: too little to say who a user is.
bool IsHarmless(const FieldDescriptor& field) {
  return !field.is_repeated() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE &&
         field.cpp_type() != FieldDescriptor::CPPTYPE_STRING;
}

}  // namespace

const v1::Graph* GraphOf(const v1::ModelConfig& config) { return PartOf<v1::Graph>(config); }
const v1::UserMap* UsersOf(const v1::ModelConfig& config) { return PartOf<v1::UserMap>(config); }
v1::Graph* MutableGraphOf(v1::ModelConfig& config) { return MutablePartOf<v1::Graph>(config); }
v1::UserMap* MutableUsersOf(v1::ModelConfig& config) { return MutablePartOf<v1::UserMap>(config); }

std::string GraphDigest(const v1::ModelConfig& config) {
  const v1::Graph* const graph = GraphOf(config);
  return ToHex(Sha256Of(graph == nullptr ? std::string() : graph->SerializeAsString()));
}

void RedactUsers(v1::ModelConfig& config) {
  const FieldDescriptor* const coupling = CouplingField(config);
  if (coupling == nullptr) return;
  Message* const message = config.GetReflection()->MutableMessage(&config, coupling);
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message->GetDescriptor()->field(i);
    if (!IsHarmless(field)) message->GetReflection()->ClearField(message, &field);
  }
  message->GetReflection()->MutableUnknownFields(message)->Clear();
}

}  // namespace bandana
