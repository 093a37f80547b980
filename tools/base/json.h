// JSON text, written in one pass.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bandana {

// Writes objects, arrays and scalars in call order, indented by two spaces. The caller closes what
// it opens (checked). Numbers that are not finite become null: JSON has no other word for them.
class JsonWriter {
 public:
  JsonWriter& Key(std::string_view key);
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Text(std::string_view value);
  JsonWriter& Number(double value);  // shortest text that reads back as the same double
  JsonWriter& Integer(std::uint64_t value);
  JsonWriter& Boolean(bool value);

  // The finished text with a final newline. Requires everything closed.
  std::string Take();

 private:
  void BeginValue();
  void Begin(char bracket);
  void End(char bracket);
  void Quote(std::string_view text);

  std::string text_;
  int depth_ = 0;
  bool first_ = true;  // nothing stands in the innermost bracket yet
  bool after_key_ = false;
};

}  // namespace bandana
