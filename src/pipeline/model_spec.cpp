#include "pipeline/model_spec.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "pipeline/keys.hpp"

namespace omnirt {
namespace {

// Of classes that go by several names.
template <class Info>
const Info* of_class(const std::vector<Info>& all, const std::string& class_name) {
  auto it = std::ranges::find_if(all, [&](const Info& info) {
    return std::ranges::find(info.class_names, class_name) != info.class_names.end();
  });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace

Json ModelSpec::defaults(const PipelineFolder& folder) const {
  Json values = default_config;
  for (const auto& [component, others] : default_config_with) {
    if (folder.find(component)) values.update(others);
  }
  return values;
}

const PreviewMeans* Family::preview_means(const std::string& id) const {
  auto own = previews.find(id);
  if (own == previews.end()) own = previews.find("");
  return own == previews.end() ? nullptr : &own->second;
}

Family& Catalogue::family(const std::string& name) {
  auto it = std::ranges::find(families, name, &Family::name);
  if (it != families.end()) return *it;
  std::vector<std::string> known;
  for (const Family& each : families) known.push_back(each.name);
  throw InvalidRequest({"family", name, "there is no such family", suggest(name, known)});
}

NamedScheduler Catalogue::named_scheduler(const std::string& name,
                                          const ComponentFolder& own) const {
  return omnirt::named_scheduler(schedulers, name, find_scheduler(own.class_name), own.config);
}

const SchedulerInfo* Catalogue::find_scheduler(const std::string& name) const {
  return omnirt::find_scheduler(schedulers, name);
}

const GuiderInfo* Catalogue::find_guider(const std::string& type) const {
  auto it = std::ranges::find(guiders, type, &GuiderInfo::type);
  return it == guiders.end() ? nullptr : &*it;
}

std::vector<const KeyInfo*> default_guider_keys() {
  return {&keys::guidance_scale, &keys::guidance_rescale};
}

const nn::NetworkInfo* Catalogue::find_network(const std::string& class_name) const {
  auto it = std::ranges::find_if(networks,
                                 [&](const auto& info) { return info.class_name == class_name; });
  return it == networks.end() ? nullptr : &*it;
}

const text::TokenizerInfo* Catalogue::find_tokenizer(const std::string& class_name) const {
  return of_class(tokenizers, class_name);
}

const ImageProcessorInfo* Catalogue::find_image_processor(const std::string& class_name) const {
  return of_class(image_processors, class_name);
}

const ModelSpec* Catalogue::find_entry(const std::string& id, const std::string& task) const {
  for (const Family& family : families) {
    for (const ModelSpec& entry : family.entries) {
      if (entry.id != id || (!task.empty() && entry.task != task)) continue;
      return entry.alias_of.empty() ? &entry : find_entry(entry.alias_of, entry.task);
    }
  }
  return nullptr;
}

const Family* Catalogue::family_of(const ModelSpec& spec) const {
  for (const Family& family : families) {
    for (const ModelSpec& entry : family.entries) {
      if (&entry == &spec) return &family;
    }
  }
  return nullptr;
}

const Family* Catalogue::family_of_class(const std::string& pipeline_class) const {
  for (const Family& family : families) {
    if (std::ranges::find(family.pipeline_classes, pipeline_class) != family.pipeline_classes.end())
      return &family;
  }
  return nullptr;
}

std::vector<std::string> Catalogue::ids() const {
  std::vector<std::string> ids;
  for (const Family& family : families) {
    for (const ModelSpec& entry : family.entries) {
      if (std::ranges::find(ids, entry.id) == ids.end()) ids.push_back(entry.id);
    }
  }
  return ids;
}

std::vector<std::string> Catalogue::tasks_of(const std::string& id) const {
  std::vector<std::string> tasks;
  for (const Family& family : families) {
    for (const ModelSpec& entry : family.entries) {
      if (entry.id == id) tasks.push_back(entry.task);
    }
  }
  return tasks;
}

}  // namespace omnirt
