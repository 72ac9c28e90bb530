/* Programs for the C tests; see test_programs.cc. */
#ifndef BELAY_BINDINGS_C_TEST_PROGRAMS_H_
#define BELAY_BINDINGS_C_TEST_PROGRAMS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the aligned bytes of a program file, valid for the life of the process. Its methods:
 *   add(x f32[<=4], y f32[<=4]) = x + y, sizes equal
 *   count(x f32[2]) = the state "sum", after adding x; in the bank "fast", aligned to 128
 *   numbers(a int, b float, c bool) = a, b, c
 *   forever(x f32[1]) = x, after an endless loop
 *   fixed(mode = "fast") = none, "fast", 7
 *   steps(x f32[2]) = x, from a delegate that logs the steps "copy" and 7 */
const void* TestProgramBytes(size_t* size);

/* Contents of other files, with the same lifetime. */
typedef enum TestFile {
  TEST_PROGRAM_WITH_COMPANION, /* has a method "same"; the companion is named "weights" */
  TEST_COMPANION,
  TEST_PTE_PROGRAM,            /* ExecuTorch program: relu(x f32[2,3]) */
  TEST_PTE_EXTERNAL,           /* ExecuTorch program: returns w f32[2], stored in a data file */
  TEST_PTD,                    /* the data file: w is [5, 6] */
  TEST_PROGRAM_WITH_PARAMETER, /* has a method "w", which returns w f32[2], replaceable: [1, 2] */
  TEST_PARAMETERS              /* a parameter file: w is [7, 8] */
} TestFile;
const void* TestFileBytes(TestFile file, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* BELAY_BINDINGS_C_TEST_PROGRAMS_H_ */
