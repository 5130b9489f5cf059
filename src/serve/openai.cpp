#include "serve/openai.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.hpp"
#include "io/image.hpp"
#include "serve/openai_fields.hpp"
#include "serve/problem.hpp"
#include "serve/request_files.hpp"
#include "serve/webui_image.hpp"

namespace omnirt::serve {
namespace {

// What a preset is called there; the model's own values are medium.
const std::map<std::string, std::string> presets{
    {"low", "fast"}, {"high", "quality"}, {"hd", "quality"}};

int64_t words_in(std::string_view text) {
  int64_t words = 0;
  bool inside = false;
  for (const char each : text) {
    const bool letter = each != ' ' && each != '\n' && each != '\t' && each != '\r';
    if (letter && !inside) ++words;
    inside = letter;
  }
  return words;
}

int64_t tokens_of(int64_t width, int64_t height) {
  constexpr int64_t side = 16;
  return ((width + side - 1) / side) * ((height + side - 1) / side);
}

int64_t tokens_of(const std::vector<SentFile>& files) {
  int64_t all = 0;
  for (const SentFile& file : files) {
    const io::ImageInfo info =
        io::probe_image_bytes(file.bytes, file.name, {.limits = sent_image_limits});
    all += tokens_of(info.width, info.height);
  }
  return all;
}

// How much JPEG and WebP lose is fixed here, and a PNG loses nothing.
void check_compression(OpenAiFields& fields, const Json& format) {
  const Json value = fields.take("output_compression");
  const bool in_range = value.is_number_integer() && value >= 0 && value <= 100;
  const bool lossy = format == "jpeg" || format == "webp";
  if (value.is_null() || (in_range && (value == 100 || !lossy))) return;
  fields.refuse("output_compression", value,
                in_range ? "100 is what is served with jpeg and webp" : "0 to 100 is expected");
}

std::string quality_of(const std::string& asked, Json& config) {
  auto preset = presets.find(asked);
  if (preset == presets.end()) return "medium";
  config["preset"] = preset->second;
  return asked == "low" ? "low" : "high";
}

// `inputs`: of the request, that are no fields.
OpenAiRequest read_fields(Json given, Json inputs, const std::vector<Part>& parts,
                          const ServedModels& models) {
  OpenAiFields fields(std::move(given));
  OpenAiRequest made;
  // Put together at the end: to add to an object moves what it has, and references with it.
  Json request = Json::object(), config = Json::object();
  made.stream = fields.flag("stream");
  made.partial_images = fields.count("partial_images", 0, 3);
  fields.move("model", request, "model");
  fields.move("prompt", inputs, "prompt");
  fields.move("negative_prompt", inputs, "negative_prompt");
  made.quality = quality_of(
      fields.one_of("quality", {"auto", "low", "medium", "high", "standard", "hd"}), config);
  fields.move("n", config, "num_images_per_prompt");
  fields.move("seed", config, "seed");
  fields.move("steps", config, "num_inference_steps");
  fields.move("guidance_scale", config, "guidance_scale");
  fields.move("output_format", config, "output_format");
  check_compression(fields, config.value("output_format", Json()));
  if (Json adapters = fields.names("adapters"); !adapters.empty())
    request["adapters"] = std::move(adapters);
  if (made.partial_images > 0) config["preview_every"] = 1;
  fields.size(config);
  made.url = fields.one_of("response_format", {"b64_json", "url"}) == "url";
  if (made.url && made.stream) fields.refuse("response_format", "url", "a stream has b64_json");
  fields.one_of("background", {"auto", "opaque"});
  fields.one_of("moderation", {"auto", "low"});
  // Of OpenAI's own models, or of who asks: they say nothing of an image of these.
  fields.one_of("style", {"vivid", "natural"});
  fields.one_of("input_fidelity", {"low", "high"});
  fields.take("user");
  fields.finish();
  request["inputs"] = std::move(inputs);
  request["config"] = std::move(config);
  made.served = read_served_request(text_of(request), parts, models);
  made.served.all_take_effect = true;
  const Json& prompt = request["inputs"]["prompt"];
  if (prompt.is_string()) made.usage.text_tokens = words_in(prompt.get_ref<const std::string&>());
  made.usage.image_tokens = tokens_of(made.served.files);
  return made;
}

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

namespace {

// "image" of "image[0]" and "image[]", as clients write lists.
std::string_view list_name(std::string_view name) {
  const size_t bracket = name.find('[');
  if (bracket == std::string_view::npos || !name.ends_with(']')) return name;
  const std::string_view index = name.substr(bracket + 1, name.size() - bracket - 2);
  const bool digits =
      std::all_of(index.begin(), index.end(), [](char each) { return each >= '0' && each <= '9'; });
  return digits && index.size() <= 3 ? name.substr(0, bracket) : name;
}

// By their indices, where they have any.
void sort_list(std::vector<Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
}

// "data:image/png;base64,...", its base64 alone, or {"image_url": that}, of a JSON body.
std::string image_bytes(const std::string& field, const Json& value) {
  const Json* text = &value;
  for (const char* name : {"image_url", "url", "b64_json"}) {
    if (text->is_object() && text->size() == 1 && text->contains(name)) text = &text->at(name);
  }
  if (!text->is_string())
    throw InvalidRequest({field, shown(value), "is no image",
                          R"(send "data:image/png;base64,...", or {"image_url": that})"});
  return webui_image_bytes(text->get<std::string>(), field);
}

// The images of a JSON body, by the names that the parts of a form have. `bytes` keeps them.
std::vector<Part> take_images(Json& fields, std::vector<std::string>& bytes) {
  std::vector<std::pair<std::string, Json>> found;
  for (const char* name : {"image", "images", "image[]", "mask"}) {
    const Json value = fields.value(name, Json());
    fields.erase(name);
    const bool mask = std::string_view(name) == "mask";
    if (!value.is_array() && !value.is_null()) found.emplace_back(mask ? name : "image", value);
    if (!value.is_array()) continue;
    for (const Json& each : value) found.emplace_back(mask ? name : "image", each);
  }
  if (found.size() > max_sent_files)
    throw InvalidRequest({"image", fmt::format("{} images", found.size()),
                          fmt::format("more than {}", max_sent_files), "send fewer"});
  bytes.reserve(found.size());
  std::vector<Part> parts;
  for (const auto& [name, value] : found) {
    bytes.push_back(image_bytes(name, value));
    parts.push_back({name, bytes.back()});
  }
  return parts;
}

}  // namespace

Json openai_form(std::string_view content_type, std::string_view body,
                 const std::set<std::string>& texts, const std::set<std::string>& files,
                 std::vector<Part>& parts) {
  Json fields = Json::object();
  const bool lists = files.contains("image[]");
  for (Part& part :
       read_multipart(body, boundary_of(content_type), lists ? "image" : std::string_view())) {
    if (files.contains(part.name) || (lists && list_name(part.name) == "image")) {
      parts.push_back(part);
    } else if (part.bytes.size() > max_job_request_bytes) {
      throw InvalidRequest({part.name, "", "is too long", "shorten it"});
    } else if (part.name == "adapters[]") {  // as clients write lists
      Json& list = fields["adapters"];
      if (!list.is_array()) list = Json::array();
      list.push_back(std::string(part.bytes));
    } else {
      const std::string text(part.bytes);
      fields[part.name] = texts.contains(part.name) ? Json(text) : parse_scalar(text);
    }
  }
  return fields;
}

OpenAiRequest read_openai_generation(std::string_view body, const ServedModels& models) {
  return read_fields(parse_json(body, "request", body.size()), Json::object(), {}, models);
}

// The first image is what is edited, the others are references, in their order.
OpenAiRequest read_openai_edit(std::string_view content_type, std::string_view body,
                               const ServedModels& models) {
  std::vector<Part> sent;
  std::vector<std::string> decoded;
  Json fields;
  if (media_type(content_type) == form_media) {
    fields =
        openai_form(content_type, body, {"prompt", "negative_prompt", "model", "user", "adapters"},
                    {"image", "image[]", "mask"}, sent);
    sort_list(sent);
  } else {
    fields = parse_json(body, "request", body.size());
    if (fields.is_object()) sent = take_images(fields, decoded);
  }
  std::string mask;
  std::vector<Part> files;
  Json images = Json::array();
  for (const Part& part : sent) {
    if (part.name == "mask") {
      mask = white_where_transparent(part.bytes);
      files.push_back({"mask", mask});
      continue;
    }
    files.push_back({fmt::format("image {}", images.size()), part.bytes});
    images.push_back({{"part", files.back().name}});
  }
  if (images.empty())
    throw InvalidRequest({"image", "", "is missing",
                          "send one or more as image or image[] of a form, or as \"data:\" URLs in "
                          "JSON"});
  Json inputs = {{"image", images.front()}};
  if (images.size() > 1) inputs["image_reference"] = Json(images.begin() + 1, images.end());
  return read_fields(std::move(fields), std::move(inputs), files, models);
}

bool is_openai(const std::string& path) {
  return path.starts_with("/v1/images/") || path == "/v1/videos" || path.starts_with("/v1/videos/");
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

Json openai_result(const Json& job, const OpenAiRequest& asked, const std::string& server) {
  Json data = Json::array();
  int64_t made = 0;
  for (const Json& artifact : job["artifacts"]) {
    made += tokens_of(artifact["width"].get<int64_t>(), artifact["height"].get<int64_t>());
    if (asked.url)
      data.push_back({{"url", server + artifact["url"].get<std::string>()}});
    else if (artifact.contains("data"))
      data.push_back({{"b64_json", artifact["data"]}});
  }
  const Json& first = job["artifacts"][0];
  const std::string mime = first["mime"].get<std::string>();
  const int64_t given = asked.usage.text_tokens + asked.usage.image_tokens;
  return {
      {"created", job["ended_ms"].get<int64_t>() / 1000},
      {"data", data},
      {"background", "opaque"},
      {"size", fmt::format("{}x{}", first["width"].get<int64_t>(), first["height"].get<int64_t>())},
      {"quality", asked.quality},
      {"output_format", mime.substr(mime.find('/') + 1)},
      {"usage",
       {{"total_tokens", given + made},
        {"input_tokens", given},
        {"input_tokens_details",
         {{"text_tokens", asked.usage.text_tokens}, {"image_tokens", asked.usage.image_tokens}}},
        {"output_tokens", made}}}};
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
