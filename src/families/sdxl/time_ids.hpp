#pragma once
#include "blocks/hires.hpp"
#include "families/sdxl/keys.hpp"
#include "families/sdxl/slots.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::families {

// The numbers that Stable Diffusion XL receives with the prompt (Podell et al. 2023, arXiv
// 2307.01952, section 2.2), {1, 6} for each condition: original size, corner, target size.
class TimeIds final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<std::vector<int64_t>> original_size{this, keys::original_size};
  Config<std::vector<int64_t>> crop{this, keys::crops_coords_top_left};
  Config<std::vector<int64_t>> target_size{this, keys::target_size};
  Config<std::vector<int64_t>> negative_original_size{this, keys::negative_original_size};
  Config<std::vector<int64_t>> negative_crop{this, keys::negative_crops_coords_top_left};
  Config<std::vector<int64_t>> negative_target_size{this, keys::negative_target_size};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Output<Tensor> add_time_ids{this, "add_time_ids", "sizes, conditions of the UNet", {"1", "6"}};

  // `from_noise`: the reference's text2image takes the negative sizes when both are given, and the
  // negative corner with them; its other tasks take each, and the prompt's corner.
  TimeIds(std::string name, bool from_noise, Trigger trigger)
      : Block(std::move(name), Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)),
        from_noise_(from_noise) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  bool from_noise_;
};

// Those of a second pass, as in image2image.
class HiresTimeIds final : public Block {
 public:
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Config<std::vector<int64_t>> original_size{this, keys::original_size};
  Config<std::vector<int64_t>> crop{this, keys::crops_coords_top_left};
  Config<std::vector<int64_t>> target_size{this, keys::target_size};
  Config<std::vector<int64_t>> negative_original_size{this, keys::negative_original_size};
  Config<std::vector<int64_t>> negative_target_size{this, keys::negative_target_size};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Output<Tensor> hires_time_ids{
      this, "hires_time_ids", "sizes, conditions of the UNet in the second pass", {"1", "6"}};

  explicit HiresTimeIds(Trigger trigger)
      : Block("time_ids_of_hires", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// The refiner's, {1, 5}: original size, corner, aesthetic score.
class AestheticTimeIds final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<std::vector<int64_t>> original_size{this, keys::original_size};
  Config<std::vector<int64_t>> crop{this, keys::crops_coords_top_left};
  Config<double> score{this, keys::aesthetic_score};
  Config<std::vector<int64_t>> negative_original_size{this, keys::negative_original_size};
  Config<std::vector<int64_t>> negative_crop{this, keys::negative_crops_coords_top_left};
  Config<double> negative_score{this, keys::negative_aesthetic_score};
  Input<std::vector<std::string>> prompt{this, slots::prompt};
  Output<Tensor> add_time_ids{
      this, "add_time_ids", "sizes and score, conditions of the UNet", {"1", "5"}};

  explicit AestheticTimeIds(Trigger trigger)
      : Block("aesthetic_time_ids", Stage::prepare_conditions, Guidance::per_condition,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::families
