/* Tests of memory from the caller's allocator through the C API. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

typedef struct Memory {
  size_t blocks, bytes; /* allocated, and not freed */
  size_t calls;         /* of Allocate */
} Memory;

static void* Allocate(void* context, size_t bytes, size_t alignment) {
  Memory* memory = context;
  void* block = NULL;
  EXPECT(bytes > 0);
  if (posix_memalign(&block, alignment, bytes) != 0) return NULL;
  memset(block, 0xff, bytes);
  ++memory->blocks;
  memory->bytes += bytes;
  ++memory->calls;
  return block;
}

static void Free(void* context, void* block, size_t bytes) {
  Memory* memory = context;
  --memory->blocks;
  memory->bytes -= bytes;
  free(block);
}

static void* AllocateNothing(void* context, size_t bytes, size_t alignment) {
  (void)context, (void)bytes, (void)alignment;
  return NULL;
}

static void ExpectCount(belay_method* method, float first) {
  const belay_tensor next = Count(method);
  EXPECT(((const float*)next.data)[0] == first);
}

static void MethodsUseTheAllocator(const belay_program* program) {
  Memory memory = {0, 0, 0};
  belay_method* method;
  {
    const belay_allocator allocator = {&memory, Allocate, Free}; /* is copied */
    const belay_method_options options = {.struct_size = sizeof options, .allocator = &allocator};
    method = Load(program, "count", &options);
  }
  const size_t calls = memory.calls;
  EXPECT(memory.blocks >= 2); /* activations and state */
  EXPECT(memory.bytes >= 64 + 8);
  ExpectCount(method, 11);
  ExpectCount(method, 12);
  EXPECT(memory.calls == calls);
  belay_method_free(method);
  EXPECT(memory.blocks == 0 && memory.bytes == 0);
}

static void StateUsesTheAllocator(const belay_program* program) {
  Memory memory = {0, 0, 0};
  const belay_allocator allocator = {&memory, Allocate, Free};
  const char* const names[] = {"count"};
  belay_state* state = NULL;
  REQUIRE(belay_state_create_with_allocator(program, names, 1, &allocator, &state, NULL) ==
          BELAY_OK);
  EXPECT(memory.blocks == 1 && memory.bytes >= 8);
  const belay_method_options options = {.struct_size = sizeof options, .state = state};
  belay_method* method = Load(program, "count", &options);
  EXPECT(memory.blocks == 1);
  ExpectCount(method, 11);
  belay_method_free(method);
  belay_state_free(state);
  EXPECT(memory.blocks == 0);
  REQUIRE(belay_state_create_with_allocator(program, names, 1, NULL, &state, NULL) == BELAY_OK);
  belay_state_free(state);
}

static void InvalidAllocatorsAreRejected(const belay_program* program) {
  Memory memory = {0, 0, 0};
  const struct {
    belay_allocator allocator;
    belay_status status;
    const char* message;
  } cases[] = {
      {{&memory, NULL, Free}, BELAY_INVALID_ARGUMENT, "allocator.allocate"},
      {{&memory, Allocate, NULL}, BELAY_INVALID_ARGUMENT, "allocator.free"},
      {{&memory, AllocateNothing, Free}, BELAY_RESOURCE_EXHAUSTED, "no memory for"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const belay_method_options options = {.struct_size = sizeof options,
                                          .allocator = &cases[i].allocator};
    belay_method* method = NULL;
    EXPECT_ERROR(belay_method_load(program, "count", &options, &method, &error), cases[i].status,
                 cases[i].message);
    belay_state* state = NULL;
    EXPECT_ERROR(
        belay_state_create_with_allocator(program, NULL, 0, &cases[i].allocator, &state, &error),
        cases[i].status, cases[i].message);
  }
  EXPECT_ERROR(belay_state_create_with_allocator(program, NULL, 0, NULL, NULL, &error),
               BELAY_INVALID_ARGUMENT, "an output pointer for the state");
  EXPECT(memory.blocks == 0);
}

int main(void) {
  belay_program* program = Open();
  MethodsUseTheAllocator(program);
  StateUsesTheAllocator(program);
  InvalidAllocatorsAreRejected(program);
  belay_program_free(program);
  return Failed();
}
