#include "server/ops/observation/model_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace bandana::server {
namespace {

std::string Instant(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone());
}

// With a capital, as texts of refusals begin in the middle of a sentence.
std::string Sentence(std::string text) {
  if (!text.empty()) text[0] = absl::ascii_toupper(static_cast<unsigned char>(text[0]));
  return text;
}

std::string Rounded(absl::Duration duration) {
  return absl::FormatDuration(absl::Trunc(duration, absl::Seconds(1)));
}

}  // namespace

State StateOf(const ModelView& model) {
  State state{.word = model.followed ? "following" : "serving"};
  const auto add = [&state](Level level, const char* word, Trouble trouble) {
    if (level > state.level) {
      state.level = level;
      state.word = word;
    }
    state.troubles.push_back(std::move(trouble));
  };
  const bool failed = !model.failure.empty() && !model.passes;
  if (!model.failure.empty() && model.refusals.empty()) {
    add(Level::kBad, failed ? "failed" : "not learning",
        {.why = Sentence(model.failure), .remedy = "", .since = std::nullopt});
  }
  for (const RefusalView& refusal : model.refusals) {
    const bool of_few = refusal.reason == NameOf(RefusalReason::kBudget);
    const bool of_clock = refusal.reason == NameOf(RefusalReason::kClock);
    add(of_few || of_clock ? Level::kWarning : Level::kBad,
        of_few     ? "budget spent"
        : of_clock ? "clock doubted"
        : failed   ? "failed"
                   : "not learning",
        {Sentence(refusal.text), Sentence(refusal.remedy), refusal.since});
  }
  if (state.level == Level::kGood && model.budget_used && *model.budget_used >= 1) {
    add(Level::kWarning, "budget spent",
        {.why = absl::StrCat("The budget of at least one principal is spent (", model.budget,
                             "): its reports are refused"),
         .remedy = "The others go on; see \"Budget exhaustion\" in docs/operations/models.md",
         .since = std::nullopt});
  }
  const absl::Duration still = absl::Seconds(model.posterior_age_seconds);
  if (state.level == Level::kGood && model.apply_lag() > 0 && still > kStandsStillMax) {
    add(Level::kWarning, "behind",
        {.why = absl::StrCat(model.apply_lag(),
                             " entries wait to be learnt, and the posterior has "
                             "stood still for ",
                             Rounded(still)),
         .remedy = "Nothing is lost; see \"The posterior lags\" in docs/operations/alerts.md",
         .since = std::nullopt});
  }
  return state;
}

State StateOf(const ServerView& view, absl::Time now) {
  if (view.starting) {
    return {.level = Level::kWarning,
            .word = "starting",
            .troubles = {{.why = "Models are being opened: each is served as soon as it is open",
                          .remedy = "",
                          .since = std::nullopt}}};
  }
  if (view.draining) {
    return {.level = Level::kBad,
            .word = "draining",
            .troubles = {{.why = "The server is about to stop, and asks callers to go elsewhere",
                          .remedy = "",
                          .since = std::nullopt}}};
  }
  State state{.word = "serving"};
  if (view.reload_refused) {
    state.level = Level::kWarning;
    state.troubles.push_back(
        {.why = "The configuration file was read again and not all of it was taken",
         .remedy =
             "The log names each mistake, and what needs a restart: correct the file and send "
             "SIGHUP again, or restart",
         .since = view.reload_refused});
  }
  if (view.tls_expiry_seconds <= 0) return state;
  const absl::Time end = absl::UnixEpoch() + absl::Seconds(view.tls_expiry_seconds);
  if (end - now > kCertificateLeftMin) return state;
  const bool over = end <= now;
  state.level = std::max(state.level, over ? Level::kBad : Level::kWarning);
  state.troubles.push_back(
      {.why = over ? absl::StrCat("The TLS certificate ended on ", Instant(end),
                                  ": callers refuse this server")
                   : absl::StrCat("The TLS certificate ends on ", Instant(end)),
       .remedy =
           "Replace certificate_file and private_key_file: the server takes them up by itself",
       .since = std::nullopt});
  return state;
}

std::string Words(const Trouble& trouble, absl::Time now) {
  const auto sentence = [](const std::string& text) {
    const bool ends = text.empty() || text.back() == '.' || text.back() == '!';
    return absl::StrCat(text, ends ? "" : ".");
  };
  std::string words = sentence(trouble.why);
  if (!trouble.remedy.empty()) absl::StrAppend(&words, " ", sentence(trouble.remedy));
  if (trouble.since) {
    absl::StrAppend(&words, " Since ", Instant(*trouble.since), " (", Rounded(now - *trouble.since),
                    ").");
  }
  return words;
}

}  // namespace bandana::server
