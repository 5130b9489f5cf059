// What a hub answers: the list of a repository's files, and the choice among them by its indexes.
#include <filesystem>

#include "base/error.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "hub/choose_files.hpp"

namespace omnirt::fuzz {
namespace {

// The text of every file of the repository; the listing is what is mutated with it.
constexpr const char* pipeline_index =
    R"({"_class_name": "P", "unet": ["diffusers", "UNet2DConditionModel"], "none": [null, null],
        "vae": ["diffusers", "AutoencoderKL"], "tokenizer": ["transformers", "CLIPTokenizer"]})";
constexpr const char* shard_index =
    R"({"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors",
        "b": "model-00002-of-00002.safetensors"}})";

Json file(const char* path, size_t bytes, bool large) {
  Json entry = {{"rfilename", path}, {"size", bytes}, {"blobId", std::string(40, 'b')}};
  if (large) entry["lfs"] = {{"sha256", std::string(64, 'a')}, {"size", bytes}};
  return entry;
}

Json listing() {
  Json files = {file("model_index.json", 500, false),
                file("unet/config.json", 2, false),
                file("unet/diffusion_pytorch_model.safetensors", 3'000'000'000, true),
                file("unet/diffusion_pytorch_model.fp16.safetensors", 1'500'000'000, true),
                file("vae/model.safetensors.index.json", 300, false),
                file("vae/model-00001-of-00002.safetensors", 100, true),
                file("vae/model-00002-of-00002.safetensors", 100, true),
                file("tokenizer/vocab.json", 1000, false)};
  return {{"sha", std::string(40, 'c')}, {"siblings", files}};
}

}  // namespace

// The three texts, a line each.
std::string make_input(Random& random) {
  auto changed = [&](Json json) {
    return random() % 2 ? mutate_json(std::move(json), random).dump() : json.dump();
  };
  std::string list = changed(listing()), index = changed(Json::parse(pipeline_index)),
              shards = changed(Json::parse(shard_index));
  if (random() % 4 == 0) list = mutate_text(list, random);
  return list + "\n" + index + "\n" + shards;
}

void read_input(std::string_view input) {
  const size_t first = input.find('\n');
  const std::string_view rest = first == input.npos ? "" : input.substr(first + 1);
  const size_t second = rest.find('\n');
  const std::string index(rest.substr(0, second)),
      shards(second == rest.npos ? "" : rest.substr(second + 1));
  const hub::Listing listing = hub::parse_listing(input.substr(0, first), "fuzz");
  const auto chosen = hub::choose_files(listing, {}, [&](const hub::RemoteFile& file) {
    return file.path.ends_with("model_index.json") ? index : shards;
  });
  require(!chosen.empty(), "what is accepted names files");
  for (const hub::RemoteFile& file : chosen) {
    const std::filesystem::path path = std::filesystem::path("/cache") / file.path;
    require(path.lexically_normal() == path && path.string().starts_with("/cache/"),
            "each file lies below its snapshot");
    require(file.blob.find_first_not_of("0123456789abcdef") == std::string::npos,
            "a blob's name is hexadecimal");
  }
}

}  // namespace omnirt::fuzz
