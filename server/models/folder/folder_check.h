// Whether a model's folder is whole, for an operator: without its server, its configuration or its
// noise key.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/log/log_engine.h"
#include "server/models/folder/checkpoint_seal.h"

namespace bandana::server {

struct FileVerdict {
  std::string file;  // its name in the folder
  absl::Status status;
  std::string detail;  // what it holds, or ""
};

struct FolderVerdict {
  std::vector<FileVerdict> files;
  // OK: a server opens the folder, from a checkpoint that may be the older one. DATA_LOSS: it does
  // not, and why.
  absl::Status opens;
  // Every file is whole.
  bool whole() const;
};

// Reads every byte: checksums, the log's chain from the oldest checkpoint on, the ids, what was
// published. Opens the log as a start would, which cuts a torn tail; nobody else may have it open.
// `log`: the configured engine.
FolderVerdict CheckModelFolder(const std::string& folder,
                               const std::shared_ptr<const CheckpointSeal>& seal,
                               const LogEngine& log = *DefaultLogEngine());

}  // namespace bandana::server
