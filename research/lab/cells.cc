#include "research/lab/cells.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::lab {
namespace {

std::string CellName(const Cell& cell) {
  std::string name = absl::StrCat(cell.algorithm, " (", cell.label, ")");
  if (cell.epsilon.has_value()) absl::StrAppend(&name, " at epsilon ", *cell.epsilon);
  return absl::StrCat(name, ", seed ", cell.seed);
}

}  // namespace

absl::StatusOr<std::vector<CellResult>> RunCells(RunFunction run, const std::vector<Cell>& cells,
                                                 int threads,
                                                 const std::function<void(std::size_t)>& done) {
  std::vector<CellResult> results(cells.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t finished = 0;
  absl::Status failure;
  const auto work = [&] {
    for (std::size_t i = next++; i < cells.size(); i = next++) {
      const auto start = std::chrono::steady_clock::now();
      absl::StatusOr<CellResult> result = run(cells[i]);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      const std::lock_guard lock(mutex);
      if (!result.ok()) {
        if (failure.ok()) failure = Annotate(result.status(), CellName(cells[i]));
        next = cells.size();
        return;
      }
      results[i] = *std::move(result);
      results[i].seconds = taken.count();
      ++finished;
      if (done) done(finished);
    }
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  if (!failure.ok()) return failure;
  return results;
}

}  // namespace bandana::lab
