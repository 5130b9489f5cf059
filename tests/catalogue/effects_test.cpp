// Nothing that a request sets is ignored in silence: a key changes what is made, or is a finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/run_keys.hpp"
#include "small_models.hpp"

namespace omnirt::testing {
namespace {

// Keys of how a run is computed, which keep its image or change its last bits alone, and of what
// becomes of the image afterwards.
const std::set<std::string>& of_computing() {
  static const std::set<std::string> keys{"max_batch_rows", "vae_tiling", "output_type",
                                          "dtype",          "quantize",   "storage_dtype",
                                          "upscale_tile",   "pack"};
  return keys;
}

// Keys whose other value would need another input to act, of which no finding can know.
const std::set<std::string>& of_longer_prompts() {
  static const std::set<std::string> keys{"max_sequence_length", "prompt_syntax"};
  return keys;
}

// Another value than the run's own; null for keys that hold texts, lists and objects.
Json other_value(const KeyInfo& key, const Json& own) {
  if (key.names) {
    const auto names = key.choice_list();
    return own == names.front() ? names.back() : names.front();
  }
  if (key.type == KeyInfo::Type::boolean) return own != true;
  const bool whole = key.type == KeyInfo::Type::integer;
  if (!whole && key.type != KeyInfo::Type::number) return nullptr;
  const double now = own.is_number() ? own.get<double>() : key.min;
  double next = now + (whole ? 1 : 0.25);
  if (next > key.max) next = std::max(key.min, now - (whole ? 1 : 0.25));
  return whole ? Json(static_cast<int64_t>(next)) : Json(next);
}

GenerateRequest request_of(const ModelSpec& entry) {
  GenerateRequest request;
  request.model = entry.id;
  request.task = entry.task;
  auto picture = [](const char* name) {
    return source_path(std::string("tests/goldens/pipelines/inputs/") + name).string();
  };
  if (entry.task != "image2video") request.inputs["prompt"] = "a red apple";
  if (entry.task != "text2image") request.inputs["image"] = picture("image.png");
  if (entry.task == "inpaint") request.inputs["mask"] = picture("mask.png");
  request.config = {{"model_path", small_model(entry.id)}, {"seed", 1}, {"num_inference_steps", 2}};
  return request;
}

// Who reads a key: the block of the plan that declares it, or the family's guider.
std::string reader_of(const Proposal& proposal, const std::string& key) {
  for (const auto& block : proposal.plan.blocks) {
    for (const PortInfo& port : block->ports())
      if (port.key && port.name == key) return block->name();
  }
  return proposal.family->name;
}

bool is_told(const Proposal& proposal, const std::string& key) {
  auto names = [&](const Finding& finding) {
    return finding.field.find(key) != std::string::npos || finding.field == "config.width" ||
           finding.field == "config.height";
  };
  return !proposal.errors.empty() || std::ranges::any_of(proposal.warnings, names);
}

class Effects : public ::testing::TestWithParam<std::string> {};

// One model per family, with each of its tasks. A key that several families' blocks share is run
// once for each block.
TEST_P(Effects, OfEachKeyAreAnImageOrAFinding) {
  static std::set<std::pair<std::string, std::string>> shown;
  std::set<std::string> run_by;
  for (const auto& list : {keys::about_files(), keys::about_the_run()})
    for (const auto* key : list) run_by.insert(key->name);
  for (const Family& family : engine().catalogue().families) {
    if (family.name != GetParam()) continue;
    std::set<std::string> tasks;
    for (const ModelSpec& entry : family.entries) {
      if (small_model(entry.id).empty() || !tasks.insert(entry.task).second) continue;
      const GenerateRequest base = request_of(entry);
      const Proposal plain = engine().check(base);
      ASSERT_TRUE(plain.ok()) << entry.id << ": " << plain.errors.front().text();
      Tensor expected;
      std::vector<const KeyInfo*> all = plain.plan.keys;
      all.insert(all.end(), family.guider_keys.begin(), family.guider_keys.end());
      for (const KeyInfo* key : all) {
        const std::string name = key->name;
        if (run_by.contains(name) || of_computing().contains(name) ||
            of_longer_prompts().contains(name) || base.config.contains(name))
          continue;
        const ConfigValue* own = plain.config.find(name);
        const Json other = other_value(*key, own ? own->value : Json());
        if (other.is_null()) continue;
        GenerateRequest request = base;
        request.config[name] = other;
        const Proposal proposal = engine().check(request);
        if (is_told(proposal, name)) continue;
        if (!shown.emplace(name, reader_of(proposal, name)).second) continue;
        if (!expected.defined()) expected = run(base).latents_after.back();
        const Outcome made = run(request);
        const Tensor& latents = made.latents_after.back();
        const bool same = latents.sizes() == expected.sizes() && latents.equal(expected) &&
                          made.latents_after.size() == 2;
        EXPECT_FALSE(same) << entry.id << " " << entry.task << ": " << name << " = " << other
                           << " changes nothing and is no finding";
      }
    }
  }
}

std::vector<std::string> families() {
  std::vector<std::string> names;
  for (const Family& family : engine().catalogue().families)
    if (family.name != "upscale") names.push_back(family.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, Effects, ::testing::ValuesIn(families()),
                         [](const auto& info) { return info.param; });

std::vector<Finding> warnings_of(const GenerateRequest& request) {
  const Proposal proposal = engine().check(request);
  EXPECT_TRUE(proposal.ok()) << proposal.errors.front().text();
  return proposal.warnings;
}

// In every family, by the scale that its guider has: no setting next to it is ignored in silence.
TEST(Guidance, SettingsWithoutAnEffectAreFindingsInEveryFamily) {
  for (const Family& family : engine().catalogue().families) {
    auto entry = std::ranges::find_if(family.entries, [](const ModelSpec& each) {
      return !small_model(each.id).empty() && each.task != "upscale";
    });
    if (entry == family.entries.end()) continue;
    GenerateRequest request = request_of(*entry);
    for (const char* scale : {"guidance_scale", "true_cfg_scale"}) {
      const bool known = std::ranges::any_of(family.guider_keys, [&](const KeyInfo* key) {
        return key->name == std::string_view(scale);
      });
      if (known) request.config[scale] = 0;
    }
    for (const KeyInfo* key : family.guider_keys) {
      const std::string name = key->name;
      if (name.ends_with("guidance_scale") || name == "true_cfg_scale") continue;
      GenerateRequest set = request;
      const double number = name.ends_with("_start") ? 0.1 : 0.5;  // before the usual stop
      set.config[name] = key->type == KeyInfo::Type::list ? Json{0} : Json(number);
      if (family.name == "svd") continue;  // it has no other settings
      EXPECT_THAT(warnings_of(set), about("config." + name, "has no effect without guidance"))
          << entry->id;
    }
  }
}

TEST(Guidance, SettingsOfAGuiderThatDoesNotGuideAreFindings) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config.erase("guidance_scale");
  request.guider = {{"type", "cfg"}, {"guidance_scale", 1.0}, {"guidance_rescale", 0.5}};
  EXPECT_THAT(warnings_of(request), about("guider.guidance_rescale", "without guidance"));
  // Perturbed attention guides in a part of the run, but rescales nothing.
  request.guider = {
      {"type", "pag"}, {"guidance_scale", 1.0}, {"guidance_rescale", 0.5}, {"stop", 0.5}};
  EXPECT_THAT(warnings_of(request), about("guider.guidance_rescale", "without guidance"));
  EXPECT_THAT(warnings_of(request), ::testing::Not(about("guider.stop")));
  request.guider = {{"type", "cfg"}, {"guidance_scale", 3.0}, {"guidance_rescale", 0.5}};
  EXPECT_THAT(warnings_of(request), ::testing::IsEmpty());
}

// A run records what it used.
TEST(Guidance, SettingsWithoutAnEffectAreNotInTheRecord) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.config.update({{"guidance_scale", 1.0}, {"guidance_rescale", 0.5}});
  EXPECT_FALSE(engine().check(request).record()["config"].contains("guidance_rescale"));
}

}  // namespace
}  // namespace omnirt::testing
