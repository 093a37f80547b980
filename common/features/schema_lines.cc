// A schema's lines read.
#include <limits>
#include <optional>
#include <utility>

#include "common/base/exact_number.h"
#include "common/base/status.h"
#include "common/features/schema_text.h"

namespace bandana {
namespace {

// The words of a line, a space between two.
class Words {
 public:
  explicit Words(std::string_view rest) : rest_(rest), more_(true) {}

  bool done() const { return !more_; }
  // The next one, up to a space. It may be empty, which is no word of any kind.
  std::string_view Next() {
    const std::size_t space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    Advance(space);
    return word;
  }
  // The next one, in quotes: with a backslash before quotes and backslashes in it.
  std::optional<std::string> NextQuoted() {
    if (!more_ || rest_.empty() || rest_.front() != '"') return std::nullopt;
    std::string text;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        if (i + 1 < rest_.size() && rest_[i + 1] != ' ') return std::nullopt;
        Advance(i + 1 < rest_.size() ? i + 1 : std::string_view::npos);
        return text;
      }
      if (rest_[i] == '\\') {
        ++i;
        if (i == rest_.size() || (rest_[i] != '"' && rest_[i] != '\\')) return std::nullopt;
      }
      text += rest_[i];
    }
    return std::nullopt;
  }
  bool Real(double& out) {
    const auto number = more_ ? ReadExactNumber(Next()) : std::nullopt;
    out = number.value_or(0);
    return number.has_value();
  }
  bool Whole(std::uint32_t& out) {
    const auto number =
        more_ ? ReadWholeNumber(Next(), std::numeric_limits<std::uint32_t>::max()) : std::nullopt;
    out = static_cast<std::uint32_t>(number.value_or(0));
    return number.has_value();
  }
  bool Is(std::string_view word) { return more_ && Next() == word; }

 private:
  void Advance(std::size_t space) {
    more_ = space != std::string_view::npos;
    rest_ = more_ ? rest_.substr(space + 1) : std::string_view();
  }

  std::string_view rest_;
  bool more_;
};

// Either form of the values of a categorical field or a set.
template <typename Field>
bool Read(Words& words, Field& field) {
  const std::string_view form = words.done() ? "" : words.Next();
  // The message has 0 where there are values.
  if (form == "hash_bits") return words.Whole(field.hash_bits) && field.hash_bits != 0;
  if (form != "values") return false;
  do {
    std::optional<std::string> value = words.NextQuoted();
    if (!value) return false;
    field.values.push_back(*std::move(value));
  } while (!words.done());
  return true;
}
bool Read(Words& words, wire::NumericField& field) {
  if (!words.Real(field.low) || !words.Real(field.high) || words.done()) return false;
  const std::string_view form = words.Next();
  field.log = form == "log";
  return field.log || form == "linear";
}
bool Read(Words& words, wire::CyclicField& field) { return words.Real(field.period); }
bool Read(Words&, wire::BooleanField&) { return true; }
// A message's 0 stands for a default, which a text has filled in.
bool Read(Words& words, wire::TextField& field) {
  return words.Is("hash_bits") && words.Whole(field.hash_bits) && words.Is("ngrams") &&
         words.Whole(field.ngrams) && field.ngrams != 0;
}
bool Read(Words& words, wire::VectorField& field) {
  return words.Whole(field.dimension) && words.Real(field.l2_max) && field.l2_max != 0;
}

template <typename Kind>
bool ReadKind(Words& words, wire::FeatureField& field) {
  return Read(words, field.kind.emplace<Kind>());
}

bool ReadField(Words& words, wire::FeatureField& field) {
  using Reader = bool (*)(Words&, wire::FeatureField&);
  static constexpr std::pair<std::string_view, Reader> kReaders[] = {
      {"categorical", ReadKind<wire::CategoricalField>},
      {"numeric", ReadKind<wire::NumericField>},
      {"cyclic", ReadKind<wire::CyclicField>},
      {"boolean", ReadKind<wire::BooleanField>},
      {"set", ReadKind<wire::SetField>},
      {"text", ReadKind<wire::TextField>},
      {"vector", ReadKind<wire::VectorField>}};
  field.name = std::string(words.Next());
  const std::string_view kind = words.done() ? "" : words.Next();
  for (const auto& [name, read] : kReaders) {
    if (kind == name) return read(words, field) && words.done();
  }
  return false;
}

}  // namespace

absl::Status AddSchemaLine(std::string_view line, wire::FeatureSchema& schema) {
  const auto late = [&](bool is_late) {
    return is_late ? InvalidArgument("comes after a line that it must stand before")
                   : absl::OkStatus();
  };
  if (line == "bias") {
    if (schema.bias) return InvalidArgument("is there twice");
    BANDANA_RETURN_IF_ERROR(
        late(!schema.context.empty() || !schema.arm.empty() || !schema.crosses.empty()));
    schema.bias = true;
    return absl::OkStatus();
  }
  const std::size_t equals = line.find('=');
  const std::string_view part = line.substr(0, equals);
  Words words(equals == std::string_view::npos ? "" : line.substr(equals + 1));
  if (part == "context" || part == "arm") {
    const bool is_context = part == "context";
    BANDANA_RETURN_IF_ERROR(late((is_context && !schema.arm.empty()) || !schema.crosses.empty()));
    wire::FeatureField& field = (is_context ? schema.context : schema.arm).emplace_back();
    return ReadField(words, field) ? absl::OkStatus() : InvalidArgument("is no field of a schema");
  }
  if (part != "cross") return InvalidArgument("is not one that this version knows");
  wire::FeatureCross& cross = schema.crosses.emplace_back();
  cross.a = std::string(words.Next());
  cross.b = words.done() ? "" : std::string(words.Next());
  return words.done() ? absl::OkStatus() : InvalidArgument("is no cross of two fields");
}

}  // namespace bandana
