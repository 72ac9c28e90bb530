// Checks factorizations by multiplying their factors.
#include <cmath>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/core/testing.h"
#include "runtime/kernel_interface/kernel_registry.h"
#include "runtime/kernel_interface/test_outputs.h"
#include "runtime/kernels/reference/reference_kernels.h"

namespace belay {
namespace {

struct Shape {
  int64_t rows, columns;
};
constexpr Shape kShapes[] = {{1, 1}, {3, 3}, {5, 3},  {3, 5}, {6, 6},
                             {0, 0}, {4, 0}, {60, 2}, {2, 60}};

// A row-major matrix of doubles.
struct Dense {
  int64_t rows, columns;
  std::vector<double> values;
  double operator()(int64_t i, int64_t k) const { return values[i * columns + k]; }
};
Dense Zeros(int64_t rows, int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<size_t>(rows * columns), 0.0)};
}
// Equal values of `which` give equal elements.
Dense Random(Shape shape, uint64_t which) {
  std::mt19937_64 random(TestSeed() + which);
  Dense m = Zeros(shape.rows, shape.columns);
  for (double& v : m.values) v = static_cast<double>(random() % 2001) / 1000 - 1;
  return m;
}
Dense Product(const Dense& a, const Dense& b) {
  Dense out = Zeros(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < b.columns; ++k) {
      for (int64_t j = 0; j < a.columns; ++j) out.values[i * b.columns + k] += a(i, j) * b(j, k);
    }
  }
  return out;
}
Dense Transposed(const Dense& a) {
  Dense out = Zeros(a.columns, a.rows);
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t k = 0; k < a.columns; ++k) out.values[k * a.rows + i] = a(i, k);
  }
  return out;
}
void ExpectNear(const Dense& got, const Dense& want, std::string_view what) {
  ASSERT_EQ(got.rows, want.rows) << what;
  ASSERT_EQ(got.columns, want.columns) << what;
  for (size_t i = 0; i < got.values.size(); ++i) {
    EXPECT_NEAR(got.values[i], want.values[i], 1e-10) << what << " element " << i;
  }
}

class MatrixAlgebraTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(AddReferenceKernels(registry_)); }

  EValue Tensor(const Dense& m) {
    tensors_.push_back(TestTensor::Of<double>({m.rows, m.columns}, m.values));
    return EValue(tensors_.back().view());
  }
  static Dense Matrix(const EValue& value) {
    const TensorView& t = *value.get_if<TensorView>();
    Dense out = Zeros(t.sizes[0], t.rank() == 2 ? t.sizes[1] : 1);
    for (int64_t i = 0; i < out.rows; ++i) {
      for (int64_t k = 0; k < out.columns; ++k) {
        out.values[i * out.columns + k] =
            t.as<double>()[i * t.strides[0] + (t.rank() == 2 ? k * t.strides[1] : 0)];
      }
    }
    return out;
  }

  absl::Status Run(std::string_view op, std::vector<EValue> arguments,
                   const std::vector<DType>& dtypes, std::vector<EValue>& outputs) {
    std::vector<EValue*> results;
    outputs.clear();
    for (DType dtype : dtypes) outputs.emplace_back(TensorView::Contiguous(dtype, {0}, nullptr));
    for (EValue& output : outputs) results.push_back(&output);
    return RunOperator(registry_, op, std::move(arguments), results, allocator_);
  }

  KernelRegistry registry_;
  FreshOutputs allocator_;
  std::deque<TestTensor> tensors_;
};

constexpr DType kF64 = DType::kFloat64;

TEST_F(MatrixAlgebraTest, QrGivesOrthogonalAndTriangularFactors) {
  for (const Shape shape : kShapes) {
    for (const char* mode : {"reduced", "complete"}) {
      const Dense a = Random(shape, 1);
      std::vector<EValue> out;
      ASSERT_OK(Run("aten.linalg_qr.default", {Tensor(a), EValue(std::string_view(mode))},
                    {kF64, kF64}, out));
      const Dense q = Matrix(out[0]), r = Matrix(out[1]);
      ExpectNear(Product(q, r), a, mode);
      for (int64_t i = 0; i < r.rows; ++i) {
        for (int64_t k = 0; k < std::min(i, r.columns); ++k) EXPECT_EQ(r(i, k), 0);
      }
      Dense one = Zeros(q.columns, q.columns);
      for (int64_t i = 0; i < q.columns; ++i) one.values[i * q.columns + i] = 1;
      ExpectNear(Product(Transposed(q), q), one, mode);
    }
  }
}

TEST_F(MatrixAlgebraTest, SingularValuesDescendAndReconstructTheMatrix) {
  for (const Shape shape : kShapes) {
    for (const bool full : {false, true}) {
      for (const bool singular : {false, true}) {
        Dense a = Random(shape, 2);
        if (singular) {
          for (int64_t k = 0; k < a.columns && a.rows > 0; ++k) {
            a.values[(a.rows - 1) * a.columns + k] = a(0, k);
          }
        }
        std::vector<EValue> out;
        ASSERT_OK(Run("aten._linalg_svd.default", {Tensor(a), EValue(full), EValue(true), EValue()},
                      {kF64, kF64, kF64}, out));
        const Dense u = Matrix(out[0]), s = Matrix(out[1]), v = Matrix(out[2]);
        Dense middle = Zeros(u.columns, v.rows);
        for (int64_t i = 0; i < s.rows; ++i) {
          middle.values[i * v.rows + i] = s(i, 0);
          if (i > 0) EXPECT_GE(s(i - 1, 0), s(i, 0));
        }
        ExpectNear(Product(Product(u, middle), v), a, "U S V");
        Dense one = Zeros(u.columns, u.columns);
        for (int64_t i = 0; i < u.columns; ++i) one.values[i * u.columns + i] = 1;
        ExpectNear(Product(Transposed(u), u), one, "U");
      }
    }
  }
}

TEST_F(MatrixAlgebraTest, EigenvaluesAscendAndReconstructTheMatrix) {
  for (const int64_t n : {0, 1, 2, 3, 5, 8, 17, 40}) {
    const Dense random = Random({n, n}, 3);
    Dense a = random;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < n; ++k) a.values[i * n + k] = random(std::max(i, k), std::min(i, k));
    }
    std::vector<EValue> out;
    // Only the lower triangle is read.
    ASSERT_OK(Run("aten._linalg_eigh.default",
                  {Tensor(random), EValue(std::string_view("L")), EValue(true)}, {kF64, kF64},
                  out));
    const Dense values = Matrix(out[0]), v = Matrix(out[1]);
    Dense middle = Zeros(n, n);
    for (int64_t i = 0; i < n; ++i) {
      middle.values[i * n + i] = values(i, 0);
      if (i > 0) EXPECT_LE(values(i - 1, 0), values(i, 0));
    }
    ExpectNear(Product(Product(v, middle), Transposed(v)), a, "V w V'");
  }
}

TEST_F(MatrixAlgebraTest, SolvesSystemsFromBothSides) {
  // Far from singular: one element dominates its row and its column. LU decomposition must swap
  // rows for it; triangular systems need it on the diagonal.
  Dense a = Random({4, 4}, 4), swapped = a;
  for (int64_t i = 0; i < 4; ++i) {
    a.values[i * 4 + i] += 5;
    swapped.values[i * 4 + 3 - i] += 5;
  }
  std::vector<EValue> factors;
  ASSERT_OK(Run("aten.linalg_lu_factor_ex.default", {Tensor(swapped), EValue(true), EValue(true)},
                {kF64, DType::kInt32, DType::kInt32}, factors));
  for (const bool left : {true, false}) {
    for (const bool adjoint : {true, false}) {
      const Dense b = Random(left ? Shape{4, 3} : Shape{3, 4}, 5);
      std::vector<EValue> out;
      ASSERT_OK(Run("aten.linalg_lu_solve.default",
                    {factors[0], factors[1], Tensor(b), EValue(left), EValue(adjoint)}, {kF64},
                    out));
      const Dense m = adjoint ? Transposed(swapped) : swapped, x = Matrix(out[0]);
      ExpectNear(left ? Product(m, x) : Product(x, m), b, "lu_solve");
    }
  }
  for (const bool upper : {true, false}) {
    for (const bool left : {true, false}) {
      for (const bool unit : {true, false}) {
        Dense t = a;
        for (int64_t i = 0; i < 4; ++i) {
          for (int64_t k = 0; k < 4; ++k) {
            if (upper ? k < i : k > i) t.values[i * 4 + k] = 0;
            if (i == k && unit) t.values[i * 4 + k] = 1;
          }
        }
        const Dense b = Random(left ? Shape{4, 3} : Shape{3, 4}, 6);
        std::vector<EValue> out;
        ASSERT_OK(Run("aten.linalg_solve_triangular.default",
                      {Tensor(a), Tensor(b), EValue(upper), EValue(left), EValue(unit)}, {kF64},
                      out));
        ExpectNear(left ? Product(t, Matrix(out[0])) : Product(Matrix(out[0]), t), b, "triangle");
      }
    }
  }
}

TEST_F(MatrixAlgebraTest, ExponentialOfDiagonalAndNilpotentMatrices) {
  std::vector<EValue> out;
  ASSERT_OK(Run("aten.linalg_matrix_exp.default", {Tensor({2, 2, {3, 0, 0, -40}})}, {kF64}, out));
  ExpectNear(Matrix(out[0]), {2, 2, {std::exp(3.0), 0, 0, std::exp(-40.0)}}, "diagonal");
  ASSERT_OK(Run("aten.linalg_matrix_exp.default", {Tensor({2, 2, {0, 7, 0, 0}})}, {kF64}, out));
  ExpectNear(Matrix(out[0]), {2, 2, {1, 7, 0, 1}}, "nilpotent");
}

TEST_F(MatrixAlgebraTest, ErrorsNameTheWrongArgument) {
  std::vector<EValue> out;
  const EValue a = Tensor(Random({3, 3}, 7)), b = Tensor(Random({2, 3}, 7));
  EXPECT_THAT(Run("aten.linalg_solve_triangular.default",
                  {a, b, EValue(true), EValue(true), EValue(false)}, {kF64}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("does not fit")));
  EXPECT_THAT(Run("aten.linalg_matrix_exp.default", {b}, {kF64}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("square")));
  EXPECT_THAT(Run("aten.linalg_qr.default", {a, EValue(std::string_view("x"))}, {kF64, kF64}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("mode")));
  TestTensor pivots = TestTensor::Of<int32_t>({3}, {1, 9, 3});
  EXPECT_THAT(Run("aten.linalg_lu_solve.default",
                  {a, EValue(pivots.view()), a, EValue(true), EValue(false)}, {kF64}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(", got 9")));
  const EValue zero = Tensor(Zeros(2, 2));
  EXPECT_THAT(Run("aten.linalg_lu_factor_ex.default", {zero, EValue(true), EValue(true)},
                  {kF64, DType::kInt32, DType::kInt32}, out),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("singular")));
}

}  // namespace
}  // namespace belay
