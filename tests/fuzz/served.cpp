// Bodies of requests to the server: JSON, multipart with images, and adapters that are sent.
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "fuzz/mutate_json.hpp"
#include "fuzz/target.hpp"
#include "serve/adapter_upload.hpp"
#include "serve/base64.hpp"
#include "serve/served_request.hpp"

namespace omnirt::fuzz {
namespace {

// An input's first byte picks one.
enum Kind : char { json_body, multipart_body, adapter_body };

// One pixel.
#define ONE_PIXEL                                                    \
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhf" \
  "DwAChwGA60e6kgAAAABJRU5ErkJggg=="

// The first ones are accepted as they are, the others are refused.
constexpr std::array json_seeds{
    R"({"model": "emoji", "async": true, "strict": false, "priority": "high", "deadline_ms": 5000,)"
    R"( "inputs": {"prompt": ["a", "b"], "image": {"data": ")" ONE_PIXEL R"("}},)"
    R"( "config": {"seed": 7, "scheduler": "euler", "preview_decoder": "tiny"}, "guider": {"type": "pag"}})",
    R"({"inputs": {"prompt": "x", "mask": "data:image/png;base64,)" ONE_PIXEL R"("}})",
    R"({})",
    R"({"adapters": ["style:0.5", {"path": "other", "scale": 1}]})",
    R"({"inputs": {"prompt": "x <lora:y:1>", "image": "data:image/png;base64,AAAA", "mask": {"part": "m"}}})",
    R"({"model": "/etc", "inputs": {"image": ["/a", {"data": 1}]}, "config": {"output": "x", "state": "../y"},)"
    R"( "components": {"vae": "z"}})"};

std::string multipart_seed() {
  return "--xx\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n"
         "{\"inputs\": {\"prompt\": \"x\", \"image\": {\"part\": \"m\"}}}\r\n--xx\r\n"
         "Content-Disposition: form-data; name=m; filename=\"a.png\"\r\nContent-Type: "
         "image/png\r\n\r\n" +
         serve::bytes_of_base64(ONE_PIXEL).value() + "\r\n--xx--\r\n";
}
// A ControlNet: its config and one tensor.
std::string adapter_seed() {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &length, 8);
  const std::string part = "--xx\r\nContent-Disposition: form-data; name=";
  return part + "name\r\n\r\nedges.v1\r\n" + part + "config\r\n\r\n" +
         R"({"_class_name": "ControlNetModel"})" + "\r\n" + part + "file\r\n\r\n" + file + header +
         "data\r\n--xx--\r\n";
}
constexpr std::array multipart_parts{"--xx",  "--", "\r\n", "\r\n\r\n",
                                     "name=", "\"", ";",    "--xx--\r\n"};

std::string mutate_multipart(std::string text, Random& random) {
  for (size_t i = 0, count = below(6, random); i < count; ++i) {
    size_t at = below(text.size() + 1, random);
    if (random() % 3 == 0) text.erase(at, below(12, random));
    at = std::min(at, text.size());
    const std::string part = multipart_parts[below(multipart_parts.size(), random)];
    for (size_t k = 0, times = random() % 16 ? 1 : below(100, random); k < times; ++k)
      text.insert(at, part);
  }
  return text;
}

// Every text of a request that was accepted but the prompts.
void require_names(const Json& value) {
  if (value.is_string())
    require(value.get<std::string>().find('/') == std::string::npos,
            "an accepted request names no path");
  if (value.is_structured()) {
    for (const auto& [name, each] : value.items()) require_names(each);
  }
}

}  // namespace

std::string make_input(Random& random) {
  if (random() % 2) {
    const std::string seed = json_seeds[below(json_seeds.size(), random)];
    return char{json_body} + (random() % 2 ? mutate_text(seed, random)
                                           : mutate_json(Json::parse(seed), random).dump());
  }
  if (random() % 3 == 0) {
    std::string text = adapter_seed();
    return char{adapter_body} + (random() % 2 ? mutate_text(std::move(text), random)
                                              : mutate_multipart(std::move(text), random));
  }
  return char{multipart_body} + mutate_multipart(multipart_seed(), random);
}

namespace {

void read_adapter(std::string_view body) {
  const serve::AdapterUpload upload =
      serve::read_adapter_upload("multipart/form-data; boundary=xx", body);
  require(serve::is_adapter_name(upload.name) && upload.name.find('/') == std::string::npos &&
              !upload.name.starts_with('.'),
          "a name is that of a file");
  require(upload.file.size() >= 8 && upload.file.data() >= body.data() &&
              upload.file.data() + upload.file.size() <= body.data() + body.size(),
          "a file is a part of the body");
}

}  // namespace

void read_input(std::string_view input) {
  if (input.empty()) return;
  if (input.front() == adapter_body) return read_adapter(input.substr(1));
  const serve::ServedModels models{{{"emoji", "emoji"}}, "emoji", {}};
  const std::string_view body = input.substr(1);
  const serve::ServedRequest served = serve::read_served_body(
      input.front() == json_body ? "application/json" : "multipart/form-data; boundary=xx", body,
      models);
  require(served.request.model == "emoji", "a model is one that is served");
  require(served.request.components.empty(), "no component is named");
  require_names(served.request.config);
  require_names(served.request.guider);
  require(served.request.adapters.empty() || !served.request.adapters[0].contains("path"),
          "an adapter is one that is served");
  for (const serve::SentFile& file : served.files)
    require(file.name.starts_with("input-"), "files have names of the server's");
  const std::string text = serve::base64_of(body);
  require(serve::bytes_of_base64(text) == std::string(body), "base64 is read as it is written");
}

}  // namespace omnirt::fuzz
