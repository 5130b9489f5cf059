#include "catalogue/catalogue.hpp"

#include "backends/ascend/ascend_backend.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/stub/stub_backend.hpp"
#include "blocks/clip_image.hpp"
#include "blocks/qwen2_vl_image.hpp"
#include "blocks/siglip2_image.hpp"
#include "catalogue/foreign_adapters.hpp"
#include "families/aura_flow/aura_flow.hpp"
#include "families/chroma/chroma.hpp"
#include "families/flux/flux.hpp"
#include "families/flux/kontext.hpp"
#include "families/flux2/flux2.hpp"
#include "families/flux3/flux3.hpp"
#include "families/krea2/krea2.hpp"
#include "families/lumina2/lumina2.hpp"
#include "families/pixart/pixart.hpp"
#include "families/qwen_image/qwen_image.hpp"
#include "families/qwen_image21/qwen_image21.hpp"
#include "families/qwen_image_edit/layered.hpp"
#include "families/qwen_image_edit/qwen_image_edit.hpp"
#include "families/sana/sana.hpp"
#include "families/sd/sd.hpp"
#include "families/sd3/sd3.hpp"
#include "families/sdxl/sdxl.hpp"
#include "families/svd/svd.hpp"
#include "families/upscale/upscale.hpp"
#include "families/z_image/omni.hpp"
#include "families/z_image/z_image.hpp"
#include "networks/aura_flow_transformer_2d_model/model.hpp"
#include "networks/autoencoder_dc/model.hpp"
#include "networks/autoencoder_kl/model.hpp"
#include "networks/autoencoder_kl_flux2/model.hpp"
#include "networks/autoencoder_kl_qwen_image/model.hpp"
#include "networks/autoencoder_kl_qwen_image21/model.hpp"
#include "networks/autoencoder_kl_temporal_decoder/model.hpp"
#include "networks/autoencoder_tiny/model.hpp"
#include "networks/chroma_transformer_2d_model/model.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/controlnet_model/model.hpp"
#include "networks/flux2_transformer_2d_model/model.hpp"
#include "networks/flux3_transformer_2d_model/model.hpp"
#include "networks/flux_controlnet_model/model.hpp"
#include "networks/flux_ip_adapter/model.hpp"
#include "networks/flux_transformer_2d_model/model.hpp"
#include "networks/gemma2_model/model.hpp"
#include "networks/ip_adapter/model.hpp"
#include "networks/krea2_transformer_2d_model/model.hpp"
#include "networks/lumina2_transformer_2d_model/model.hpp"
#include "networks/mistral3_for_conditional_generation/model.hpp"
#include "networks/pixart_transformer_2d_model/model.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/model.hpp"
#include "networks/qwen3_for_causal_lm/model.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "networks/qwen_image21_transformer_2d_model/model.hpp"
#include "networks/qwen_image_blockwise_controlnet/model.hpp"
#include "networks/qwen_image_controlnet_model/model.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "networks/redux_image_encoder/model.hpp"
#include "networks/rrdb_net/model.hpp"
#include "networks/sana_controlnet_model/model.hpp"
#include "networks/sana_transformer_2d_model/model.hpp"
#include "networks/sd3_controlnet_model/model.hpp"
#include "networks/sd3_transformer_2d_model/model.hpp"
#include "networks/siglip2_vision_model/model.hpp"
#include "networks/siglip_vision_model/model.hpp"
#include "networks/span/model.hpp"
#include "networks/t2i_adapter/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "networks/unet_spatio_temporal_condition_model/model.hpp"
#include "networks/z_image_controlnet_model/model.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "text/clip_tokenizer.hpp"
#include "text/gemma_tokenizer.hpp"
#include "text/llama_tokenizer.hpp"
#include "text/mistral_tokenizer.hpp"
#include "text/qwen2_tokenizer.hpp"
#include "text/t5_tokenizer.hpp"

namespace omnirt {
namespace {

template <class T>
BackendInfo backend(const char* name) {
  return {name, [](int /*index*/) { return std::make_unique<T>(); }, {}};
}

std::vector<nn::NetworkInfo> networks() {
  return {
      clip_text_model_info(),
      clip_text_model_with_projection_info(),
      clip_vision_model_info(),
      clip_vision_model_with_projection_info(),
      unet_2d_condition_model_info(),
      autoencoder_kl_info(),
      autoencoder_kl_flux2_info(),
      autoencoder_kl_qwen_image_info(),
      autoencoder_kl_qwen_image21_info(),
      autoencoder_tiny_info(),
      unet_spatio_temporal_condition_model_info(),
      autoencoder_kl_temporal_decoder_info(),
      t5_encoder_model_info(),
      qwen3_for_causal_lm_info(),
      mistral3_for_conditional_generation_info(),
      qwen2_5_vl_for_conditional_generation_info(),
      qwen3_vl_for_conditional_generation_info(),
      qwen3_vl_model_info(),
      pixart_transformer_2d_model_info(),
      flux2_transformer_2d_model_info(),
      flux3_transformer_2d_model_info(),
      flux_transformer_2d_model_info(),
      qwen_image_transformer_2d_model_info(),
      qwen_image21_transformer_2d_model_info(),
      z_image_transformer_2d_model_info(),
      sd3_transformer_2d_model_info(),
      chroma_transformer_2d_model_info(),
      gemma2_model_info(),
      gemma2_for_causal_lm_info(),
      lumina2_transformer_2d_model_info(),
      umt5_encoder_model_info(),
      aura_flow_transformer_2d_model_info(),
      krea2_transformer_2d_model_info(),
      sana_transformer_2d_model_info(),
      autoencoder_dc_info(),
      transformer_2d_model_info(),
      controlnet_model_info(),
      flux_controlnet_model_info(),
      qwen_image_controlnet_model_info(),
      qwen_image_blockwise_controlnet_info(),
      sd3_controlnet_model_info(),
      sana_controlnet_model_info(),
      z_image_controlnet_model_info(),
      t2i_adapter_info(),
      ip_adapter_info(),
      flux_ip_adapter_info(),
      siglip_vision_model_info(),
      siglip2_vision_model_info(),
      redux_image_encoder_info(),
      rrdb_net_info(),
      span_info(),
  };
}

}  // namespace

Catalogue builtin_catalogue() {
  return {.families = {families::sd(),
                       families::sdxl(),
                       families::svd(),
                       families::pixart(),
                       families::flux(),
                       families::flux_kontext(),
                       families::flux2(),
                       families::flux3(),
                       families::qwen_image(),
                       families::qwen_image_edit(),
                       families::qwen_image_layered(),
                       families::z_image(),
                       families::z_image_omni(),
                       families::sd3(),
                       families::chroma(),
                       families::lumina2(),
                       families::aura_flow(),
                       families::krea2(),
                       families::qwen_image21(),
                       families::sana(),
                       families::upscale()},
          .networks = networks(),
          .tokenizers = {text::clip_tokenizer_info(), text::t5_tokenizer_info(),
                         text::qwen2_tokenizer_info(), text::mistral_tokenizer_info(),
                         text::gemma_tokenizer_info(), text::llama_tokenizer_info()},
          .image_processors = {blocks::clip_image_processor_info(),
                               blocks::siglip_image_processor_info(),
                               blocks::siglip2_image_processor_info(),
                               blocks::qwen2_vl_image_processor_info()},
          // The order in which `auto` looks.
          .backends = {cuda_backend_info(), ascend_backend_info(), backend<CpuBackend>("cpu"),
                       stub_backend_info()},
          .default_model = "emoji",
          .foreign_adapters = foreign_adapters()};
}

}  // namespace omnirt
