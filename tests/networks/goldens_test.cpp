#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl/model.hpp"
#include "networks/autoencoder_tiny/model.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/controlnet_model/model.hpp"
#include "networks/support.hpp"
#include "networks/t2i_adapter/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "tensor/generator.hpp"

// Against diffusers and transformers, over tiny random checkpoints (tools/goldens/networks.py).
namespace omnirt::testing {
namespace {

// fp32 on both sides. What is left comes from the order of additions in fused operations; 1x1
// convolutions, for instance, are matrix products here. The largest difference seen is 4.5e-6.
constexpr double tolerance = 1e-5;

// Every case runs with weights and activations in both memory layouts.
const std::vector<ComputeForm> forms{{at::kFloat, false}, {at::kFloat, true}};

template <class Check>
void each_golden(const std::string& case_prefix, const std::string& file_prefix, Check check) {
  for (const std::string& name : cases(case_prefix)) {
    for (const ComputeForm& form : forms) {
      LoadedNetwork loaded = load_case(name, form);
      for (const std::string& file : files(name, file_prefix)) {
        SCOPED_TRACE(name + "/" + file + (form.channels_last ? ", channels-last" : ""));
        check(loaded, golden(name, file));
      }
    }
  }
}

std::vector<std::string> told(const std::vector<OpRecord>& trace) {
  std::vector<std::string> lines;
  for (const OpRecord& record : trace) {
    lines.push_back(record.segment + " " + record.op + " " +
                    c10::str(at::IntArrayRef(record.output)));
  }
  return lines;
}

// A dry forward of `run` calls the same ops with the same shapes as the real one, and its result
// has the same shape and dtype.
void expect_same_when_dry(const LoadedNetwork& loaded, const std::function<Tensor(Context&)>& run) {
  std::vector<OpRecord> real_trace, dry_trace;
  Context real = loaded.context({.trace = &real_trace});
  Context dry = loaded.context({.dry = true, .trace = &dry_trace});
  Tensor expected = run(real);
  Tensor actual = run(dry);
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), expected.scalar_type());
  EXPECT_EQ(told(dry_trace), told(real_trace));
}

TEST(CLIPTextModel, GivesTheReferencesStates) {
  each_golden("clip_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    auto output = loaded.as<CLIPTextModel>().forward(cx, tensors.at("in.input_ids"),
                                                     {.hidden_states = true, .pooled = true});
    EXPECT_LT(difference(output.last_hidden_state, tensors.at("out.last_hidden_state")), tolerance);
    EXPECT_LT(difference(output.pooled, tensors.at("out.pooler_output")), tolerance);
    if (output.text_embeds.defined()) {
      EXPECT_LT(difference(output.text_embeds, tensors.at("out.text_embeds")), tolerance);
    }
    for (size_t i = 0; i < output.hidden_states.size(); ++i) {
      const Tensor& expected = tensors.at("out.hidden_states." + std::to_string(i));
      EXPECT_LT(difference(output.hidden_states[i], expected), tolerance) << "layer " << i;
    }
  });
}

TEST(CLIPTextModel, SkipsAsManyLayersAsClipSkipSays) {
  each_golden("clip_sd", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    const auto& model = loaded.as<CLIPTextModel>();
    for (int64_t skip = 0; skip <= model.num_layers(); ++skip) {
      Context cx = loaded.context();
      auto output = model.forward(cx, tensors.at("in.input_ids"), {.clip_skip = skip});
      const Tensor& expected = tensors.at("out.clip_skip_" + std::to_string(skip));
      EXPECT_LT(difference(output.last_hidden_state, expected), tolerance) << skip;
    }
  });
}

TEST(CLIPVisionModel, GivesTheReferencesStates) {
  each_golden("vision_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    const auto& model = loaded.as<CLIPVisionModel>();
    auto output = model.forward(cx, tensors.at("in.pixel_values"), {.hidden_states = true});
    EXPECT_LT(difference(output.last_hidden_state, tensors.at("out.last_hidden_state")), tolerance);
    for (size_t i = 0; i < output.hidden_states.size(); ++i) {
      const Tensor& expected = tensors.at("out.hidden_states." + std::to_string(i));
      EXPECT_LT(difference(output.hidden_states[i], expected), tolerance) << "layer " << i;
    }
    Tensor penultimate = model.penultimate(cx, tensors.at("in.pixel_values"));
    size_t before_last = output.hidden_states.size() - 2;
    EXPECT_LT(
        difference(penultimate, tensors.at("out.hidden_states." + std::to_string(before_last))),
        tolerance);
    bool projects = tensors.contains("out.image_embeds");
    EXPECT_EQ(output.image_embeds.defined(), projects);
    Tensor made = projects ? output.image_embeds : output.pooled;
    const Tensor& wanted = tensors.at(projects ? "out.image_embeds" : "out.pooler_output");
    EXPECT_LT(difference(made, wanted), tolerance);
  });
}

TEST(CLIPVisionModel, GivesTheSameShapesWhenDry) {
  each_golden("vision_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    expect_same_when_dry(loaded, [&](Context& cx) {
      return loaded.as<CLIPVisionModel>().forward(cx, tensors.at("in.pixel_values")).pooled;
    });
  });
}

ControlNetInput control_input(const Tensors& tensors) {
  return {tensors.at("in.sample"), tensors.at("in.timestep"),
          tensors.at("in.encoder_hidden_states"), tensors.at("in.controlnet_cond")};
}

// Each tensor is the expected one, of the shape that the network declares.
void expect_all(const std::vector<Tensor>& made, const std::vector<std::array<int64_t, 3>>& shapes,
                const std::vector<Tensor>& expected) {
  ASSERT_EQ(shapes.size(), expected.size());
  ASSERT_EQ(made.size(), expected.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    auto [channels, height, width] = shapes[i];
    EXPECT_EQ(made[i].sizes().vec(),
              (std::vector<int64_t>{expected[i].size(0), channels, height, width}));
    EXPECT_LT(difference(made[i], expected[i]), tolerance) << i;
  }
}

std::vector<Tensor> residuals(Context& cx, const LoadedNetwork& loaded, const Tensors& tensors) {
  auto output = loaded.as<ControlNetModel>().forward(cx, control_input(tensors));
  std::vector<Tensor> all = output.down_block_res_samples;
  all.push_back(output.mid_block_res_sample);
  return all;
}

TEST(ControlNetModel, GivesTheReferencesResiduals) {
  each_golden("controlnet_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    const auto& model = loaded.as<ControlNetModel>();
    std::vector<Tensor> expected;
    for (size_t i = 0; i < model.controlnet_down_blocks.size(); ++i)
      expected.push_back(tensors.at("out.down." + std::to_string(i)));
    expected.push_back(tensors.at("out.mid"));
    const Tensor& sample = tensors.at("in.sample");
    expect_all(residuals(cx, loaded, tensors),
               model.residual_shapes(sample.size(2), sample.size(3)), expected);
  });
}

TEST(ControlNetModel, GivesTheSameShapesWhenDry) {
  each_golden("controlnet_", "golden_odd", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    expect_same_when_dry(loaded,
                         [&](Context& cx) { return residuals(cx, loaded, tensors).back(); });
  });
}

TEST(T2IAdapter, GivesTheReferencesFeatures) {
  each_golden("t2i_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    const auto& model = loaded.as<T2IAdapter>();
    const Tensor& image = tensors.at("in.image");
    std::vector<Tensor> expected;
    for (size_t i = 0; i < model.adapter.body.size(); ++i)
      expected.push_back(tensors.at("out." + std::to_string(i)));
    expect_all(model.forward(cx, image), model.feature_shapes(image.size(2), image.size(3)),
               expected);
  });
}

TEST(T2IAdapter, GivesTheSameShapesWhenDry) {
  each_golden("t2i_", "golden_odd", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    expect_same_when_dry(loaded, [&](Context& cx) {
      return loaded.as<T2IAdapter>().forward(cx, tensors.at("in.image")).back();
    });
  });
}

TEST(UNet2DConditionModel, GivesTheReferencesPrediction) {
  each_golden("unet_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor sample = loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
    EXPECT_LT(difference(sample, tensors.at("out.sample")), tolerance);
  });
}

TEST(UNet2DConditionModel, GivesTheSameShapesWhenDry) {
  each_golden("unet_", "golden_odd", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    expect_same_when_dry(loaded, [&](Context& cx) {
      return loaded.as<nn::DenoiserNetwork>().predict(cx, inputs_of(tensors));
    });
  });
}

TEST(CLIPTextModel, GivesTheSameShapesWhenDry) {
  each_golden("clip_", "golden", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    expect_same_when_dry(loaded, [&](Context& cx) {
      CLIPTextOptions options{.pooled = true};
      return loaded.as<CLIPTextModel>().forward(cx, tensors.at("in.input_ids"), options).pooled;
    });
  });
}

TEST(AutoencoderKL, GivesTheReferencesDistribution) {
  each_golden("kl_", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    auto latents = loaded.as<AutoencoderKL>().distribution(cx, tensors.at("in.image"));
    EXPECT_LT(difference(latents.mean, tensors.at("out.mean")), tolerance);
    EXPECT_LT(difference(latents.logvar.clamp(-30, 20), tensors.at("out.logvar")), tolerance);
  });
}

TEST(AutoencoderKL, DrawsTheReferencesSample) {
  each_golden("kl_", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor listed = tensors.at("in.seeds");
    std::vector<uint64_t> seeds(listed.data_ptr<int64_t>(),
                                listed.data_ptr<int64_t>() + listed.numel());
    Noise noise(seeds);
    Tensor sample = loaded.as<nn::Autoencoder>().encode(
        cx, tensors.at("in.image"), [&](at::IntArrayRef shape) { return noise.randn(shape); });
    EXPECT_LT(difference(sample, tensors.at("out.sample")), tolerance);
  });
}

TEST(Autoencoders, DecodeAsTheReference) {
  for (const char* prefix : {"kl_", "tiny_"}) {
    each_golden(prefix, "golden_decode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
      Context cx = loaded.context();
      Tensor image = loaded.as<nn::Autoencoder>().decode(cx, tensors.at("in.latents"));
      EXPECT_LT(difference(image, tensors.at("out.image")), tolerance);
    });
  }
}

TEST(AutoencoderTiny, EncodesAsTheReference) {
  each_golden("tiny_", "golden_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
    Context cx = loaded.context();
    Tensor latents = loaded.as<nn::Autoencoder>().encode(cx, tensors.at("in.image"), {});
    EXPECT_LT(difference(latents, tensors.at("out.latents")), tolerance);
  });
}

TEST(Autoencoders, GiveTheSameShapesWhenDry) {
  for (const char* prefix : {"kl_", "tiny_"}) {
    each_golden(prefix, "golden_decode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
      expect_same_when_dry(loaded, [&](Context& cx) {
        return loaded.as<nn::Autoencoder>().decode(cx, tensors.at("in.latents"));
      });
    });
    each_golden(prefix, "golden_encode", [](const LoadedNetwork& loaded, const Tensors& tensors) {
      expect_same_when_dry(loaded, [&](Context& cx) {
        auto noise = [](at::IntArrayRef shape) { return at::zeros(shape); };
        return loaded.as<nn::Autoencoder>().encode(cx, tensors.at("in.image"), noise);
      });
    });
  }
}

}  // namespace
}  // namespace omnirt::testing
