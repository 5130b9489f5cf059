// The schemas of answers.
#include "serve/job.hpp"
#include "serve/openapi.hpp"

namespace omnirt::serve {
namespace {

constexpr std::string_view our_answers = R"json({
"Status": {"type": "object", "required": ["status"], "additionalProperties": false,
  "properties": {"status": {"enum": ["ok", "ready", "draining", "disk full", "no broker"]}}},
"Finding": {"type": "object", "required": ["field", "value", "message"],
  "properties": {"field": {"type": "string"}, "value": {"type": "string"},
    "message": {"type": "string"}, "way_out": {"type": "string", "description": "the fix"}}},
"Problem": {"type": "object", "description": "RFC 9457",
  "required": ["type", "title", "status", "detail", "instance"], "additionalProperties": false,
  "properties": {"type": {"type": "string", "format": "uri"}, "title": {"type": "string"},
    "status": {"type": "integer"}, "detail": {"type": "string"},
    "instance": {"type": "string", "format": "uri", "description": "the request's id"},
    "errors": {"type": "array", "items": {"$ref": "#/components/schemas/Finding"}}}},
"Artifact": {"type": "object", "additionalProperties": false,
  "required": ["name", "mime", "kind", "width", "height", "seed", "bytes", "url"],
  "properties": {"name": {"type": "string"}, "mime": {"type": "string"},
    "kind": {"type": "string", "description": "image, video, ..."}, "width": {"type": "integer"},
    "height": {"type": "integer"}, "seed": {"type": "integer", "minimum": 0},
    "bytes": {"type": "integer", "minimum": 0}, "url": {"type": "string", "format": "uri-reference"},
    "data": {"type": "string", "contentEncoding": "base64"}}},
"Job": {"type": "object", "additionalProperties": false,
  "required": ["id", "state", "model", "priority", "created_ms", "attempts", "crashes",
    "events_url"],
  "properties": {"id": {"type": "string"}, "state": {}, "model": {"type": "string"},
    "priority": {}, "created_ms": {"type": "integer"}, "attempts": {"type": "integer"},
    "crashes": {"type": "integer"}, "events_url": {"type": "string", "format": "uri-reference"},
    "deadline_ms": {"type": "integer"}, "started_ms": {"type": "integer"},
    "ended_ms": {"type": "integer"}, "estimated_ms": {"type": "integer"},
    "cancelling": {"type": "boolean"},
    "progress": {"type": "object", "required": ["stage", "step", "steps"],
      "additionalProperties": false, "properties": {"stage": {"type": "string"},
        "step": {"type": "integer"}, "steps": {"type": "integer"}}},
    "error": {"type": "object", "required": ["kind", "message"], "additionalProperties": false,
      "properties": {"kind": {"type": "string"}, "message": {"type": "string"}}},
    "artifacts": {"type": "array", "items": {"$ref": "#/components/schemas/Artifact"}},
    "report": {"type": "object", "description": "docs/report.md, without paths"},
    "request": {"type": "object", "description": "as it may be sent again"}}},
"Jobs": {"type": "object", "required": ["jobs"], "additionalProperties": false,
  "properties": {"jobs": {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}}},
"Settled": {"type": "object", "required": ["ok", "task", "model", "config", "warnings"],
  "properties": {"ok": {"const": true}, "task": {"type": "string"}, "model": {"type": "string"},
    "config": {"type": "object", "additionalProperties": {"type": "object",
      "required": ["value", "origin"], "properties": {"value": {}, "origin": {"type": "string"}}}},
    "warnings": {"type": "array", "items": {"$ref": "#/components/schemas/Finding"}}}},
"Adapter": {"type": "object", "required": ["name", "uploaded"], "additionalProperties": false,
  "properties": {"name": {"type": "string"}, "uploaded": {"type": "boolean"},
    "kind": {"type": "string"}, "models": {"type": "array", "items": {"type": "string"}},
    "bytes": {"type": "integer"}, "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "created_ms": {"type": "integer"}}},
"Adapters": {"type": "object", "required": ["adapters"], "additionalProperties": false,
  "properties": {"adapters": {"type": "array",
    "items": {"$ref": "#/components/schemas/Adapter"}}}},
"Models": {"type": "object", "required": ["models", "object", "data"],
  "additionalProperties": false,
  "properties": {
    "models": {"type": "array", "items": {"type": "object", "required": ["id", "default"],
      "additionalProperties": false,
      "properties": {"id": {"type": "string"}, "default": {"type": "boolean"},
        "family": {"type": "string"}, "summary": {"type": "string"},
        "tasks": {"type": "array", "items": {"type": "object",
          "required": ["task", "required_inputs", "optional_inputs", "default_config",
            "artifact_kind"]}}}}},
    "object": {"const": "list"},
    "data": {"type": "array", "items": {"type": "object",
      "required": ["id", "object", "created", "owned_by"], "additionalProperties": false,
      "properties": {"id": {"type": "string"}, "object": {"const": "model"},
        "created": {"type": "integer"}, "owned_by": {"type": "string"}}}}}},
"Model": {"type": "object", "required": ["id", "tasks"],
  "properties": {"id": {"type": "string"}, "tasks": {"type": "array", "items": {"type": "object",
    "required": ["task", "required_inputs", "optional_inputs", "keys", "supported_schedulers",
      "default_config", "artifact_kind"],
    "properties": {"task": {"type": "string"}, "keys": {"type": "array", "items": {
      "type": "object", "required": ["name", "default", "help"]}}}}}}}
})json";

constexpr std::string_view openai_answers = R"json({
"OpenAiError": {"type": "object", "required": ["error"], "additionalProperties": false,
  "properties": {"error": {"type": "object", "required": ["message", "type", "param", "code"],
    "additionalProperties": false,
    "properties": {"message": {"type": "string"},
      "type": {"enum": ["invalid_request_error", "server_error"]},
      "param": {"type": ["string", "null"]}, "code": {"type": "string"}}}}},
"OpenAiImages": {"type": "object", "additionalProperties": false,
  "required": ["created", "data", "background", "size", "quality", "output_format", "usage"],
  "properties": {"created": {"type": "integer"},
    "data": {"type": "array", "items": {"type": "object", "additionalProperties": false,
      "properties": {"b64_json": {"type": "string", "contentEncoding": "base64"},
        "url": {"type": "string", "format": "uri"}}}},
    "background": {"const": "opaque"},
    "size": {"type": "string", "pattern": "^[0-9]+x[0-9]+$"},
    "quality": {"enum": ["low", "medium", "high"]},
    "output_format": {"type": "string"},
    "usage": {"type": "object", "additionalProperties": false,
      "required": ["total_tokens", "input_tokens", "input_tokens_details", "output_tokens"],
      "properties": {"total_tokens": {"type": "integer"}, "input_tokens": {"type": "integer"},
        "input_tokens_details": {"type": "object", "required": ["text_tokens", "image_tokens"]},
        "output_tokens": {"type": "integer"}}}}},
"OpenAiVideo": {"type": "object", "additionalProperties": false,
  "required": ["id", "object", "model", "status", "progress", "created_at", "completed_at",
    "expires_at", "size", "seconds", "remixed_from_video_id", "error"],
  "properties": {"id": {"type": "string"}, "object": {"const": "video"},
    "model": {"type": "string"},
    "status": {"enum": ["queued", "in_progress", "completed", "failed"]},
    "progress": {"type": "integer", "minimum": 0, "maximum": 100},
    "created_at": {"type": "integer"}, "completed_at": {"type": ["integer", "null"]},
    "expires_at": {"type": ["integer", "null"]},
    "size": {"type": "string", "pattern": "^[0-9]+x[0-9]+$"}, "seconds": {"type": "string"},
    "remixed_from_video_id": {"type": "null"},
    "error": {"type": ["object", "null"], "required": ["code", "message"]}}},
"OpenAiVideos": {"type": "object", "additionalProperties": false,
  "required": ["object", "data", "first_id", "last_id", "has_more"],
  "properties": {"object": {"const": "list"},
    "data": {"type": "array", "items": {"$ref": "#/components/schemas/OpenAiVideo"}},
    "first_id": {"type": ["string", "null"]}, "last_id": {"type": ["string", "null"]},
    "has_more": {"type": "boolean"}}},
"OpenAiVideoDeleted": {"type": "object", "additionalProperties": false,
  "required": ["id", "object", "deleted"],
  "properties": {"id": {"type": "string"}, "object": {"const": "video.deleted"},
    "deleted": {"const": true}}}
})json";

constexpr std::string_view webui_answers = R"json({
"WebuiError": {"type": "object", "required": ["error", "detail", "body", "errors"],
  "additionalProperties": false,
  "properties": {"error": {"type": "string"}, "detail": {"type": "string"},
    "body": {"type": "string"}, "errors": {"type": "string"}}},
"WebuiImages": {"type": "object", "required": ["images", "parameters", "info"],
  "additionalProperties": false,
  "properties": {"images": {"type": "array", "items": {"type": "string",
      "contentEncoding": "base64"}}, "parameters": {"type": "object"},
    "info": {"type": "string", "contentMediaType": "application/json"}}},
"WebuiProgress": {"type": "object", "additionalProperties": false,
  "required": ["progress", "eta_relative", "state", "current_image", "textinfo"],
  "properties": {"progress": {"type": "number", "minimum": 0, "maximum": 1},
    "eta_relative": {"type": "number"},
    "state": {"type": "object", "required": ["skipped", "interrupted", "stopping_generation",
      "job", "job_count", "job_timestamp", "job_no", "sampling_step", "sampling_steps"]},
    "current_image": {"type": ["string", "null"]}, "textinfo": {"type": ["string", "null"]}}},
"WebuiOptions": {"type": "object", "additionalProperties": false,
  "required": ["sd_model_checkpoint", "CLIP_stop_at_last_layers", "samples_format",
    "show_progress_every_n_steps"],
  "properties": {"sd_model_checkpoint": {"type": "string"},
    "CLIP_stop_at_last_layers": {"type": "integer"}, "samples_format": {"type": "string"},
    "show_progress_every_n_steps": {"type": "integer"}}},
"WebuiImageInfo": {"type": "object", "required": ["info", "items", "parameters"],
  "additionalProperties": false,
  "properties": {"info": {"type": "string"}, "items": {"type": "object"},
    "parameters": {"type": "object"}}},
"WebuiSamplers": {"type": "array", "items": {"type": "object", "additionalProperties": false,
  "required": ["name", "aliases", "options"],
  "properties": {"name": {"type": "string"},
    "aliases": {"type": "array", "items": {"type": "string"}}, "options": {"type": "object"}}}},
"WebuiSchedules": {"type": "array", "items": {"type": "object",
  "required": ["name", "label", "aliases", "default_rho", "need_inner_model"],
  "properties": {"name": {"type": "string"}, "label": {"type": "string"},
    "aliases": {"type": "null"}, "default_rho": {"type": "number"},
    "need_inner_model": {"type": "boolean"}}}},
"WebuiModels": {"type": "array", "items": {"type": "object",
  "required": ["title", "model_name", "hash", "sha256", "filename", "config"],
  "properties": {"title": {"type": "string"}, "model_name": {"type": "string"},
    "hash": {"type": "null"}, "sha256": {"type": "null"}, "filename": {"type": "string"},
    "config": {"type": "null"}}}},
"WebuiLoras": {"type": "array", "items": {"type": "object",
  "required": ["name", "alias", "path", "metadata"],
  "properties": {"name": {"type": "string"}, "alias": {"type": "string"},
    "path": {"type": "string"}, "metadata": {"type": "object"}}}},
"WebuiUpscalers": {"type": "array", "items": {"type": "object",
  "required": ["name", "model_name", "model_path", "model_url", "scale"],
  "properties": {"name": {"type": "string"}, "scale": {"type": "number"}}}},
"WebuiNames": {"type": "array", "items": {"type": "object", "required": ["name"],
  "additionalProperties": false, "properties": {"name": {"type": "string"}}}},
"WebuiEmbeddings": {"type": "object", "required": ["loaded", "skipped"],
  "properties": {"loaded": {"type": "object"}, "skipped": {"type": "object"}}},
"WebuiScripts": {"type": "object", "required": ["txt2img", "img2img"],
  "properties": {"txt2img": {"type": "array"}, "img2img": {"type": "array"}}},
"EmptyList": {"type": "array", "maxItems": 0},
"Nothing": {"type": "object", "maxProperties": 0},
"Null": {"type": "null"},
"Document": {"type": "object", "required": ["openapi", "info", "paths", "components"]}
})json";

template <class Enum>
Json names_schema() {
  Json names = Json::array();
  for (const char* name : ChoiceNames<Enum>::names) names.push_back(name);
  return {{"enum", names}};
}

}  // namespace

Json openapi_answers() {
  Json made = parse_json(our_answers, "the schemas of answers");
  for (std::string_view more : {openai_answers, webui_answers})
    made.update(parse_json(more, "the schemas of answers"));
  Json& job = made["Job"]["properties"];
  job["state"] = names_schema<JobState>();
  job["priority"] = names_schema<Priority>();
  return made;
}

}  // namespace omnirt::serve
