// Runs that are cut in two, each part on an engine of its own: the bytes of the whole run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "catalogue/catalogue.hpp"
#include "catalogue/support.hpp"
#include "io/file.hpp"
#include "io/image.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/saved_run.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Split : public ::testing::Test {
 protected:
  Split()
      : folder_(fs::temp_directory_path() /
                ("omnirt-split-" + std::to_string(std::random_device{}()))) {
    fs::create_directories(folder_);
    io::Image image = io::Image::zeros(64, 64, 3), mask = image;
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<uint8_t>(i * 7 % 251);
      mask.pixels[i] = i < mask.pixels.size() / 2 ? 255 : 0;
    }
    io::write_image(file("image.png"), image);
    io::write_image(file("mask.png"), mask);
  }
  ~Split() override { fs::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  GenerateRequest request(const std::string& task) const {
    GenerateRequest request;
    request.model = "emoji-sd";
    request.inputs["prompt"] = "a green apple";
    if (task != "text2image") request.inputs["image"] = file("image.png");
    if (task == "inpaint") request.inputs["mask"] = file("mask.png");
    request.config = {{"num_inference_steps", 3},
                      {"seed", 5},
                      {"width", 64},
                      {"height", 64},
                      // History, and draws within the loop.
                      {"scheduler", "dpm-solver"},
                      {"scheduler_config", {{"algorithm_type", "sde-dpmsolver++"}}}};
    return request;
  }

  RunReport run(Engine& engine, GenerateRequest request, const std::string& output) const {
    request.config["output"] = file(output);
    RunReport report;
    engine.run(request, {}, {}, report);
    return report;
  }

  RunReport stop(Engine& engine, GenerateRequest request, const std::string& after,
                 const std::string& state = "state") const {
    request.config["stop_after"] = after;
    request.config["state"] = file(state);
    RunReport report;
    engine.run(request, {}, {}, report);
    return report;
  }

  GenerateRequest resume(const std::string& state = "state") const {
    GenerateRequest request;
    request.config["resume"] = file(state);
    return request;
  }

  std::string bytes(const std::string& name) const { return io::read_file(file(name), 1 << 24); }

  std::string refusal(const GenerateRequest& request) const {
    std::string text;
    for (const Finding& finding : engine().check(request).errors) text += finding.text() + "\n";
    return text;
  }

  fs::path folder_;
};

TEST_F(Split, EveryCutOfEveryTaskGivesTheBytesOfTheWholeRun) {
  for (const char* task : {"text2image", "image2image", "inpaint"}) {
    GenerateRequest whole = request(task);
    run(engine(), whole, "whole.png");
    Plan plan = engine().check(whole).plan;
    for (size_t i = 0; i + 1 < plan.blocks.size(); ++i) {
      const std::string& after = plan.blocks[i]->name();
      SCOPED_TRACE(std::string(task) + " after " + after);
      RunReport first = stop(engine(), whole, after);
      EXPECT_EQ(first.state, file("state"));
      EXPECT_TRUE(first.artifacts.empty());
      RunReport second = run(engine(), resume(), "parts.png");
      EXPECT_EQ(first.workflow + " > " + second.workflow, plan.workflow());
      EXPECT_EQ(bytes("parts.png"), bytes("whole.png"));
    }
  }
}

TEST_F(Split, AStageNamesTheCutBehindItsLastBlock) {
  GenerateRequest whole = request("text2image");
  run(engine(), whole, "whole.png");
  for (const char* stage : {"prepare_conditions", "prepare_latents", "denoise_loop", "decode"}) {
    stop(engine(), whole, stage);
    run(engine(), resume(), "parts.png");
    EXPECT_EQ(bytes("parts.png"), bytes("whole.png")) << stage;
  }
}

TEST_F(Split, ThreePartsAndSeveralImagesGiveTheBytesOfTheWholeRun) {
  GenerateRequest whole = request("image2image");
  whole.config["num_images_per_prompt"] = 2;
  run(engine(), whole, "whole.png");
  stop(engine(), whole, "encode_prompt");
  stop(engine(), resume(), "denoise", "second");
  run(engine(), resume("second"), "parts.png");
  EXPECT_EQ(bytes("parts_0.png"), bytes("whole_0.png"));
  EXPECT_EQ(bytes("parts_1.png"), bytes("whole_1.png"));
}

TEST_F(Split, LoadsOnlyTheComponentsThatThePartNeeds) {
  Engine fresh(builtin_catalogue());
  RunReport first = stop(fresh, request("text2image"), "encode_prompt");
  EXPECT_THAT(first.components_loaded, ::testing::ElementsAre("tokenizer", "text_encoder"));
  RunReport second = stop(fresh, resume(), "denoise", "second");
  EXPECT_THAT(second.components_loaded, ::testing::UnorderedElementsAre("vae", "unet"));
  RunReport third = run(fresh, resume("second"), "parts.png");
  EXPECT_THAT(third.components_loaded, ::testing::ElementsAre("vae"));
}

TEST_F(Split, NeedsNoImageThatTheStateHolds) {
  stop(engine(), request("inpaint"), "encode_prompt");
  fs::remove(file("image.png"));
  fs::remove(file("mask.png"));
  EXPECT_NO_THROW(run(engine(), resume(), "parts.png"));
}

TEST_F(Split, TakesTheSameRequestAgainAndRefusesAnother) {
  stop(engine(), request("text2image"), "encode_prompt");
  GenerateRequest again = request("text2image");
  again.config["resume"] = file("state");
  EXPECT_EQ(refusal(again), "");
  GenerateRequest other = again;
  other.inputs["prompt"] = "a red apple";
  EXPECT_THAT(refusal(other), AllOf(HasSubstr("inputs.prompt"), HasSubstr("a green apple")));
  other = again;
  other.config["num_inference_steps"] = 4;
  EXPECT_THAT(refusal(other),
              AllOf(HasSubstr("config.num_inference_steps"), HasSubstr("made with 3")));
  other = again;
  other.task = "inpaint";
  EXPECT_THAT(refusal(other), HasSubstr("the state is of task text2image"));
  other = again;
  other.guider = {{"type", "none"}};
  EXPECT_THAT(refusal(other), HasSubstr("guider"));
}

TEST_F(Split, RefusesAnotherModel) {
  stop(engine(), request("text2image"), "encode_prompt");
  GenerateRequest other = resume();
  other.model = "sd15";
  EXPECT_THAT(refusal(other), HasSubstr("the state is of model 'emoji-sd'"));
  // The same classes and shapes, other weights.
  fs::path copy = folder_ / "copy";
  fs::copy(source_path("models/emoji-sd"), copy, fs::copy_options::recursive);
  other.model = copy.string();
  EXPECT_EQ(refusal(other), "");
  fs::path weights = copy / "unet" / "diffusion_pytorch_model.safetensors";
  std::string bytes = io::read_file(weights, size_t{1} << 30);
  for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 65536; ++i) bytes[i] ^= 1;
  io::write_file(weights, bytes);
  EXPECT_THAT(refusal(other), AllOf(HasSubstr("another model"), HasSubstr("'unet'")));
}

TEST_F(Split, RefusesAnotherVersionAndAnotherList) {
  stop(engine(), request("text2image"), "encode_prompt");
  SavedRun run = read_saved_run(file("state"));
  run.version = "omnirt 9.9.9";
  write_saved_run(file("version"), run);
  EXPECT_THAT(refusal(resume("version")), HasSubstr("omnirt 9.9.9"));
  run = read_saved_run(file("state"));
  run.workflow.insert(run.workflow.begin() + 1, "another_block");
  write_saved_run(file("list"), run);
  EXPECT_THAT(refusal(resume("list")), HasSubstr("another list of blocks"));
  run = read_saved_run(file("state"));
  run.after = "start_noise";
  write_saved_run(file("cut"), run);
  EXPECT_THAT(refusal(resume("cut")), HasSubstr("prompt_embeds"));
  run = read_saved_run(file("state"));
  std::erase_if(run.values, [](const auto& value) { return value.name == "seeds"; });
  write_saved_run(file("missing"), run);
  EXPECT_THAT(refusal(resume("missing")), HasSubstr("'seeds' is missing"));
}

TEST_F(Split, RefusesADamagedFileAndOneThatIsNoState) {
  stop(engine(), request("text2image"), "encode_prompt");
  std::string good = bytes("state");
  for (size_t place : {good.size() - 1, good.size() / 2, size_t{40}, size_t{3}}) {
    std::string bad = good;
    bad[place] ^= 0x20;
    io::write_file(file("bad"), bad);
    EXPECT_THAT(refusal(resume("bad")), HasSubstr("config.resume")) << place;
  }
  io::write_file(file("bad"), std::string_view(good).substr(0, good.size() - 100));
  EXPECT_THAT(refusal(resume("bad")), HasSubstr("config.resume"));
  io::write_file(file("bad"), "no state at all");
  EXPECT_THAT(refusal(resume("bad")), HasSubstr("config.resume"));
  fs::path weights = source_path("models/emoji-sd/vae/diffusion_pytorch_model.safetensors");
  GenerateRequest other;
  other.config["resume"] = weights.string();
  EXPECT_THAT(refusal(other), HasSubstr("not the state of a run"));
  EXPECT_THAT(refusal(resume("absent")), HasSubstr("absent"));
}

TEST_F(Split, RefusesValuesThatAreNotWhatTheirPortsHandOn) {
  stop(engine(), request("text2image"), "encode_prompt");
  auto damaged = [&](const std::string& name, auto&& damage) {
    SavedRun run = read_saved_run(file("state"));
    for (SavedRun::Value& value : run.values) {
      if (value.name == name) damage(value);
    }
    write_saved_run(file("bad"), run);
    return refusal(resume("bad"));
  };
  EXPECT_THAT(damaged("noise_source", [](auto& v) { v.saved.tensors["state"].zero_().add_(1); }),
              HasSubstr("noise_source"));
  EXPECT_THAT(damaged("noise_source", [](auto& v) { v.saved.tensors.clear(); }),
              HasSubstr("noise_source"));
  EXPECT_THAT(
      damaged("prompt_embeds",
              [](auto& v) { v.saved.tensors["value"] = v.saved.tensors["value"].flatten(); }),
      HasSubstr("dimensions"));
  EXPECT_THAT(damaged("seeds",
                      [](auto& v) {
                        v.saved.json = {{"value", "five"}};
                      }),
              HasSubstr("seeds"));
  EXPECT_THAT(damaged("seeds", [](auto& v) { v.type = "tensor"; }), HasSubstr("seeds"));
}

TEST_F(Split, RefusesCutsThatAreNone) {
  GenerateRequest whole = request("text2image");
  auto with = [&](const std::string& after, const std::string& state) {
    GenerateRequest cut = whole;
    if (!after.empty()) cut.config["stop_after"] = after;
    if (!state.empty()) cut.config["state"] = file(state);
    return refusal(cut);
  };
  EXPECT_THAT(with("denoize", "s"), HasSubstr("did you mean 'denoise'?"));
  EXPECT_THAT(with("export_images", "s"), HasSubstr("nothing is left to do"));
  EXPECT_THAT(with("denoise", ""), HasSubstr("set config.state="));
  EXPECT_THAT(with("", "s"), HasSubstr("stop_after"));
  EXPECT_THAT(with("denoise", "absent/s"), HasSubstr("config.state"));
  stop(engine(), whole, "prepare_latents");
  GenerateRequest back = resume();
  back.config["stop_after"] = "encode_prompt";
  back.config["state"] = file("t");
  EXPECT_THAT(refusal(back), HasSubstr("a later block"));
}

// What a block of a type of its own passes on cannot cross a cut without a codec.
struct Secret {};
class Keeper final : public Block {
 public:
  Output<Secret> secret{this, "secret", "of no codec"};
  Keeper() : Block("keeper", Stage::prepare_conditions) {}
  void run(Frame& frame) const override { frame[secret] = {}; }
};
class Teller final : public Block {
 public:
  Input<Secret> secret{this, "secret", "of no codec"};
  Teller() : Block("teller", Stage::decode) {}
  void run(Frame&) const override {}
};

TEST_F(Split, NamesAPortWhoseTypeHasNoCodec) {
  Catalogue catalogue = builtin_catalogue();
  BlockList& blocks = catalogue.family("sd").blocks;
  insert_before(blocks, "start_noise", std::make_shared<Keeper>());
  insert_before(blocks, "decode_latents", std::make_shared<Teller>());
  Engine edited(std::move(catalogue));
  GenerateRequest cut = request("text2image");
  EXPECT_TRUE(edited.check(cut).ok());
  cut.config["stop_after"] = "denoise";
  cut.config["state"] = file("state");
  Proposal proposal = edited.check(cut);
  ASSERT_EQ(proposal.errors.size(), 1u);
  EXPECT_THAT(proposal.errors.front().text(),
              AllOf(HasSubstr("'secret'"), HasSubstr("has no codec")));
}

TEST(Catalogue, EveryTypeThatABlockHandsOnHasACodec) {
  for (const Family& family : builtin_catalogue().families) {
    for (const auto& block : family.blocks) {
      for (const PortInfo& port : block->ports()) {
        bool value = port.kind != PortInfo::Kind::component && port.kind != PortInfo::Kind::config;
        EXPECT_TRUE(!value || port.codec)
            << family.name << ": " << block->name() << ": " << port.name;
      }
    }
  }
}

}  // namespace
}  // namespace omnirt::testing
