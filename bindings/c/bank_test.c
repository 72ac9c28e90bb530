/* Tests of memory banks through the C API. */
#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

/* "count" has the bank "fast" of 64 bytes, aligned to 128; the others have one without a name. */
static void BanksAreDescribed(const belay_program* program) {
  EXPECT(belay_program_num_banks(program, "count") == 1);
  EXPECT(belay_program_num_banks(program, "unknown") == 0);
  EXPECT(belay_program_num_banks(program, NULL) == 0);
  EXPECT(belay_program_num_banks(NULL, "count") == 0);
  belay_bank_info info = {.struct_size = sizeof info};
  REQUIRE(belay_program_bank(program, "count", 0, &info, NULL) == BELAY_OK);
  EXPECT(strcmp(info.name, "fast") == 0);
  EXPECT(info.bytes == 64);
  EXPECT(info.alignment == 128);
  REQUIRE(belay_program_bank(program, "add", 0, &info, NULL) == BELAY_OK);
  EXPECT(strcmp(info.name, "") == 0);
  EXPECT(info.bytes == 64);
  EXPECT(info.alignment == 64);
  EXPECT_ERROR(belay_program_bank(program, "unknown", 0, &info, &error), BELAY_NOT_FOUND,
               "unknown");
  EXPECT_ERROR(belay_program_bank(program, "count", 1, &info, &error), BELAY_OUT_OF_RANGE,
               "bank 1");
  EXPECT_ERROR(belay_program_bank(program, "count", 0, NULL, &error), BELAY_INVALID_ARGUMENT,
               "an output pointer for the result");
  EXPECT_ERROR(belay_program_bank(NULL, "count", 0, &info, &error), BELAY_INVALID_ARGUMENT,
               "a program");
  EXPECT_ERROR(belay_program_bank(program, NULL, 0, &info, &error), BELAY_INVALID_ARGUMENT,
               "the name of a method");
}

static void ActivationsAreInTheCallersMemory(const belay_program* program) {
  alignas(128) unsigned char memory[128];
  memset(memory, 0xff, sizeof memory);
  const belay_bank_memory bank = {"fast", memory, sizeof memory};
  const belay_method_options options = {
      .struct_size = sizeof options, .banks = &bank, .num_banks = 1};
  belay_method* method = Load(program, "count", &options);
  EXPECT(memory[0] == 0 && memory[63] == 0 && memory[64] == 0xff);
  const belay_tensor next = Count(method);
  EXPECT(next.data == (void*)memory);
  EXPECT(((const float*)next.data)[0] == 11 && ((const float*)next.data)[1] == 22);
  belay_method_free(method);
}

static void InvalidMemoryIsRejected(const belay_program* program) {
  alignas(128) unsigned char memory[256];
  const struct {
    belay_bank_memory banks[2];
    size_t count;
    const char* message;
  } cases[] = {
      {{{"slow", memory, 64}}, 1, "memory of bank 'slow': unknown bank; the method has: 'fast'"},
      {{{"fast", memory, 63}}, 1, "expected at least 64 bytes, got 63"},
      {{{"fast", memory + 64, 64}}, 1, "expected an address that is a multiple of 128"},
      {{{"fast", memory, 64}, {"fast", memory + 128, 64}}, 2, "given twice"},
      {{{NULL, memory, 64}}, 1, "banks[0].name"},
      {{{"fast", NULL, 64}}, 1, "banks[0].data"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const belay_method_options options = {
        .struct_size = sizeof options, .banks = cases[i].banks, .num_banks = cases[i].count};
    belay_method* method = NULL;
    EXPECT_ERROR(belay_method_load(program, "count", &options, &method, &error),
                 BELAY_INVALID_ARGUMENT, cases[i].message);
  }
  const belay_method_options no_list = {.struct_size = sizeof no_list, .num_banks = 1};
  belay_method* method = NULL;
  EXPECT_ERROR(belay_method_load(program, "count", &no_list, &method, &error),
               BELAY_INVALID_ARGUMENT, "banks");
}

int main(void) {
  belay_program* program = Open();
  BanksAreDescribed(program);
  ActivationsAreInTheCallersMemory(program);
  InvalidMemoryIsRejected(program);
  belay_program_free(program);
  return Failed();
}
