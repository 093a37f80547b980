#include "tools/audit/transcript/recorder.h"

#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace bandana::audit {
namespace {

constexpr std::size_t kDifferencesShown = 20;
constexpr std::size_t kTextShown = 200;

// Maps in the order of their keys: two worlds must not differ by a hash table's order.
std::string Serialize(const google::protobuf::Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

std::uint64_t LeavesOf(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::uint64_t leaves = 0;
  for (const auto* field : fields) {
    const bool nested = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      leaves += nested ? LeavesOf(reflection.GetMessage(message, field)) : 1;
      continue;
    }
    const int n = reflection.FieldSize(message, field);
    if (!nested) leaves += static_cast<std::uint64_t>(n);
    for (int i = 0; nested && i < n; ++i) {
      leaves += LeavesOf(reflection.GetRepeatedMessage(message, field, i));
    }
  }
  return leaves;
}

std::string Shortened(std::string text) {
  if (text.size() > kTextShown) text = absl::StrCat(text.substr(0, kTextShown), "..");
  return text;
}

std::string Readable(const Field& field) {
  if (field.prototype == nullptr) return field.value;
  const std::unique_ptr<google::protobuf::Message> message(field.prototype->New());
  if (!message->ParsePartialFromString(field.value)) return absl::CHexEscape(field.value);
  return message->DebugString();
}

// The first line in which two texts differ.
std::pair<std::string, std::string> FirstLines(const std::string& one, const std::string& other) {
  const std::vector<std::string> a = absl::StrSplit(one, '\n');
  const std::vector<std::string> b = absl::StrSplit(other, '\n');
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string left = i < a.size() ? a[i] : "";
    const std::string right = i < b.size() ? b[i] : "";
    if (left != right) return {left, right};
  }
  return {one, other};
}

Difference Describe(const Field* one, const Field* other) {
  const Field& any = one != nullptr ? *one : *other;
  Difference difference{.observer = any.observer, .step = any.step, .field = any.name};
  if (one == nullptr || other == nullptr) {
    (one != nullptr ? difference.one : difference.other) = Shortened(Readable(any));
    return difference;
  }
  if (one->name != other->name || one->observer != other->observer) {
    difference.one = one->name;
    difference.other = other->name;
  } else if (one->value != other->value) {
    std::tie(difference.one, difference.other) = FirstLines(Readable(*one), Readable(*other));
  } else {
    difference.field += " (time)";
    difference.one = absl::FormatTime(one->at);
    difference.other = absl::FormatTime(other->at);
  }
  difference.one = Shortened(std::move(difference.one));
  difference.other = Shortened(std::move(difference.other));
  return difference;
}

bool Equal(const Field& a, const Field& b) {
  return a.observer == b.observer && a.step == b.step && a.at == b.at && a.name == b.name &&
         a.value == b.value;
}

}  // namespace

std::string_view ObserverName(Observer observer) {
  switch (observer) {
    case Observer::kServer:
      return "server";
    case Observer::kOthers:
      return "others";
    case Observer::kThief:
      return "thief";
  }
  return "";
}

void Recorder::Text(Observer observer, std::string name, std::string value) {
  fields_.push_back({.observer = observer,
                     .step = step_,
                     .at = now_,
                     .name = std::move(name),
                     .value = std::move(value)});
  ++leaves_;
}

void Recorder::Number(Observer observer, std::string name, std::int64_t value) {
  Text(observer, std::move(name), absl::StrCat(value));
}

void Recorder::Lines(Observer observer, std::string_view name, std::string_view text) {
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    Text(observer, std::string(name), std::string(line));
  }
}

void Recorder::Message(Observer observer, std::string name,
                       const google::protobuf::Message& message) {
  fields_.push_back({.observer = observer,
                     .step = step_,
                     .at = now_,
                     .name = std::move(name),
                     .value = Serialize(message),
                     .prototype = message.GetReflection()->GetMessageFactory()->GetPrototype(
                         message.GetDescriptor())});
  leaves_ += 1 + LeavesOf(message);  // with the message's own time and place
}

Comparison Comparison::Of(const Recorder& a, const Recorder& b, std::size_t end) {
  Comparison out;
  const std::size_t in_a = std::min(end, a.fields_.size());
  const std::size_t in_b = std::min(end, b.fields_.size());
  out.fields = in_a == a.fields_.size() ? a.leaves_ : in_a;
  for (std::size_t i = 0; i < std::max(in_a, in_b); ++i) {
    const Field* const one = i < in_a ? &a.fields_[i] : nullptr;
    const Field* const other = i < in_b ? &b.fields_[i] : nullptr;
    ++out.by_observer[static_cast<std::size_t>((one != nullptr ? one : other)->observer)];
    if (one != nullptr && other != nullptr && Equal(*one, *other)) continue;
    ++out.differences;
    if (out.first.size() < kDifferencesShown) out.first.push_back(Describe(one, other));
  }
  return out;
}

std::size_t FirstReleaseIn(const Recorder& a, const Recorder& b) {
  for (std::size_t i = 0; i < std::min(a.draws_.size(), b.draws_.size()); ++i) {
    if (a.draws_[i].input != b.draws_[i].input) {
      return std::min(a.draws_[i].position, b.draws_[i].position);
    }
  }
  return std::max(a.fields_.size(), b.fields_.size());
}

}  // namespace bandana::audit
