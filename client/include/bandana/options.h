// How an application connects and what it demands, grouped by what it changes: privacy, behaviour,
// speed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace bandana {

// The least privacy the application accepts. Connect refuses a model that is weaker in any point.
struct PrivacyPolicy {
  // Rewards must be randomized on the device. Default true: a central or non-private model is
  // refused.
  bool require_local = true;
  // Largest epsilon an event may cost; [0, inf). Larger accepts weaker privacy.
  double epsilon_max = 2.0;
  // Largest delta an event may cost, [0, 1].
  double delta_max = 0.0;
  // Only mechanisms with a proof note. Default true: the label `published` is refused.
  bool require_proven = true;
  // Most events that this device reports per user and model; 0 = no bound. The smaller of this and
  // the bound of the model holds.
  std::uint64_t events_per_user_max = 0;
  // Accept models configured with `research: true`.
  bool allow_research = false;

  // For applications that knowingly send raw rewards to an operator they trust.
  static PrivacyPolicy AcceptAnything();
};

// How the application knows the server, and how the server knows the application. Changes privacy:
// without ca_file the channel is plaintext, and the network sees what the server sees.
struct TransportSecurity {
  // PEM file of the authorities that may have signed the server's certificate. Empty: plaintext.
  std::string ca_file;
  // PEM files of this client's certificate chain and private key (mode 0600). Both or neither; need
  // ca_file.
  std::string certificate_file;
  std::string private_key_file;
  // The name that the server's certificate must hold, when it is not the target's host.
  std::string server_name;
  // File (mode 0600) of a bearer token; it is read again when it changes. Connect refuses to send a
  // token over plaintext to another machine.
  std::string token_file;
};

struct ClientOptions {
  // host:port or unix:PATH of the server. Required.
  std::string target;
  // Name of the model. Required.
  std::string model;

  // --- changes privacy ---
  PrivacyPolicy policy;
  TransportSecurity security;

  // When reports leave, and what is fetched by the clock is fetched. Choose by what a reaction may
  // do to the process (docs/sdk/decisions.md, "Which leave to choose").
  enum class Leave {
    // When they are due. The application promises that its process outlives reactions: one that
    // ends
    // it, or lets it sleep, would be told by the time at which the report comes.
    kWhenDue,
    // At starts of the application alone: Connect and Client::Begin. A start at which a window of
    // the store is open sends nothing. Each delivery is tried once per start; the rest waits for
    // the next one. No connection outlives a call. For local models with a reward window.
    kAtStart,
  };
  Leave leave = Leave::kWhenDue;

  // --- changes behaviour ---
  // The action of Report when the outbound queue is full.
  enum class WhenFull { kBlock, kDrop };
  WhenFull when_full = WhenFull::kBlock;
  // Most reports that wait to be acknowledged, [1, 1e6]. Larger survives longer outages and takes
  // more room in the store.
  int queue_reports_max = 10'000;
  // Deadline of a Select, its retries included; (0, 60 s].
  absl::Duration select_deadline = absl::Milliseconds(1000);
  // Deadline of one attempt to deliver reports; (0, 60 s].
  absl::Duration report_deadline = absl::Seconds(5);
  // How long Connect waits for the server; (0, 1 h].
  absl::Duration connect_timeout = absl::Seconds(10);
  // First and largest pause between attempts; jittered, doubling. 0 < backoff_min <= backoff_max <=
  // 1 h.
  absl::Duration backoff_min = absl::Milliseconds(20);
  absl::Duration backoff_max = absl::Seconds(2);

  // Time between two fetches by the clock, whatever the application does; (0, 24 h]. Of the
  // posterior where contexts are private; of the effects of arms where SelectOnDevice is used.
  // Larger chooses by older ones.
  absl::Duration posterior_interval = absl::Seconds(1);
  // For SelectOnDevice in models with effects of arms: those that the client fetches are of the
  // catalogue's arms with this tag, or of all. It is fixed, so that no fetch tells of a decision.
  // At most 64 bytes. A fetch takes 12 bytes per arm: with many arms choose a tag, or a longer
  // posterior_interval.
  std::string arm_effects_tag;

  // --- changes speed ---
  // Deliveries under way at once, [1, 64].
  int deliveries_in_flight_max = 8;
  // Reports in one delivery, [1, 64].
  int reports_per_delivery_max = 32;
};

struct StoreOptions {
  // Changes privacy. 32 random bytes that only the application has, for instance from the key store
  // of the platform; or empty. It seals counter states, reactions that are held and reports that
  // wait (AES-256-GCM): whoever copies the file without the key reads only user names, times and
  // counts of events. Empty: the store makes a key of its own in the file `path`.key beside it,
  // which stops nobody who copies both. The choice is made when the file is made.
  std::string key;
};

}  // namespace bandana
