#pragma once
#include <memory>
#include <vector>

#include "io/image.hpp"
#include "pipeline/embeds_file.hpp"
#include "pipeline/latents_file.hpp"

namespace omnirt {

class Noise;  // tensor/generator.hpp

// What a program hands to a request in memory, where files would be named: an input that is
// {"in_memory": 2} is the third of these of the kind that the input takes. Not written to by the
// run, but for the noise.
struct GivenValues {
  std::vector<std::shared_ptr<const io::Image>> images;
  std::vector<std::shared_ptr<const GivenLatents>> latents;
  std::vector<std::shared_ptr<const GivenEmbeds>> embeds;
  // Generators that the run draws from in place of its seed's: one for each image, or one for all.
  // They are then where the run left them. Null: the seed's.
  std::shared_ptr<Noise> noise;
};

// What stands for a path of what is in memory, in reports and in what images carry of the request.
inline constexpr const char* in_memory_path = "<in memory>";

}  // namespace omnirt
