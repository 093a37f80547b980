/* bandana for every language: a device that selects arms and reports rewards by the rules of
 * docs/sdk.md. The library does no I/O. Its host keeps rows, makes HTTP requests, and tells it the
 * time; `bandana_hooks` says how. C11 and C++.
 *
 * Every struct begins with its size, so that a library and a program of other versions refuse each
 * other in words. Elements of arrays have none: they are what this version says. Zero the rest of a
 * struct before you fill it.
 *
 * Threads: one at a time per device; hold a lock. Hooks run on the caller's thread, after the core
 * has been left, one at a time and in their order. A hook may call every function of this header;
 * what that brings about reaches the hooks once the hook has returned.
 *
 * Memory: what a hook is given lives until the hook returns. What a function is given may go when
 * the function returns.
 *
 * Errors: functions return a code of gRPC, BANDANA_OK = 0, and bandana_error says more. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BANDANA_API __attribute__((visibility("default")))

enum bandana_code {
  BANDANA_OK = 0,
  BANDANA_CANCELLED = 1,
  BANDANA_UNKNOWN = 2,
  BANDANA_INVALID_ARGUMENT = 3,
  BANDANA_DEADLINE_EXCEEDED = 4,
  BANDANA_NOT_FOUND = 5,
  BANDANA_RESOURCE_EXHAUSTED = 8,
  BANDANA_FAILED_PRECONDITION = 9,
  BANDANA_UNIMPLEMENTED = 12,
  BANDANA_INTERNAL = 13,
  BANDANA_UNAVAILABLE = 14,
  BANDANA_DATA_LOSS = 15,
  BANDANA_UNAUTHENTICATED = 16
};

/* A number, never 0 and never given twice; so one that was freed is refused. */
typedef uint32_t bandana_device;
typedef uint32_t bandana_client;

/* Bytes or UTF-8, below 2^31 of them. `data` may be null where `size` is 0. */
typedef struct bandana_bytes {
  const void* data;
  size_t size;
} bandana_bytes;

/* --- rows ------------------------------------------------------------------------------------ */

enum bandana_kind { BANDANA_INTEGER = 0, BANDANA_REAL = 1, BANDANA_BYTES = 2 };

typedef struct bandana_cell {
  int32_t kind;
  int32_t reserved;
  int64_t integer;
  double real;
  bandana_bytes bytes;
} bandana_cell;

/* A table of the device's store. Its first `keys` columns are the key. */
typedef struct bandana_table {
  size_t size;
  const char* name;
  const char* const* names; /* of the columns */
  const int32_t* kinds;
  int32_t columns;
  int32_t keys;
  /* The private column: the host stores it sealed and gives it back opened. -1: none. */
  int32_t sealed;
  int32_t empty_in_clear; /* 1: an empty private cell is stored as it is */
  int32_t digested;       /* 1: the C++ SDK's file has a further column, `digest` */
} bandana_table;

/* One row: all cells, or, where it is erased, those of its key. */
typedef struct bandana_change {
  int32_t table;
  int32_t erased;
  const bandana_cell* cells;
  size_t count;
} bandana_change;

/* The changes of one transaction. Other rows of the same key are replaced. */
typedef struct bandana_commit {
  size_t size;
  uint64_t id;
  const bandana_change* changes;
  size_t count;
  /* 1: something private was erased; older versions of it must not stay in a journal for long. */
  int32_t erased_private;
} bandana_commit;

/* How far a store has come. Kept outside of the rows, it tells an older copy of them. */
typedef struct bandana_mark {
  size_t size;
  uint8_t identity[16];
  uint64_t position;
  uint64_t run;
  uint64_t events;
  uint64_t streams;
  uint8_t ledger_hash[32];
} bandana_mark;

/* --- calls ----------------------------------------------------------------------------------- */

typedef struct bandana_header {
  const char* name;
  const char* value;
} bandana_header;

/* One POST to the server's API listener. Add what identifies you (`authorization`). */
typedef struct bandana_call {
  size_t size;
  uint64_t id;
  const char* path; /* "/bandana.v1.Recommender/Select" */
  const bandana_header* headers;
  size_t headers_count;
  bandana_bytes body;
  int64_t deadline_ms;
  /* 1: wait for a connection until the deadline; 0: fail at once where there is none. */
  int32_t wait_for_ready;
  /* 0: end the connection with the call: one that outlives it tells when the process ends. */
  int32_t keep_connection;
  bandana_bytes target; /* of the client's options */
} bandana_call;

enum { BANDANA_NO_ANSWER = 0, BANDANA_TIMED_OUT = -1 };

typedef struct bandana_answer_of_call {
  size_t size;
  int32_t http_status; /* or BANDANA_NO_ANSWER, BANDANA_TIMED_OUT */
  /* All of them, or those that begin with "grpc-". Names in any case. */
  const bandana_header* headers;
  size_t headers_count;
  bandana_bytes body;
} bandana_answer_of_call;

/* --- results --------------------------------------------------------------------------------- */

typedef struct bandana_ranked_arm {
  int32_t position;
  uint32_t arm_id;
  double score;
  double mean;
  double width;
  double propensity;
  bandana_bytes name;
} bandana_ranked_arm;

typedef struct bandana_selection {
  bandana_bytes handle; /* keep it until the reward is reported */
  uint64_t posterior_version;
  const bandana_ranked_arm* arms; /* best first */
  size_t arms_count;
  const double* point; /* of BANDANA_SELECT_POINT */
  size_t point_count;
  const bandana_bytes* notes; /* errors in named values */
  size_t notes_count;
} bandana_selection;

typedef struct bandana_spent {
  double epsilon_event;
  double delta_event;
  uint64_t events;
  uint64_t streams;
  double epsilon_user;
} bandana_spent;

/* NaN where a reading does not apply. */
typedef struct bandana_readings {
  double epsilon_pure;
  double epsilon_gaussian;
  double epsilon_zcdp;
  double delta;
} bandana_readings;

typedef struct bandana_stream {
  uint64_t epoch;
  uint64_t steps;
  uint64_t acknowledged;
  bandana_bytes ended;
} bandana_stream;

enum bandana_result_kind {
  BANDANA_STARTED = 1,   /* value: 1 where the rows were older than the mark */
  BANDANA_CONNECTED = 2, /* client */
  BANDANA_SELECTED = 3,  /* selections */
  BANDANA_ACTIVATED = 4,
  BANDANA_REFRESHED = 5, /* value: 1 where it changed */
  BANDANA_QUEUED = 6,    /* a report is durable, or refused */
  BANDANA_DELIVERED = 7, /* value: bandana_delivery; or never */
  BANDANA_FLUSHED = 8,
  BANDANA_READ_SPENT = 9,
  BANDANA_READ_LEDGER = 10,
  BANDANA_READ_STREAMS = 11
};

enum bandana_delivery {
  BANDANA_APPLIED = 0,
  BANDANA_DUPLICATE = 1,
  BANDANA_EXPIRED = 2,
  BANDANA_REJECTED = 3,
  BANDANA_DROPPED = 4
};

/* The outcome of a function that was given `tag`. */
typedef struct bandana_result {
  size_t size;
  uint64_t tag;
  int32_t kind;
  int32_t code;
  bandana_bytes message; /* of a code that is not BANDANA_OK */
  bandana_client client;
  int32_t value;
  const bandana_selection* selections;
  size_t selections_count;
  const bandana_spent* spent;
  const bandana_readings* readings;
  const bandana_stream* streams;
  size_t streams_count;
} bandana_result;

/* --- hooks ----------------------------------------------------------------------------------- */

typedef struct bandana_hooks {
  size_t size;
  void* context; /* the first argument of each */
  /* Make the request, and give bandana_answer what came of it, now or later. */
  void (*call)(void* context, const bandana_call* call);
  /* Make all changes durable at once, or none, then tell bandana_committed, now or later. Sealing
   * is part of it. One commit is open at a time. */
  void (*commit)(void* context, const bandana_commit* commit);
  /* Fill with entropy of the system. Not 0: it failed, and nothing is drawn. Null: the library asks
   * the system itself. */
  int32_t (*random)(void* context, void* out, size_t size);
  /* Nanoseconds since 1970 by the wall clock, which may jump. */
  int64_t (*wall_ns)(void* context);
  /* Nanoseconds since some start, by a clock that nobody sets and that counts during sleep. */
  int64_t (*elapsed_ns)(void* context);
  /* Set the alarm: call bandana_wake when elapsed_ns has come to this, never sooner because of
   * something else. -1: no alarm. Only called where it changes: leave an alarm alone otherwise,
   * though it be late. */
  void (*wake)(void* context, int64_t elapsed_ns);
  /* Keep the newest mark outside of the rows, durably, before you return. May be null: then an
   * older copy of the rows is not noticed. */
  void (*mark)(void* context, const bandana_mark* mark);
  void (*tell)(void* context, const bandana_result* result);
} bandana_hooks;

/* --- what a client asks ------------------------------------------------------------------------
 */

enum bandana_leave { BANDANA_WHEN_DUE = 0, BANDANA_AT_START = 1 };
enum bandana_when_full { BANDANA_BLOCK = 0, BANDANA_DROP = 1 };

/* As ClientOptions and PrivacyPolicy of bandana/options.h, which say units, ranges and meaning. */
typedef struct bandana_options {
  size_t size;
  bandana_bytes target; /* not empty; calls and messages name it, nothing else reads it */
  bandana_bytes model;
  int32_t require_local;
  int32_t require_proven;
  int32_t allow_research;
  int32_t leave;
  double epsilon_max;
  double delta_max;
  uint64_t events_per_user_max;
  int32_t when_full;
  int32_t queue_reports_max;
  int32_t deliveries_in_flight_max;
  int32_t reports_per_delivery_max;
  int64_t select_deadline_ms;
  int64_t report_deadline_ms;
  int64_t connect_timeout_ms;
  int64_t backoff_min_ms;
  int64_t backoff_max_ms;
  int64_t posterior_interval_ms;
  bandana_bytes arm_effects_tag;
} bandana_options;

enum bandana_value_kind {
  BANDANA_NUMBER = 0,
  BANDANA_FLAG = 1, /* number: 0 or 1 */
  BANDANA_TEXT = 2,
  BANDANA_TEXTS = 3,
  BANDANA_NUMBERS = 4
};

typedef struct bandana_value {
  bandana_bytes name;
  int32_t kind;
  int32_t reserved;
  double number;
  bandana_bytes text;
  const bandana_bytes* texts;
  const double* numbers;
  size_t count; /* of texts or numbers */
} bandana_value;

typedef struct bandana_named_arm {
  bandana_bytes id;
  const bandana_value* values;
  size_t values_count;
} bandana_named_arm;

/* Bounds that are NaN are not set. */
typedef struct bandana_range {
  bandana_bytes field;
  double min;
  double max;
  double above;
  double below;
} bandana_range;

/* Exactly one of tag, id (has_id 1), name, group with value. */
typedef struct bandana_boost {
  bandana_bytes tag;
  bandana_bytes name;
  bandana_bytes group;
  bandana_bytes value;
  int32_t has_id;
  uint32_t id;
  double add;
} bandana_boost;

typedef struct bandana_pin {
  bandana_bytes name;
  int32_t has_id;
  uint32_t id;
  int32_t rank;
  int32_t reserved;
} bandana_pin;

typedef struct bandana_limit {
  bandana_bytes group;
  bandana_bytes tag;
  int32_t count;
  int32_t reserved;
} bandana_limit;

enum bandana_seen { BANDANA_SEEN_NONE = 0, BANDANA_SEEN_SHOWN = 1, BANDANA_SEEN_REWARDED = 2 };

typedef struct bandana_rules {
  size_t size;
  const bandana_range* where;
  size_t where_count;
  const bandana_boost* boosts;
  size_t boosts_count;
  const bandana_pin* pins;
  size_t pins_count;
  const bandana_limit* at_most;
  size_t at_most_count;
  int32_t exclude_seen;
  int32_t reserved;
  int64_t seen_within_ms; /* 0: as long as the model keeps them */
} bandana_rules;

enum bandana_arms_form {
  BANDANA_INLINE = 0,
  BANDANA_CATALOGUE = 1,       /* ids */
  BANDANA_CATALOGUE_NAMES = 2, /* names */
  BANDANA_QUERY = 3,           /* tags and what is excluded */
  BANDANA_NAMED = 4            /* named */
};

typedef struct bandana_arms {
  size_t size;
  int32_t form;
  int32_t reserved;
  const double* features; /* inline arms, row by row */
  size_t features_count;
  const uint32_t* ids;
  size_t ids_count;
  const bandana_bytes* names;
  size_t names_count;
  const bandana_named_arm* named;
  size_t named_count;
  const bandana_bytes* tags_any;
  size_t tags_any_count;
  const bandana_bytes* tags_all;
  size_t tags_all_count;
  const bandana_bytes* tags_none;
  size_t tags_none_count;
  const uint32_t* excluded_ids;
  size_t excluded_ids_count;
  const bandana_bytes* excluded_names;
  size_t excluded_names_count;
  const bandana_value* context; /* values of the schema's context fields; null: none */
  size_t context_count;
  const bandana_rules* rules; /* null: none */
} bandana_arms;

enum bandana_select_by {
  BANDANA_SELECT = 0,
  BANDANA_SELECT_SLOTS = 1,
  BANDANA_SELECT_DEFERRED = 2,
  BANDANA_SELECT_ON_DEVICE = 3,
  BANDANA_SELECT_POINT = 4 /* no arms */
};

typedef struct bandana_request {
  size_t size;
  int32_t by;
  int32_t top_k; /* [1, 100] */
  int32_t shown; /* rank that is shown, 0 = best */
  int32_t slots; /* of BANDANA_SELECT_SLOTS, [1, 16] */
  bandana_bytes user;
  const bandana_arms* arms;
} bandana_request;

/* A decision that a backend fetched from the server: its SelectResponse, and facts of its request.
 */
typedef struct bandana_backend_answer {
  size_t size;
  bandana_bytes user;
  bandana_bytes model;
  bandana_bytes policy_hash; /* 32 bytes: the request's, which the server has compared */
  int64_t decided_ms;        /* since 1970, by the backend's clock, once it was answered */
  int32_t shown;             /* the request's: the rank that is shown */
  int32_t reserved;
  uint64_t posterior_version;
  const bandana_ranked_arm* arms; /* best first */
  size_t arms_count;
  const double* reward_windows;
  size_t reward_windows_count;
  bandana_bytes token;
} bandana_backend_answer;

typedef struct bandana_report_of {
  size_t size;
  bandana_bytes handle;
  double reward;     /* NaN: none came */
  int32_t has_shown; /* 1: `shown` is the rank that was shown instead */
  int32_t shown;
} bandana_report_of;

typedef struct bandana_model_info {
  size_t size;
  /* They live until the client is closed. */
  bandana_bytes name;
  bandana_bytes link;
  bandana_bytes guarantee;
  bandana_bytes mechanism;
  int32_t dimension;
  int32_t reward_binary;
  int32_t local;
  int32_t local_context;
  double feature_l2_max;
  double reward_min;
  double reward_max;
  double epsilon;
  double delta;
  double default_reward;
  uint64_t events_per_user_max;
  int64_t reward_window_ms; /* -1: none */
  int64_t token_lifetime_ms;
} bandana_model_info;

typedef struct bandana_stats {
  size_t size;
  uint64_t selections;
  uint64_t reports_queued;
  uint64_t reports_defaulted;
  uint64_t reports_applied;
  uint64_t reports_duplicate;
  uint64_t reports_expired;
  uint64_t reports_overtaken;
  uint64_t reports_rejected;
  uint64_t reports_dropped;
  uint64_t reports_pending;
  uint64_t delivery_attempts;
  uint64_t rewards_clipped;
  uint64_t streams_ended;
  uint64_t values_encoded;
  uint64_t values_missing;
  uint64_t values_unknown;
  uint64_t values_out_of_bounds;
} bandana_stats;

typedef struct bandana_start_of {
  size_t size;
  /* 1: commits survive the process, and private cells are stored sealed. 0: models that are local
   * are refused. */
  int32_t durable;
  int32_t taken_over;       /* 1: this process waited for another one that had the rows */
  const bandana_mark* seen; /* the newest mark; null: none was kept */
} bandana_start_of;

/* --- functions ---------------------------------------------------------------------------------
 */

BANDANA_API const char* bandana_version(void);
/* The last error of this thread: what is wrong, with the field's name. Never a reward. */
BANDANA_API const char* bandana_error(void);

/* Tables are numbered from 0; INVALID_ARGUMENT after the last one. `out->size` is set before. */
BANDANA_API int32_t bandana_table_form(int32_t table, bandana_table* out);
/* For a host that shares the C++ SDK's file (docs/formats/device_store.md, "Device store"). The
 * bytes that a seal is bound to behind the store's identity, of a row's cells; and, of cells as
 * they are stored, the 8 bytes of column `digest`. `*size`: room in, bytes out; RESOURCE_EXHAUSTED
 * too little. */
BANDANA_API int32_t bandana_seal_name(int32_t table, const bandana_cell* cells, size_t count,
                                      void* out, size_t* size);
BANDANA_API int32_t bandana_row_digest(int32_t table, const bandana_cell* cells, size_t count,
                                       uint8_t out[8]);

BANDANA_API int32_t bandana_device_new(const bandana_hooks* hooks, bandana_device* out);
/* Nothing that waits is told any more, and no hook is called. Private bytes are erased. */
BANDANA_API int32_t bandana_device_free(bandana_device device);
/* Before bandana_start, each durable row once, private cells opened. None: a new store. */
BANDANA_API int32_t bandana_load(bandana_device device, int32_t table, const bandana_cell* cells,
                                 size_t count);
/* Begins a run: BANDANA_STARTED. Errors: DATA_LOSS rows that are damaged, or of another store than
 * the mark. */
BANDANA_API int32_t bandana_start(bandana_device device, const bandana_start_of* start,
                                  uint64_t tag);

/* Fills in the size and the defaults. */
BANDANA_API void bandana_options_init(bandana_options* options);
/* BANDANA_CONNECTED, with the errors of Client::Connect (bandana/client.h). */
BANDANA_API int32_t bandana_connect(bandana_device device, const bandana_options* options,
                                    uint64_t tag);
/* Queued reports stay in the rows, and leave with the next client of the model. */
BANDANA_API int32_t bandana_close(bandana_device device, bandana_client client);

/* Each as the method of Client with its name. */
BANDANA_API int32_t bandana_select(bandana_device device, bandana_client client,
                                   const bandana_request* request, uint64_t tag);
BANDANA_API int32_t bandana_activate(bandana_device device, bandana_client client,
                                     const bandana_bytes* handle, uint64_t tag);
/* The decision becomes this device's, as by bandana_activate: BANDANA_SELECTED. When a page is
 * loaded, and never because of a reaction. It makes no call, and takes a token once. */
BANDANA_API int32_t bandana_adopt(bandana_device device, bandana_client client,
                                  const bandana_bytes* user, const bandana_backend_answer* answer,
                                  uint64_t tag);
BANDANA_API int32_t bandana_report(bandana_device device, bandana_client client,
                                   const bandana_report_of* report, uint64_t tag);
BANDANA_API int32_t bandana_refresh_posterior(bandana_device device, bandana_client client,
                                              const bandana_bytes* user, uint64_t tag);
BANDANA_API int32_t bandana_begin(bandana_device device, bandana_client client);
BANDANA_API int32_t bandana_flush(bandana_device device, bandana_client client, uint64_t tag);
BANDANA_API int32_t bandana_read_spent(bandana_device device, bandana_client client,
                                       const bandana_bytes* user, uint64_t tag);
BANDANA_API int32_t bandana_read_ledger(bandana_device device, bandana_client client,
                                        const bandana_bytes* user, double delta, uint64_t tag);
BANDANA_API int32_t bandana_read_streams(bandana_device device, bandana_client client,
                                         const bandana_bytes* user, uint64_t tag);
BANDANA_API int32_t bandana_get_stats(bandana_device device, bandana_client client,
                                      bandana_stats* out);
BANDANA_API int32_t bandana_get_model(bandana_device device, bandana_client client,
                                      bandana_model_info* out);

/* The alarm has come: what is due runs. */
BANDANA_API int32_t bandana_wake(bandana_device device);
/* The answer to a call. One to a call that is unknown, or was answered before, is passed over. */
BANDANA_API int32_t bandana_answer(bandana_device device, uint64_t call,
                                   const bandana_answer_of_call* answer);
/* `code` 0: all of the commit is durable. Else none of it; say so only where you know it, and free
 * the device where you do not. The first answer counts. */
BANDANA_API int32_t bandana_committed(bandana_device device, uint64_t commit, int32_t code);

#ifdef __cplusplus
}
#endif
