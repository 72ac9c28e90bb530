// Text form: prints and parses programs and graphs.
//
// ParseProgram(PrintProgram(p)) equals p (Equal below) except for the bytes of constants. The text
// declares each constant's dtype, sizes, strides and shared storages, and the parser fills it with
// zeros. With a separate list of storages the text is complete: `storage#3` refers to an entry of
// the list. exir/serialize/saved_programs.h writes both to a file.
//
//   program aten {                                       // or training, edge
//     ranges { s77: [1, 512] u0: [-inf, inf] }
//     hints { s77: 4 }
//     in_spec "[1, …]"
//     out_spec "[1, …]"
//     guards {
//       "L['x'].size()[0] <= 512"
//     }
//     constants {
//       state "fc.weight": f32[10,32]
//       state "fc.tied": f32[32,10]{strides=[1,32]} shares state "fc.weight"
//       constant "scale": f32[] storage#0                 // with a separate list of storages
//     }
//     graph(%p_fc_weight: f32[10,32] parameter "fc.weight",
//           %b_scale: f32[] buffer "scale" nonpersistent,
//           %p_a: f32[4,32] parameter "lora_a" replaceable,
//           %p_b: f32[10,4] parameter "b" in "weights",      // the tag of a companion file
//           %x: f32[s77,32] user_input) {
//       %t: f32[32,10]{strides=[1,32]} = aten.permute.default(%p_fc_weight, [1,0])  @"m.py":12
//       %a: f32[…], [%b: …, %c: …], none = some.op.multi(%x, alpha=2.5) tag="t0"
//       return (%a user_output, 3 user_output, %b buffer_mutation "scale")
//     }
//     graph true_graph_0(…) { … }          // subgraphs, referred to by position: graph#1
//     module#0 backend "demo" specs ["key": "value"] {
//       blob "…"                           // base64, or storage#1
//       buffer "…"
//       data "key": buffer#0 align 16 layout f32[2,3] order [0,1] replaceable
//       external "tag" data "key": buffer#0 align 16
//       handles 1: [2,3]
//       info "…"
//       program edge { … }
//     }
//   }
//
// Tensor types are `f32[2,s0]`, with `{strides=[…],offset=…,device=cuda:0,layout=…,grad}` only for
// values that differ from contiguous, 0, cpu, strided, false. Other types are symint(2*s0),
// symfloat(…), symbool(…), object("cls"), token, const(3). Expressions that contain brackets or
// quotes are quoted.
//
// Arguments equal to their schema default are omitted; later arguments and keyword-only arguments
// are then named. Literals: 3, 2.5 (always with '.', 'e', inf or nan), true, none, "text" (escapes:
// \n, \t, \", \\, \xHH), (1+2j), dtype:f32, format:channels_last, layout:strided, device:cpu, [..],
// {"k": v}, graph#1, module#0, op:"aten.add.Tensor", %value. Names that are not words are quoted:
// %"a name".
//
// A node's name is printed as `name="…"` if it differs from its first result's; a node without
// results and without `name` is named after its operator. Inputs and outputs of the top graph
// without a kind have no entry in the signature; such programs are not well formed. Comments start
// with // and end with the line.
#ifndef BELAY_EXIR_IR_TEXT_H_
#define BELAY_EXIR_IR_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exir/ir/constant.h"
#include "exir/ir/exported_program.h"

namespace belay::exir {

// Prints canonically and completely; values are printed under their names. Lowered modules are
// printed with their nested original program (docs/lowering.md row 49 "print_delegated_graph"):
// `module#0 backend "demo" specs [...] { program … }`.
//
// With `storages`, the bytes of constants and delegates are appended to it and referred to by
// index. Bytes that it already contains are not appended again.
std::string PrintProgram(const ExportedProgram& program, std::vector<Storage>* storages = nullptr);
// Prints one node as in the program, without provenance, for error messages. "%mm: f32[2,4] =
// aten.mm.default(%x, %w)"
std::string PrintNode(const Graph& graph, NodeId node);
std::string PrintType(const ValueType& type);
std::string PrintArgument(const Graph& graph, const Argument& argument);
// Returns PrintNode and the source line if known: `… (model.py:12)`. The usual subject of an error.
std::string DescribeNode(const Graph& graph, NodeId node);

// kInvalidArgument with line, column, expected and actual token. Unknown operators become opaque
// operators of `ops`. Untrusted input: linear time, bounded nesting. `storages` are the bytes that
// the text refers to by index; constants share them.
absl::StatusOr<ExportedProgram> ParseProgram(std::string_view text, const OpRegistry& ops,
                                             absl::Span<const Storage> storages = {});

// Returns whether everything that the text form shows is equal: order, names, types and metadata.
// Ids may differ.
bool Equal(const ExportedProgram& a, const ExportedProgram& b);

}  // namespace belay::exir

#endif  // BELAY_EXIR_IR_TEXT_H_
