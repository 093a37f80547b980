/* As reporter.cc, by the C interface: IPv4:PORT MODEL STORE DECISIONS REWARD. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { SLOTS = 16, HANDLE_BYTES = 4096 };

static unsigned char handles[SLOTS][HANDLE_BYTES];
static size_t sizes[SLOTS];

static void keep(void* context, const bandana_result* told) {
  (void)context;
  if (told->kind != BANDANA_SELECTED || told->code != BANDANA_OK) return;
  for (size_t i = 0; i < told->selections_count && i < SLOTS; ++i) {
    sizes[i] = told->selections[i].handle.size;
    if (sizes[i] <= HANDLE_BYTES) memcpy(handles[i], told->selections[i].handle.data, sizes[i]);
  }
}

static int good(const host_result* result, const char* what) {
  if (result != NULL && result->code == BANDANA_OK) return 1;
  fprintf(stderr, "%s: %s\n", what, result == NULL ? "no answer" : result->message);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  host* const host = host_open(argv[3], argv[1]);
  if (host == NULL) return 1;
  const bandana_device device = host_device(host);
  host_listen(host, keep, NULL);
  bandana_options options;
  bandana_options_init(&options);
  options.target = (bandana_bytes){argv[1], strlen(argv[1])};
  options.model = (bandana_bytes){argv[2], strlen(argv[2])};
  options.epsilon_max = 20;
  uint64_t tag = 2;
  bandana_connect(device, &options, tag);
  const host_result* result = host_wait(host, tag, BANDANA_CONNECTED, 10);
  if (!good(result, "connect")) return 1;
  const bandana_client client = result->client;
  double features[2 * SLOTS];
  for (int i = 0; i < SLOTS; ++i) {
    features[2 * i] = cos(i);
    features[2 * i + 1] = sin(i);
  }
  const bandana_arms arms = {
      .size = sizeof arms, .features = features, .features_count = 2 * SLOTS};
  const bandana_request request = {.size = sizeof request,
                                   .by = BANDANA_SELECT_SLOTS,
                                   .top_k = 1,
                                   .slots = SLOTS,
                                   .user = {"user", 4},
                                   .arms = &arms};
  for (int decision = 0; decision < atoi(argv[4]); ++decision) {
    bandana_select(device, client, &request, ++tag);
    if (!good(host_wait(host, tag, BANDANA_SELECTED, 10), "select")) return 1;
    for (int i = 0; i < SLOTS; ++i) {
      const bandana_report_of report = {
          .size = sizeof report, .handle = {handles[i], sizes[i]}, .reward = atof(argv[5])};
      bandana_report(device, client, &report, ++tag);
      if (!good(host_wait(host, tag, BANDANA_QUEUED, 10), "report")) return 1;
    }
  }
  bandana_stats stats = {.size = sizeof stats};
  bandana_get_stats(device, client, &stats);
  while (stats.reports_pending > 0) {
    host_wait(host, UINT64_MAX, BANDANA_FLUSHED, 0.05);
    bandana_get_stats(device, client, &stats);
  }
  printf("%d %d\n", (int)stats.reports_applied, (int)stats.reports_defaulted);
  host_close(host);
  return 0;
}
