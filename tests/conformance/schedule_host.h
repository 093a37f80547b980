// A host of the C interface that runs the steps of schedules, and says line by line what its hooks
// were given. Hosts in other languages run the same steps over their own stores (README.md).
#pragma once

#include <bandana.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bandana::conformance {

// An event, and when. Members that its kind does not have are empty.
struct Step {
  std::int64_t wall_ns = 0;
  std::int64_t elapsed_ns = 0;
  std::string kind;
  std::string text;         // user, model, mode of commits, body in bytes
  std::int64_t number = 0;  // call, selection, status, leave
  std::int64_t second = 0;  // kind of selection, slots
  std::uint64_t bits = 0;   // of a reward or an epsilon
  std::vector<std::pair<std::string, std::string>> headers;
};

// Bytes of hexadecimal digits.
std::string Unhex(std::string_view hex);

class ScheduleHost {
 public:
  struct Call {
    std::uint64_t id = 0;
    std::string path;
    std::string message;
  };

  explicit ScheduleHost(std::uint64_t schedule) : schedule_(schedule) {}
  ~ScheduleHost();
  ScheduleHost(const ScheduleHost&) = delete;

  // The lines that came of it.
  std::vector<std::string> Run(const Step& step);

  // For those who choose what comes next.
  const std::deque<Call>& calls() const { return calls_; }
  std::size_t selections() const { return handles_.size(); }
  bool connected() const { return client_ != 0; }
  bool holds_commit() const { return held_.has_value(); }
  std::int64_t wake_ns() const { return wake_ns_; }

 private:
  using Row = std::vector<std::string>;  // cells, as in lines

  bandana_hooks Hooks();
  void Open();
  void Connect(const Step& step);
  void Select(const Step& step);
  void Report(const Step& step);
  void Answer(const Step& step);
  void Commit(const bandana_commit& commit);
  void Tell(const bandana_result& result);
  int Random(unsigned char* out, std::size_t size);
  void Apply();
  void Say(std::string line) { lines_.push_back(std::move(line)); }
  void Returned(const char* function, int code);

  const std::uint64_t schedule_;
  bandana_device device_ = 0;
  bandana_client client_ = 0;
  std::int64_t wall_ns_ = 0;
  std::int64_t elapsed_ns_ = 0;
  std::int64_t wake_ns_ = -1;
  std::uint64_t drawn_ = 0;  // bytes of entropy
  std::uint64_t tag_ = 0;
  bool entropy_fails_ = false;
  std::string commits_ = "stand";
  struct Change {
    int table = 0;
    bool erased = false;
    Row cells;
  };
  std::vector<Change> changes_;  // of the commit that is under way
  std::optional<std::uint64_t> held_;
  std::map<std::pair<int, Row>, Row> rows_;  // that are durable
  std::optional<bandana_mark> mark_;
  std::deque<Call> calls_;
  std::vector<std::string> handles_;
  std::vector<std::string> lines_;
};

}  // namespace bandana::conformance
