#include "base/plan_report.hpp"

namespace omnirt {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json at_json(const PlannedSpaceReport& plan) {
  return {{"block", plan.at_block}, {"component", plan.at_component}};
}

Json stages_json(const PlannedSpaceReport& plan) {
  Json stages = Json::array();
  for (const PlannedStage& stage : plan.stages) {
    stages.push_back({{"block", stage.block},
                      {"component", stage.component},
                      {"tensor_bytes", stage.tensor_bytes},
                      {"weight_bytes", stage.weight_bytes}});
  }
  return stages;
}

Json component_json(const PlannedComponentReport& component) {
  return {
      {"name", component.name},
      {"offload", name_of(component.offload)},
      {"bytes", component.bytes},
      {"storage_dtype", component.storage_dtype.empty() ? Json() : Json(component.storage_dtype)},
      {"resident_bytes", component.resident_bytes},
      {"moved_bytes_per_call", component.moved_bytes_per_call},
      {"groups", component.groups},
      {"blocks_per_group", or_null(component.blocks_per_group)},
      {"prefetch_groups", or_null(component.prefetch_groups)}};
}

Json source_json(const std::optional<ReadingReport::Source>& source) {
  if (!source) return nullptr;
  return {{"bytes_per_s", source->bytes_per_s},
          {"s_per_step", source->s_per_step},
          {"cost_s_per_step", source->cost_s_per_step}};
}

Json process_json(const PlannedSpaceReport& process) {
  return {{"budget_bytes", or_null(process.budget_bytes)},
          {"predicted_peak_bytes", process.predicted_peak_bytes},
          {"base_bytes", process.base_bytes},
          {"at", at_json(process)},
          {"stages", stages_json(process)}};
}

}  // namespace

Json to_json(const ReadingReport& reading) {
  return {{"bytes_per_step", reading.bytes_per_step},
          {"compute_s_per_step", reading.compute_s_per_step},
          {"from_disk", source_json(reading.from_disk)},
          {"from_page_cache", source_json(reading.from_page_cache)},
          {"cached_share", reading.cached_share},
          {"note", reading.note}};
}

Json to_json(const MemoryPlanReport& plan) {
  Json components = Json::array();
  for (const PlannedComponentReport& each : plan.components)
    components.push_back(component_json(each));
  Json others = Json::array();
  for (const MemoryPlanReport& each : plan.others) others.push_back(to_json(each));
  return {{"budget_bytes", or_null(plan.budget_bytes)},
          {"offload", name_of(plan.offload)},
          {"predicted_peak_bytes", plan.predicted_peak_bytes},
          {"base_bytes", plan.base_bytes},
          {"at", at_json(plan)},
          {"kept_between_steps_bytes", plan.kept_between_steps_bytes},
          {"components", components},
          {"stages", stages_json(plan)},
          {"space", plan.device.empty() ? "process" : "device"},
          {"device", plan.device.empty() ? Json() : Json(plan.device)},
          {"moved_bytes_per_step", plan.moved_bytes_per_step},
          {"process", plan.process ? process_json(*plan.process) : Json()},
          {"others", others},
          {"reading", plan.reading ? to_json(*plan.reading) : Json()}};
}

}  // namespace omnirt
