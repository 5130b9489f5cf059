// Files of bytes, multiplied as they are.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "int8_cases.hpp"

namespace omnirt::cpu {
namespace {

// A file's matrix at an odd address that ends where its memory does, and what it is multiplied by.
struct StoredCase {
  int64_t m, n, k, group = 1;
  bool gated = false;
};

struct StoredRun {
  explicit StoredRun(const StoredCase& of, uint32_t seed = 1)
      : shape(of), rows(of.gated ? 2 * of.n : of.n), bytes(static_cast<size_t>(1 + rows * of.k)) {
    Numbers numbers(seed);
    x = numbers.take(of.m * of.k);
    bias = numbers.take(rows);
    for (int8_t& byte : bytes) byte = static_cast<int8_t>(numbers.bits());
    for (int64_t row = 0; row < rows; ++row) scales.push_back(0.001f * static_cast<float>(1 + row));
  }
  Int8Matrix matrix() const {
    return {bytes.data() + 1, rows, shape.k, shape.group, scales.data()};
  }

  template <class Weight>
  std::vector<float> times(const Int8Kernels& kernels, const Weight& weight) const {
    std::vector<float> y(static_cast<size_t>(shape.m * shape.n));
    GemmArgs args{shape.m, shape.n, shape.k, x.data(), shape.k, y.data(), shape.n, {}};
    args.epilogue.bias = bias.data();
    args.epilogue.geglu = shape.gated;
    int8_linear(kernels, args, weight);
    return y;
  }

  std::vector<double> expected() const {
    std::vector<double> y;
    std::vector<float> turned = x;
    if (shape.group > 1) int8_rotate(x.data(), shape.m, shape.k, shape.group, turned.data());
    for (int64_t m = 0; m < shape.m; ++m) {
      const float* from = turned.data() + m * shape.k;
      const RoundedRow row = round_row({from, from + shape.k});
      for (int64_t n = 0; n < shape.n; ++n)
        y.push_back(shape.gated ? sum(row, n) * activate(Activation::gelu, sum(row, n + shape.n))
                                : sum(row, n));
    }
    return y;
  }

  double sum(const RoundedRow& x_row, int64_t row) const {
    int64_t total = 0;
    for (int64_t c = 0; c < shape.k; ++c)
      total += int64_t{x_row.values[static_cast<size_t>(c)] - x_row.zero} *
               bytes[static_cast<size_t>(1 + row * shape.k + c)];
    return x_row.scale * static_cast<double>(total) * scales[static_cast<size_t>(row)] +
           bias[static_cast<size_t>(row)];
  }

  StoredCase shape;
  int64_t rows;
  std::vector<int8_t> bytes;
  std::vector<float> x, bias, scales;
};

const StoredCase cases[] = {
    {1, 1, 1},          {3, 33, 65},           {40, 64, 128, 64},         {20, 35, 1040, 16},
    {9, 96, 2304, 256}, {14, 45, 77, 1, true}, {17, 70, 1536, 256, true}, {300, 30, 30},
};

TEST(Int8Stored, BytesOfAFileAreMultipliedAsTheyAreOnEveryTarget) {
  for (const StoredCase& shape : cases) {
    const StoredRun run(shape);
    const std::vector<double> expected = run.expected();
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
      const std::vector<float> y = run.times(kernels, run.matrix());
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], expected[i], 1e-5 * largest)
            << target << " " << shape.m << "x" << shape.n << "x" << shape.k << " at " << i;
    });
  }
}

TEST(Int8Stored, APackedFormHasTheSameBits) {
  for (const StoredCase& shape : cases) {
    const StoredRun run(shape, 2);
    for_each_int8_target([&](const Int8Kernels& kernels, const std::string& target) {
      const PackedInt8 packed = pack_int8(run.matrix(), shape.gated);
      EXPECT_EQ(packed.bytes(), packed_int8_bytes(run.rows, shape.k, shape.gated));
      EXPECT_EQ(run.times(kernels, packed), run.times(kernels, run.matrix()))
          << target << " " << shape.m << "x" << shape.n << "x" << shape.k;
    });
  }
}

TEST(Int8Stored, ARowHasTheSameBitsWhateverTheBatchAndTheThreads) {
  const int before = team_size();
  StoredRun run({1100, 96, 1280, 256}, 3);
  set_team_size(1);
  const std::vector<float> all = run.times(int8_kernels(), run.matrix());
  set_team_size(2);
  EXPECT_EQ(run.times(int8_kernels(), run.matrix()), all);
  run.shape.m = 5;
  EXPECT_EQ(run.times(int8_kernels(), run.matrix()),
            std::vector<float>(all.begin(), all.begin() + 5 * 96));
  set_team_size(before);
}

TEST(Int8Stored, RowsThatAreTurnedOtherwiseAreRefused) {
  const StoredRun run({2, 8, 64, 4});
  EXPECT_THROW(run.times(int8_kernels(), run.matrix()), InternalError);
}

}  // namespace
}  // namespace omnirt::cpu
