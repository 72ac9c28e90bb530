// Macros of newer Abseil releases (absl/status/status_macros.h, absl/log/check.h) for the base
// toolchain, whose Abseil (20220623) lacks them. An Abseil upgrade makes this header obsolete.
#ifndef BELAY_RUNTIME_CORE_STATUS_MACROS_H_
#define BELAY_RUNTIME_CORE_STATUS_MACROS_H_

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core/str_cat.h"  // IWYU pragma: export

// Returns the status of `expr` from the enclosing function unless it is OK.
#ifndef ABSL_RETURN_IF_ERROR
#define ABSL_RETURN_IF_ERROR(expr)         \
  do {                                     \
    ::absl::Status belay_status_ = (expr); \
    if (!belay_status_.ok()) [[unlikely]]  \
      return belay_status_;                \
  } while (false)
#endif

// Evaluates `expr`, a StatusOr<T>. Returns its status unless it is OK; otherwise assigns its value
// to `lhs`, which may declare a variable.
#ifndef ABSL_ASSIGN_OR_RETURN
#define BELAY_CONCAT_INNER_(a, b) a##b
#define BELAY_CONCAT_(a, b) BELAY_CONCAT_INNER_(a, b)
#define ABSL_ASSIGN_OR_RETURN(lhs, expr) \
  BELAY_ASSIGN_OR_RETURN_(BELAY_CONCAT_(belay_statusor_, __LINE__), lhs, expr)
#define BELAY_ASSIGN_OR_RETURN_(statusor, lhs, expr) \
  auto statusor = (expr);                            \
  if (!statusor.ok()) [[unlikely]]                   \
    return std::move(statusor).status();             \
  lhs = std::move(statusor).value()
#endif

// For programming errors only: no file or caller data may trigger them.
#ifndef ABSL_CHECK
#define ABSL_CHECK(condition)                                                            \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)
#endif
#ifndef ABSL_DCHECK
#ifdef NDEBUG
#define ABSL_DCHECK(condition)  \
  do {                          \
    (void)sizeof(!(condition)); \
  } while (false)
#else
#define ABSL_DCHECK(condition) ABSL_CHECK(condition)
#endif
#endif

#endif  // BELAY_RUNTIME_CORE_STATUS_MACROS_H_
