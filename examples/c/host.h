/* A host of libbandana in one thread: rows in SQLite, sealed by OpenSSL's AES-256-GCM, calls over
 * plain sockets. It blocks in its hooks, which is allowed; a program with an event loop answers
 * later instead. A starting point to copy. */
#pragma once

#include <bandana.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct host host;

/* The rows are in the file `path`, their key in `path`.key, and their mark in `path`.mark.
 * `address`: IPv4:PORT of the server's api_listen. Null: it does not open, and stderr says why. */
host* host_open(const char* path, const char* address);
bandana_device host_device(const host* host);
void host_close(host* host);

/* Copies of what a result said, until the next result. */
typedef struct host_result {
  int32_t kind;
  int32_t code;
  char message[512];
  bandana_client client;
  int32_t value;
  unsigned char handle[65536]; /* of the first selection */
  size_t handle_size;
  int32_t position; /* of its best arm */
  bandana_spent spent;
} host_result;

/* Sleeps and wakes the device until the result with the tag has come. Null: not within `seconds`.
 */
const host_result* host_wait(host* host, uint64_t tag, int32_t kind, double seconds);

/* For programs that do something else meanwhile. Wakes the device if its alarm has come; returns
 * the seconds until the next alarm, negative where there is none. */
double host_wake(host* host);
/* From now on `told` is given each result whole, as it is told. */
typedef void host_told(void* context, const bandana_result* result);
void host_listen(host* host, host_told* told, void* context);

#ifdef __cplusplus
}
#endif
