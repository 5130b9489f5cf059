#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/config.hpp"

namespace omnirt {

// config.json of CLIPTextModel; defaults are those of transformers' CLIPTextConfig.
struct CLIPTextConfig {
  int64_t vocab_size = 49408;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 2048;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 8;
  int64_t max_position_embeddings = 77;
  std::string hidden_act = "quick_gelu";
  double layer_norm_eps = 1e-5;
  std::optional<int64_t> eos_token_id = 49407;

  static void visit(auto& self, auto& v) {
    v("vocab_size", self.vocab_size);
    v("hidden_size", self.hidden_size);
    v("intermediate_size", self.intermediate_size);
    v("num_hidden_layers", self.num_hidden_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("max_position_embeddings", self.max_position_embeddings);
    v("hidden_act", self.hidden_act);
    v("layer_norm_eps", self.layer_norm_eps);
    v("eos_token_id", self.eos_token_id);
    // Pipelines would mask padding tokens where this is set.
    v.only("use_attention_mask", {false});
    v.only("add_cross_attention", {false});
    v.only("is_decoder", {false});
    v.only("quantization_config", {});
    // Training, the tokenizer's business, the projection of other classes, and what transformers
    // writes into every config.
    v.ignore({"attention_dropout",
              "dropout",
              "initializer_factor",
              "initializer_range",
              "projection_dim",
              "bos_token_id",
              "pad_token_id",
              "architectures",
              "model_type",
              "torch_dtype",
              "dtype",
              "transformers_version",
              "use_cache",
              "use_bfloat16",
              "gradient_checkpointing",
              "return_dict",
              "output_attentions",
              "output_hidden_states",
              "torchscript",
              "tie_word_embeddings",
              "chunk_size_feed_forward",
              "problem_type",
              "finetuning_task",
              "id2label",
              "label2id",
              "num_labels",
              "tokenizer_class",
              "prefix",
              "task_specific_params",
              "is_encoder_decoder",
              "pruned_heads",
              "sep_token_id",
              "cross_attention_hidden_size",
              "tie_encoder_decoder",
              "tf_legacy_loss"});
    // Settings of text generation that transformers 4 wrote into every model's config.
    v.ignore({"max_length",
              "min_length",
              "do_sample",
              "early_stopping",
              "num_beams",
              "num_beam_groups",
              "diversity_penalty",
              "temperature",
              "top_k",
              "top_p",
              "typical_p",
              "repetition_penalty",
              "length_penalty",
              "no_repeat_ngram_size",
              "encoder_no_repeat_ngram_size",
              "bad_words_ids",
              "num_return_sequences",
              "output_scores",
              "return_dict_in_generate",
              "forced_bos_token_id",
              "forced_eos_token_id",
              "remove_invalid_values",
              "suppress_tokens",
              "begin_suppress_tokens",
              "decoder_start_token_id",
              "exponential_decay_length_penalty"});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
CLIPTextConfig read_clip_text_config(const Json& json, const std::string& where);

}  // namespace omnirt
