// States are files from outside: what a forged one may not bring about.
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "engine/session.hpp"
#include "io/file.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/saved_run.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class State : public ::testing::Test {
 protected:
  State()
      : folder_(fs::temp_directory_path() /
                ("omnirt-state-" + std::to_string(std::random_device{}()))) {
    fs::create_directories(folder_);
  }
  ~State() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  GenerateRequest request() const {
    GenerateRequest request;
    request.model = "emoji-sd";
    request.inputs["prompt"] = "a green apple";
    request.config = {{"num_inference_steps", 3}, {"seed", 5}, {"width", 64}, {"height", 64}};
    return request;
  }

  void stop(GenerateRequest request, const std::string& after) const {
    request.config["stop_after"] = after;
    request.config["state"] = file("state");
    RunReport report;
    engine().run(request, {}, {}, report);
  }

  GenerateRequest resume(const std::string& state) const {
    GenerateRequest request;
    request.config["resume"] = file(state);
    return request;
  }

  std::string findings(const std::vector<Finding>& all) const {
    std::string text;
    for (const Finding& finding : all) text += finding.text() + "\n";
    return text;
  }

  // What is found wrong with the state once `forge` has changed it.
  template <class Forge>
  Proposal forged(Forge&& forge, GenerateRequest with = {}) const {
    SavedRun run = read_saved_run(file("state"));
    forge(run);
    write_saved_run(file("forged"), run);
    with.config["resume"] = file("forged");
    return engine().check(with);
  }
  template <class Forge>
  std::string refusal(Forge&& forge) const {
    return findings(forged(forge).errors);
  }

  static SavedRun::Value& value(SavedRun& run, const std::string& name) {
    for (SavedRun::Value& each : run.values) {
      if (each.name == name) return each;
    }
    throw std::out_of_range(name);
  }
  static void set_tensor(SavedRun& run, const std::string& name, const Tensor& tensor) {
    value(run, name).saved.tensors["value"] = tensor;
  }

  std::vector<int64_t> latents_shape() const {
    SavedRun run = read_saved_run(file("state"));
    return value(run, "latents").saved.tensors.at("value").sizes().vec();
  }

  fs::path folder_;
};

TEST_F(State, HoldsNothingOfFilesAndNoText) {
  GenerateRequest whole = request();
  whole.config["output"] = file("mine.png");
  whole.config["preview_every"] = 1;
  whole.config["preview_dir"] = file("previews");
  stop(whole, "encode_prompt");
  SavedRun run = read_saved_run(file("state"));
  for (const char* key : {"output", "output_dir", "preview_every", "preview_dir", "preview_name",
                          "state", "stop_after", "resume", "model_path", "metadata"}) {
    EXPECT_FALSE(run.record["config"].contains(key)) << key;
    EXPECT_FALSE(run.origins.contains(key)) << key;
  }
  for (const SavedRun::Value& value : run.values) EXPECT_NE(value.type, "texts") << value.name;
}

TEST_F(State, ChoosesNoFile) {
  stop(request(), "prepare_latents");
  Proposal proposal = forged([&](SavedRun& run) {
    const Json values = {{"output", file("victim.png")},
                         {"output_dir", file("victim")},
                         {"state", file("victim.safetensors")},
                         {"stop_after", "denoise"},
                         {"preview_every", 1},
                         {"preview_dir", file("victim")},
                         {"preview_name", "{step}.png"},
                         {"model_path", file("victim")}};
    for (const auto& [key, forged] : values.items()) {
      run.record["config"][key] = forged;
      run.origins[key] = "user";
    }
  });
  EXPECT_EQ(findings(proposal.errors), "");
  EXPECT_FALSE(proposal.config.maybe(keys::output));
  for (const auto& [key, value] : proposal.config.all())
    EXPECT_THAT(value.value.dump(), Not(HasSubstr("victim"))) << key;
  EXPECT_EQ(proposal.config.find("preview_every")->value, 0);
  EXPECT_EQ(proposal.part.end, proposal.plan.blocks.size());
}

TEST_F(State, IsToldWhereItNamesFilesToRead) {
  fs::path copy = folder_ / "copy";
  fs::copy(source_path("models/emoji-sd"), copy, fs::copy_options::recursive);
  GenerateRequest whole = request();
  whole.model = copy.string();
  whole.components["vae"] = (copy / "vae").string();
  stop(whole, "encode_prompt");
  Proposal proposal = engine().check(resume("state"));
  EXPECT_EQ(findings(proposal.errors), "");
  EXPECT_THAT(findings(proposal.warnings),
              AllOf(HasSubstr("model = " + copy.string()), HasSubstr("named by the state"),
                    HasSubstr("components.vae")));
  GenerateRequest said = resume("state");
  said.model = whole.model;
  said.components = whole.components;
  EXPECT_EQ(findings(engine().check(said).warnings), "");
}

TEST_F(State, IsRefusedWhoseValuesAreOfAnotherNumberThanTheRequests) {
  stop(request(), "denoise");
  auto seeds = [](const Json& list) {
    return [list](SavedRun& run) { value(run, "seeds").saved.json = {{"value", list}}; };
  };
  EXPECT_THAT(refusal(seeds(Json::array())), HasSubstr("'seeds'"));
  EXPECT_THAT(refusal(seeds({1, 2})), AllOf(HasSubstr("'seeds'"), HasSubstr("B is 1")));
  EXPECT_THAT(refusal([](SavedRun& run) {
                set_tensor(run, "latents", at::zeros({64, 4, 8, 8}));
              }),
              AllOf(HasSubstr("'latents'"), HasSubstr("B is 1 by the request, and 64 in it")));
  EXPECT_THAT(refusal([](SavedRun& run) {
                run.record["inputs"]["prompt"] = {"a", "b", "c"};
              }),
              HasSubstr("B is 3 by the request"));
  EXPECT_NE(refusal([](SavedRun& run) { run.record["inputs"]["prompt"] = Json::array(); }), "");
  for (const Json& prompts : {Json::array(), Json({"a", "b", "c"})}) {
    EXPECT_THAT(refusal([&](SavedRun& run) {
                  run.values.push_back({"", "prompt", "texts", {{{"value", prompts}}}});
                }),
                HasSubstr("'prompt'"));
  }
}

TEST_F(State, IsRefusedWhoseTensorsAreOfAnotherShapeOrType) {
  stop(request(), "prepare_latents");
  const std::vector<int64_t> own = latents_shape();
  auto with = [&](size_t axis, int64_t size) {
    std::vector<int64_t> shape = own;
    shape[axis] = size;
    return shape;
  };
  for (const std::vector<int64_t>& shape : {with(0, 3),
                                            with(1, 1),
                                            with(1, 0),
                                            with(2, 0),
                                            with(2, own[2] - 1),
                                            with(3, 2 * own[3]),
                                            with(3, 512),
                                            {own[0], own[1], own[2] * own[3]}}) {
    EXPECT_THAT(refusal([&](SavedRun& run) { set_tensor(run, "latents", at::zeros(shape)); }),
                HasSubstr("'latents'"));
  }
  for (at::ScalarType type : {at::kLong, at::kDouble, at::kBool, at::kHalf, at::kInt}) {
    EXPECT_THAT(
        refusal([&](SavedRun& run) { set_tensor(run, "latents", at::zeros(own).to(type)); }),
        HasSubstr("of type"))
        << c10::toString(type);
  }
  for (double number : {std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_THAT(refusal([&](SavedRun& run) { set_tensor(run, "latents", at::full(own, number)); }),
                HasSubstr("infinities"));
  }
  int64_t width = 0;
  {
    SavedRun run = read_saved_run(file("state"));
    width = value(run, "prompt_embeds").saved.tensors["value"].size(2);
  }
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {1, 32, 7}, {1, 0, width}, {32, width}, {0, 32, width}, {2, 32, width}})
    EXPECT_NE(refusal([&](SavedRun& run) { set_tensor(run, "prompt_embeds", at::zeros(shape)); }),
              "");
}

// Each condition has a text of its own.
TEST_F(State, IsTakenWhoseConditionsHaveTextsOfOtherLengths) {
  stop(request(), "prepare_latents");
  SavedRun saved = read_saved_run(file("state"));
  const int64_t width = value(saved, "prompt_embeds").saved.tensors["value"].size(2);
  EXPECT_EQ(refusal([&](SavedRun& run) {
              set_tensor(run, "prompt_embeds", at::zeros({1, 31, width}));
            }),
            "");
  RunReport report;
  EXPECT_NO_THROW(engine().run(resume("forged"), {}, {}, report));
}

TEST_F(State, IsRefusedThatLeavesOutATensorThatTheRunGoesOnWith) {
  stop(request(), "prepare_latents");
  for (const char* name : {"latents", "prompt_embeds"}) {
    EXPECT_THAT(refusal([&](SavedRun& run) {
                  value(run, name).saved = {Json{{"defined", false}}, {}};
                }),
                AllOf(HasSubstr(name), HasSubstr("is left out")));
  }
}

// A UNet with mask channels starts from noise alone at full strength, and from the image below it.
TEST_F(State, MayLeaveOutTheImagesLatentsWhereTheRunStartsFromNoiseAlone) {
  const std::string pipelines = source_path("tests/goldens/pipelines").string();
  GenerateRequest whole;
  whole.task = "inpaint";
  whole.model = pipelines + "/inpaint9/model";
  whole.inputs = {{"prompt", "a red apple"},
                  {"image", pipelines + "/inputs/image.png"},
                  {"mask", pipelines + "/inputs/mask.png"}};
  whole.config = {{"num_inference_steps", 2}, {"seed", 16}, {"strength", 1.0}};
  stop(whole, "encode_image_below_full_strength");
  EXPECT_EQ(refusal([](SavedRun&) {}), "");
  EXPECT_THAT(refusal([](SavedRun& run) { run.record["config"]["strength"] = 0.5; }),
              AllOf(HasSubstr("image_latents"), HasSubstr("starts from it")));
}

TEST_F(State, IsRefusedWhoseEmbeddingsAreAllOfAnotherWidthThanTheNetworks) {
  stop(request(), "prepare_latents");
  EXPECT_THAT(refusal([](SavedRun& run) {
                for (SavedRun::Value& each : run.values) {
                  if (each.name == "prompt_embeds")
                    each.saved.tensors["value"] = at::zeros({1, 32, 7});
                }
              }),
              HasSubstr("is 7 wide"));
}

TEST_F(State, IsRefusedWhoseGeneratorsAreOthers) {
  stop(request(), "prepare_latents");
  auto state = [&](auto&& change) {
    return refusal([&](SavedRun& run) {
      Tensor& bytes = value(run, "noise_source").saved.tensors["state"];
      bytes = change(bytes);
    });
  };
  EXPECT_THAT(state([](const Tensor& own) {
                return own.repeat({3, 1});
              }),
              HasSubstr("'noise_source'"));
  EXPECT_NE(state([](const Tensor& own) { return own.narrow(1, 0, 3).contiguous(); }), "");
  EXPECT_NE(state([](const Tensor& own) { return at::full_like(own, 255); }), "");
  EXPECT_NE(state([](const Tensor& own) { return own.to(at::kLong); }), "");
}

TEST_F(State, IsRefusedWhoseWalkIsNotTheRequests) {
  stop(request(), "prepare_latents");
  auto walk = [&](auto&& change) {
    return refusal([&](SavedRun& run) { change(value(run, "schedule").saved.json); });
  };
  EXPECT_NE(walk([](Json& json) { json["plan"]["num_inference_steps"] = 1'000'000'000; }), "");
  EXPECT_NE(walk([](Json& json) { json["plan"]["num_inference_steps"] = 0; }), "");
  EXPECT_NE(walk([](Json& json) { json["plan"]["num_inference_steps"] = 7; }), "");
  EXPECT_NE(walk([](Json& json) { json["config"]["num_train_timesteps"] = 1'000'000'000; }), "");
  EXPECT_NE(walk([](Json& json) { json["config"]["num_train_timesteps"] = 10; }), "");
  EXPECT_NE(walk([](Json& json) { json["end"] = 0; }), "");
  EXPECT_NE(walk([](Json& json) { json["begin"] = json["end"]; }), "");
  EXPECT_NE(walk([](Json& json) { json["scheduler_begin"] = 3; }), "");
  EXPECT_NE(walk([](Json& json) { json["end"] = uint64_t{1} << 60; }), "");
  EXPECT_NE(walk([](Json& json) {
              json["class"] = "EulerDiscreteScheduler";
              json["config"] = Json::object();
            }),
            "");
  EXPECT_NE(walk([](Json& json) { json["numbers"]["calls"] = 1; }), "");
  EXPECT_NE(walk([](Json& json) { json["tensors"]["outputs"] = 4; }), "");
}

// PNDM, whose history read what was not there.
TEST_F(State, IsRefusedWhoseSchedulerRemembersWhatNoWalkLeaves) {
  GenerateRequest whole = request();
  whole.config["scheduler"] = "pndm";
  whole.config["scheduler_config"] = {{"skip_prk_steps", true}};
  stop(whole, "prepare_latents");
  EXPECT_EQ(refusal([](SavedRun&) {}), "");
  EXPECT_THAT(
      refusal([](SavedRun& run) { value(run, "schedule").saved.json["numbers"]["calls"] = 1; }),
      HasSubstr("no run of this scheduler leaves"));
}

TEST_F(State, AndLatentsAreToldByInspect) {
  stop(request(), "denoise");
  Json state = inspect(file("state"));
  EXPECT_EQ(state["kind"], "state of a run");
  EXPECT_EQ(state["after"], "denoise");
  EXPECT_THAT(state["what"].get<std::string>(),
              AllOf(HasSubstr("emoji-sd"), HasSubstr("--resume " + file("state"))));
  write_latents(file("latents"), at::zeros({2, 4, 8, 8}), {{"request", {{"model", "sdxl"}}}});
  Json latents = inspect(file("latents"));
  EXPECT_EQ(latents["kind"], "latents");
  EXPECT_EQ(latents["request"]["model"], "sdxl");
  EXPECT_THAT(latents["what"].get<std::string>(), HasSubstr("--latents"));
}

}  // namespace
}  // namespace omnirt::testing
