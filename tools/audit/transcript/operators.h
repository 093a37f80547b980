// The actions of operators on the models of a world's server.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/design/model_spec.h"
#include "tools/audit/alias_moves.h"
#include "tools/audit/transcript/recorder.h"
#include "tools/audit/transcript/world_server.h"

namespace bandana::audit {

// Answers are recorded: others hear of them. Not thread-safe.
class Operators {
 public:
  // `spec`: of the server now, which Update changes. `other`: of the second model; null: there is
  // none. All must outlive it.
  Operators(ModelSpec& spec, const ModelSpec* other, Recorder& recorder)
      : spec_(spec), other_(other), recorder_(recorder) {}
  void Attach(WorldServer* server) { server_ = server; }

  void OpenEpoch();
  void Checkpoint();
  // The change of the table of settings that stands at `amount`, [0, 1), as SIGHUP does it. An
  // application that starts later finds the new policy.
  void Update(double amount);
  // The answer tells whom the model knows: everybody who was selected for, or whose report was due,
  // reacted to or not.
  void Delete(const std::string& user);
  void MoveAlias(const AliasMove& move);
  // It stands for both models, or for one where devices follow one.
  void MakeAlias();

 private:
  ModelSpec& spec_;
  const ModelSpec* const other_;
  Recorder& recorder_;
  WorldServer* server_ = nullptr;
};

}  // namespace bandana::audit
