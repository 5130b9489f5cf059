// States of runs (config.resume), with their digest made right again: validation must refuse what
// does not hold together, and what it takes must run.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "catalogue/catalogue.hpp"
#include "engine/engine.hpp"
#include "fuzz/files.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "io/dtype.hpp"
#include "io/safetensors.hpp"
#include "io/sha256.hpp"
#include "io/temp_folder.hpp"
#include "pipeline/keys.hpp"
#include "source_paths.hpp"

namespace omnirt::fuzz {
namespace {
namespace fs = std::filesystem;

constexpr const char* state_key = "omnirt.state";
constexpr const char* digest_key = "omnirt.sha256";

Engine& engine() {
  static Engine shared(builtin_catalogue());
  return shared;
}

// Where this process may write; states may name outputs.
const fs::path& scratch() {
  static const omnirt::testing::TempFolder folder;
  return folder.path();
}

std::string read_whole(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

GenerateRequest small_request(const std::string& scheduler) {
  GenerateRequest request;
  request.model = source_path("models/emoji-sd").string();
  request.inputs["prompt"] = "a green apple";
  request.config = {{"num_inference_steps", 2},
                    {"seed", 5},
                    {"width", 64},
                    {"height", 64},
                    {"scheduler", scheduler}};
  // Its warm-up takes four steps.
  if (scheduler == "pndm") request.config["scheduler_config"] = {{"skip_prk_steps", true}};
  return request;
}

// A state of each kind of value: of conditions, of noise and a schedule, of latents that were
// stepped, of images.
std::vector<std::string> make_seeds() {
  std::vector<std::string> seeds;
  for (const char* scheduler : {"pndm", "unipc"}) {
    for (const char* stage : {"prepare_conditions", "prepare_latents", "denoise_loop", "decode"}) {
      GenerateRequest request = small_request(scheduler);
      std::string file = (scratch() / "seed.safetensors").string();
      request.config["stop_after"] = stage;
      request.config["state"] = file;
      RunReport report;
      engine().run(request, {}, {}, report);
      seeds.push_back(read_whole(file));
      fs::remove(file);
    }
  }
  return seeds;
}

// As pipeline/saved_run.cpp counts it.
std::string digest_of(const std::string& json, const Json& header, std::string_view data) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") names.push_back(name);
  }
  std::ranges::sort(names);
  io::Sha256 sha;
  sha.add_counted(json);
  for (const std::string& name : names) {
    const Json& entry = header[name];
    size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    sha.add_counted(name);
    sha.add_counted(entry["dtype"].get<std::string>());
    for (const Json& size : entry["shape"]) sha.add_counted(std::to_string(size.get<int64_t>()));
    sha.add_counted(std::to_string(end - begin));
    sha.add(std::as_bytes(std::span(data.substr(begin, end - begin))));
  }
  return sha.hex();
}

// A tensor keeps its bytes and gets another shape or type of as many.
void reshape(Json& header, Random& random) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") names.push_back(name);
  }
  if (names.empty()) return;
  Json& entry = header[names[below(names.size(), random)]];
  size_t bytes = entry["data_offsets"][1].get<size_t>() - entry["data_offsets"][0].get<size_t>();
  constexpr std::array types{"F32", "I32", "F16", "BF16", "U8", "I64", "F64"};
  constexpr std::array sizes{4, 4, 2, 2, 1, 8, 8};
  size_t type = random() % 2 ? 0 : below(types.size(), random);
  if (bytes % sizes[type] != 0) return;
  size_t count = bytes / sizes[type];
  entry["dtype"] = types[type];
  entry["shape"] = count % 8 == 0 && random() % 2 ? Json{1, 8, count / 8} : Json{1, count, 1};
}

std::string mutate_state(const std::string& file, Random& random) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  Json header = parse_json(file.substr(8, length), "seed");
  std::string data = file.substr(8 + length);
  Json& metadata = header["__metadata__"];
  std::string text = metadata[state_key];
  if (random() % 4 == 0)
    text = mutate_text(text, random);
  else if (random() % 8)
    text = mutate_json(parse_json(text, "seed"), random)
               .dump(-1, ' ', false, Json::error_handler_t::replace);
  if (random() % 4 == 0) reshape(header, random);
  for (size_t i = 0, count = random() % 4 ? 0 : 4; i < count && !data.empty(); ++i)
    data[below(data.size(), random)] = static_cast<char>(random());
  metadata[state_key] = text;
  if (random() % 32) metadata[digest_key] = digest_of(text, header, data);
  return safetensors_file(header.dump(-1, ' ', false, Json::error_handler_t::replace), data);
}

// Runs of another size take longer than fuzzing has time for.
bool is_small(const Proposal& proposal) {
  return proposal.config.get(keys::width) * proposal.config.get(keys::height) <= 64 * 64 &&
         proposal.config.get(keys::num_inference_steps) <= 3 &&
         proposal.config.get(keys::num_images_per_prompt) <= 2;
}

}  // namespace

std::string make_input(Random& random) {
  static const std::vector<std::string> seeds = make_seeds();
  return mutate_state(seeds[below(seeds.size(), random)], random);
}

void read_input(std::string_view input) {
  static const bool moved = ::chdir(scratch().c_str()) == 0;
  require(moved, "the scratch folder is there");
  fs::path file = fresh_folder() / "state.safetensors";
  write_text(file, input);
  GenerateRequest request;
  request.config["resume"] = file.string();
  request.config["output"] = (scratch() / "out.png").string();
  Proposal proposal = engine().check(request);
  if (!proposal.ok()) throw InvalidRequest(proposal.errors);
  if (!is_small(proposal)) return;
  RunReport report;
  engine().run(request, {}, {}, report);
}

}  // namespace omnirt::fuzz
