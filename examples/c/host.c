#include "host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  KEY_BYTES = 32,
  NONCE_BYTES = 12,
  TAG_BYTES = 16,
  CELL_BYTES = 16,
  HEADERS_MAX = 64,
  RESULTS_MAX = 32,
  ANSWER_BYTES_MAX = 8 << 20
};

struct host {
  sqlite3* rows;
  unsigned char key[KEY_BYTES];
  char mark_path[4096];
  struct sockaddr_in server;
  bandana_device device;
  int64_t wake_ns;
  host_result results[RESULTS_MAX]; /* the newest of each kind */
  uint64_t tags[RESULTS_MAX];
  host_told* told; /* null: nobody listens */
  void* context;
};

/* --- bytes that grow */

typedef struct buffer {
  unsigned char* data;
  size_t size;
} buffer;

static void append(buffer* to, const void* data, size_t size) {
  if (size == 0) return;
  unsigned char* grown = realloc(to->data, to->size + size);
  if (grown == NULL) abort();
  memcpy(grown + to->size, data, size);
  to->data = grown;
  to->size += size;
}

static void wipe(buffer* gone) {
  if (gone->data != NULL) OPENSSL_cleanse(gone->data, gone->size);
  free(gone->data);
  *gone = (buffer){NULL, 0};
}

/* --- rows: cells one after the other, kind and value or length first */

static void encode(const bandana_cell* cells, size_t count, buffer* out) {
  for (size_t i = 0; i < count; ++i) {
    int64_t head[2] = {cells[i].kind, cells[i].integer};
    if (cells[i].kind == BANDANA_REAL) memcpy(&head[1], &cells[i].real, sizeof cells[i].real);
    if (cells[i].kind == BANDANA_BYTES) head[1] = (int64_t)cells[i].bytes.size;
    append(out, head, sizeof head);
    if (cells[i].kind == BANDANA_BYTES) append(out, cells[i].bytes.data, cells[i].bytes.size);
  }
}

/* The cells point into the bytes. Returns their number, or -1. */
static int decode(const buffer* bytes, bandana_cell* cells, int room) {
  int count = 0;
  for (size_t at = 0; at < bytes->size; ++count) {
    int64_t head[2];
    if (count == room || bytes->size - at < sizeof head) return -1;
    memcpy(head, bytes->data + at, sizeof head);
    at += sizeof head;
    cells[count] = (bandana_cell){.kind = (int32_t)head[0], .integer = head[1]};
    if (head[0] == BANDANA_REAL) memcpy(&cells[count].real, &head[1], sizeof cells[count].real);
    if (head[0] != BANDANA_BYTES) continue;
    if (head[1] < 0 || (size_t)head[1] > bytes->size - at) return -1;
    cells[count].bytes = (bandana_bytes){bytes->data + at, (size_t)head[1]};
    at += (size_t)head[1];
  }
  return count;
}

/* Seals or opens a row, bound to its table and key. Returns 1 where it is sound. */
static int crypt_row(const host* host, int seal, const buffer* name, const unsigned char* nonce,
                     const unsigned char* in, size_t size, unsigned char* out, unsigned char* tag) {
  EVP_CIPHER_CTX* cipher = EVP_CIPHER_CTX_new();
  int done = 0;
  const int ok = cipher != NULL &&
                 EVP_CipherInit_ex(cipher, EVP_aes_256_gcm(), NULL, host->key, nonce, seal) == 1 &&
                 (seal || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_BYTES, tag) == 1) &&
                 EVP_CipherUpdate(cipher, NULL, &done, name->data, (int)name->size) == 1 &&
                 EVP_CipherUpdate(cipher, out, &done, in, (int)size) == 1 &&
                 EVP_CipherFinal_ex(cipher, out + done, &done) == 1 &&
                 (!seal || EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_BYTES, tag) == 1);
  EVP_CIPHER_CTX_free(cipher);
  return ok;
}

static int32_t put_row(host* host, const bandana_change* change) {
  bandana_table form = {.size = sizeof form};
  int32_t failed = bandana_table_form(change->table, &form);
  buffer name = {NULL, 0}, plain = {NULL, 0}, sealed = {NULL, 0};
  append(&name, &change->table, sizeof change->table);
  encode(change->cells, (size_t)form.keys, &name);
  sqlite3_stmt* statement = NULL;
  const char* sql = change->erased ? "DELETE FROM rows WHERE name = ?1"
                                   : "INSERT OR REPLACE INTO rows VALUES (?1, ?2)";
  failed |= sqlite3_prepare_v2(host->rows, sql, -1, &statement, NULL) != SQLITE_OK;
  if (!failed && !change->erased) {
    encode(change->cells, change->count, &plain);
    unsigned char nonce[NONCE_BYTES], tag[TAG_BYTES];
    failed = RAND_bytes(nonce, sizeof nonce) != 1;
    append(&sealed, nonce, sizeof nonce);
    append(&sealed, plain.data, plain.size);
    failed |=
        !crypt_row(host, 1, &name, nonce, plain.data, plain.size, sealed.data + NONCE_BYTES, tag);
    append(&sealed, tag, sizeof tag);
    sqlite3_bind_blob(statement, 2, sealed.data, (int)sealed.size, SQLITE_STATIC);
  }
  if (!failed) {
    sqlite3_bind_blob(statement, 1, name.data, (int)name.size, SQLITE_STATIC);
    failed = sqlite3_step(statement) != SQLITE_DONE;
  }
  sqlite3_finalize(statement);
  wipe(&name);
  wipe(&plain);
  wipe(&sealed);
  return failed;
}

static int load_rows(host* host) {
  sqlite3_stmt* statement = NULL;
  if (sqlite3_prepare_v2(host->rows, "SELECT name, cells FROM rows", -1, &statement, NULL) !=
      SQLITE_OK)
    return 0;
  int ok = 1;
  while (ok && sqlite3_step(statement) == SQLITE_ROW) {
    buffer name = {NULL, 0}, plain = {NULL, 0};
    append(&name, sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0));
    const unsigned char* sealed = sqlite3_column_blob(statement, 1);
    const int size = sqlite3_column_bytes(statement, 1) - NONCE_BYTES - TAG_BYTES;
    int32_t table = 0;
    bandana_cell cells[CELL_BYTES];
    ok = size > 0 && name.size > sizeof table;
    if (ok) {
      append(&plain, sealed + NONCE_BYTES, (size_t)size);
      unsigned char tag[TAG_BYTES];
      memcpy(tag, sealed + NONCE_BYTES + size, sizeof tag);
      ok = crypt_row(host, 0, &name, sealed, sealed + NONCE_BYTES, (size_t)size, plain.data, tag);
    }
    if (ok) {
      memcpy(&table, name.data, sizeof table);
      const int count = decode(&plain, cells, CELL_BYTES);
      ok = count >= 0 && bandana_load(host->device, table, cells, (size_t)count) == BANDANA_OK;
    }
    wipe(&name);
    wipe(&plain);
  }
  sqlite3_finalize(statement);
  return ok;
}

/* --- files that are whole or not at all */

static int write_whole(const char* path, const void* data, size_t size) {
  char made[4200];
  snprintf(made, sizeof made, "%s.new", path);
  const int fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return 0;
  const int ok = write(fd, data, size) == (ssize_t)size && fsync(fd) == 0;
  return close(fd) == 0 && ok && rename(made, path) == 0;
}

static int read_whole(const char* path, void* data, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int ok = read(fd, data, size) == (ssize_t)size;
  close(fd);
  return ok;
}

/* --- hooks */

static int64_t clock_ns(clockid_t which) {
  struct timespec now;
  clock_gettime(which, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static int64_t on_wall(void* context) {
  (void)context;
  return clock_ns(CLOCK_REALTIME);
}
static int64_t on_elapsed(void* context) {
  (void)context;
  return clock_ns(CLOCK_BOOTTIME);
}
static void on_wake(void* context, int64_t at) { ((host*)context)->wake_ns = at; }

static void on_commit(void* context, const bandana_commit* commit) {
  host* const self = context;
  int32_t failed = sqlite3_exec(self->rows, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  for (size_t i = 0; i < commit->count && !failed; ++i) failed = put_row(self, &commit->changes[i]);
  if (!failed && sqlite3_exec(self->rows, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
    bandana_device_free(self->device); /* nobody knows what is on the disk */
    return;
  }
  if (failed) sqlite3_exec(self->rows, "ROLLBACK", NULL, NULL, NULL);
  bandana_committed(self->device, commit->id, failed ? BANDANA_UNAVAILABLE : BANDANA_OK);
}

static void on_mark(void* context, const bandana_mark* mark) {
  write_whole(((host*)context)->mark_path, mark, sizeof *mark);
}

/* One connection per call. Returns the bytes of the answer, with a zero behind them. */
static buffer post(const host* host, const bandana_call* call) {
  buffer request = {NULL, 0}, answer = {NULL, 0};
  char head[512];
  append(&request, head,
         (size_t)snprintf(head, sizeof head,
                          "POST %s HTTP/1.0\r\nhost: localhost\r\ncontent-length: %zu\r\n",
                          call->path, call->body.size));
  for (size_t i = 0; i < call->headers_count; ++i) {
    append(&request, head,
           (size_t)snprintf(head, sizeof head, "%s: %s\r\n", call->headers[i].name,
                            call->headers[i].value));
  }
  append(&request, "\r\n", 2);
  append(&request, call->body.data, call->body.size);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct timeval patience = {.tv_sec = call->deadline_ms / 1000,
                                   .tv_usec = call->deadline_ms % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (fd >= 0 && connect(fd, (const struct sockaddr*)&host->server, sizeof host->server) == 0) {
    ssize_t moved = 0;
    for (size_t sent = 0; sent < request.size && moved >= 0; sent += (size_t)moved) {
      moved = send(fd, request.data + sent, request.size - sent, MSG_NOSIGNAL);
    }
    char part[65536];
    while (answer.size < ANSWER_BYTES_MAX && (moved = recv(fd, part, sizeof part, 0)) > 0)
      append(&answer, part, (size_t)moved);
    if (moved < 0) wipe(&answer);
  }
  if (fd >= 0) close(fd);
  wipe(&request);
  append(&answer, "", 1);
  return answer;
}

static void on_call(void* context, const bandana_call* call) {
  host* const self = context;
  buffer bytes = post(self, call);
  bandana_answer_of_call answer = {.size = sizeof answer, .http_status = BANDANA_NO_ANSWER};
  bandana_header headers[HEADERS_MAX];
  char* const text = (char*)bytes.data;
  char* const end = strstr(text, "\r\n\r\n");
  if (end != NULL && sscanf(text, "HTTP/%*s %d", &answer.http_status) == 1) {
    *end = '\0';
    char* rest = NULL;
    for (char* line = strtok_r(text, "\r\n", &rest); line != NULL;
         line = strtok_r(NULL, "\r\n", &rest)) {
      char* const colon = strchr(line, ':');
      if (colon == NULL || strncasecmp(line, "grpc-", 5) != 0 ||
          answer.headers_count == HEADERS_MAX)
        continue;
      *colon = '\0';
      headers[answer.headers_count++] = (bandana_header){line, colon + 1};
    }
    answer.headers = headers;
    answer.body = (bandana_bytes){end + 4, bytes.size - 1 - (size_t)(end + 4 - text)};
  }
  bandana_answer(self->device, call->id, &answer);
  wipe(&bytes);
}

static void on_tell(void* context, const bandana_result* told) {
  host* const self = context;
  if (self->told != NULL) self->told(self->context, told);
  host_result* const result = &self->results[told->kind % RESULTS_MAX];
  self->tags[told->kind % RESULTS_MAX] = told->tag;
  *result = (host_result){
      .kind = told->kind, .code = told->code, .client = told->client, .value = told->value};
  snprintf(result->message, sizeof result->message, "%.*s", (int)told->message.size,
           told->message.size > 0 ? (const char*)told->message.data : "");
  if (told->selections_count > 0 && told->selections[0].handle.size <= sizeof result->handle) {
    result->handle_size = told->selections[0].handle.size;
    memcpy(result->handle, told->selections[0].handle.data, result->handle_size);
    if (told->selections[0].arms_count > 0) result->position = told->selections[0].arms[0].position;
  }
  if (told->spent != NULL) result->spent = *told->spent;
}

/* --- the host */

double host_wake(host* self) {
  if (self->wake_ns >= 0 && clock_ns(CLOCK_BOOTTIME) >= self->wake_ns) {
    self->wake_ns = -1;
    bandana_wake(self->device);
  }
  if (self->wake_ns < 0) return -1;
  const double seconds = (double)(self->wake_ns - clock_ns(CLOCK_BOOTTIME)) * 1e-9;
  return seconds > 0 ? seconds : 0;
}

const host_result* host_wait(host* self, uint64_t tag, int32_t kind, double seconds) {
  const int64_t end = clock_ns(CLOCK_BOOTTIME) + (int64_t)(seconds * 1e9);
  for (;;) {
    if (self->tags[kind] == tag) return &self->results[kind];
    const double left = (double)(end - clock_ns(CLOCK_BOOTTIME)) * 1e-9;
    if (left <= 0) return NULL;
    const double alarm = host_wake(self);
    if (self->tags[kind] == tag) continue;
    const int64_t pause = (int64_t)((alarm >= 0 && alarm < left ? alarm : left) * 1e9);
    nanosleep(&(struct timespec){pause / 1000000000, pause % 1000000000}, NULL);
  }
}

void host_listen(host* self, host_told* told, void* context) {
  self->told = told;
  self->context = context;
}

static host* failed(host* self, const char* what) {
  fprintf(stderr, "host: %s: %s\n", what, errno != 0 ? strerror(errno) : bandana_error());
  host_close(self);
  return NULL;
}

/* This process was refused the store: what it does next must not tell when the other one ended. */
static int waited = 0;

host* host_open(const char* path, const char* address) {
  host* const self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->wake_ns = -1;
  char ip[64], key_path[4096];
  int port = 0;
  errno = 0;
  self->server.sin_family = AF_INET;
  if (sscanf(address, "%63[0-9.]:%d", ip, &port) != 2 ||
      inet_pton(AF_INET, ip, &self->server.sin_addr) != 1)
    return failed(self, "the address is not IPv4:PORT");
  self->server.sin_port = htons((uint16_t)port);
  snprintf(self->mark_path, sizeof self->mark_path, "%s.mark", path);
  snprintf(key_path, sizeof key_path, "%s.key", path);
  if (access(path, F_OK) != 0) {
    if (RAND_bytes(self->key, KEY_BYTES) != 1 || !write_whole(key_path, self->key, KEY_BYTES))
      return failed(self, "no key can be made");
  } else if (!read_whole(key_path, self->key, KEY_BYTES)) {
    return failed(self, "the store's key cannot be read");
  }
  errno = 0;
  umask(077);
  /* One process has the file; what is replaced is overwritten. */
  if (sqlite3_open(path, &self->rows) != SQLITE_OK ||
      sqlite3_exec(self->rows,
                   "PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL; PRAGMA "
                   "secure_delete=ON; BEGIN IMMEDIATE;"
                   "CREATE TABLE IF NOT EXISTS rows(name BLOB PRIMARY KEY, cells BLOB NOT NULL) "
                   "STRICT, WITHOUT ROWID; COMMIT",
                   NULL, NULL, NULL) != SQLITE_OK) {
    waited = sqlite3_errcode(self->rows) == SQLITE_BUSY;
    return failed(self, sqlite3_errmsg(self->rows));
  }
  const bandana_hooks hooks = {sizeof hooks, self,       on_call, on_commit, NULL,
                               on_wall,      on_elapsed, on_wake, on_mark,   on_tell};
  bandana_mark mark;
  const int seen = read_whole(self->mark_path, &mark, sizeof mark);
  errno = 0;
  const bandana_start_of start = {
      .size = sizeof start, .durable = 1, .taken_over = waited, .seen = seen ? &mark : NULL};
  if (bandana_device_new(&hooks, &self->device) != BANDANA_OK || !load_rows(self) ||
      bandana_start(self->device, &start, 1) != BANDANA_OK) {
    return failed(self, "the rows are not sound");
  }
  if (self->results[BANDANA_STARTED].code != BANDANA_OK)
    return failed(self, self->results[BANDANA_STARTED].message);
  return self;
}

bandana_device host_device(const host* self) { return self->device; }

void host_close(host* self) {
  if (self->device != 0) bandana_device_free(self->device);
  sqlite3_close(self->rows);
  OPENSSL_cleanse(self->key, sizeof self->key);
  free(self);
}
