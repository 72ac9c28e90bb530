#include "backends/xnnpack/node_rules.h"

namespace belay::xnnpack {
namespace {

constexpr bool kYes = true, kNo = false, kMoves = true, kFunction = true;

constexpr NodeRule kRules[] = {
    {NodeType::Add, kYes, kYes},
    {NodeType::FullyConnected, kYes, kYes},
    {NodeType::Softmax, kYes, kNo},
    {NodeType::Sigmoid, kYes, kNo},
    {NodeType::StaticTranspose, kYes, kYes, kMoves},
    {NodeType::Clamp, kYes, kYes, kMoves},
    {NodeType::Conv2d, kYes, kYes},
    {NodeType::Div, kYes, kNo},
    {NodeType::StaticResizeBilinear2D, kYes, kNo},
    {NodeType::StaticConstantPad, kYes, kYes, kMoves},
    {NodeType::AvgPooling2d, kYes, kNo},
    {NodeType::Minimum, kYes, kNo},
    {NodeType::DepthwiseConv2d, kYes, kYes},
    {NodeType::MaxPooling2d, kYes, kYes, kMoves},
    {NodeType::Multiply, kYes, kYes},
    {NodeType::Subtract, kYes, kYes},
    {NodeType::Floor, kYes, kNo},
    // Converts between the two.
    {NodeType::Convert, kYes, kYes},
    {NodeType::GlobalAvgPooling2d, kYes, kYes},
    {NodeType::StaticReshape, kYes, kYes, kMoves},
    {NodeType::ArgMaxPooling2d, kNo, kNo},
    {NodeType::SquareRoot, kYes, kNo},
    {NodeType::Ceiling, kYes, kNo},
    {NodeType::Hardswish, kYes, kNo},
    {NodeType::LeakyReLU, kYes, kNo},
    {NodeType::Maximum, kYes, kNo},
    {NodeType::Negate, kYes, kNo},
    {NodeType::Square, kYes, kNo},
    {NodeType::ELU, kYes, kNo},
    {NodeType::Abs, kYes, kNo},
    {NodeType::PReLU, kYes, kNo},
    {NodeType::Concatenate2, kYes, kYes, kMoves},
    {NodeType::Concatenate3, kYes, kYes, kMoves},
    {NodeType::Concatenate4, kYes, kYes, kMoves},
    {NodeType::StaticSlice, kYes, kYes, kMoves},
    {NodeType::ScaledDotProductAttention, kNo, kNo},
    {NodeType::BatchMatrixMultiply, kNo, kNo, kNo, kFunction},
    {NodeType::Concatenate5, kYes, kYes, kMoves},
    {NodeType::ConvTranspose2d, kYes, kNo},
    {NodeType::ReciprocalSquareRoot, kNo, kNo, kNo, kFunction},
    {NodeType::Log, kNo, kNo, kNo, kFunction},
    {NodeType::Gelu, kNo, kNo, kNo, kFunction},
    {NodeType::Tanh, kNo, kNo, kNo, kFunction},
    {NodeType::Exp, kNo, kNo, kNo, kFunction},
    {NodeType::Sin, kNo, kNo, kNo, kFunction},
    {NodeType::Copy, kYes, kYes, kMoves},
    {NodeType::Cos, kNo, kNo, kNo, kFunction},
};

}  // namespace

const NodeRule* FindNodeRule(NodeType type) {
  for (const NodeRule& rule : kRules) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

std::string_view NodeTypeName(NodeType type) {
  return FindNodeRule(type) == nullptr ? "unknown node type" : fb::EnumNameNodeUnion(type);
}

std::string_view DatatypeName(Datatype datatype) {
  const char* name = fb::EnumNameDatatype(datatype);
  return name[0] == '\0' ? "unknown datatype" : name;
}

}  // namespace belay::xnnpack
