// The Matrix Market exchange format, `matrix coordinate real|integer symmetric|general`.
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "common/bandits/graph.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace bandana {
namespace {

constexpr std::string_view kBlank = " \t";

class Lines {
 public:
  explicit Lines(TextLines lines) : lines_(lines) {}

  bool Next(std::string_view& line) { return lines_.Next(line); }
  // The next line that is neither blank nor a comment.
  bool NextData(std::string_view& line) {
    while (Next(line)) {
      const std::size_t start = line.find_first_not_of(kBlank);
      if (start != std::string_view::npos && line[start] != '%') return true;
    }
    return false;
  }
  template <typename... Args>
  absl::Status Error(const Args&... args) const {
    return InvalidArgument("graph line ", lines_.number(), ": ", args...);
  }

 private:
  TextLines lines_;
};

std::string_view TakeWord(std::string_view& line) {
  const std::size_t start = line.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return line = {};
  const std::size_t end = line.find_first_of(kBlank, start);
  const std::string_view word = line.substr(start, end - start);
  line = end == std::string_view::npos ? std::string_view() : line.substr(end);
  return word;
}

template <typename Number>
bool TakeNumber(std::string_view& line, Number& value) {
  const std::string_view word = TakeWord(line);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return !word.empty() && error == std::errc() && end == word.data() + word.size();
}

bool AtEnd(std::string_view line) { return TakeWord(line).empty(); }

bool SameWord(std::string_view word, std::string_view lower) {
  if (word.size() != lower.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c =
        word[i] >= 'A' && word[i] <= 'Z' ? static_cast<char>(word[i] - 'A' + 'a') : word[i];
    if (c != lower[i]) return false;
  }
  return true;
}

absl::Status ParseBanner(Lines& lines, bool& symmetric) {
  std::string_view line;
  if (!lines.Next(line) || !SameWord(TakeWord(line), "%%matrixmarket") ||
      !SameWord(TakeWord(line), "matrix")) {
    return InvalidArgument("graph line 1: must start with `%%MatrixMarket matrix`");
  }
  if (!SameWord(TakeWord(line), "coordinate"))
    return lines.Error("the format must be `coordinate`");
  const std::string_view field = TakeWord(line);
  if (!SameWord(field, "real") && !SameWord(field, "integer")) {
    return lines.Error("weights must be `real` or `integer`");
  }
  const std::string_view symmetry = TakeWord(line);
  symmetric = SameWord(symmetry, "symmetric");
  if (!symmetric && !SameWord(symmetry, "general"))
    return lines.Error("must be `symmetric` or `general`");
  if (!AtEnd(line)) return lines.Error("unexpected text after the banner");
  return absl::OkStatus();
}

absl::Status ParseEntry(const Lines& lines, std::string_view line, int nodes, bool symmetric,
                        Graph::Entry& entry) {
  long long row = 0;
  long long column = 0;
  if (!TakeNumber(line, row) || !TakeNumber(line, column))
    return lines.Error("must start with row and column");
  if (row < 1 || row > nodes || column < 1 || column > nodes) {
    return lines.Error("row and column must be in [1, ", nodes, "], got ", row, " ", column);
  }
  if (AtEnd(line)) return lines.Error("the weight is missing");
  if (!TakeNumber(line, entry.weight) || !AtEnd(line))
    return lines.Error("must be `row column weight`");
  if (!(entry.weight >= 0) || !std::isfinite(entry.weight)) {
    return lines.Error("weight must be finite and >= 0, got ", entry.weight);
  }
  if (symmetric && row < column) {
    return lines.Error("a symmetric file lists the lower triangle only, got row ", row, " column ",
                       column);
  }
  entry.row = static_cast<int>(row - 1);
  entry.column = static_cast<int>(column - 1);
  return absl::OkStatus();
}

void AppendNumber(double value, std::string& out) {
  char buffer[32];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

}  // namespace

absl::StatusOr<Graph> ParseMatrixMarket(std::string_view text, Graph::Kind kind) {
  const absl::StatusOr<TextLines> plain = TextLines::Of(text);
  if (!plain.ok()) return Annotate(plain.status(), "graph");
  Lines lines(*plain);
  bool symmetric = false;
  BANDANA_RETURN_IF_ERROR(ParseBanner(lines, symmetric));

  std::string_view line;
  long long rows = 0;
  long long columns = 0;
  long long count = 0;
  if (!lines.NextData(line)) return lines.Error("the size line is missing");
  if (!TakeNumber(line, rows) || !TakeNumber(line, columns) || !TakeNumber(line, count) ||
      !AtEnd(line)) {
    return lines.Error("must be `rows columns entries`");
  }
  if (rows != columns) return lines.Error("must be square, got ", rows, " x ", columns);
  if (rows < 1 || rows > kNodesMax)
    return lines.Error("nodes must be in [1, ", kNodesMax, "], got ", rows);

  Graph graph;
  graph.kind = kind;
  graph.nodes = static_cast<int>(rows);
  long long read = 0;
  while (lines.NextData(line)) {
    if (++read > count)
      return lines.Error("more than the ", count, " entries that the size line announces");
    Graph::Entry entry;
    BANDANA_RETURN_IF_ERROR(ParseEntry(lines, line, graph.nodes, symmetric, entry));
    graph.entries.push_back(entry);
    if (symmetric && entry.row != entry.column)
      graph.entries.push_back({entry.column, entry.row, entry.weight});
  }
  if (read != count) return lines.Error("file ends after ", read, " of ", count, " entries");
  BANDANA_RETURN_IF_ERROR(ValidateGraph(graph));
  return graph;
}

std::string ToMatrixMarket(const Graph& graph) {
  const bool symmetric = graph.kind == Graph::Kind::kEdgeWeights;
  std::string body;
  long long count = 0;
  for (const Graph::Entry& entry : graph.entries) {
    if (symmetric && entry.row < entry.column) continue;
    ++count;
    absl::StrAppend(&body, entry.row + 1, " ", entry.column + 1, " ");
    AppendNumber(entry.weight, body);
    body.push_back('\n');
  }
  return absl::StrCat("%%MatrixMarket matrix coordinate real ", symmetric ? "symmetric" : "general",
                      "\n", graph.nodes, " ", graph.nodes, " ", count, "\n", body);
}

}  // namespace bandana
