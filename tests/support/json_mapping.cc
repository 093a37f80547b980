#include "tests/support/json_mapping.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/json/json_text.h"
#include "nlohmann/json.hpp"
#include "server/api/json_call.h"
#include "server/api/json_writer.h"

namespace bandana::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using nlohmann::json;
using Bytes = std::optional<std::string>;  // of a message; nothing: refused

std::string BytesOf(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  (void)message.SerializePartialToCodedStream(&out);
  out.Trim();
  return bytes;
}

Bytes ReadByProtobuf(std::string_view text, const Message& prototype) {
  const absl::StatusOr<std::string_view> plain = WithoutMark(text);
  if (!plain.ok()) return std::nullopt;
  const std::unique_ptr<Message> message(prototype.New());
  if (plain->find_first_not_of(" \t\r\n") == std::string_view::npos) return BytesOf(*message);
  if (!CheckJson(*plain, {.depth_max = server::kJsonDepthMax}).ok()) return std::nullopt;
  const auto read = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(plain->data(), plain->size()), message.get());
  return read.ok() ? Bytes(BytesOf(*message)) : std::nullopt;
}

Bytes ReadByServer(std::string_view text, const Message& prototype) {
  const std::unique_ptr<Message> message(prototype.New());
  return server::FromJson(text, *message).ok() ? Bytes(BytesOf(*message)) : std::nullopt;
}

std::string WordsOf(const Bytes& bytes) {
  return bytes ? absl::StrCat(bytes->size(), " bytes") : "a refusal";
}

// The types that fields of the message, and of those inside it, have.
void AddTypes(const Descriptor& type, std::set<std::string>& names) {
  if (!names.insert(type.full_name()).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    if (const Descriptor* const inner = type.field(i)->message_type()) AddTypes(*inner, names);
  }
}

// Whether the document has what the readers are meant to differ in, where it is read as such a
// message. Members that stand twice are looked at twice.
bool IsMeantToDiffer(std::string_view document, const Message& prototype) {
  std::set<std::string> types;
  AddTypes(*prototype.GetDescriptor(), types);
  const bool has_duration = types.contains("google.protobuf.Duration");
  const bool has_mask = types.contains("google.protobuf.FieldMask");
  bool found = false;
  const auto look = [&](int, json::parse_event_t event, json& part) {
    const auto* const text = part.get_ptr<const std::string*>();
    if (text == nullptr) return true;
    if (event == json::parse_event_t::key) found = found || text->empty();
    if (event == json::parse_event_t::value) {
      const bool is_long_time = text->size() > 19 && text->ends_with('s') &&
                                text->find_first_not_of("+-. 0123456789") == text->size() - 1;
      found = found || (has_duration && is_long_time) ||
              (has_mask && text->find_first_of("()[]\"") != std::string::npos);
    }
    return true;
  };
  const json unused =
      json::parse(document.begin(), document.end(), look, /*allow_exceptions=*/false);
  return found;
}

std::string DifferenceInWriting(const std::string& bytes, const Message& prototype) {
  const std::unique_ptr<Message> message(prototype.New());
  (void)message->ParsePartialFromString(bytes);
  std::string theirs;
  const bool written = google::protobuf::util::MessageToJsonString(*message, &theirs).ok();
  if (written && IsMeantToDiffer(theirs, prototype)) return "";
  const absl::StatusOr<std::string> ours = server::ToJson(*message);
  if (!ours.ok()) {
    // Protobuf writes a Duration whose parts have different signs as a text that is none.
    const bool writable = written && ReadByProtobuf(theirs, prototype) == bytes;
    return writable ? "protobuf alone writes what was read: " + theirs : "";
  }
  if (!written) return "the server alone writes what was read: " + *ours;
  if (ReadByProtobuf(*ours, prototype) != bytes) return "protobuf reads otherwise: " + *ours;
  // Protobuf writes -0 for a double below zero, and reads it as a whole number.
  if (ReadByServer(theirs, prototype) != ReadByProtobuf(theirs, prototype)) {
    return "the server reads otherwise: " + theirs;
  }
  return "";
}

}  // namespace

std::string JsonDifference(std::string_view text, const Message& prototype) {
  const google::protobuf::LogSilencer quiet;  // of values that cannot be written
  const Bytes theirs = ReadByProtobuf(text, prototype);
  const Bytes ours = ReadByServer(text, prototype);
  std::string difference;
  if (theirs != ours) {
    difference = absl::StrCat("protobuf: ", WordsOf(theirs), ", the server: ", WordsOf(ours));
  } else if (ours) {
    difference = DifferenceInWriting(*ours, prototype);
  }
  if (difference.empty()) return "";
  const absl::StatusOr<std::string_view> plain = WithoutMark(text);
  if (plain.ok() && IsMeantToDiffer(*plain, prototype)) return "";
  return absl::StrCat(prototype.GetTypeName(), ": ", difference, "\n", OneLine(text));
}

}  // namespace bandana::testing
