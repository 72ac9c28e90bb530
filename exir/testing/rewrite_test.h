// Pass tests: text in, text out.
//
//   TEST(FoldPermute, CancelsInversePair) {
//     ExpectRewrite(R"(program aten { graph(%x: f32[2,3] user_input) {
//                        %p: f32[3,2] = aten.permute_copy.default(%x, [1,0])
//                        %q: f32[2,3] = aten.permute_copy.default(%p, [1,0])
//                        return (%q user_output) } })",
//                   FoldPermute().run,
//                   R"(program aten { graph(%x: f32[2,3] user_input) {
//                        return (%x user_output) } })");
//   }
#ifndef BELAY_EXIR_TESTING_REWRITE_TEST_H_
#define BELAY_EXIR_TESTING_REWRITE_TEST_H_

#include <functional>
#include <string_view>

#include "absl/status/statusor.h"
#include "exir/ir/exported_program.h"
#include "exir/op_definition/op_registry.h"
#include "exir/testing/test_ops.h"

namespace belay::exir {

// Signature of Pass::run.
using RunPass = std::function<absl::StatusOr<bool>(ExportedProgram&)>;

// Expects that `before` verifies, that `pass` reports a change, and that the result verifies and
// equals `after` in the text form, names included.
void ExpectRewrite(std::string_view before, const RunPass& pass, std::string_view after,
                   const OpRegistry& ops = TestOps());
// Expects that the pass reports no change and makes none.
void ExpectUnchanged(std::string_view before, const RunPass& pass,
                     const OpRegistry& ops = TestOps());
// Expects that the pass fails with this code and a message that contains `message`.
void ExpectPassError(std::string_view before, const RunPass& pass, absl::StatusCode code,
                     std::string_view message, const OpRegistry& ops = TestOps());

}  // namespace belay::exir

#endif  // BELAY_EXIR_TESTING_REWRITE_TEST_H_
