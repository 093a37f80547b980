#include "tools/import/dat_table.h"

#include <charconv>

#include "common/base/file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tools/import/xz.h"

namespace bandana {
namespace {

// The largest file of the data set has 4.4 MB (the whole MovieLens sibling 25 MB).
constexpr std::uint64_t kFileBytesMax = 256ull << 20;

std::vector<std::string_view> Split(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  while (true) {
    const std::size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

absl::Status LineError(std::string_view file, int line, std::string_view message) {
  return InvalidArgument(ToAbsl(file), ":", line, ": ", ToAbsl(message));
}

std::string Header(std::span<const std::string_view> columns) {
  std::string header;
  for (const std::string_view column : columns) {
    if (!header.empty()) header += ", ";
    header += column;
  }
  return header;
}

}  // namespace

absl::StatusOr<int> DatRow::Number(int column, int min, int max) const {
  const std::string_view field = fields_[column];
  int value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (error != std::errc() || stop != end || value < min || value > max) {
    return Error(absl::StrCat(ToAbsl(columns_[column]), " must be an integer in [", min, ", ", max,
                              "], got '", ToAbsl(field.substr(0, 40)), "'"));
  }
  return value;
}

absl::Status DatRow::Error(std::string_view message) const {
  return LineError(file_, line_, message);
}

absl::Status ForEachDatRow(std::string_view text, std::string_view file,
                           std::span<const std::string_view> columns,
                           const std::function<absl::Status(const DatRow&)>& row) {
  const absl::StatusOr<std::string_view> plain = WithoutMark(text);
  if (!plain.ok()) return LineError(file, 1, ToStd(plain.status().message()));
  text = *plain;
  if (text.empty()) return LineError(file, 1, "the file is empty");
  int line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return LineError(file, line, "the file ends in the middle of a line; it seems truncated");
    }
    std::string_view content = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!content.empty() && content.back() == '\r') content.remove_suffix(1);

    const std::vector<std::string_view> fields = Split(content);
    if (line == 1) {
      if (!std::equal(fields.begin(), fields.end(), columns.begin(), columns.end())) {
        return LineError(file, line, "the header must name the columns " + Header(columns));
      }
      continue;
    }
    if (fields.size() != columns.size()) {
      return LineError(file, line,
                       absl::StrCat("a row must have ", columns.size(), " tab-separated fields (",
                                    Header(columns), "), got ", fields.size()));
    }
    BANDANA_RETURN_IF_ERROR(row(DatRow(file, line, columns, fields)));
  }
  return absl::OkStatus();
}

absl::StatusOr<DatFile> ReadDatFile(std::string_view folder, std::string_view name) {
  DatFile file;
  file.path = ResolvePath(name, folder);
  auto plain = ReadFile(file.path, kFileBytesMax);
  if (plain.ok()) {
    file.text = *std::move(plain);
    return file;
  }
  if (!absl::IsNotFound(plain.status())) return plain.status();

  const auto compressed = ReadFile(file.path + ".xz", kFileBytesMax);
  if (absl::IsNotFound(compressed.status())) {
    return NotFound("neither ", file.path, " nor ", file.path, ".xz exists");
  }
  BANDANA_RETURN_IF_ERROR(compressed.status());
  file.path += ".xz";
  auto text = DecompressXz(*compressed, kFileBytesMax);
  if (!text.ok()) return Annotate(text.status(), file.path);
  file.text = *std::move(text);
  return file;
}

}  // namespace bandana
