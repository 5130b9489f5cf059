// Every means against a lack of memory can be asked for alone, and the report says that it took
// hold, and none of the others.
#include <gtest/gtest.h>

#include "backends/stub/stub_backend.hpp"
#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

// What a run did to need less, as its report tells it; null: nothing of this kind.
Json means_of(const RunReport& report) {
  Json means = {{"offload", nullptr}, {"ahead", nullptr},     {"moves", false},
                {"tiles", nullptr},   {"storage", nullptr},   {"packs", false},
                {"rounds", false},    {"batch_rows", nullptr}};
  if (report.memory.plan) {
    means["offload"] = Json::object();
    for (const PlannedComponentReport& each : report.memory.plan->components) {
      means["offload"][name_of(each.offload)] = true;
      if (each.prefetch_groups) means["ahead"] = *each.prefetch_groups;
    }
  }
  means["moves"] = report.memory.weights_moved_bytes > 0;
  for (const PlacementReport& each : report.device_placement) {
    if (!each.kept_dtype.empty()) means["storage"][each.component] = each.kept_dtype;
  }
  const auto value = [&](const char* key) {
    const ConfigValue* found = report.config_resolved.find(key);
    return found ? found->value : Json();
  };
  if (value("vae_tiling") == true) means["tiles"] = value("vae_tile_size");
  means["rounds"] = value("quantize") == "int8";
  means["packs"] = value("pack") == "always";
  means["batch_rows"] = value("max_batch_rows");
  return means;
}

struct Means {
  const char* name;
  Json config;
  Json differs;  // in means_of, from a run that asks for none
};

std::ostream& operator<<(std::ostream& out, const Means& each) {
  return out << each.name;
}

Json only(const char* offload) {
  return {{offload, true}};
}

const Means of_weights[] = {
    {"none", {{"offload", "none"}}, {{"offload", only("none")}}},
    {"component", {{"offload", "component"}}, {{"offload", only("component")}}},
    {"leaf", {{"offload", "leaf"}}, {{"offload", only("leaf")}, {"ahead", 1}, {"moves", true}}},
    {"leaf_without_prefetch",
     {{"offload", "leaf"}, {"prefetch_groups", 0}},
     {{"offload", only("leaf")}, {"ahead", 0}, {"moves", true}}},
    {"leaf_with_more_prefetch",
     {{"offload", "leaf"}, {"prefetch_groups", 4}},
     {{"offload", only("leaf")}, {"ahead", 4}, {"moves", true}}},
    {"group",
     {{"offload", "group"}, {"blocks_per_group", 1}},
     {{"offload", only("group")}, {"ahead", 1}, {"moves", true}}},
    {"tiles", {{"vae_tiling", true}, {"vae_tile_size", 32}}, {{"tiles", 32}}},
    {"batches_of_one_row", {{"max_batch_rows", 1}}, {{"batch_rows", 1}}},
};

const Means of_the_cpu[] = {
    {"storage_dtype",
     {{"storage_dtype", "float8_e4m3fn"}},
     {{"storage", {{"unet", "float8_e4m3fn"}}}}},
    {"storage_dtype_of_one",
     {{"storage_dtype", {{"text_encoder", "float8_e5m2"}}}},
     {{"storage", {{"text_encoder", "float8_e5m2"}}}}},
    {"int8", {{"quantize", "int8"}}, {{"rounds", true}}},
    {"packed_forms", {{"pack", "always"}}, {{"packs", true}}},
};

GenerateRequest request_with(const Json& config, const std::string& backend) {
  GenerateRequest request = golden_request("sd15/text2image");
  request.backend = backend;
  request.config["num_inference_steps"] = 1;
  request.config.update(config);
  return request;
}

class OnCpu : public ::testing::TestWithParam<Means> {};

TEST_P(OnCpu, TakesHoldAlone) {
  const RunReport plain = run(request_with(Json::object(), "cpu")).report;
  const RunReport report = run(request_with(GetParam().config, "cpu")).report;
  Json expected = means_of(plain);
  expected.update(GetParam().differs);
  EXPECT_EQ(means_of(report), expected);
  // What rounds or packs has forms of its own; what does not has none.
  EXPECT_EQ(report.memory.weights_packed_bytes > plain.memory.weights_packed_bytes,
            expected["packs"].get<bool>() || expected["rounds"].get<bool>());
}

INSTANTIATE_TEST_SUITE_P(Weights, OnCpu, ::testing::ValuesIn(of_weights),
                         [](const auto& info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Forms, OnCpu, ::testing::ValuesIn(of_the_cpu),
                         [](const auto& info) { return std::string(info.param.name); });

class OnADevice : public ::testing::TestWithParam<Means> {};

TEST_P(OnADevice, TakesHoldAlone) {
  auto device = std::make_shared<StubDevice>(StubScript::Device{.bytes = int64_t{1} << 34});
  Catalogue catalogue = builtin_catalogue();
  for (BackendInfo& info : catalogue.backends) {
    if (info.name == "cpu-stub")
      info.make = [device](int) { return std::make_unique<StubBackend>(StubScript(), device); };
  }
  Engine engine(std::move(catalogue));
  Json expected = means_of(run_on(engine, request_with(Json::object(), "cpu-stub")).report);
  expected.update(GetParam().differs);
  const RunReport report = run_on(engine, request_with(GetParam().config, "cpu-stub")).report;
  EXPECT_EQ(means_of(report), expected);
  EXPECT_TRUE(report.fallbacks.empty());
}

INSTANTIATE_TEST_SUITE_P(Weights, OnADevice, ::testing::ValuesIn(of_weights),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace omnirt::testing
