// Keeps what the pages of a catalogue say of their arms in step with a model of effects, so that a
// search through a million arms looks up none of them.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "common/bandits/effects/effects_posterior.h"
#include "common/ranking/effect_key.h"
#include "server/models/catalogue/catalogue.h"

namespace bandana::server {

// Threads: safe; Begin and End by one thread at a time.
class ArmBeliefs {
 public:
  // Before the model's first event. `effects` must outlive every catalogue's changes.
  void Follow(const EffectsPosterior* effects);

  // For the model's writer: an event of this arm was shown.
  void Note(std::span<const EffectKey> arm);

  // While a catalogue is made of another one, what the writer notes is kept, to be told to the new
  // one as well.
  void Begin();
  // `arms` are new in `next`, or all arms when there are none.
  void Fill(const Catalogue& next, std::span<const CatalogueArm> arms) const;
  // From now on `next` is told.
  void End(std::shared_ptr<const Catalogue> next);

 private:
  struct Noted {
    int part = 0;
    EffectKey key = kAbsent;
    EffectsModel::Belief belief;
  };
  // The beliefs about an arm or group without events, by part. It changes where scales are learnt,
  // and what is believed of all others with it.
  std::vector<double> Priors() const;
  void FillArm(const Catalogue& next, const CatalogueEntry& arm) const;
  static void Tell(const Catalogue& catalogue, const Noted& noted);

  const EffectsPosterior* effects_ = nullptr;
  std::vector<double> priors_;  // of the writer
  std::mutex mutex_;
  std::shared_ptr<const Catalogue> told_;
  bool changing_ = false;
  bool fill_again_ = false;   // priors changed meanwhile
  std::vector<Noted> noted_;  // while changing
};

}  // namespace bandana::server
