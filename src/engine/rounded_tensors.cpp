#include "engine/rounded_tensors.hpp"

#include <ATen/Parallel.h>

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
// The same of Krea 2, FLUX.3, Qwen-Image and Sana (github molbal/ComfyUI-GGUF, tools/convert.py).
constexpr std::array kept_parts_of_newer{"first.weight", "last.linear.", "tmlp.",
                                         "tproj.",       "emb_in.",      "time_text_embed.",
                                         "norm_out.",    "t_embedder.",  "t_block."};

float number_at(io::Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case io::Dtype::f16:
      return io::widen_f16(io::load_as<uint16_t>(at));
    case io::Dtype::bf16:
      return io::widen_bf16(io::load_as<uint16_t>(at));
    case io::Dtype::f8_e4m3:
      return io::widen_f8_e4m3(io::load_as<uint8_t>(at));
    case io::Dtype::f8_e5m2:
      return io::widen_f8_e5m2(io::load_as<uint8_t>(at));
    default:
      return io::load_as<float>(at);
  }
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
  auto named = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
  bool kept = std::ranges::any_of(kept_parts, named) ||
              std::ranges::any_of(kept_parts_of_newer, named) || tensor.name == "proj_out.weight" ||
              tensor.name.ends_with("_model.proj_out.weight");
  bool numbers = io::is_plain_float(tensor.dtype) || tensor.dtype == io::Dtype::f8_e4m3 ||
                 tensor.dtype == io::Dtype::f8_e5m2;
  return numbers && !kept && count >= least_numbers && tensor.shape.size() >= 2 &&
         tensor.name.ends_with("weight");
}

std::vector<float> numbers_of(const io::TensorSource& tensor) {
  const std::vector<std::byte> bytes = all_bytes(tensor);
  const size_t width = io::dtype_bits(tensor.dtype) / 8;
  std::vector<float> numbers(bytes.size() / width);
  in_parts(numbers.size(), size_t{1} << 16, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i)
      numbers[i] = number_at(tensor.dtype, bytes.data() + i * width);
  });
  return numbers;
}

void in_parts(size_t units, size_t least,
              const std::function<void(size_t first, size_t count)>& part) {
  at::parallel_for(0, static_cast<int64_t>(units), static_cast<int64_t>(least),
                   [&](int64_t begin, int64_t end) {
                     part(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
                   });
}

}  // namespace omnirt
