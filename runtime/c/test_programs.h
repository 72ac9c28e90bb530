/* A program for the tests in C; see test_programs.cc. */
#ifndef BELAY_RUNTIME_C_TEST_PROGRAMS_H_
#define BELAY_RUNTIME_C_TEST_PROGRAMS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a program file, aligned; as long as the process. Its methods:
 *   add(x f32[<=4], y f32[<=4]) = x + y, sizes equal
 *   count(x f32[2]) = the state "sum", to which x is added
 *   numbers(a int, b float, c bool) = a, b, c
 *   forever(x f32[1]) = x, after an endless loop */
const void* TestProgramBytes(size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* BELAY_RUNTIME_C_TEST_PROGRAMS_H_ */
