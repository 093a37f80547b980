#include "server/models/registry/model_jobs.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace bandana::server {
namespace {

constexpr auto kReleaseTime = std::chrono::seconds(10);

}  // namespace

std::vector<AbsentModel> RunAll(ModelJobs jobs) {
  std::vector<absl::Status> results(jobs.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) results[i] = jobs[i].second();
  };
  std::vector<std::thread> threads;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t t = 1; t < std::min(cores, jobs.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<AbsentModel> failed;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!results[i].ok()) failed.push_back({jobs[i].first, results[i]});
  }
  return failed;
}

void AwaitRelease(const std::weak_ptr<ServedModel>& model) {
  const auto give_up = std::chrono::steady_clock::now() + kReleaseTime;
  while (!model.expired() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace bandana::server
