#pragma once

namespace omnirt::nn {

// The settings of text generation that version 4 of transformers wrote into every config.json.
void ignore_generation_settings(auto& v) {
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

// What transformers writes into every model's config.json and inference has no use for: notes of
// the writer and training, and the settings above.
void ignore_transformers_notes(auto& v) {
  v.only("quantization_config", {});
  v.only("add_cross_attention", {false});
  v.only("is_decoder", {false});
  v.ignore({"attention_dropout",
            "dropout",
            "initializer_factor",
            "initializer_range",
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
            "bos_token_id",
            "pad_token_id",
            "sep_token_id",
            "cross_attention_hidden_size",
            "tie_encoder_decoder",
            "tf_legacy_loss"});
  ignore_generation_settings(v);
}

}  // namespace omnirt::nn
