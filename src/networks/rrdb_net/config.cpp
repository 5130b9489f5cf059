#include "networks/rrdb_net/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/config_check.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

constexpr int64_t most_upsamples = 4;

// How a layout names what determines the config.
struct Names {
  const char* layout;
  const char* first;       // the first convolution
  const char* blocks;      // before a block's number
  const char* grow;        // the first convolution of the first block
  const char* upsample;    // before the number of a convolution that doubles the sides
  int64_t upsample_steps;  // between these numbers
  int64_t after_blocks;    // what is numbered as the blocks and is none
};

constexpr Names layouts[] = {
    {"basicsr", "conv_first.weight", "body.", "body.0.rdb1.conv1.weight", "conv_up", 1, 0},
    {"bsrgan", "conv_first.weight", "RRDB_trunk.", "RRDB_trunk.0.RDB1.conv1.weight", "upconv", 1,
     0},
    {"esrgan", "model.0.weight", "model.1.sub.", "model.1.sub.0.RDB1.conv1.0.weight", "model.", 3,
     1},
};

const Names* names_in(const TensorShapes& shapes) {
  const auto* found = std::ranges::find_if(layouts, [&](const Names& names) {
    return shapes.has(names.first) && shapes.has(names.grow);
  });
  return found == std::end(layouts) ? nullptr : found;
}

int64_t upsamples_of(const TensorShapes& shapes, const Names& names) {
  int64_t count = 0;
  while (count <= most_upsamples &&
         shapes.has(fmt::format("{}{}.weight", names.upsample, (count + 1) * names.upsample_steps)))
    ++count;
  return count;
}

// Pixels of a square that are channels; 0 where the images have other channels than three.
int64_t unshuffle_of(int64_t channels) {
  for (int64_t side : {1, 2, 4}) {
    if (channels == 3 * side * side) return side;
  }
  return 0;
}

void refuse_plus(const TensorShapes& shapes, const std::string& where) {
  bool plus = std::ranges::any_of(shapes.all(), [](const auto& entry) {
    return entry.first.find(".conv1x1.") != std::string::npos;
  });
  if (!plus) return;
  throw Unsupported({where, "", "this is an ESRGAN+, whose blocks have convolutions of their own",
                     "give an ESRGAN or a Real-ESRGAN"});
}

}  // namespace

RRDBNetConfig read_rrdb_net_config(const Json& json, const std::string& where) {
  auto config = read_config<RRDBNetConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("num_feat", config.num_feat, 1, 1 << 11);
  check.range("num_block", config.num_block, 1, 128);
  check.range("num_grow_ch", config.num_grow_ch, 1, 1 << 11);
  check.range("num_upsample", config.num_upsample, 0, most_upsamples);
  bool known = config.unshuffle == 1 || config.unshuffle == 2 || config.unshuffle == 4;
  check.expect(known, "unshuffle", std::to_string(config.unshuffle),
               "the network takes and gives RGB images, or squares of 2x2 or 4x4 of their pixels");
  if (check.ok())
    check.expect(config.scale() >= 1, "num_upsample", std::to_string(config.num_upsample),
                 "the network would make images smaller");
  check.finish();
  return config;
}

std::string rrdb_net_layout(const std::map<std::string, std::vector<int64_t>>& all) {
  const Names* names = names_in(TensorShapes(all));
  return names ? names->layout : "";
}

Json rrdb_net_config(const std::map<std::string, std::vector<int64_t>>& all,
                     const std::string& where) {
  const TensorShapes shapes(all);
  const Names* names = names_in(shapes);
  if (!names) return {};
  refuse_plus(shapes, where);
  return {{"_class_name", "RRDBNet"},
          {"num_feat", shapes.size(names->first, 0)},
          {"num_block", shapes.count(names->blocks) - names->after_blocks},
          {"num_grow_ch", shapes.size(names->grow, 0)},
          {"num_upsample", upsamples_of(shapes, *names)},
          {"unshuffle", unshuffle_of(shapes.size(names->first, 1))}};
}

}  // namespace omnirt
