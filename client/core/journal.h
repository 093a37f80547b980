// The way of operations into the device's state.
#pragma once

#include "client/core/writer.h"

namespace bandana::device {

// Operations run one after another, in the order in which they come. `committed` gets the
// operation's status once its transaction is durable, or the failure that undid it; it may be null
// and must not block. Threads: as the derived class says.
class Journal {
 public:
  using Operation = Writer::Operation;
  using Committed = Writer::Committed;

  virtual ~Journal() = default;

  virtual void Enqueue(Operation operation, Committed committed) = 0;
  // Enqueues a reaction: lazy operations do not go sooner because of it.
  virtual void EnqueueReaction(Operation operation, Committed committed) = 0;
  // For operations that may be lost in a crash: joins the next transaction of Enqueue, before it,
  // or makes one within a second.
  virtual void EnqueueLazy(Operation operation) = 0;
};

}  // namespace bandana::device
