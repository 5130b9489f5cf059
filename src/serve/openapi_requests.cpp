// The schemas of what is sent, by the declarations that it is read by. Null counts as not given.
#include <algorithm>
#include <cmath>

#include "serve/openapi.hpp"
#include "serve/request_files.hpp"
#include "serve/request_words.hpp"
#include "serve/served_request.hpp"
#include "serve/webui_fields.hpp"

namespace omnirt::serve {
namespace {

Json schema_named(const char* name) {
  return {{"$ref", std::string("#/components/schemas/") + name}};
}

Json or_null(std::string_view type) {
  return {{"type", Json::array({type, "null"})}};
}

Json null_or(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(name);
  list.push_back(nullptr);
  return {{"enum", list}};
}

Json bound_of(const KeyInfo& key, double value) {
  const bool whole = key.type == KeyInfo::Type::integer || key.type == KeyInfo::Type::list;
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

Json in_range(const KeyInfo& key, Json schema) {
  if (std::isfinite(key.min)) schema["minimum"] = bound_of(key, key.min);
  if (std::isfinite(key.max)) schema["maximum"] = bound_of(key, key.max);
  return schema;
}

// What is no path: it has no slash, and begins with neither . nor ~.
Json word_schema() {
  Json made = or_null("string");
  made["pattern"] = R"(^([^./~\\][^/\\]*)?$)";
  return made;
}

Json of_kinds(const KeyInfo& key) {
  Json types = Json::array();
  for (const std::string& kind : key.choice_list())
    types.push_back(kind == "list" ? "array" : kind == "text" ? "string" : kind);
  types.push_back("null");
  return {{"type", types}};
}

Json of_type(const KeyInfo& key) {
  switch (key.type) {
    case KeyInfo::Type::boolean:
      return or_null("boolean");
    case KeyInfo::Type::integer:
      return in_range(key, or_null("integer"));
    case KeyInfo::Type::number:
      return in_range(key, or_null("number"));
    case KeyInfo::Type::text:
      return key.choice_list().empty() ? word_schema() : null_or(key.choice_list());
    case KeyInfo::Type::list: {
      Json list = or_null("array");
      list["items"] = in_range(key, {{"type", "integer"}});
      list["minItems"] = 1;
      return list;
    }
    case KeyInfo::Type::object:
      return *key.kinds ? of_kinds(key) : or_null("object");
  }
  return {};
}

// Over HTTP some keys take fewer values, or none.
Json config_schema(const std::vector<const KeyInfo*>& keys) {
  Json properties = Json::object(), refused = Json::array();
  for (const std::string& name : refused_config_keys()) refused.push_back(name);
  for (const KeyInfo* key : keys) {
    if (!refused_config_keys().contains(key->name)) properties[key->name] = openapi_of_key(*key);
  }
  return {{"type", Json::array({"object", "null"})},
          {"description",
           "keys of docs/reference/keys.md; those of another model or task are "
           "warnings, and so are unknown ones"},
          {"propertyNames", {{"not", {{"enum", refused}}}}},
          {"properties", properties}};
}

Json inputs_schema(const std::set<std::string>& inputs) {
  Json properties = Json::object();
  for (const std::string& name : inputs) {
    if (is_text_input(name))
      properties[name] = schema_named("Texts");
    else if (is_image_input(name))
      properties[name] = schema_named("SentImages");
  }
  return {{"type", Json::array({"object", "null"})},
          {"additionalProperties", false},
          {"properties", properties}};
}

Json generate_request(const OpenApiFacts& facts) {
  std::vector<std::string> models = facts.models;
  models.emplace_back();
  Json priorities = Json::array({nullptr});
  for (const char* name : ChoiceNames<Priority>::names) priorities.push_back(name);
  Json deadline = or_null("integer");
  deadline.update({{"minimum", 1}, {"maximum", max_deadline_ms}});
  Json components = or_null("object");
  components["additionalProperties"] = false;
  components["properties"]["controlnet"] = schema_named("AdapterNames");
  Json adapters = or_null("array");
  adapters["items"] = schema_named("NamedAdapter");
  return {{"type", "object"},
          {"description", "docs/requests.md"},
          {"additionalProperties", false},
          {"properties",
           {{"task", or_null("string")},
            {"model", null_or(models)},
            {"backend", or_null("string")},
            {"inputs", schema_named("Inputs")},
            {"config", schema_named("Config")},
            {"guider", or_null("object")},
            {"components", components},
            {"adapters", adapters},
            {"fingerprints", or_null("object")},
            {"async", or_null("boolean")},
            {"strict", or_null("boolean")},
            {"priority", {{"enum", priorities}}},
            {"deadline_ms", deadline}}}};
}

constexpr std::string_view request_parts = R"json({
"Texts": {"anyOf": [{"type": ["string", "null"]},
  {"type": "array", "minItems": 1, "items": {"type": "string"}}]},
"SentImage": {"anyOf": [
  {"type": "object", "required": ["data"], "additionalProperties": false,
   "properties": {"data": {"type": "string", "contentEncoding": "base64"}}},
  {"type": "object", "required": ["part"], "additionalProperties": false,
   "description": "of a multipart body", "properties": {"part": {"type": "string"}}},
  {"type": "string", "pattern": "^data:[^,]*;base64,"}]},
"SentImages": {"anyOf": [{"$ref": "#/components/schemas/SentImage"}, {"type": "null"},
  {"type": "array", "items": {"$ref": "#/components/schemas/SentImage"}}]},
"NamedAdapter": {"anyOf": [{"type": "string", "description": "NAME or NAME:SCALE"},
  {"type": "object", "required": ["path"],
   "properties": {"path": {"type": "string", "description": "its name"}}}]},
"AdapterNames": {"anyOf": [{"type": "string", "description": "a name of GET /v1/adapters"},
  {"type": "array", "minItems": 1, "items": {"type": "string"}}]},
"AdapterForm": {"type": "object", "required": ["name", "file"], "additionalProperties": false,
  "properties": {"name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"},
    "file": {"type": "string", "format": "binary", "description": "safetensors"},
    "config": {"type": "string", "format": "binary",
      "description": "config.json of a ControlNet"}}},
"GenerateForm": {"type": "object", "required": ["request"],
  "properties": {"request": {"$ref": "#/components/schemas/GenerateRequest"}},
  "additionalProperties": {"type": "string", "format": "binary",
    "description": "an image: the input of its name, or the one that says {part: NAME}"}},
"WebuiImage": {"type": "object", "required": ["image"],
  "properties": {"image": {"type": "string", "contentEncoding": "base64"}}}
})json";

const KeyInfo* find_key(const OpenApiFacts& facts, std::string_view name) {
  auto it = std::find_if(facts.keys.begin(), facts.keys.end(),
                         [&](const KeyInfo* key) { return name == key->name; });
  return it == facts.keys.end() ? nullptr : *it;
}

Json of_key(const OpenApiFacts& facts, std::string_view name) {
  const KeyInfo* key = find_key(facts, name);
  return key ? openapi_of_key(*key) : Json::object();
}

// OpenAI's fields; of a form a number is its text.
Json openai_fields(const OpenApiFacts& facts) {
  Json made = {{"model", null_or(facts.models)},
               {"prompt", or_null("string")},
               {"negative_prompt", or_null("string")},
               {"n", of_key(facts, "num_images_per_prompt")},
               {"seed", of_key(facts, "seed")},
               {"steps", of_key(facts, "num_inference_steps")},
               {"guidance_scale", of_key(facts, "guidance_scale")},
               {"output_format", of_key(facts, "output_format")},
               {"output_compression", {{"type", {"integer", "null"}}}},
               {"size", or_null("string")},
               {"stream", or_null("boolean")},
               {"partial_images", or_null("integer")},
               {"response_format", null_or({"b64_json", "url"})},
               {"quality", null_or({"auto", "low", "medium", "high", "standard", "hd"})},
               {"background", null_or({"auto", "opaque"})},
               {"moderation", null_or({"auto", "low"})},
               {"style", null_or({"vivid", "natural"})},
               {"input_fidelity", null_or({"low", "high"})},
               {"adapters",
                {{"type", {"array", "string", "null"}}, {"items", schema_named("NamedAdapter")}}},
               {"user", Json::object()}};
  made["output_compression"].update({{"minimum", 0}, {"maximum", 100}});
  made["size"]["pattern"] = "^(auto|[0-9]+[xX][0-9]+)$";
  made["partial_images"].update({{"minimum", 0}, {"maximum", 3}});
  return made;
}

Json openai_generation(const OpenApiFacts& facts) {
  return {{"type", "object"},
          {"required", Json::array({"prompt"})},
          {"additionalProperties", false},
          {"properties", openai_fields(facts)}};
}

Json openai_edit(const OpenApiFacts& facts) {
  Json made = openai_generation(facts);
  const Json file = {{"type", "string"}, {"format", "binary"}};
  for (const char* name : {"image", "mask"}) made["properties"][name] = file;
  made["properties"]["adapters[]"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  made["properties"]["image[]"] = {{"type", "array"}, {"items", file}};
  made["anyOf"] = {{{"required", {"image"}}}, {{"required", {"image[]"}}}};
  return made;
}

// Its images stand in the body.
Json openai_json_edit(const OpenApiFacts& facts) {
  Json made = openai_generation(facts);
  const Json image = {{"anyOf",
                       {{{"type", "string"}, {"description", "a data: URL, or base64"}},
                        {{"type", "object"},
                         {"required", {"image_url"}},
                         {"additionalProperties", false},
                         {"properties", {{"image_url", {{"type", "string"}}}}}}}}};
  const Json list = {{"type", "array"}, {"minItems", 1}, {"items", image}};
  made["properties"]["image"] = {{"anyOf", {image, list}}};
  made["properties"]["images"] = list;
  made["properties"]["mask"] = image;
  made["anyOf"] = {{{"required", {"image"}}}, {{"required", {"images"}}}};
  return made;
}

Json openai_video_fields(const OpenApiFacts& facts) {
  Json made = {
      {"model", null_or(facts.models)}, {"prompt", or_null("string")},
      {"size", or_null("string")},      {"seconds", {{"type", {"string", "integer", "null"}}}},
      {"seed", of_key(facts, "seed")},  {"steps", of_key(facts, "num_inference_steps")},
      {"fps", of_key(facts, "fps")}};
  made["size"]["pattern"] = "^(auto|[0-9]+[xX][0-9]+)$";
  made["seconds"].update({{"pattern", "^[1-9][0-9]?$"}, {"minimum", 1}});
  return made;
}

Json openai_video(const OpenApiFacts& facts, Json reference) {
  Json fields = openai_video_fields(facts);
  fields["input_reference"] = std::move(reference);
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", fields}};
}

Json of_field(const OpenApiFacts& facts, const WebuiField& field) {
  switch (field.use) {
    case WebuiUse::config:
      return of_key(facts, field.to);
    case WebuiUse::neutral: {
      Json values = parse_json(field.to, std::string(field.name));
      values.push_back(nullptr);
      return {{"enum", values}};
    }
    case WebuiUse::read:
      return field.type == "any" ? Json::object() : or_null(field.type);
    case WebuiUse::ignored:
      return Json::object();
  }
  return {};
}

Json webui_request(const OpenApiFacts& facts, WebuiRoute route) {
  const bool from_text = route == WebuiRoute::text2image;
  Json properties = Json::object();
  for (const WebuiField& field : webui_fields()) {
    if (from_text ? field.text2image : field.image2image)
      properties[std::string(field.name)] = of_field(facts, field);
  }
  // Others are ignored.
  Json made = {{"type", "object"}, {"properties", std::move(properties)}};
  if (from_text) return made;
  made["required"] = Json::array({"init_images"});
  made["properties"]["init_images"] = {
      {"type", "array"}, {"minItems", 1}, {"maxItems", 1}, {"items", {{"type", "string"}}}};
  return made;
}

// Null leaves what is chosen; others are taken with the values that change no image.
Json webui_choice(const OpenApiFacts& facts) {
  return {{"type", "object"}, {"properties", {{"sd_model_checkpoint", null_or(facts.models)}}}};
}

}  // namespace

Json openapi_of_key(const KeyInfo& key) {
  const std::string name = key.name;
  Json made = of_type(key);
  if (auto fewer = served_choices().find(name); fewer != served_choices().end())
    made = null_or({fewer->second.begin(), fewer->second.end()});
  if (name == "seed")
    made = {{"anyOf", Json::array({made, {{"enum", Json::array({-1, "random"})}}})}};
  made["description"] = key.help;
  return made;
}

Json openapi_requests(const OpenApiFacts& facts) {
  Json made = parse_json(request_parts, "the schemas of requests");
  made["Config"] = config_schema(facts.keys);
  made["Inputs"] = inputs_schema(facts.inputs);
  made["GenerateRequest"] = generate_request(facts);
  made["OpenAiGeneration"] = openai_generation(facts);
  made["OpenAiEdit"] = openai_edit(facts);
  made["OpenAiJsonEdit"] = openai_json_edit(facts);
  const Json image = {{"type", "string"}, {"pattern", "^data:[^,]*;base64,"}};
  made["OpenAiVideoCreate"] = openai_video(facts, {{"anyOf",
                                                    {image,
                                                     {{"type", "null"}},
                                                     {{"type", "object"},
                                                      {"required", {"image_url"}},
                                                      {"additionalProperties", false},
                                                      {"properties", {{"image_url", image}}}}}}});
  made["OpenAiVideoForm"] = openai_video(facts, {{"type", "string"}, {"format", "binary"}});
  made["WebuiTextToImage"] = webui_request(facts, WebuiRoute::text2image);
  made["WebuiImageToImage"] = webui_request(facts, WebuiRoute::image2image);
  made["WebuiModelChoice"] = webui_choice(facts);
  return made;
}

}  // namespace omnirt::serve
