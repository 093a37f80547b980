// A host of libbandana in memory, which answers calls and commits when a test says so.
#pragma once

#include <bandana.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bandana::testing {

inline bandana_bytes BytesFor(std::string_view text) { return {text.data(), text.size()}; }
inline std::string TextFrom(const bandana_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

// One cell, owned.
struct AbiCell {
  std::int32_t kind = 0;
  std::int64_t integer = 0;
  double real = 0;
  std::string bytes;
  auto operator<=>(const AbiCell&) const = default;
};
using AbiRow = std::vector<AbiCell>;

std::vector<bandana_cell> CellsOf(const AbiRow& row);
AbiRow RowFrom(const bandana_cell* cells, std::size_t count);

// Not thread-safe.
class AbiHost {
 public:
  // By table and key.
  using Rows = std::map<std::pair<std::int32_t, AbiRow>, AbiRow>;
  struct Call {
    std::uint64_t id = 0;
    std::string path;
    std::string message;  // without its frame
    std::int64_t deadline_ms = 0;
    bool wait_for_ready = false;
    bool keep_connection = false;
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers;
  };
  struct Told {
    std::uint64_t tag = 0;
    int kind = 0;
    int code = 0;
    std::string message;
    bandana_client client = 0;
    int value = 0;
    std::vector<std::string> handles;
    std::optional<bandana_spent> spent;
  };

  AbiHost();
  ~AbiHost();
  AbiHost(const AbiHost&) = delete;

  bandana_hooks Hooks();
  // Frees the device, and makes one that has the rows. Returns the code of bandana_start.
  int Open(Rows rows, const bandana_mark* seen = nullptr, bool durable = true);
  // The options of a client that accepts the model.
  static bandana_options Options(std::string_view model);
  int Connect(std::string_view model, std::uint64_t tag);
  int Select(std::string_view user, std::uint64_t tag, int by = BANDANA_SELECT, int slots = 0);
  int Report(const std::string& handle, double reward, std::uint64_t tag);
  // Answers with a message, as the server does.
  int Answer(const Call& call, const std::string& message);
  int AnswerWith(const Call& call, int http_status, const std::string& body,
                 const std::vector<bandana_header>& headers = {});
  void Pass(std::int64_t nanos);
  // Answers every call that is under way then, in their order.
  void PassAndAnswer(std::int64_t nanos, const std::function<std::string(const Call&)>& message);
  // Clocks and the hook `random` begin anew, as in a host that was just made.
  void Restart();

  // The last result with the tag; code -1: none came.
  Told Result(std::uint64_t tag) const;
  Call TakeCall();

  bandana_device device = 0;
  bandana_client client = 0;  // connected last
  Rows rows;                  // that are durable
  std::deque<Call> calls;
  std::vector<Told> told;
  std::vector<std::uint64_t> commits;  // ids
  std::vector<std::string> hooks_called;
  std::optional<bandana_mark> mark;
  std::int64_t wall_ns = kWallStart;
  std::int64_t elapsed_ns = kElapsedStart;
  std::int64_t wake_ns = -1;
  // The host's behaviour.
  bool answers_commits = true;
  int commit_code = 0;
  bool entropy_fails = false;
  bool free_in_commit = false;
  int code_inside_random = -1;  // of a function that the hook `random` called

 private:
  static constexpr std::int64_t kWallStart = 1'800'000'000'000'000'000;
  static constexpr std::int64_t kElapsedStart = 5'000'000'000;
  static AbiHost& Of(void* context) { return *static_cast<AbiHost*>(context); }
  void Commit(const bandana_commit& commit);
  void Tell(const bandana_result& result);
  int Random(void* out, std::size_t size);

  std::uint32_t random_ = 1;
};

// Body of an answer: a frame with the message, and trailers behind it.
std::string WebBody(const std::string& message, const std::string& trailers = "grpc-status: 0\r\n");

}  // namespace bandana::testing
