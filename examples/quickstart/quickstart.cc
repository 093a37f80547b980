// Shows one of three articles a hundred times and reports whether it was clicked. Clicks are
// randomized on this device: the server learns which article is liked, not who clicked when.
//
//   quickstart 127.0.0.1:7070 device.db
#include <absl/time/clock.h>
#include <bandana/client.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: quickstart SERVER STORE\n");
    return 2;
  }
  // The device's memory: what was spent of the user's privacy, and reports that have not arrived.
  auto store = bandana::DeviceStore::Open(argv[2]);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    return 1;
  }

  bandana::ClientOptions options;
  options.target = argv[1];
  options.model = "articles";
  options.policy.epsilon_max = 2;  // Connect refuses a model that promises less
  auto client = bandana::Client::Connect(options, *store);
  if (!client.ok()) {
    std::fprintf(stderr, "%s\n", client.status().ToString().c_str());
    return 1;
  }

  // Three arms with three features each, row by row: sport, politics, length. And their ids: so the
  // server learns what the features do not say, that an article is popular.
  const std::vector<double> articles = {0.9, 0.1, 0.2,  //
                                        0.1, 0.9, 0.3,  //
                                        0.5, 0.5, 0.6};
  const std::vector<std::uint32_t> ids = {101, 102, 103};
  int clicks = 0;
  for (int i = 0; i < 100; ++i) {
    auto selection = (*client)->Select("user-1", bandana::Arms::Inline(articles, ids));
    if (!selection.ok()) {
      std::fprintf(stderr, "%s\n", selection.status().ToString().c_str());
      return 1;
    }
    const bool clicked = selection->arms[0].position == 1;  // this user likes the second article
    clicks += clicked;
    // Without a click there is nothing to do: the window reports the default by itself, at the same
    // time as it would have reported the click.
    if (clicked) {
      const absl::Status status = (*client)->Report(*selection, 1.0);
      if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
    }
  }

  // Reports leave when their windows close; until then they are safe in the store.
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while ((*client)->Stats().reports_pending > 0 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  const bandana::ClientStats stats = (*client)->Stats();
  const auto spent = (*client)->Spent("user-1");
  std::printf("%d clicks in 100; %llu reports applied, %llu of them by default\n", clicks,
              static_cast<unsigned long long>(stats.reports_applied),
              static_cast<unsigned long long>(stats.reports_defaulted));
  if (spent.ok()) {
    std::printf("epsilon %g per event, %llu events\n", spent->epsilon_event,
                static_cast<unsigned long long>(spent->events));
  }
  return stats.reports_applied == 100 ? 0 : 1;
}
