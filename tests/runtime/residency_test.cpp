#include "runtime/residency.hpp"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/mapped_file.hpp"
#include "io/system_memory.hpp"
#include "runtime/weight_stream.hpp"

namespace omnirt {
namespace {

// `count` weights of {rows, 1024} in one mapped file; all numbers of the i-th are i.
class Weights {
 public:
  Weights(size_t count, int64_t rows, const char* name)
      : path_(std::filesystem::temp_directory_path() / name) {
    std::ofstream out(path_, std::ios::binary);
    const size_t numbers = static_cast<size_t>(rows) * 1024, bytes = numbers * sizeof(float);
    for (size_t i = 0; i < count; ++i) {
      std::vector<float> values(numbers, static_cast<float>(i));
      out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
    }
    out.close();
    file_ = io::MappedFile::open(path_, io::Source::mapped);
    for (size_t i = 0; i < count; ++i) {
      auto weight = std::make_shared<Weight>();
      weight->shape = {rows, 1024};
      weight->data = file_->bytes().data() + i * bytes;
      weight->bytes = bytes;
      weight->owner = file_;
      weight->release = [file = file_, at = i * bytes, bytes] { file->release(at, bytes); };
      all_.push_back(std::move(weight));
    }
  }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  ~Weights() { std::filesystem::remove(path_); }

  std::shared_ptr<const Binding> bound(const ComputeForm& form = {.as_stored = true}) const {
    return std::make_shared<const Binding>(all_, form);
  }
  const std::byte* first() const { return file_->bytes().data(); }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const io::MappedFile> file_;
  std::vector<std::shared_ptr<const Weight>> all_;
};

Residency one_each(size_t count, uint64_t bytes) {
  std::vector<ParamUse> uses;
  for (size_t i = 0; i < count; ++i) uses.push_back({i, "layer." + std::to_string(i), "", bytes});
  return cut_into_groups(uses, Offload::leaf, 0);
}

Param param(size_t index) {
  return {"layer." + std::to_string(index) + ".weight", {}, index};
}

float last_of(const Tensor& weight) {
  return weight.flatten()[-1].item<float>();
}

// Of the file's mapping alone.
uint64_t resident_of(const Weights& weights) {
  const std::byte* at[] = {weights.first()};
  return io::resident_bytes() - io::resident_bytes(at);
}

TEST(WeightStream, HoldsTwoGroupsAtTheMost) {
  constexpr size_t count = 12;
  constexpr uint64_t bytes = 1024 * 1024 * 4;
  Weights weights(count, 1024, "omnirt-stream-two");
  WeightStream stream(weights.bound(), one_each(count, bytes));
  for (int call = 0; call < 2; ++call) {
    for (size_t i = 0; i < count; ++i) {
      stream.use(i);
      EXPECT_EQ(last_of((*stream.binding())[param(i)]), static_cast<float>(i));
      EXPECT_LE(resident_of(weights), 2 * bytes + (uint64_t{256} << 10));
    }
  }
  EXPECT_EQ(stream.figures().groups, 2 * count);
  EXPECT_EQ(stream.figures().bytes, 2 * count * bytes);
}

TEST(WeightStream, HoldsAsManyGroupsAheadAsItIsTold) {
  constexpr size_t count = 8;
  constexpr uint64_t bytes = 1024 * 1024 * 4;
  for (uint64_t ahead : {0, 3}) {
    Weights weights(count, 1024, "omnirt-stream-ahead");
    Residency residency = one_each(count, bytes);
    residency.prefetch = static_cast<int64_t>(ahead);
    EXPECT_EQ(residency.peak_bytes(), (ahead + 1) * bytes);
    WeightStream stream(weights.bound(), residency);
    for (size_t i = 0; i < 2 * count; ++i) {
      stream.use(i % count);
      EXPECT_EQ(last_of((*stream.binding())[param(i % count)]), static_cast<float>(i % count));
      EXPECT_LE(resident_of(weights), residency.peak_bytes() + (uint64_t{256} << 10));
    }
  }
}

TEST(WeightStream, GivesAllBackAtItsEnd) {
  Weights weights(4, 1024, "omnirt-stream-end");
  {
    WeightStream stream(weights.bound(), one_each(4, 4 << 20));
    for (size_t i = 0; i < 4; ++i) {
      stream.use(i);
      last_of((*stream.binding())[param(i)]);
    }
    EXPECT_GT(resident_of(weights), 0U);
  }
  EXPECT_EQ(resident_of(weights), 0U);
}

TEST(WeightStream, HasWhatIsAskedForOutOfOrder) {
  Weights weights(6, 64, "omnirt-stream-order");
  WeightStream stream(weights.bound(), one_each(6, 64 << 12));
  for (size_t i : {3, 1, 5, 0, 0, 4, 2}) {
    stream.use(i);
    EXPECT_EQ(last_of((*stream.binding())[param(i)]), static_cast<float>(i));
  }
}

TEST(WeightStream, LeavesTensorsWholeThatAreStillHeld) {
  Weights weights(3, 64, "omnirt-stream-held");
  // Forms of their own: the file's numbers are not of this type.
  WeightStream stream(weights.bound({.dtype = at::kBFloat16}), one_each(3, 64 << 11));
  stream.use(1);
  const Tensor held = (*stream.binding())[param(1)];
  stream.use(2);
  stream.use(0);
  EXPECT_EQ(held.scalar_type(), at::kBFloat16);
  EXPECT_EQ(last_of(held), 1.0F);
  stream.use(1);
  EXPECT_FALSE((*stream.binding())[param(1)].is_same(held));
}

TEST(WeightStream, CountsWhatFormsTake) {
  Weights weights(1, 64, "omnirt-stream-forms");
  auto binding = weights.bound();
  EXPECT_EQ(Binding::bytes_in_memory(binding->stored(0), {.as_stored = true}), 64U << 12);
  EXPECT_EQ(Binding::bytes_in_memory(binding->stored(0), {.dtype = at::kBFloat16}), 64U << 11);
  ComputeForm rounded{.as_stored = true, .quantization = ops::Quantization::int8};
  EXPECT_EQ(Binding::bytes_in_memory(binding->stored(0), rounded), (64U << 10) + 64U * 8);
}

}  // namespace
}  // namespace omnirt
