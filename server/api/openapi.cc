#include "server/api/openapi.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/api/admin/admin_routes.h"
#include "server/api/routes.h"
#include "server/service/transport/exchange.h"

namespace bandana::server {
namespace {

using OrderedJson = nlohmann::ordered_json;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Braces around one pair are an object for one compiler and a list for another.
OrderedJson Only(const std::string& key, OrderedJson value) {
  OrderedJson object = OrderedJson::object();
  object[key] = std::move(value);
  return object;
}
OrderedJson Reference(const std::string& to) { return Only("$ref", "#/components/" + to); }

// The messages that answers of the API need, each described once.
class Schemas {
 public:
  // A reference to the message's schema, or the schema itself of those with a JSON of their own.
  OrderedJson Of(const Descriptor& type) {
    if (type.full_name() == "google.protobuf.Duration") {
      return {{"type", "string"}, {"description", "seconds with an s behind, such as 1.5s"}};
    }
    if (type.full_name() == "google.protobuf.Timestamp") {
      return {{"type", "string"}, {"format", "date-time"}};
    }
    if (type.full_name() == "google.protobuf.FieldMask") {
      return {{"type", "string"}, {"description", "paths of fields, separated by commas"}};
    }
    if (type.full_name() == "google.protobuf.Struct") {
      return {{"type", "object"}, {"additionalProperties", true}};
    }
    const std::string& name = type.name();
    if (!schemas_.contains(name)) {
      schemas_[name] = OrderedJson::object();  // a message may hold itself
      schemas_[name] = Describe(type);
    }
    return Reference("schemas/" + name);
  }
  OrderedJson Take() { return std::move(schemas_); }

 private:
  OrderedJson Describe(const Descriptor& type) {
    OrderedJson properties = OrderedJson::object();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      if (field.is_map()) {
        OrderedJson value = Value(*field.message_type()->map_value());
        properties[field.json_name()] = {{"type", "object"},
                                         {"additionalProperties", std::move(value)}};
        continue;
      }
      OrderedJson one = Value(field);
      if (field.is_repeated()) one = {{"type", "array"}, {"items", std::move(one)}};
      properties[field.json_name()] = std::move(one);
    }
    return {
        {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  }

  OrderedJson Value(const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return {{"type", "integer"}, {"format", "int32"}};
      case FieldDescriptor::CPPTYPE_UINT32:
        return {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}};
      case FieldDescriptor::CPPTYPE_INT64:
      case FieldDescriptor::CPPTYPE_UINT64:
        return {{"type", "string"}, {"description", "a 64-bit integer"}};
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        return {{"type", "number"}, {"format", "double"}};
      case FieldDescriptor::CPPTYPE_BOOL:
        return Only("type", "boolean");
      case FieldDescriptor::CPPTYPE_ENUM: {
        OrderedJson values = OrderedJson::array();
        for (int i = 0; i < field.enum_type()->value_count(); ++i) {
          values.push_back(field.enum_type()->value(i)->name());
        }
        return {{"type", "string"}, {"enum", std::move(values)}};
      }
      case FieldDescriptor::CPPTYPE_STRING:
        if (field.type() == FieldDescriptor::TYPE_BYTES) {
          return {{"type", "string"}, {"format", "byte"}};
        }
        return Only("type", "string");
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return Of(*field.message_type());
    }
    return OrderedJson::object();
  }

  OrderedJson schemas_ = OrderedJson::object();
};

OrderedJson Content(OrderedJson schema) {
  return Only("application/json", Only("schema", std::move(schema)));
}

OrderedJson ErrorSchema() {
  OrderedJson schema = {{"type", "object"},
                        {"description", "A google.rpc.Status. `status` is the name of `code`."},
                        {"required", {"code", "status", "message"}}};
  schema["properties"]["code"] = {{"type", "integer"}, {"format", "int32"}};
  schema["properties"]["status"] = Only("type", "string");
  schema["properties"]["message"] = Only("type", "string");
  return schema;
}

OrderedJson ModelParameter() {
  OrderedJson model = {{"name", "model"},
                       {"in", "path"},
                       {"required", true},
                       {"description", "the name of a model or of an alias"}};
  model["schema"] = Only("type", "string");
  return model;
}

OrderedJson Begun(const Rpc& rpc, const std::string& service, bool of_model) {
  OrderedJson operation = OrderedJson::object();
  operation["operationId"] = std::string(rpc.method());
  operation["tags"] = OrderedJson::array({service});
  operation["parameters"] = OrderedJson::array();
  if (of_model) operation["parameters"].push_back(ModelParameter());
  return operation;
}

OrderedJson Operation(const Rpc& rpc, Schemas& schemas) {
  const std::unique_ptr<Exchange> exchange = rpc.make_exchange();
  OrderedJson operation = Begun(rpc, "Recommender", true);
  if (!VerbOf(rpc).empty()) {
    operation["requestBody"]["required"] = true;
    operation["requestBody"]["content"] = Content(schemas.Of(*exchange->request().GetDescriptor()));
  }
  OrderedJson& good = operation["responses"]["200"];
  good["description"] = "OK";
  good["content"] = Content(schemas.Of(*exchange->response().GetDescriptor()));
  operation["responses"]["default"] = Reference("responses/Error");
  return operation;
}

// Rows stand as their own schema: one for each line.
OrderedJson AdminContent(AdminForm form, const Descriptor& message, Schemas& schemas) {
  if (form == AdminForm::kMessage) return Content(schemas.Of(message));
  if (form == AdminForm::kBytes) {
    return Only("application/octet-stream",
                Only("schema", {{"type", "string"}, {"format", "binary"}}));
  }
  OrderedJson content = Only("application/x-ndjson", Only("schema", schemas.Of(message)));
  const bool has_columns = message.name() == "Arm" || message.name() == "User";
  if (has_columns) content["text/csv"] = Only("schema", Only("type", "string"));
  return content;
}

OrderedJson AdminOperation(const AdminRpc& of, bool reads, Schemas& schemas) {
  OrderedJson operation = Begun(*of.rpc, "Admin", of.of_model);
  const Descriptor& input = *of.method->input_type();
  if (reads) {
    operation["operationId"] = std::string(of.rpc->method()) + "ByGet";
  } else {
    const Descriptor& sent = of.sends == AdminForm::kRows ? *input.field(1)->message_type() : input;
    operation["requestBody"]["content"] = AdminContent(of.sends, sent, schemas);
  }
  if (of.sends == AdminForm::kBytes) {
    OrderedJson name = {{"name", "model"}, {"in", "query"}, {"required", true}};
    name["schema"] = Only("type", "string");
    operation["parameters"].push_back(std::move(name));
  }
  OrderedJson& good = operation["responses"]["200"];
  good["description"] = "OK";
  good["content"] = AdminContent(of.answers, *of.method->output_type(), schemas);
  operation["responses"]["default"] = Reference("responses/Error");
  return operation;
}

void DescribeRecommender(OrderedJson& paths, Schemas& schemas) {
  for (const Rpc* rpc : RoutedRpcs()) {
    const std::string verb = VerbOf(*rpc);
    const std::string path = verb.empty() ? "/v1/models/{model}" : "/v1/models/{model}:" + verb;
    paths[path] = Only(verb.empty() ? "get" : "post", Operation(*rpc, schemas));
  }
}

void DescribeAdmin(OrderedJson& paths, Schemas& schemas) {
  for (const AdminRpc& of : AdminRpcs()) {
    OrderedJson& path = paths[of.Path()] = OrderedJson::object();
    path["post"] = AdminOperation(of, false, schemas);
    if (!of.rpc->changes()) path["get"] = AdminOperation(of, true, schemas);
  }
}

}  // namespace

std::string OpenApiDocument(const std::string& version, OpenApiParts parts) {
  Schemas schemas;
  OrderedJson paths = OrderedJson::object();
  if (parts.recommender) DescribeRecommender(paths, schemas);
  if (parts.admin) DescribeAdmin(paths, schemas);
  OrderedJson components;
  components["schemas"] = schemas.Take();
  components["schemas"]["Error"] = ErrorSchema();
  OrderedJson& error = components["responses"]["Error"];
  error["description"] = "what went wrong, in the caller's terms";
  error["content"] = Content(Reference("schemas/Error"));
  components["securitySchemes"]["bearer"] = {{"type", "http"}, {"scheme", "bearer"}};
  OrderedJson document = OrderedJson::object();
  document["openapi"] = "3.0.3";
  document["info"] = {
      {"title", "bandana"},
      {"version", version},
      {"description", "The methods of bandana.v1 by protobuf's JSON mapping: docs/http.md."}};
  // With a token, or without one where callers need none.
  document["security"] = OrderedJson::array();
  document["security"].push_back(Only("bearer", OrderedJson::array()));
  document["security"].push_back(OrderedJson::object());
  document["paths"] = std::move(paths);
  document["components"] = std::move(components);
  return document.dump(1) + "\n";
}

}  // namespace bandana::server
