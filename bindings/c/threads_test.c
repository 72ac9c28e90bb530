/* Concurrent use of a program: loads and calls of several threads, each with methods of its own. For
 * --config=tsan. */
#include <pthread.h>
#include <stdint.h>

#include "bindings/c/belay.h"
#include "bindings/c/test_expectations.h"

enum { kThreads = 4, kLoads = 8, kCalls = 20 };

typedef struct Worker {
  const belay_program* program;
  int id;
  int wrong; /* results and statuses; not `failures`, which the threads would share */
} Worker;

static belay_value Tensor(belay_tensor tensor) {
  return (belay_value){.kind = BELAY_KIND_TENSOR, .tensor = tensor};
}

/* Loads "add" and "count", the latter with a state of its own, which begins with 20, and calls
 * them. */
static void LoadAndCall(Worker* worker, int load) {
  const belay_method_options threads = {.struct_size = sizeof threads, .num_threads = 1 + load % 2};
  belay_state* state = NULL;
  belay_method *add = NULL, *count = NULL;
  const char* name = "count";
  if (belay_state_create(worker->program, &name, 1, &state, NULL) != BELAY_OK) {
    ++worker->wrong;
    return;
  }
  const belay_method_options own = {.struct_size = sizeof own, .state = state};
  if (belay_method_load(worker->program, "add", &threads, &add, NULL) == BELAY_OK &&
      belay_method_load(worker->program, "count", &own, &count, NULL) == BELAY_OK) {
    for (int call = 1; call <= kCalls; ++call) {
      float x[] = {(float)worker->id, 1}, y[] = {10, (float)call};
      const belay_value inputs[] = {Tensor(Floats(2, x)), Tensor(Floats(2, y))};
      belay_value sum = {0}, total = {0};
      worker->wrong += belay_method_call(add, inputs, 2, &sum, 1, NULL, NULL) != BELAY_OK ||
                       ((const float*)sum.tensor.data)[0] != (float)worker->id + 10 ||
                       ((const float*)sum.tensor.data)[1] != 1 + (float)call;
      worker->wrong += belay_method_call(count, inputs, 1, &total, 1, NULL, NULL) != BELAY_OK ||
                       ((const float*)total.tensor.data)[1] != 20 + (float)call;
    }
  } else {
    ++worker->wrong;
  }
  belay_method_free(count);
  belay_method_free(add);
  belay_state_free(state);
}

static void* Work(void* argument) {
  Worker* worker = argument;
  for (int load = 0; load < kLoads; ++load) LoadAndCall(worker, load);
  belay_error* error = NULL;
  belay_method* none = NULL;
  worker->wrong +=
      belay_method_load(worker->program, "none", NULL, &none, &error) != BELAY_NOT_FOUND;
  belay_error_free(error);
  return NULL;
}

static void ThreadsShareAProgram(void) {
  belay_program* program = Open();
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (Worker){.program = program, .id = i};
    REQUIRE(pthread_create(&threads[i], NULL, Work, &workers[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(pthread_join(threads[i], NULL) == 0);
    EXPECT(workers[i].wrong == 0);
  }
  belay_program_free(program);
}

/* Programs opened from the same bytes at the same time are independent. */
static void* OpenAndCall(void* argument) {
  Worker* worker = argument;
  size_t size = 0;
  const void* bytes = TestProgramBytes(&size);
  for (int i = 0; i < kLoads; ++i) {
    belay_program* program = NULL;
    if (belay_program_open_bytes(bytes, size, NULL, &program, NULL) != BELAY_OK) {
      ++worker->wrong;
      continue;
    }
    Worker own = {.program = program, .id = worker->id};
    LoadAndCall(&own, i);
    worker->wrong += own.wrong;
    belay_program_free(program);
  }
  return NULL;
}

static void ThreadsOpenTheSameBytes(void) {
  size_t size = 0;
  TestProgramBytes(&size);
  pthread_t threads[kThreads];
  Worker workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (Worker){.id = i};
    REQUIRE(pthread_create(&threads[i], NULL, OpenAndCall, &workers[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    REQUIRE(pthread_join(threads[i], NULL) == 0);
    EXPECT(workers[i].wrong == 0);
  }
}

int main(void) {
  ThreadsShareAProgram();
  ThreadsOpenTheSameBytes();
  return Failed();
}
