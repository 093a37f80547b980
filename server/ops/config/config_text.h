// The text format, read to its end in spite of mistakes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bandana/v1/config.pb.h"
#include "google/protobuf/text_format.h"
#include "server/ops/config/config_file.h"

namespace bandana::server {

struct ParsedText {
  v1::ServerConfig config;
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> locations;  // of the last attempt
  std::vector<ConfigMistake> mistakes;
  // False when a mistake hid the rest of the file: then `config` holds nothing that can be judged.
  bool complete = true;
  // Names of fields whose lines could not be read; what is missing in `config` may be one of them.
  std::set<std::string> unread_fields;
};

// Protobuf's parser stops at its first error other than an unknown field. This one then leaves out
// the line with the error and tries again, as long as that line opens and closes the same brackets.
void ParseText(std::string_view text, ParsedText& out);

// Position of a field by its path, or of the innermost message around it that is in the text. Line
// 0: not in the text at all. False: the field itself is missing.
bool Locate(const google::protobuf::TextFormat::ParseInfoTree& locations, ConfigMistake& mistake);

}  // namespace bandana::server
