#include <fmt/format.h>

#include <map>
#include <set>

#include "engine/describe.hpp"
#include "engine/plugins.hpp"
#include "pipeline/keys.hpp"

namespace omnirt {
namespace {

class Twice {
 public:
  Twice(std::vector<Finding>& findings, std::string what)
      : findings_(findings), what_(std::move(what)) {}
  void add(const std::string& name) {
    if (!names_.insert(name).second)
      findings_.push_back({what_, name, "there is one of this name already", "give another name"});
  }

 private:
  std::vector<Finding>& findings_;
  std::string what_;
  std::set<std::string> names_;
};

// Keys of one name may be in several blocks; then they must agree.
void check_keys(const Catalogue& catalogue, std::vector<Finding>& findings) {
  std::map<std::string, const KeyInfo*> by_name, by_flag;
  auto check = [&](const KeyInfo& key) {
    const KeyInfo* same = by_name.emplace(key.name, &key).first->second;
    if (same->type != key.type || same->fallback_json() != key.fallback_json()) {
      findings.push_back({"config key", key.name,
                          "another block declares it with another type or default",
                          "give another name"});
    }
    const KeyInfo* flag = by_flag.emplace(key.flag_name(), &key).first->second;
    if (std::string_view(flag->name) != key.name) {
      findings.push_back({"config key", key.name,
                          fmt::format("its flag --{} is that of '{}'", key.flag_name(), flag->name),
                          "give another flag"});
    }
  };
  for (const KeyInfo* key : keys::of_every_run()) check(*key);
  for (const Family& family : catalogue.families) {
    for (const auto& block : family.blocks) {
      for (const PortInfo& port : block->ports()) {
        if (port.key) check(*port.key);
      }
    }
  }
}

}  // namespace

std::vector<Finding> check_catalogue(const Catalogue& catalogue) {
  std::vector<Finding> findings;
  Twice families(findings, "family"), entries(findings, "model"), classes(findings, "pipeline"),
      networks(findings, "network"), tokenizers(findings, "tokenizer"),
      processors(findings, "image processor"), schedulers(findings, "scheduler"),
      guiders(findings, "guider");
  for (const Family& family : catalogue.families) {
    families.add(family.name);
    for (const ModelSpec& entry : family.entries) entries.add(entry.id + " " + entry.task);
    for (const std::string& name : family.pipeline_classes) classes.add(name);
    Twice blocks(findings, "block of family " + family.name);
    for (const auto& block : family.blocks) blocks.add(block->name());
  }
  for (const nn::NetworkInfo& info : catalogue.networks) networks.add(info.class_name);
  for (const text::TokenizerInfo& info : catalogue.tokenizers) {
    for (const std::string& name : info.class_names) tokenizers.add(name);
  }
  for (const ImageProcessorInfo& info : catalogue.image_processors) {
    for (const std::string& name : info.class_names) processors.add(name);
  }
  for (const SchedulerInfo& info : catalogue.schedulers) schedulers.add(info.class_name);
  for (const GuiderInfo& info : catalogue.guiders) guiders.add(info.type);
  check_keys(catalogue, findings);
  return findings;
}

}  // namespace omnirt
