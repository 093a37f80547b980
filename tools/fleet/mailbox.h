// Messages from many threads to one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace bandana {

// Threads: Send from any, Receive from one. Senders may keep a mailbox alive (std::shared_ptr)
// beyond its reader.
template <typename Message>
class Mailbox {
 public:
  void Send(Message message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }

  // Everything that arrived, in order; waits until `deadline` for the first. May be empty.
  std::vector<Message> Receive(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, deadline, [this] { return !messages_.empty(); });
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
};

}  // namespace bandana
