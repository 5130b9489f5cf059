// Files of latents, as inputs.latents takes them.
#include <fmt/format.h>

#include "fuzz/files.hpp"
#include "fuzz/target.hpp"
#include "pipeline/latents_file.hpp"

namespace omnirt::fuzz {
namespace {

constexpr const char* origin =
    R"({"request": {"task": "text2image", "model": "sdxl", "inputs": {"prompt": ["a", "\u00e9"]},)"
    R"( "config": {"denoising_end": 0.8, "seed": 5}}})";

}  // namespace

std::string make_input(Random& random) {
  std::string told = random() % 2 ? mutate_text(origin, random) : origin;
  constexpr std::array types{"F32", "F16", "BF16", "U8", "F64"};
  constexpr std::array bytes{4, 2, 2, 1, 8};
  size_t type = random() % 4 ? below(3, random) : below(types.size(), random);
  std::string shape;
  size_t count = 1;
  for (size_t i = 0, rank = random() % 8 ? 4 : below(6, random); i < rank; ++i) {
    size_t size = below(5, random) + (random() % 8 ? 1 : 0);
    shape += fmt::format("{}{}", i ? "," : "", size);
    count *= size;
  }
  std::string header = fmt::format(
      R"({{"__metadata__":{{"latents":{}}},"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
      Json(told).dump(-1, ' ', false, Json::error_handler_t::replace),
      random() % 16 ? "latents" : "other", types[type], shape, count * bytes[type]);
  if (random() % 8 == 0) header = mutate_text(header, random);
  std::string data(count * bytes[type], '\0');
  for (char& c : data) c = static_cast<char>(random());
  return safetensors_file(header, data);
}

void read_input(std::string_view input) {
  std::filesystem::path file = fresh_folder() / "l.safetensors";
  write_text(file, input);
  LatentsInfo info = probe_latents(file);
  bool sizes = info.shape.size() == 4 || info.shape.size() == 5;
  require(sizes && info.origin.is_object(), "latents have four sizes, or five of a video");
  GivenLatents latents = read_latents(file);
  require(latents.values.sizes().vec() == info.shape, "latents have the shape that was told");
}

}  // namespace omnirt::fuzz
