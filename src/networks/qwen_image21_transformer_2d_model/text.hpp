#pragma once
#include "networks/qwen_image21_transformer_2d_model/blocks.hpp"

namespace omnirt {

// The text of a call, and what images it has to go by, as they go through the blocks ahead of the
// image that is made, which they do not see. Where they are modulated as of no timestep, all that
// the image's tokens need of them is made once per run.
class QwenImage21Text {
 public:
  struct Call {
    const Tensor& given;   // {B, T, D}: lives as long as the run
    const Tensor& tokens;  // the same as the blocks take them
    const QwenImage21Modulation& by;
    const QwenImage21Places& at;
    bool once = true;
  };
  using Blocks = nn::ModuleList<QwenImage21TransformerBlock>;

  QwenImage21Text(Context& cx, const Blocks& blocks, const Call& call);
  // What block i, which is not skipped, keeps of it.
  QwenImage21Kept kept_by(size_t i);

 private:
  QwenImage21Kept read(size_t i);

  Context& cx_;
  const Blocks& blocks_;
  const Call& call_;
  std::string skipped_;  // which blocks are, as what is kept depends on that
  Tensor state_;         // what block reached_ reads
  size_t reached_ = 0;
};

}  // namespace omnirt
