/* Expectations of the C tests: print failures with their line; main then exits with 1. */
#ifndef BELAY_BINDINGS_C_TEST_EXPECTATIONS_H_
#define BELAY_BINDINGS_C_TEST_EXPECTATIONS_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_programs.h"

static int failures = 0;

#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: expected: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                               \
    }                                                                           \
  } while (0)

/* As EXPECT, but exits on failure. */
#define REQUIRE(condition) \
  do {                     \
    EXPECT(condition);     \
    if (failures) exit(1); \
  } while (0)

/* Expects that the error has this status and that its message contains `part`. Frees it. */
static inline void ExpectError(int line, belay_status got, belay_error* error, belay_status status,
                               const char* part) {
  const char* message = belay_error_message(error);
  if (got != status || belay_error_status(error) != status || strstr(message, part) == NULL) {
    fprintf(stderr, "%s:%d: expected %s with '%s', got %s: %s\n", __FILE__, line,
            belay_status_name(status), part, belay_status_name(got), message);
    ++failures;
  }
  belay_error_free(error);
}
#define EXPECT_ERROR(call, status, part)                 \
  do {                                                   \
    belay_error* error = NULL;                           \
    const belay_status got = (call);                     \
    ExpectError(__LINE__, got, error, (status), (part)); \
  } while (0)

/* Opens the program of TestProgramBytes. */
static inline belay_program* Open(void) {
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  belay_program* program = NULL;
  belay_error* error = NULL;
  if (belay_program_open_bytes(bytes, size, NULL, &program, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return program;
}

static inline belay_method* Load(const belay_program* program, const char* name,
                                 const belay_method_options* options) {
  belay_method* method = NULL;
  belay_error* error = NULL;
  if (belay_method_load(program, name, options, &method, &error) != BELAY_OK) {
    fprintf(stderr, "%s\n", belay_error_message(error));
    exit(1);
  }
  return method;
}

/* Returns a float tensor [n] over `data`. */
static inline belay_tensor Floats(int64_t n, float* data) {
  return belay_tensor_contiguous(BELAY_FLOAT32, 1, &n, data);
}

/* Executes "count" on {1, 2} and returns its output: the state, which begins at {10, 20}. */
static inline belay_tensor Count(belay_method* method) {
  float step[] = {1, 2};
  const belay_tensor input = Floats(2, step);
  REQUIRE(belay_method_set_tensor(method, 0, &input, NULL) == BELAY_OK);
  REQUIRE(belay_method_execute(method, NULL, NULL) == BELAY_OK);
  belay_tensor next;
  REQUIRE(belay_method_get_tensor(method, 0, &next, NULL) == BELAY_OK);
  return next;
}

/* Returns the exit code of main. */
static inline int Failed(void) {
  if (failures != 0) fprintf(stderr, "%d failed\n", failures);
  return failures != 0;
}

#endif /* BELAY_BINDINGS_C_TEST_EXPECTATIONS_H_ */
