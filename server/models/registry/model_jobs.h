// Long steps of single models, such as opening one: several at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/models/registry.h"

namespace bandana::server {

using ModelJob = std::function<absl::Status()>;
using ModelJobs = std::vector<std::pair<std::string, ModelJob>>;  // by model

// Runs all of them on as many threads as the machine has cores, and returns those that failed.
std::vector<AbsentModel> RunAll(ModelJobs jobs);

// Waits until nobody uses a model that is not found any more: calls in flight take milliseconds.
// Gives up after 10 s.
void AwaitRelease(const std::weak_ptr<ServedModel>& model);

}  // namespace bandana::server
