// The way of operations into the device's state.
#pragma once

#include <utility>

#include "client/core/writer.h"

namespace bandana::device {

// Operations run one after another, in the order in which they come. `committed` gets the
// operation's status once its transaction is durable, or the failure that undid it; it may be null
// and must not block. Threads: as the derived class says.
class Journal {
 public:
  using Entry = Writer::Entry;
  using Operation = Writer::Operation;
  using Committed = Writer::Committed;

  virtual ~Journal() = default;

  // Lazy operations join the next transaction of others, before them, or make one within a second;
  // they do not go sooner because of a reaction.
  virtual void Push(Entry entry) = 0;

  void Enqueue(Operation operation, Committed committed) {
    Push({.operation = std::move(operation), .committed = std::move(committed)});
  }
  void EnqueueLazy(Operation operation) { Push({.operation = std::move(operation), .lazy = true}); }
};

}  // namespace bandana::device
