#include "base/report.hpp"

#include <algorithm>

namespace omnirt {
namespace {

Json or_null(const std::optional<uint64_t>& value) {
  return value ? Json(*value) : Json();
}

Json render(const StageTimings& t) {
  return {{"prepare_conditions_ms", t.prepare_conditions_ms},
          {"prepare_latents_ms", t.prepare_latents_ms},
          {"denoise_loop_ms", t.denoise_loop_ms},
          {"decode_ms", t.decode_ms},
          {"export_ms", t.export_ms}};
}

Json render(const DeviceMemoryReport& d) {
  return {{"device", d.device},
          {"available_memory_gb", d.available_gb},
          {"tensor_peak_bytes", or_null(d.tensor_peak_bytes)},
          {"tensor_current_bytes", or_null(d.tensor_current_bytes)},
          {"process_tensor_peak_bytes", or_null(d.process_tensor_peak_bytes)}};
}

Json render(const MemoryReport& m) {
  Json devices = Json::array();
  for (const DeviceMemoryReport& each : m.devices) devices.push_back(render(each));
  return {{"peak_rss_bytes", m.peak_rss_bytes},
          {"available_memory_gb", m.available_gb},
          {"devices", devices},
          {"tensor_peak_bytes", or_null(m.tensor_peak_bytes)},
          {"tensor_current_bytes", or_null(m.tensor_current_bytes)},
          {"process_tensor_peak_bytes", or_null(m.process_tensor_peak_bytes)},
          {"weights_stored_bytes", m.weights_stored_bytes},
          {"weights_converted_bytes", m.weights_converted_bytes},
          {"weights_packed_bytes", m.weights_packed_bytes},
          {"predicted_tensor_peak_bytes", m.predicted_tensor_peak_bytes},
          {"kernel_scratch_bytes", m.kernel_scratch_bytes},
          {"kept_between_steps_bytes", m.kept_between_steps_bytes},
          {"weights_moved_bytes", m.weights_moved_bytes},
          {"weights_waited_ms", m.weights_waited_ms},
          {"plan", m.plan ? to_json(*m.plan) : Json()}};
}

Json render(const ArtifactReport& a) {
  Json json{{"path", a.path},     {"kind", a.kind}, {"mime", a.mime},    {"width", a.width},
            {"height", a.height}, {"seed", a.seed}, {"prompt", a.prompt}};
  if (a.kind != "video") return json;
  json["frames"] = a.frames;
  json["fps"] = a.fps;
  return json;
}

Json render(const TimelineReport& entry) {
  Json attempts = Json::array();
  for (const AttemptReport& a : entry.attempts) {
    attempts.push_back({{"level", a.level},
                        {"ok", a.ok},
                        {"reason", a.reason},
                        {"selected", a.selected},
                        {"ms", a.ms}});
  }
  return {{"component", entry.component}, {"attempts", attempts}};
}

Json render(const ProfileRow& row) {
  return {{"component", row.component}, {"op", row.op},       {"by", row.by},
          {"shape", row.shape},         {"calls", row.calls}, {"ms", row.ms}};
}

Json render(const BlockProfileRow& row) {
  return {{"component", row.component},
          {"block", row.block},
          {"calls", row.calls},
          {"ms", row.ms},
          {"waited_ms", row.waited_ms},
          {"moved_bytes", row.moved_bytes},
          {"repeats", row.repeats.empty() ? Json() : Json(row.repeats)}};
}

Json render(const FallbackReport& f) {
  return {{"component", f.component},
          {"level", f.level},
          {"kind", f.kind},
          {"count", f.count},
          {"total", f.total}};
}

Json render(const PassedOverReport& p) {
  return {{"name", p.name}, {"reason", p.reason}};
}

Json render(const PlacementReport& p) {
  return {{"component", p.component},
          {"device", p.device},
          {"dtype", p.dtype},
          {"stored_dtype", p.stored_dtype},
          {"storage_dtype", p.kept_dtype.empty() ? Json() : Json(p.kept_dtype)}};
}

Json render(const AdapterReport& a) {
  return to_json(a);
}

Json render(const Finding& f) {
  return to_json(f);
}

template <class T>
Json list(const std::vector<T>& items) {
  Json json = Json::array();
  for (const T& item : items) json.push_back(render(item));
  return json;
}

// What reports of checks and of runs have in common.
void add_what_runs(const SettledReport& settled, Json& json) {
  json.update({{"task", settled.task},
               {"model", settled.model},
               {"model_path", settled.model_path},
               {"single_file", settled.single_file ? to_json(*settled.single_file) : Json()},
               {"backend", settled.backend},
               {"device", settled.device},
               {"backends_passed_over", list(settled.backends_passed_over)},
               {"workflow", settled.workflow}});
}

}  // namespace

Json to_json(const AdapterReport& a) {
  return {{"path", a.path},     {"kind", a.kind},     {"layout", a.layout}, {"mode", a.mode},
          {"scale", a.scale},   {"scales", a.scales}, {"ranks", a.ranks},   {"alphas", a.alphas},
          {"layers", a.layers}, {"tokens", a.tokens}};
}

Json to_json(const SingleFileReport& file) {
  Json decided = Json::array(), missing = Json::object();
  for (const SingleFileDecision& each : file.decisions)
    decided.push_back({{"what", each.what}, {"value", each.value}, {"how", each.how}});
  for (const auto& [name, part] : file.missing)
    missing[name] = {{"class", part.class_name}, {"config", part.config}, {"why", part.why}};
  Json json = {{"kind", file.kind},
               {"decided", decided},
               {"ignored_tensors", file.ignored_tensors},
               {"ignored", file.ignored}};
  if (!missing.empty()) json["missing"] = missing;
  return json;
}

Json to_json(const Finding& f) {
  return {{"field", f.field}, {"value", f.value}, {"message", f.message}, {"way_out", f.way_out}};
}

double RunReport::other_ms() const {
  double stages = timings.prepare_conditions_ms + timings.prepare_latents_ms +
                  timings.denoise_loop_ms + timings.decode_ms + timings.export_ms;
  return std::max(0.0, total_ms - load_ms - adapters_ms - stages);
}

Json CheckReport::to_json() const {
  Json json = {{"ok", ok}};
  add_what_runs(*this, json);
  json.update({{"inputs", inputs_resolved},
               {"config", config_resolved.to_json()},
               {"adapters", list(adapters)},
               {"memory_plan", memory_plan ? omnirt::to_json(*memory_plan) : Json()},
               {"errors", list(errors)},
               {"warnings", list(warnings)}});
  return json;
}

Json RunReport::to_json() const {
  Json json = {{"schema_version", report_schema_version}, {"run_id", run_id}};
  add_what_runs(*this, json);
  json.update({{"components_loaded", components_loaded},
               {"resumed_from", resumed_from.empty() ? Json() : Json(resumed_from)},
               {"state", state.empty() ? Json() : Json(state)},
               {"timings", render(timings)},
               {"denoise_steps_ms", denoise_steps_ms},
               {"denoise_steps_runs", denoise_steps_runs},
               {"first_step_ms", nullptr},
               {"load_ms", load_ms},
               {"adapters_ms", adapters_ms},
               {"other_ms", other_ms()},
               {"total_ms", total_ms},
               {"memory", render(memory)},
               {"backend_timeline", list(backend_timeline)},
               {"fallbacks", list(fallbacks)},
               {"remembered_calls", remembered_calls},
               {"inputs_resolved", inputs_resolved},
               {"config_resolved", config_resolved.to_json()},
               {"artifacts", list(artifacts)},
               {"previews", previews},
               {"latent_stats", nullptr},
               {"step_cache", nullptr},
               {"device_placement", list(device_placement)},
               {"adapters", list(adapters)},
               {"warnings", list(warnings)},
               {"error", nullptr}});
  if (!profile.empty()) json["profile"] = list(profile);
  if (!block_profile.empty()) json["block_profile"] = list(block_profile);
  if (latent_stats) {
    const LatentStats& s = *latent_stats;
    json["latent_stats"] = {{"mean", s.mean}, {"std", s.std}, {"p50", s.p50}, {"p95", s.p95}};
  }
  if (first_step_ms) json["first_step_ms"] = *first_step_ms;
  if (step_cache) {
    json["step_cache"] = {{"kind", step_cache->kind},
                          {"interval", step_cache->interval},
                          {"branch", step_cache->branch},
                          {"order", step_cache->order},
                          {"threshold", step_cache->threshold},
                          {"full_steps", step_cache->full_steps},
                          {"cached_steps", step_cache->cached_steps}};
  }
  if (error) {
    json["error"] = {
        {"kind", error->kind}, {"message", error->message}, {"findings", list(error->findings)}};
  }
  return json;
}

}  // namespace omnirt
