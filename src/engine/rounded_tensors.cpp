#include "engine/rounded_tensors.hpp"

#include <algorithm>
#include <array>

#include "io/small_float.hpp"

namespace omnirt {
namespace {

// Tensors of fewer numbers are not worth a loss (github city96/ComfyUI-GGUF, tools/convert.py).
constexpr int64_t least_numbers = 1025;

// Parts of names of what stays as it is: tables of tokens and positions, what takes the time and
// the class, the first and last layer, autoencoders, and what looks at images (github
// leejet/stable-diffusion.cpp, model.cpp: tensor_should_be_converted; city96/ComfyUI-GGUF,
// keys_hiprec).
constexpr std::array kept_parts{
    "embedding.weight",   "token_embd.",       "time_embed.",
    "label_emb.",         "time_in.",          "vector_in.",
    "guidance_in.",       "img_in.",           "txt_in.",
    "final_layer.",       "modulation",        "text_projection",
    "first_stage_model.", "input_blocks.0.0.", "out.2.",
    "embed_tokens.",      "shared.weight",     "relative_attention_bias.",
    "lm_head.",           "visual.",           "x_embedder.proj.",
    "y_embedder.",        "context_embedder."};

std::vector<float> as_floats(io::Dtype dtype, std::span<const std::byte> bytes) {
  const size_t width = io::dtype_bits(dtype) / 8;
  std::vector<float> numbers(bytes.size() / width);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::byte* at = bytes.data() + i * width;
    switch (dtype) {
      case io::Dtype::f16:
        numbers[i] = io::widen_f16(io::load_as<uint16_t>(at));
        break;
      case io::Dtype::bf16:
        numbers[i] = io::widen_bf16(io::load_as<uint16_t>(at));
        break;
      case io::Dtype::f8_e4m3:
        numbers[i] = io::widen_f8_e4m3(io::load_as<uint8_t>(at));
        break;
      case io::Dtype::f8_e5m2:
        numbers[i] = io::widen_f8_e5m2(io::load_as<uint8_t>(at));
        break;
      default:
        numbers[i] = io::load_as<float>(at);
    }
  }
  return numbers;
}

std::vector<std::byte> all_bytes(const io::TensorSource& tensor) {
  std::vector<std::byte> bytes;
  tensor.produce([&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  });
  return bytes;
}

}  // namespace

bool may_be_rounded(const io::TensorSource& tensor) {
  const auto count =
      static_cast<int64_t>(io::tensor_bytes(io::Dtype::u8, tensor.shape).value_or(0));
  bool kept = std::ranges::any_of(
      kept_parts, [&](const char* part) { return tensor.name.find(part) != std::string::npos; });
  bool numbers = io::is_plain_float(tensor.dtype) || tensor.dtype == io::Dtype::f8_e4m3 ||
                 tensor.dtype == io::Dtype::f8_e5m2;
  return numbers && !kept && count >= least_numbers && tensor.shape.size() >= 2 &&
         tensor.name.ends_with("weight");
}

std::vector<float> numbers_of(const io::TensorSource& tensor) {
  return as_floats(tensor.dtype, all_bytes(tensor));
}

}  // namespace omnirt
