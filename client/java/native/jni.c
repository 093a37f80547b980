#define _GNU_SOURCE
/* Forwards Java's calls to bandana.h, and its hooks to Java. Structs are laid out by Java (Memory.java): a pointer is a
 * long. Threads: Java enters a device by one at a time; hooks run on that thread. */
#include <bandana.h>
#include <jni.h>
#include <string.h>
#include <time.h>

static JavaVM* vm;
static jclass native_class;
static jmethodID on_call, on_commit, on_wake, on_mark, on_tell;

static JNIEnv* Env(void) {
  JNIEnv* env = NULL;
  (*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_1_8);
  return env;
}

/* Java's hooks catch all; an error that comes all the same (memory, stack) must not stay pending over the core. */
static void Finish(JNIEnv* env) {
  if ((*env)->ExceptionCheck(env)) {
    (*env)->ExceptionDescribe(env);
    (*env)->ExceptionClear(env);
  }
}

#define HOOK(name, kind)                                                                              \
  static void name##_hook(void* context, const kind* given) {                                         \
    JNIEnv* env = Env();                                                                              \
    (*env)->CallStaticVoidMethod(env, native_class, name, (jlong)(intptr_t)context, (jlong)(intptr_t)given); \
    Finish(env);                                                                                      \
  }
HOOK(on_call, bandana_call)
HOOK(on_commit, bandana_commit)
HOOK(on_mark, bandana_mark)
HOOK(on_tell, bandana_result)

static void on_wake_hook(void* context, int64_t elapsed_ns) {
  JNIEnv* env = Env();
  (*env)->CallStaticVoidMethod(env, native_class, on_wake, (jlong)(intptr_t)context, (jlong)elapsed_ns);
  Finish(env);
}

#ifdef BANDANA_SCRIPTED
/* For tests alone: clocks and entropy are Java's. */
static int64_t wall_now, elapsed_now;
static jmethodID on_random;
static int64_t Wall(void* context) {
  (void)context;
  return wall_now;
}
static int64_t Elapsed(void* context) {
  (void)context;
  return elapsed_now;
}
static int32_t Random(void* context, void* out, size_t size) {
  JNIEnv* env = Env();
  return (*env)->CallStaticIntMethod(env, native_class, on_random, (jlong)(intptr_t)context, (jlong)(intptr_t)out, (jlong)size);
}
#else
static int64_t Nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static int64_t Wall(void* context) {
  (void)context;
  return Nanoseconds(CLOCK_REALTIME);
}
static int64_t Elapsed(void* context) {
  (void)context;
  return Nanoseconds(CLOCK_BOOTTIME);
}
#endif

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* loaded, void* reserved) {
  (void)reserved;
  vm = loaded;
  JNIEnv* env = Env();
  if (env == NULL) return JNI_ERR;
  const jclass found = (*env)->FindClass(env, "io/bandana/Native");
  if (found == NULL) return JNI_ERR;
  native_class = (*env)->NewGlobalRef(env, found);
  on_call = (*env)->GetStaticMethodID(env, found, "onCall", "(JJ)V");
  on_commit = (*env)->GetStaticMethodID(env, found, "onCommit", "(JJ)V");
  on_wake = (*env)->GetStaticMethodID(env, found, "onWake", "(JJ)V");
  on_mark = (*env)->GetStaticMethodID(env, found, "onMark", "(JJ)V");
  on_tell = (*env)->GetStaticMethodID(env, found, "onTell", "(JJ)V");
#ifdef BANDANA_SCRIPTED
  on_random = (*env)->GetStaticMethodID(env, found, "onRandom", "(JJJ)I");
#endif
  return (*env)->ExceptionCheck(env) ? JNI_ERR : JNI_VERSION_1_8;
}

#define JAVA(type, name) JNIEXPORT type JNICALL Java_io_bandana_Native_##name
#define P(type, value) ((type*)(intptr_t)(value))

JAVA(jlong, address)(JNIEnv* env, jclass c, jobject buffer) {
  (void)c;
  return (jlong)(intptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}
JAVA(jobject, view)(JNIEnv* env, jclass c, jlong at, jlong size) {
  (void)c;
  return (*env)->NewDirectByteBuffer(env, P(void, at), size);
}
/* Text that ends with a zero, as bytes: it may quote what is no text of Java's. */
static jbyteArray BytesOf(JNIEnv* env, const char* text) {
  const jsize size = (jsize)strlen(text);
  const jbyteArray bytes = (*env)->NewByteArray(env, size);
  if (bytes != NULL) (*env)->SetByteArrayRegion(env, bytes, 0, size, (const jbyte*)text);
  return bytes;
}
JAVA(jbyteArray, text)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return BytesOf(env, P(const char, at));
}
JAVA(jbyteArray, errorText)(JNIEnv* env, jclass c) {
  (void)c;
  return BytesOf(env, bandana_error());
}
JAVA(jstring, version)(JNIEnv* env, jclass c) {
  (void)c;
  return (*env)->NewStringUTF(env, bandana_version());
}
JAVA(jlong, elapsed)(JNIEnv* env, jclass c) {
  (void)env, (void)c;
  return Elapsed(NULL);
}
#ifdef BANDANA_SCRIPTED
JAVA(void, script)(JNIEnv* env, jclass c, jlong wall, jlong elapsed) {
  (void)env, (void)c;
  wall_now = wall;
  elapsed_now = elapsed;
}
#endif
/* The device's handle, or minus the code. */
JAVA(jlong, deviceNew)(JNIEnv* env, jclass c, jlong context) {
  (void)env, (void)c;
  bandana_hooks hooks = {0};
  hooks.size = sizeof hooks;
  hooks.context = P(void, context);
  hooks.call = on_call_hook;
  hooks.commit = on_commit_hook;
#ifdef BANDANA_SCRIPTED
  hooks.random = Random;
#endif
  hooks.wall_ns = Wall;
  hooks.elapsed_ns = Elapsed;
  hooks.wake = on_wake_hook;
  hooks.mark = on_mark_hook;
  hooks.tell = on_tell_hook;
  bandana_device device = 0;
  const int32_t code = bandana_device_new(&hooks, &device);
  return code == 0 ? (jlong)device : -(jlong)code;
}

#define UNUSED (void)env, (void)c

JAVA(jint, tableForm)(JNIEnv* env, jclass c, jint table, jlong out) {
  UNUSED;
  return bandana_table_form(table, P(bandana_table, out));
}
JAVA(jint, deviceFree)(JNIEnv* env, jclass c, jint d) {
  UNUSED;
  return bandana_device_free((bandana_device)d);
}
JAVA(jint, load)(JNIEnv* env, jclass c, jint d, jint table, jlong cells, jlong count) {
  UNUSED;
  return bandana_load((bandana_device)d, table, P(const bandana_cell, cells), (size_t)count);
}
JAVA(void, optionsInit)(JNIEnv* env, jclass c, jlong options) {
  UNUSED;
  bandana_options_init(P(bandana_options, options));
}
JAVA(jint, close)(JNIEnv* env, jclass c, jint d, jint client) {
  UNUSED;
  return bandana_close((bandana_device)d, (bandana_client)client);
}
JAVA(jint, start)(JNIEnv* env, jclass c, jint d, jlong start, jlong tag) {
  UNUSED;
  return bandana_start((bandana_device)d, P(const bandana_start_of, start), (uint64_t)tag);
}
JAVA(jint, connect)(JNIEnv* env, jclass c, jint d, jlong options, jlong tag) {
  UNUSED;
  return bandana_connect((bandana_device)d, P(const bandana_options, options), (uint64_t)tag);
}

/* Those of a client, an argument and a tag. */
#define OF_CLIENT(java, function, type)                                                                   \
  JAVA(jint, java)(JNIEnv* env, jclass c, jint d, jint client, jlong given, jlong tag) {                  \
    UNUSED;                                                                                               \
    return function((bandana_device)d, (bandana_client)client, P(const type, given), (uint64_t)tag);      \
  }
OF_CLIENT(select, bandana_select, bandana_request)
OF_CLIENT(activate, bandana_activate, bandana_bytes)
OF_CLIENT(report, bandana_report, bandana_report_of)
OF_CLIENT(refreshPosterior, bandana_refresh_posterior, bandana_bytes)
OF_CLIENT(readSpent, bandana_read_spent, bandana_bytes)
OF_CLIENT(readStreams, bandana_read_streams, bandana_bytes)

JAVA(jint, adopt)(JNIEnv* env, jclass c, jint d, jint client, jlong user, jlong answer, jlong tag) {
  UNUSED;
  return bandana_adopt((bandana_device)d, (bandana_client)client, P(const bandana_bytes, user), P(const bandana_backend_answer, answer), (uint64_t)tag);
}
JAVA(jint, readLedger)(JNIEnv* env, jclass c, jint d, jint client, jlong user, jdouble delta, jlong tag) {
  UNUSED;
  return bandana_read_ledger((bandana_device)d, (bandana_client)client, P(const bandana_bytes, user), delta, (uint64_t)tag);
}
JAVA(jint, begin)(JNIEnv* env, jclass c, jint d, jint client) {
  UNUSED;
  return bandana_begin((bandana_device)d, (bandana_client)client);
}
JAVA(jint, flush)(JNIEnv* env, jclass c, jint d, jint client, jlong tag) {
  UNUSED;
  return bandana_flush((bandana_device)d, (bandana_client)client, (uint64_t)tag);
}
JAVA(jint, getStats)(JNIEnv* env, jclass c, jint d, jint client, jlong out) {
  UNUSED;
  return bandana_get_stats((bandana_device)d, (bandana_client)client, P(bandana_stats, out));
}
JAVA(jint, getModel)(JNIEnv* env, jclass c, jint d, jint client, jlong out) {
  UNUSED;
  return bandana_get_model((bandana_device)d, (bandana_client)client, P(bandana_model_info, out));
}
JAVA(jint, wake)(JNIEnv* env, jclass c, jint d) {
  UNUSED;
  return bandana_wake((bandana_device)d);
}
JAVA(jint, answer)(JNIEnv* env, jclass c, jint d, jlong call, jlong answer) {
  UNUSED;
  return bandana_answer((bandana_device)d, (uint64_t)call, P(const bandana_answer_of_call, answer));
}
JAVA(jint, committed)(JNIEnv* env, jclass c, jint d, jlong commit, jint code) {
  UNUSED;
  return bandana_committed((bandana_device)d, (uint64_t)commit, code);
}
