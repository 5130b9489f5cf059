#include "schedulers/golden_cases.hpp"
#include "source_paths.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace omnirt::testing {
namespace {

std::string decode_base64(const std::string& text) {
  static const std::string alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t buffer = 0;
  int bits = 0;
  for (char c : text) {
    size_t value = alphabet.find(c);
    if (value == std::string::npos) break;  // padding
    buffer = buffer << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(buffer >> bits & 0xFF));
    }
  }
  return bytes;
}

template <class T>
std::vector<T> unpack(const Json& text) {
  std::string bytes = decode_base64(text.get<std::string>());
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

GoldenCase read_case(const Json& json, const Json& trained_betas) {
  GoldenCase c;
  c.config = json["config"];
  if (c.config.value("trained_betas", Json()) == "shared")
    c.config["trained_betas"] = trained_betas;
  c.steps = json["steps"];
  c.eta = json.value("eta", 0.0);
  if (json.contains("mu")) c.mu = json["mu"].get<double>();
  Json given = json.value("given", Json::object());
  c.timesteps = given.value("timesteps", std::vector<double>{});
  c.sigmas = given.value("sigmas", std::vector<double>{});
  c.image_to_image = json.value("image2image", false);
  c.outcome = json["outcome"];
  if (c.outcome != "ok") return c;
  c.begin = json["begin"];
  c.recorded = {.timesteps = unpack<double>(json["timesteps"]),
                .init_sigma = unpack<double>(json["init_sigma"])[0],
                .checks = unpack<float>(json["checks"]),
                .middle = unpack<float>(json["middle"]),
                .final_sample = unpack<float>(json["final"])};
  return c;
}

}  // namespace

std::string GoldenCase::text() const {
  Json shown = config;
  if (shown.contains("trained_betas") && shown["trained_betas"].is_array()) {
    shown["trained_betas"] = "(60 values)";
  }
  return fmt::format("{} steps {} eta {} mu {}{} timesteps {} sigmas {}", shown.dump(), steps, eta,
                     mu.value_or(0), image_to_image ? " image2image" : "", Json(timesteps).dump(),
                     Json(sigmas).dump());
}

std::vector<GoldenCase> golden_cases(const std::string& class_name, const std::string& folder) {
  std::string path = source_path("tests/goldens/").string() + folder + "/" + class_name + ".json";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("no golden file " + path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  Json json = parse_json(text, path);
  std::vector<GoldenCase> cases;
  for (const Json& item : json["cases"]) cases.push_back(read_case(item, json["trained_betas"]));
  return cases;
}

}  // namespace omnirt::testing
