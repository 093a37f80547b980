// A shop that learns what sells where, by the SDK: on the web jazz sells, elsewhere rock.
//
//   shop_sdk 127.0.0.1:7070 device.db
#include <bandana/client.h>

#include <cstdio>
#include <string>
#include <vector>

using bandana::Features;

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: shop_sdk SERVER STORE\n"), 2;
  auto store = bandana::DeviceStore::Open(argv[2]);
  if (!store.ok()) return std::fprintf(stderr, "%s\n", store.status().ToString().c_str()), 1;
  bandana::ClientOptions options;
  options.target = argv[1];
  options.model = "shop";
  options.policy = bandana::PrivacyPolicy::AcceptAnything();  // this server is told what sold
  auto client = bandana::Client::Connect(options, *store);
  if (!client.ok()) return std::fprintf(stderr, "%s\n", client.status().ToString().c_str()), 1;

  const std::vector<bandana::NamedArm> discs = {
      {"disc-7", Features().Number("price", 12.5).Texts("tags", {"rock", "new"})},
      {"disc-8", Features().Number("price", 12.5).Texts("tags", {"jazz"})}};
  constexpr int kRounds = 200;
  constexpr int kLast = 50;
  int sold = 0;
  for (int round = 0; round < kRounds; ++round) {
    const bool web = round % 2 == 0;
    const Features context = Features().Text("device", web ? "web" : "ios").Number("hour", 20);
    const auto selection = (*client)->Select("ann", bandana::Arms::Named(discs).In(context));
    if (!selection.ok()) {
      return std::fprintf(stderr, "%s\n", selection.status().ToString().c_str()), 1;
    }
    const bool sells = (selection->arms[0].name == "disc-8") == web;
    if (sells && round >= kRounds - kLast) ++sold;
    const absl::Status reported = (*client)->Report(*selection, sells ? 1 : 0);
    if (!reported.ok()) return std::fprintf(stderr, "%s\n", reported.ToString().c_str()), 1;
    if (!(*client)->Flush(absl::Seconds(10))) return 1;  // only so that the next round knows
  }
  std::printf("%d of the last %d sold\n", sold, kLast);
  return 0;
}
