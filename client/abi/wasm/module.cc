// The hooks of a WebAssembly module are its imports, and its caller is not C: memory is had by
// bandana_allocate.
#include <cstdint>
#include <cstdlib>

#include "client/abi/include/bandana.h"
#include "client/core/stand_in/entropy_bits.h"
#include "common/base/check.h"
#include "common/base/status.h"

// Each as the hook of its name; structs are given by their address.
#define BANDANA_IMPORT(name) __attribute__((import_module("bandana"), import_name(name)))

extern "C" {

BANDANA_IMPORT("call") void bandana_import_call(void* context, const bandana_call* call);
BANDANA_IMPORT("commit") void bandana_import_commit(void* context, const bandana_commit* commit);
BANDANA_IMPORT("random") std::int32_t bandana_import_random(void* context, void* out, std::size_t);
BANDANA_IMPORT("wall_ns") std::int64_t bandana_import_wall_ns(void* context);
BANDANA_IMPORT("elapsed_ns") std::int64_t bandana_import_elapsed_ns(void* context);
BANDANA_IMPORT("wake") void bandana_import_wake(void* context, std::int64_t elapsed_ns);
BANDANA_IMPORT("mark") void bandana_import_mark(void* context, const bandana_mark* mark);
BANDANA_IMPORT("tell") void bandana_import_tell(void* context, const bandana_result* result);

// A device over the imports; 0 where none can be made.
bandana_device bandana_module_device(void* context) {
  const bandana_hooks hooks = {sizeof hooks,
                               context,
                               bandana_import_call,
                               bandana_import_commit,
                               bandana_import_random,
                               bandana_import_wall_ns,
                               bandana_import_elapsed_ns,
                               bandana_import_wake,
                               bandana_import_mark,
                               bandana_import_tell};
  bandana_device device = 0;
  bandana_device_new(&hooks, &device);
  return device;
}

void* bandana_allocate(std::size_t size) { return std::malloc(size); }
void bandana_deallocate(void* memory) { std::free(memory); }

}  // extern "C"

namespace bandana {
namespace {

class ImportedBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    if (bandana_import_random(nullptr, out.data(), out.size()) == 0) return absl::OkStatus();
    return Unavailable("entropy: the host's generator failed");
  }
};

}  // namespace

// client/core/stand_in/entropy_bits.h over the import.
BitSource& EntropyBits() {
  static ImportedBits* const bits = new ImportedBits;
  return *bits;
}

}  // namespace bandana

// An end without words in place of the C++ library's and ours, which bring printf and files.
extern "C" {
void abort_message(const char*, ...);
void abort_message(const char*, ...) { __builtin_trap(); }
}

// The part of sin and cos for arguments of a million turns, 7 KB of the C library's: a cyclic field
// asks for one turn at most (common/features/number_fields.cc).
extern "C" {
int __rem_pio2_large(double*, double*, int, int, int);  // NOLINT(bugprone-reserved-identifier)
[[gnu::used]] int __rem_pio2_large(double*, double*, int, int, int) { __builtin_trap(); }
}

namespace bandana::internal {

void CheckFailed(const char*, const char*, int) { __builtin_trap(); }

}  // namespace bandana::internal
