#include "serve/openai.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.hpp"
#include "io/image.hpp"
#include "serve/problem.hpp"

namespace omnirt::serve {
namespace {

// The fields of a body, each taken by its name; what is left is unknown.
class OpenAiFields {
 public:
  explicit OpenAiFields(Json fields) : fields_(std::move(fields)) {
    if (!fields_.is_object()) refuse("body", fields_, "an object is expected");
  }

  OpenAiRequest read(const std::vector<Part>& parts, const ServedModels& models) {
    OpenAiRequest made;
    made.stream = flag("stream");
    made.partial_images = count("partial_images", 0, 3);
    move("model", request_, "model");
    move("prompt", request_["inputs"], "prompt");
    move("negative_prompt", request_["inputs"], "negative_prompt");
    Json& config = request_["config"];
    move("n", config, "num_images_per_prompt");
    move("seed", config, "seed");
    move("steps", config, "num_inference_steps");
    move("guidance_scale", config, "guidance_scale");
    move("output_format", config, "output_format");
    if (made.partial_images > 0) config["preview_every"] = 1;
    size(config);
    only("response_format", {"b64_json"});
    only("quality", {"auto", "standard"});
    only("background", {"auto", "opaque"});
    only("moderation", {"auto", "low"});
    take("user");  // says who asks, and nothing of the image
    for (const auto& [name, value] : fields_.items())
      findings_.push_back({name, shown(value), "unknown, or without a meaning here", "omit it"});
    if (!findings_.empty()) throw InvalidRequest(findings_);
    made.served = read_served_request(text_of(request_), parts, models);
    made.served.all_take_effect = true;
    return made;
  }

 private:
  void refuse(const std::string& field, const Json& value, const std::string& message) {
    findings_.push_back({field, shown(value), message, "docs/server.md"});
  }
  Json take(const char* name) {
    auto it = fields_.find(name);
    if (it == fields_.end()) return {};
    Json value = *it;
    fields_.erase(it);
    return value;
  }
  void move(const char* name, Json& into, const char* as) {
    Json value = take(name);
    if (!value.is_null()) into[as] = std::move(value);
  }
  bool flag(const char* name) {
    const Json value = take(name);
    if (value.is_null() || value.is_boolean()) return value.is_boolean() && value.get<bool>();
    refuse(name, value, "true or false is expected");
    return false;
  }
  int64_t count(const char* name, int64_t least, int64_t most) {
    const Json value = take(name);
    if (value.is_null()) return least;
    if (value.is_number_integer() && value >= least && value <= most) return value.get<int64_t>();
    refuse(name, value, fmt::format("{} to {} is expected", least, most));
    return least;
  }
  void only(const char* name, const std::vector<std::string>& values) {
    const Json value = take(name);
    if (value.is_null()) return;
    if (std::find(values.begin(), values.end(), value) == values.end())
      refuse(name, value, fmt::format("{} is what is served", fmt::join(values, ", ")));
  }
  // "1024x1024", or auto: the model's own.
  void size(Json& config) {
    const Json value = take("size");
    if (value.is_null() || value == "auto") return;
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    const size_t by = text.find('x');
    const Json width = parse_scalar(text.substr(0, by));
    const Json height = parse_scalar(by == std::string::npos ? "" : text.substr(by + 1));
    if (!width.is_number_integer() || !height.is_number_integer())
      return refuse("size", value, "WIDTHxHEIGHT or auto is expected");
    config["width"] = width;
    config["height"] = height;
  }

  Json fields_;
  Json request_ = {{"inputs", Json::object()}, {"config", Json::object()}};
  std::vector<Finding> findings_;
};

// OpenAI's masks are transparent where the image is to change; ours are white there.
std::string white_where_transparent(std::string_view bytes) {
  const io::Image given = io::decode_image(bytes, "mask");
  if (given.channels != 4)
    throw InvalidRequest({"mask", fmt::format("{} channels", given.channels),
                          "has no transparency, which says what is to change",
                          "send a PNG with an alpha channel"});
  io::Image mask = io::Image::zeros(given.width, given.height, 1);
  for (size_t i = 0; i < mask.pixels.size(); ++i)
    mask.pixels[i] = static_cast<uint8_t>(255 - given.pixels[4 * i + 3]);
  return io::encode_image(mask, io::ImageFormat::png);
}

}  // namespace

OpenAiRequest read_openai_generation(std::string_view body, const ServedModels& models) {
  return OpenAiFields(parse_json(body, "request", body.size())).read({}, models);
}

OpenAiRequest read_openai_edit(std::string_view content_type, std::string_view body,
                               const ServedModels& models) {
  std::vector<Part> files;
  Json fields = Json::object();
  std::string mask;
  for (Part& part : read_multipart(body, boundary_of(content_type))) {
    if (part.name == "image" || part.name == "image[]") {
      files.push_back({"image", part.bytes});
    } else if (part.name == "mask") {
      mask = white_where_transparent(part.bytes);
      files.push_back({"mask", mask});
    } else if (part.bytes.size() > max_job_request_bytes) {
      throw InvalidRequest({part.name, "", "is too long", "shorten it"});
    } else {
      const std::string text(part.bytes);
      const bool is_text = part.name == "prompt" || part.name == "negative_prompt" ||
                           part.name == "model" || part.name == "user";
      fields[part.name] = is_text ? Json(text) : parse_scalar(text);
    }
  }
  return OpenAiFields(std::move(fields)).read(files, models);
}

bool is_openai(const std::string& path) {
  return path.starts_with("/v1/images/");
}

HttpResponse openai_error(HttpResponse problem) {
  if (problem.type != "application/problem+json") return problem;
  const Json json = parse_json(problem.body, "the problem");
  Json error = {{"message", json["detail"]},
                {"type", problem.status < 500 ? "invalid_request_error" : "server_error"},
                {"param", nullptr},
                {"code", json["title"]}};
  if (json.contains("errors")) {
    error["param"] = json["errors"][0]["field"];
    std::string all;
    for (const Json& each : json["errors"])
      all += fmt::format("{}{} = {}: {}", all.empty() ? "" : "; ", each["field"].get<std::string>(),
                         each["value"].get<std::string>(), each["message"].get<std::string>());
    error["message"] = all;
  }
  problem.type = "application/json";
  problem.body = text_of({{"error", error}}) + "\n";
  if (problem.status == 422) problem.status = 400;
  return problem;
}

Json openai_result(const Json& job) {
  Json data = Json::array();
  for (const Json& artifact : job["artifacts"]) {
    if (artifact.contains("data")) data.push_back({{"b64_json", artifact["data"]}});
  }
  const Json& first = job["artifacts"][0];
  const std::string mime = first["mime"].get<std::string>();
  return {
      {"created", job["ended_ms"].get<int64_t>() / 1000},
      {"data", data},
      {"size", fmt::format("{}x{}", first["width"].get<int64_t>(), first["height"].get<int64_t>())},
      {"output_format", mime.substr(mime.find('/') + 1)}};
}

// Evenly over the steps: the first after 1/(wanted + 1) of them.
int64_t partial_index(int64_t step, int64_t steps, int64_t wanted) {
  if (step <= 0 || step >= steps) return -1;
  for (int64_t index = 0; index < wanted; ++index) {
    const int64_t at = std::max<int64_t>((index + 1) * steps / (wanted + 1), 1);
    if (step == at) return index;
  }
  return -1;
}

}  // namespace omnirt::serve
