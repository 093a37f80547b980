#include "common/decisions/csv_reader.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/utf8.h"

namespace bandana {
namespace {

// Splits lines into the cells of one record. Buffers of `cells` are used again.
class Splitter {
 public:
  explicit Splitter(std::vector<std::string>& cells) : cells_(cells) {}

  // False: the record goes on in the next line. `problem` is set where it is none.
  bool Take(std::string_view text, std::string& problem) {
    std::size_t at = 0;
    if (quoted_) {
      *cell_ += '\n';
    } else {
      Begin();
    }
    for (;;) {
      if (!quoted_ && cell_->empty() && !closed_ && at < text.size() && text[at] == '"') {
        quoted_ = true;
        ++at;
      }
      if (quoted_) {
        const std::size_t quote = text.find('"', at);
        *cell_ += text.substr(at, quote - at);
        if (quote == std::string_view::npos) return false;
        at = quote + 1;
        if (at < text.size() && text[at] == '"') {
          *cell_ += '"';
          ++at;
          continue;
        }
        quoted_ = false;
        closed_ = true;
      }
      const std::size_t end = std::min(text.find(',', at), text.size());
      std::string_view plain = text.substr(at, end - at);
      if (end == text.size() && plain.ends_with('\r')) plain.remove_suffix(1);  // of CRLF
      if ((closed_ && !plain.empty()) || plain.find('"') != std::string_view::npos) {
        problem = absl::StrCat("cell ", count_, ": has a quote out of place");
        return true;
      }
      *cell_ += plain;
      if (end == text.size()) break;
      if (count_ == kCsvColumnsMax) {
        problem = absl::StrCat("must have at most ", kCsvColumnsMax, " cells");
        return true;
      }
      at = end + 1;
      Begin();
    }
    cells_.resize(count_);
    return true;
  }

  std::size_t bytes() const { return cell_ == nullptr ? 0 : cell_->size(); }

 private:
  void Begin() {
    if (cells_.size() == count_) cells_.emplace_back();
    cell_ = &cells_[count_++];
    cell_->clear();
    closed_ = false;
  }

  std::vector<std::string>& cells_;
  std::string* cell_ = nullptr;
  std::size_t count_ = 0;
  bool quoted_ = false;
  bool closed_ = false;  // the cell's last quote has come
};

}  // namespace

absl::StatusOr<bool> CsvReader::ReadRecord(std::vector<std::string>& cells, std::string& problem) {
  Splitter splitter(cells);
  std::string_view text;
  do {
    BANDANA_ASSIGN_OR_RETURN(const bool found, reader_.Read(text));
    if (!found) return false;
  } while ((text.empty() || text == "\r") && !reader_.too_long());
  line_ = reader_.number();
  while (!reader_.too_long() && !splitter.Take(text, problem)) {
    BANDANA_ASSIGN_OR_RETURN(const bool found, reader_.Read(text));
    if (!found || splitter.bytes() > kDecisionLineBytesMax) {
      problem = "a quote is not closed";
      return true;
    }
  }
  if (reader_.too_long()) {
    problem = absl::StrCat("the line must have at most ", kDecisionLineBytesMax, " bytes");
  } else if (problem.empty()) {
    for (const std::string& cell : cells) {
      if (!IsUtf8(cell)) problem = "must be UTF-8";
    }
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> CsvReader::ReadHeader() {
  std::vector<std::string> header;
  std::string problem;
  BANDANA_ASSIGN_OR_RETURN(const bool found, ReadRecord(header, problem));
  if (!found) return InvalidArgument("line 1: a header is missing");
  if (!problem.empty()) return InvalidArgument("line ", line_, ": ", problem);
  std::set<std::string_view> names;
  for (const std::string& name : header) {
    if (!name.empty() && !names.insert(name).second) {
      return InvalidArgument("line ", line_, ": column \"", name, "\" stands twice");
    }
  }
  columns_ = header.size();
  return header;
}

absl::StatusOr<CsvReader::Next> CsvReader::Read(std::vector<std::string>& cells,
                                                DecisionFault& fault) {
  std::string problem;
  BANDANA_ASSIGN_OR_RETURN(const bool found, ReadRecord(cells, problem));
  if (!found) return Next::kEnd;
  const bool cut = reader_.cut();
  if (problem.empty() && cells.size() != columns_) {
    problem =
        absl::StrCat("must have as many cells as the header, ", columns_, ", got ", cells.size());
  }
  if (problem.empty() && cut) problem = "ends without a line end, so its last cell may be cut";
  if (problem.empty()) return Next::kRow;
  fault = {line_, 1, cut ? skip_reason::kCutLine : skip_reason::kMalformed,
           absl::StrCat("line ", line_, ": ", problem)};
  return Next::kFault;
}

}  // namespace bandana
