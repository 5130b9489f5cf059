#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/sharded.hpp"
#include "networks/ip_adapter/model.hpp"
#include "networks/support.hpp"
#include "weights/loader.hpp"

// Against diffusers, over files in the published layout (tools/goldens/control.py).
namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Shapes = std::map<std::string, std::vector<int64_t>>;

std::filesystem::path parts() {
  return source_path("tests/goldens/control/parts");
}

LoadedNetwork load_file(const std::string& kind) {
  auto files = io::TensorFiles::open_file(parts() / ("ip_" + kind + ".safetensors"));
  Shapes shapes;
  for (const std::string& name : files.names()) shapes[name] = files.find(name)->entry->shape;
  LoadedNetwork loaded;
  loaded.network = make_network(ip_adapter_config(shapes, kind), kind);
  auto store = open_weights(files, *loaded.network, kind);
  loaded.binding = bind_weights(*store, *loaded.network, {});
  return loaded;
}

Tensors expected() {
  auto files = io::TensorFiles::open_file(parts() / "ip_tokens.safetensors");
  Tensors tensors;
  for (const std::string& name : files.names()) {
    auto found = files.find(name);
    Weight weight{.name = name,
                  .dtype = found->entry->dtype,
                  .shape = found->entry->shape,
                  .data = found->data().data(),
                  .bytes = found->entry->bytes,
                  .owner = found->file,
                  .release = {}};
    tensors[name] = weight.view().clone();
  }
  return tensors;
}

TEST(IPAdapter, MakesTheReferencesTokens) {
  Tensors tensors = expected();
  for (const char* kind : {"base", "plus", "full"}) {
    LoadedNetwork loaded = load_file(kind);
    Context cx = loaded.context();
    Tensor tokens = loaded.as<IPAdapter>().tokens(cx, tensors.at(std::string("in.") + kind));
    EXPECT_LT(difference(tokens, tensors.at(std::string("out.") + kind)), 1e-5) << kind;
  }
}

TEST(IPAdapter, GivesTheSameShapesWhenDry) {
  Tensors tensors = expected();
  for (const char* kind : {"base", "plus", "full"}) {
    LoadedNetwork loaded = load_file(kind);
    const auto& adapter = loaded.as<IPAdapter>();
    const Tensor& image = tensors.at(std::string("in.") + kind);
    Context real = loaded.context(), dry = loaded.context({.dry = true});
    auto planned = adapter.forward(dry, image), made = adapter.forward(real, image);
    ASSERT_EQ(planned.keys.size(), made.keys.size());
    for (size_t i = 0; i < made.keys.size(); ++i) {
      EXPECT_EQ(planned.keys[i].sizes(), made.keys[i].sizes()) << kind;
      EXPECT_EQ(planned.values[i].sizes(), made.values[i].sizes()) << kind;
    }
  }
}

Json config_of(Shapes shapes) {
  return ip_adapter_config(shapes, "file");
}

TEST(IPAdapter, IsNoneOfOtherFiles) {
  EXPECT_TRUE(config_of({{"lora_unet.weight", {4, 4}}}).is_null());
}

TEST(IPAdapter, RefusesFaceIDByName) {
  for (const char* name :
       {"image_proj.perceiver_resampler.proj_in.weight", "ip_adapter.1.to_k_lora.down.weight"}) {
    EXPECT_THAT(
        [&] {
          config_of({{"ip_adapter.1.to_k_ip.weight", {8, 4}}, {name, {8, 4}}});
        },
        ThrowsMessage<Unsupported>(HasSubstr("FaceID")));
  }
}

TEST(IPAdapter, NamesWhatAFileLacks) {
  EXPECT_THAT(
      [] {
        config_of({{"image_proj.proj.weight", {8, 4}}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("ip_adapter.1.to_k_ip.weight is missing")));
  EXPECT_THAT(
      [] {
        config_of({{"ip_adapter.1.to_k_ip.weight", {8, 4}}, {"image_proj.proj.weight", {8, 4}}});
      },
      ThrowsMessage<Unsupported>(HasSubstr("image_proj.norm.weight is missing")));
}

TEST(IPAdapter, RefusesSizesThatNoNetworkHas) {
  EXPECT_THROW(read_ip_adapter_config({{"layers", Json::array({int64_t{1} << 40})}}, "file"),
               Unsupported);
  EXPECT_THROW(read_ip_adapter_config({{"projection", "plus"}, {"inner_dim", 65}}, "file"),
               Unsupported);
}

}  // namespace
}  // namespace omnirt::testing
