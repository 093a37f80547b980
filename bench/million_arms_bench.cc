// The best 10 of a million arms, each with an effect of its own, by the search and by a plain scan:
//   ./dev bench million_arms [--users 1000000 --arms 1000000 --events 10000000]
// The model learns from the events of `./dev bench effects`; another user per query, drawn by the
// same law. The last line is `select_ms_p50=X select_ms_p99=X scanned_share=X`: the share of arms
// whose width was computed. Every --plain_every-th query is also answered by a scan of all arms,
// and must be the same. Then queries without and with a filter that leaves a tenth of the arms, in
// turns; and the queries of before while 10,000 arms change per second.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/measure.h"
#include "bench/zipf_events.h"
#include "common/bandits/effects/effects_posterior.h"
#include "common/base/check.h"
#include "server/models/catalogue/arm_beliefs.h"
#include "server/models/catalogue/catalogue.h"
#include "server/service/catalogue_search.h"

ABSL_FLAG(int, users, 1'000'000, "users, by Zipf's law");
ABSL_FLAG(int, arms, 1'000'000, "arms, by Zipf's law");
ABSL_FLAG(std::int64_t, events, 10'000'000, "learnt before the first query");
ABSL_FLAG(int, dimension, 25, "of the features");
ABSL_FLAG(int, levels, 8, "of groups of users");
ABSL_FLAG(bool, weights, true, "the model's effects have weights");
ABSL_FLAG(int, queries, 500, "of each kind");
ABSL_FLAG(int, plain_every, 25, "queries between two plain scans");
ABSL_FLAG(int, changes_per_second, 10'000, "arms put again while queries run");
ABSL_FLAG(int, changes_together, 100, "arms of one change");

namespace bandana::bench {
namespace {

using Clock = std::chrono::steady_clock;
using server::Catalogue;
using server::CatalogueArm;

constexpr int kTopK = 10;

double Milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double CpuMilliseconds() { return 1e3 * CpuSeconds(); }

class Bench {
 public:
  explicit Bench(const ZipfOptions& zipf)
      : zipf_(zipf), events_(zipf), core_(MakeZipfModel(zipf)), effects_(core_->state().effects) {
    const double before = ResidentMib();
    const auto start = Clock::now();
    std::vector<CatalogueArm> arms;
    for (int id = 0; id < zipf.arms; ++id) arms.push_back(RandomArm(id));
    const auto drawn = Clock::now();
    const server::CatalogueShape shape{.dimension = zipf.dimension, .has_keys = true, .groups = {}};
    catalogue_ = Catalogue::Make(shape, arms);
    std::printf("catalogue: drawn in %.0f ms, made in %.0f ms, %.0f bytes per arm\n",
                Milliseconds(drawn - start), Milliseconds(Clock::now() - drawn),
                static_cast<double>(catalogue_->bytes()) / zipf.arms);
    arms = {};
    std::printf("rss_mib of the catalogue: %.0f\n", ResidentMib() - before);
    beliefs_.Follow(effects_.get());
    beliefs_.Begin();
    effects_->Watch([this](std::span<const EffectKey> arm) { beliefs_.Note(arm); });
    beliefs_.Fill(*catalogue_, {});
    beliefs_.End(catalogue_);
    served_ = core_->Served();
  }

  void Learn(std::int64_t events) {
    ZipfEvent event;
    double total = 0;
    for (std::int64_t done = 0; done < events; done += 1000) {
      if (log_.due()) Append(log_.Time());
      for (int i = 0; i < 1000; ++i) {
        events_.Next(event);
        Append(log_.Outcome(event));
      }
      const double start = CpuMilliseconds();
      served_ = core_->Served();
      total += CpuMilliseconds() - start;
    }
    if (events > 0) {
      std::printf("learnt %lld events, %.2f us of CPU each with its arm's page told\n",
                  static_cast<long long>(events), 1e3 * total / static_cast<double>(events));
    }
  }

  struct Figures {
    std::vector<double> search_ms;
    std::vector<double> plain_ms;
    std::vector<double> search_cpu_ms;
    std::vector<double> plain_cpu_ms;
    double scored = 0;
  };

  Figures Query(int queries, int plain_every) {
    Figures figures;
    server::ArmBlock block;
    ArmScores scores;
    NodePosterior scratch;
    std::vector<EffectKey> user;
    const server::ArmFilter everything;
    const server::NamedFeatures none;
    for (int i = 0; i < queries; ++i) {
      events_.DrawUser(user);
      const std::shared_ptr<const Catalogue> catalogue = Now();
      const server::CatalogueSearch search{.filter = everything,
                                           .named = none,
                                           .catalogue = *catalogue,
                                           .posterior = *served_,
                                           .whom = {.node = 0, .keys = user},
                                           .top_k = kTopK,
                                           .tie_key = static_cast<std::uint64_t>(i)};
      const auto start = Clock::now();
      const double start_cpu = CpuMilliseconds();
      const auto count = server::SearchArms(search, scratch, block, scores);
      figures.search_ms.push_back(Milliseconds(Clock::now() - start));
      figures.search_cpu_ms.push_back(CpuMilliseconds() - start_cpu);
      BANDANA_CHECK(count.has_value());
      figures.scored += static_cast<double>(count->scored) / count->arms / queries;
      if (plain_every == 0 || i % plain_every != 0) continue;
      const std::vector<std::uint32_t> found = block.ids;
      const auto again = Clock::now();
      const double again_cpu = CpuMilliseconds();
      block.Clear();
      catalogue->ForEach([&](const server::CatalogueEntry& arm) {
        block.ids.push_back(arm.id);
        block.arms.push_back(arm.features.data());
        block.keys.insert(block.keys.end(), arm.keys.begin(), arm.keys.end());
        return true;
      });
      served_->Score(search.whom, {.features = block.arms, .keys = block.keys}, scratch, scores);
      const std::vector<int> ranking = RankArms(scores.scores, kTopK, search.tie_key);
      figures.plain_ms.push_back(Milliseconds(Clock::now() - again));
      figures.plain_cpu_ms.push_back(CpuMilliseconds() - again_cpu);
      for (int rank = 0; rank < kTopK; ++rank) {
        BANDANA_CHECK(block.ids[ranking[rank]] == found[rank]);
      }
    }
    return figures;
  }

  // All arms, and those of a filter that leaves a tenth, in turns, as Select goes through them.
  struct Turns {
    std::vector<double> all_ms;
    std::vector<double> tenth_ms;
    double share = 0;  // of the arms that the filter leaves
  };
  Turns QueryInTurns(int queries) {
    Turns turns;
    server::ArmBlock block;
    ArmScores scores;
    NodePosterior scratch;
    std::vector<EffectKey> user;
    const server::NamedFeatures none;
    v1::ArmSet set;
    set.mutable_catalogue_query();
    const server::OfferRules everything;
    const server::OfferRules tenth{.where = {{.field = "price", .most = 10}}};
    const std::shared_ptr<const Catalogue> catalogue = Now();
    for (int i = 0; i < queries; ++i) {
      events_.DrawUser(user);
      for (const bool filtered : {false, true}) {
        const server::OfferRules& offer = filtered ? tenth : everything;
        const auto start = Clock::now();
        BANDANA_CHECK(server::IsForSearch(set, zipf_.arms, *catalogue, offer));
        const server::ArmFilter filter = server::FilterOf(set.catalogue_query(), offer);
        const auto count = server::SearchArms({.filter = filter,
                                               .named = none,
                                               .catalogue = *catalogue,
                                               .posterior = *served_,
                                               .whom = {.node = 0, .keys = user},
                                               .top_k = kTopK,
                                               .tie_key = static_cast<std::uint64_t>(i)},
                                              scratch, block, scores);
        (filtered ? turns.tenth_ms : turns.all_ms).push_back(Milliseconds(Clock::now() - start));
        if (filtered) turns.share += static_cast<double>(count->arms) / zipf_.arms / queries;
      }
    }
    return turns;
  }

  // Puts random arms again until told to stop; returns the CPU milliseconds of each change.
  std::vector<double> Change(int per_second, int together, const std::atomic<bool>& stop) {
    std::vector<double> times;
    SeededStream stream(7, StreamPurpose::kArrival, 1);
    const auto begin = Clock::now();
    for (int n = 0; !stop; ++n) {
      std::vector<CatalogueArm> arms;
      for (int i = 0; i < together; ++i) {
        const int id = std::min(zipf_.arms - 1, static_cast<int>(stream.Uniform() * zipf_.arms));
        arms.push_back({.id = static_cast<std::uint32_t>(id),
                        .features = std::vector<double>(zipf_.dimension, 0.2),
                        .tags = {}});
      }
      const double start = CpuMilliseconds();
      beliefs_.Begin();
      const auto next = Now()->With(arms, {});
      beliefs_.Fill(*next, arms);
      beliefs_.End(next);
      Publish(next);
      times.push_back(CpuMilliseconds() - start);
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>((n + 1.0) * together / per_second)));
    }
    return times;
  }

 private:
  void Append(std::string record) { BANDANA_CHECK(core_->Append(std::move(record)).ok()); }
  CatalogueArm RandomArm(int id) {
    CatalogueArm arm;
    arm.id = static_cast<std::uint32_t>(id);
    events_.DrawFeatures(arm.features);
    arm.facts.fields["price"] = static_cast<double>(static_cast<unsigned>(id) * 2654435761u >> 16) /
                                65536 * 100;  // uniform, and independent of what was drawn
    return arm;
  }
  std::shared_ptr<const Catalogue> Now() {
    const std::lock_guard lock(mutex_);
    return catalogue_;
  }
  void Publish(std::shared_ptr<const Catalogue> next) {
    const std::lock_guard lock(mutex_);
    catalogue_.swap(next);
  }

  const ZipfOptions zipf_;
  ZipfEvents events_;
  ZipfLog log_;
  const std::unique_ptr<ModelCore> core_;
  const std::shared_ptr<EffectsPosterior> effects_;
  std::shared_ptr<const ServedPosterior> served_;
  server::ArmBeliefs beliefs_;
  std::mutex mutex_;
  std::shared_ptr<const Catalogue> catalogue_;
};

void Print(const char* when, const Bench::Figures& figures) {
  std::printf(
      "%s: search p50=%.2f ms p99=%.2f ms (CPU %.2f, %.2f), plain scan p50=%.1f ms (CPU %.1f), the "
      "same arms, scored %.6f\n",
      when, Percentile(figures.search_ms, 0.5), Percentile(figures.search_ms, 0.99),
      Percentile(figures.search_cpu_ms, 0.5), Percentile(figures.search_cpu_ms, 0.99),
      Percentile(figures.plain_ms, 0.5), Percentile(figures.plain_cpu_ms, 0.5), figures.scored);
}

int Main() {
  ZipfOptions zipf;
  zipf.users = absl::GetFlag(FLAGS_users);
  zipf.arms = absl::GetFlag(FLAGS_arms);
  zipf.dimension = absl::GetFlag(FLAGS_dimension);
  zipf.levels = absl::GetFlag(FLAGS_levels);
  zipf.weights = absl::GetFlag(FLAGS_weights);
  const int queries = absl::GetFlag(FLAGS_queries);
  Bench bench(zipf);
  const auto untouched = bench.Query(std::min(queries, 5), 1);
  Print("before the first event", untouched);
  bench.Learn(absl::GetFlag(FLAGS_events));
  const auto figures = bench.Query(queries, absl::GetFlag(FLAGS_plain_every));
  Print("learnt", figures);
  const auto turns = bench.QueryInTurns(queries);
  std::printf(
      "filter that leaves %.3f: p50=%.2f ms p99=%.2f ms, without p50=%.2f ms p99=%.2f ms, "
      "p99_ratio=%.2f\n",
      turns.share, Percentile(turns.tenth_ms, 0.5), Percentile(turns.tenth_ms, 0.99),
      Percentile(turns.all_ms, 0.5), Percentile(turns.all_ms, 0.99),
      Percentile(turns.tenth_ms, 0.99) / Percentile(turns.all_ms, 0.99));
  std::atomic<bool> stop = false;
  std::vector<double> changes;
  std::thread changer([&] {
    changes = bench.Change(absl::GetFlag(FLAGS_changes_per_second),
                           absl::GetFlag(FLAGS_changes_together), stop);
  });
  const auto beside = bench.Query(queries, 0);
  stop = true;
  changer.join();
  std::printf(
      "beside changes of arms: search p50=%.2f ms p99=%.2f ms (CPU %.2f, %.2f), %.2f times as long "
      "(CPU %.2f); a change of %d arms takes %.2f ms of CPU, p99 %.2f\n",
      Percentile(beside.search_ms, 0.5), Percentile(beside.search_ms, 0.99),
      Percentile(beside.search_cpu_ms, 0.5), Percentile(beside.search_cpu_ms, 0.99),
      Percentile(beside.search_ms, 0.5) / Percentile(figures.search_ms, 0.5),
      Percentile(beside.search_cpu_ms, 0.5) / Percentile(figures.search_cpu_ms, 0.5),
      absl::GetFlag(FLAGS_changes_together), Percentile(changes, 0.5), Percentile(changes, 0.99));
  std::printf("select_ms_p50=%.2f select_ms_p99=%.2f scanned_share=%.6f\n",
              Percentile(figures.search_ms, 0.5), Percentile(figures.search_ms, 0.99),
              figures.scored);
  return 0;
}

}  // namespace
}  // namespace bandana::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return bandana::bench::Main();
}
