// The module's memory, a 20th of the C library's code: a block keeps its size, and waits for the
// next of that size once it is free. Sizes are 32, 48, 64, 96, 128, .. bytes with the head, so a
// block wastes at most a third and its head. Memory is never given back: a module has one thread,
// and its page has all of it.
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" std::byte __heap_base;  // NOLINT(bugprone-reserved-identifier): the linker's

namespace {

struct alignas(16) Block {
  int kind;
  Block* next;  // that is free
};

constexpr std::size_t kPage = 65'536;
constexpr std::size_t kSizeMax = std::size_t{1} << 30;
constexpr int kKinds = 52;

Block* free_blocks[kKinds];
std::byte* unused = nullptr;  // from there, never given out

constexpr std::size_t SizeOf(int kind) {
  return static_cast<std::size_t>(kind % 2 == 0 ? 32 : 48) << (kind / 2);
}
static_assert(SizeOf(kKinds - 1) > kSizeMax + sizeof(Block));

std::byte* MemoryEnd() {
  return reinterpret_cast<std::byte*>(__builtin_wasm_memory_size(0) * kPage);
}

// Null where the page has no more.
Block* Carve(int kind) {
  const std::size_t size = SizeOf(kind);
  if (unused == nullptr) {
    unused = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(&__heap_base) + 15) &
                                          ~std::uintptr_t{15});
  }
  const auto left = static_cast<std::size_t>(MemoryEnd() - unused);
  if (left < size && __builtin_wasm_memory_grow(0, (size - left + kPage - 1) / kPage) == SIZE_MAX) {
    return nullptr;
  }
  auto* const block = reinterpret_cast<Block*>(unused);
  unused += size;
  block->kind = kind;
  return block;
}

void* Allocate(std::size_t size) {
  if (size > kSizeMax) return nullptr;
  int kind = 0;
  while (SizeOf(kind) < size + sizeof(Block)) ++kind;
  Block* block = free_blocks[kind];
  if (block != nullptr) {
    free_blocks[kind] = block->next;
  } else {
    block = Carve(kind);
    if (block == nullptr) return nullptr;
  }
  return block + 1;
}

}  // namespace

// Used: the linker finds calls of them after the compiler has looked for unused functions.
extern "C" {

[[gnu::used]] void* malloc(std::size_t size) { return Allocate(size); }

[[gnu::used]] void free(void* memory) {
  if (memory == nullptr) return;
  Block* const block = static_cast<Block*>(memory) - 1;
  block->next = free_blocks[block->kind];
  free_blocks[block->kind] = block;
}

// By the C library's list of what runs at an exit.
void* __libc_calloc(std::size_t count, std::size_t size);  // NOLINT(bugprone-reserved-identifier)
[[gnu::used]] void* __libc_calloc(std::size_t count, std::size_t size) {
  if (size != 0 && count > kSizeMax / size) return nullptr;
  void* const memory = Allocate(count * size);
  if (memory != nullptr) std::memset(memory, 0, count * size);
  return memory;
}

// Each is an instruction of WebAssembly.
[[gnu::used]] void* memcpy(void* to, const void* from, std::size_t size) {
  return __builtin_memcpy(to, from, size);
}
[[gnu::used]] void* memmove(void* to, const void* from, std::size_t size) {
  return __builtin_memmove(to, from, size);
}
[[gnu::used]] void* memset(void* to, int byte, std::size_t size) {
  return __builtin_memset(to, byte, size);
}

// Parts of the C and C++ libraries that the module does not keep name these.
int posix_memalign(void**, std::size_t, std::size_t) { __builtin_trap(); }
void* realloc(void*, std::size_t) { __builtin_trap(); }
void* calloc(std::size_t, std::size_t) { __builtin_trap(); }

}  // extern "C"
