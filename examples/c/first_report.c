/* The first private report in C: first_report IPv4:PORT STORE, with
 * examples/quickstart/server.textproto and --api_listen. */
#include <stdio.h>
#include <string.h>

#include "host.h"

static bandana_bytes text(const char* given) { return (bandana_bytes){given, strlen(given)}; }

static int failed(const char* what, const char* why) {
  fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return failed("usage", "first_report IPv4:PORT STORE");
  host* const host = host_open(argv[2], argv[1]);
  if (host == NULL) return 1;
  const bandana_device device = host_device(host);

  bandana_options options;
  bandana_options_init(&options); /* refuses models that cost more than epsilon 2 per event */
  options.target = text(argv[1]);
  options.model = text("articles");
  if (bandana_connect(device, &options, 2) != BANDANA_OK) return failed("connect", bandana_error());
  const host_result* result = host_wait(host, 2, BANDANA_CONNECTED, 10);
  if (result == NULL || result->code != BANDANA_OK)
    return failed("connect", result == NULL ? "no answer" : result->message);
  const bandana_client client = result->client;

  const double features[] = {1, 0, 0, 0, 1, 0}; /* two arms */
  const bandana_arms arms = {.size = sizeof arms, .features = features, .features_count = 6};
  const bandana_request request = {
      .size = sizeof request, .top_k = 1, .user = text("user-1"), .arms = &arms};
  if (bandana_select(device, client, &request, 3) != BANDANA_OK)
    return failed("select", bandana_error());
  result = host_wait(host, 3, BANDANA_SELECTED, 10);
  if (result == NULL || result->code != BANDANA_OK)
    return failed("select", result == NULL ? "no answer" : result->message);
  printf("shown: arm %d\n", result->position);

  const bandana_report_of report = {
      .size = sizeof report, .handle = {result->handle, result->handle_size}, .reward = 1};
  if (bandana_report(device, client, &report, 4) != BANDANA_OK)
    return failed("report", bandana_error());
  result = host_wait(host, 4, BANDANA_QUEUED, 10);
  if (result == NULL || result->code != BANDANA_OK)
    return failed("report", result == NULL ? "not durable" : result->message);

  /* The window closes, the reward is randomized here, and the report leaves. */
  if (host_wait(host, 4, BANDANA_DELIVERED, 30) == NULL) return failed("report", "not delivered");
  bandana_stats stats = {.size = sizeof stats};
  bandana_get_stats(device, client, &stats);
  const bandana_bytes user = text("user-1");
  bandana_read_spent(device, client, &user, 5);
  result = host_wait(host, 5, BANDANA_READ_SPENT, 10);
  if (result == NULL) return failed("spent", "no answer");
  printf("%llu report applied; epsilon %g per event, %llu events\n",
         (unsigned long long)stats.reports_applied, result->spent.epsilon_event,
         (unsigned long long)result->spent.events);
  host_close(host);
  return stats.reports_applied == 1 ? 0 : 1;
}
