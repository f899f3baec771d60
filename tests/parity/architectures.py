"""The architectures under test, each as a tiny configuration and what its layers should be known from."""

from __future__ import annotations

from typing import Any

from tiny_random import BART, COMMON, DENSE, EXACT, GROUPED, NO_MAP, NONE, decoder, encoder, seq2seq

EXPERTS: dict[str, Any] = {
    **GROUPED,
    "num_local_experts": 4,
    "num_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
}
T5: dict[str, Any] = {
    "vocab_size": 101,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "decoder_start_token_id": 0,
}
LATENT: dict[str, Any] = {  # multi-head latent attention: queries and keys are wider than values
    **COMMON,
    "num_key_value_heads": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "n_shared_experts": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "head_dim": 4,
}
GPT: dict[str, Any] = {
    "vocab_size": 101,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SLIDING = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
SHARED_KEYS = {**SLIDING, "num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": SLIDING["layer_types"] * 2}
MODERNBERT = {**COMMON, "local_attention": 6, "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2}
PER_LAYER = {**GROUPED, "head_dim": 8, "hidden_size_per_layer_input": 8}
GEMMA3N = {**PER_LAYER, "vocab_size_per_layer_input": 101, "laurel_rank": 4}
GEMMA4 = {**PER_LAYER, "global_head_dim": 8}
T5GEMMA = {**GROUPED, "head_dim": 8, "query_pre_attn_scalar": 8, **SLIDING}
T5GEMMA2 = {**T5GEMMA, "query_pre_attn_scalar": 1}
TINY_VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 16,
    "patch_size": 8,
}
DENSE_ENCODER = {"encoder": DENSE, "decoder": EXACT, "cross": EXACT}

ARCHITECTURES = (
    # encoders, through the interface
    encoder("bert"),
    encoder("roberta"),
    encoder("camembert"),
    encoder("xlm-roberta"),
    encoder("xlm-roberta-xl"),
    encoder("electra", embedding_size=32),
    encoder("distilbert", {}, vocab_size=101, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=64),
    encoder("albert", embedding_size=16, num_hidden_layers=3),
    encoder("esm", mask_token_id=3),
    encoder("data2vec-text"),
    encoder("ernie"),
    encoder("gte"),
    encoder("roc_bert", std=0.5, pronunciation_vocab_size=101, shape_vocab_size=101),
    encoder("mobilebert", embedding_size=16, intra_bottleneck_size=32, true_hidden_size=32),
    encoder("clip_text_model"),
    encoder("layoutlm"),
    encoder("markuplm", max_depth=2),
    encoder("modernbert", MODERNBERT),
    encoder("nomic_bert"),
    encoder("eurobert"),
    encoder("splinter"),
    # decoders, through the interface
    decoder("gpt2", GPT),
    decoder("gpt_bigcode", GPT, multi_query=True),
    decoder("gpt_neox", COMMON),
    decoder("gptj", GPT, rotary_dim=4),
    decoder("codegen", GPT, rotary_dim=4),
    decoder("ctrl", GPT, dff=48),
    decoder("opt", COMMON, ffn_dim=48, word_embed_proj_dim=32),
    decoder("biogpt", COMMON),
    decoder("phi", COMMON),
    decoder("llama"),
    decoder("llama", num_key_value_heads=1, variant="multi-query"),
    decoder("llama4_text", EXPERTS, attention_chunk_size=5, head_dim=8, intermediate_size_mlp=48),
    decoder("mistral", sliding_window=5),
    decoder("mixtral", EXPERTS),
    decoder("ministral", head_dim=8, **SLIDING),
    decoder("qwen2"),
    decoder("qwen2_moe", EXPERTS, moe_intermediate_size=16, shared_expert_intermediate_size=16),
    decoder("qwen3", head_dim=8),
    decoder("qwen3_moe", EXPERTS, head_dim=8, moe_intermediate_size=16),
    decoder("phi3"),
    decoder("phimoe", EXPERTS),
    decoder("gemma", head_dim=8),
    decoder("gemma2", head_dim=8, attn_logit_softcapping=2.0, query_pre_attn_scalar=8, **SLIDING),
    decoder("gemma3_text", head_dim=8, query_pre_attn_scalar=8, **SLIDING),
    decoder("gemma4_text", GEMMA4, **SLIDING),
    decoder("vaultgemma", head_dim=8, query_pre_attn_scalar=8, **SLIDING),
    decoder("olmo"),
    decoder("olmo2"),
    decoder("olmo3", **SLIDING),
    decoder("olmoe", EXPERTS),
    decoder("flex_olmo", EXPERTS),
    decoder("cohere"),
    decoder("cohere2", **SLIDING),
    decoder("stablelm"),
    decoder("starcoder2", sliding_window=5),
    decoder("granite", attention_multiplier=0.5),
    decoder("granitemoe", EXPERTS),
    decoder("granite_swa", reports="weights without the sink", **SLIDING),
    decoder("smollm3"),
    decoder("glm", head_dim=8),
    decoder("glm4", head_dim=8),
    decoder("glm4_moe", EXPERTS, head_dim=8, moe_intermediate_size=16, n_group=1, topk_group=1),
    decoder("nemotron"),
    decoder("persimmon", COMMON),
    decoder("exaone4", **SLIDING),
    decoder("arcee"),
    decoder("helium", head_dim=8),
    decoder("apertus"),
    decoder("bitnet"),
    decoder("seed_oss", head_dim=8),
    decoder("ernie4_5", head_dim=8),
    decoder("nanochat"),
    decoder("minimax_m2", EXPERTS, head_dim=8, rotary_dim=8),
    decoder("jetmoe", EXPERTS, kv_channels=8),
    decoder("cwm", head_dim=8, **SLIDING),
    decoder("gpt_oss", EXPERTS, head_dim=8, **SLIDING),
    decoder("deepseek_v2", LATENT),
    decoder("deepseek_v3", LATENT),
    decoder("deepseek_v32", LATENT, index_topk=6, index_n_heads=4, index_head_dim=8),
    decoder("minicpm3", LATENT),
    decoder("doge", keep_window_size=6),
    decoder("diffllama"),
    decoder("modernbert-decoder", MODERNBERT),
    decoder("gemma3n_text", GEMMA3N, num_kv_shared_layers=0, **SLIDING),
    decoder("gemma3n_text", GEMMA3N, **SHARED_KEYS, variant="shared-keys"),
    decoder("gemma4_text", GEMMA4, **SHARED_KEYS, variant="shared-keys"),
    decoder("glm_moe_dsa", LATENT, index_topk=6, index_n_heads=4, index_head_dim=8),
    decoder("mimo_v2_flash", EXPERTS, head_dim=8, v_head_dim=6, moe_intermediate_size=16, **SLIDING),
    decoder("exaone_moe", EXPERTS, moe_intermediate_size=16),
    decoder("hy_v3", EXPERTS, head_dim=8, moe_intermediate_size=16),
    # hybrids: some layers are recurrent or convolutional
    decoder(  # its linear attention hands out a running state where others hand out weights
        "minimax", EXPERTS, head_dim=8, layer_types=["full_attention", "linear_attention"], status=(EXACT, NO_MAP)
    ),
    decoder(
        "qwen3_next", EXPERTS, num_hidden_layers=4, head_dim=8, moe_intermediate_size=16,
        shared_expert_intermediate_size=16, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=8,
        linear_value_head_dim=8, status=(NONE, NONE, NONE, EXACT),
    ),
    decoder(
        "jamba", EXPERTS, num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False,
        mamba_d_state=8, mamba_dt_rank=4, status=(NONE, EXACT, NONE, EXACT),
    ),
    decoder(
        "bamba", attn_layer_indices=[1], mamba_n_heads=4, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=4,
        status=(NONE, EXACT),
    ),
    decoder(
        "zamba", COMMON, num_key_value_heads=4, num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1,
        layers_block_type=["mamba", "hybrid", "mamba", "hybrid"], use_mamba_kernels=False, n_mamba_heads=2,
        mamba_d_state=8, mamba_dt_rank=4, status=(NONE, EXACT, NONE, EXACT),
    ),
    decoder(
        "recurrent_gemma", num_hidden_layers=3, head_dim=8, lru_width=32, attention_window_size=5,
        status=(NONE, NONE, EXACT),
    ),
    decoder(  # attention and recurrence side by side
        "falcon_h1", head_dim=8, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=8, mamba_chunk_size=4
    ),
    decoder("lfm2", layer_types=["conv", "full_attention"], status=(NONE, EXACT)),
    decoder(
        "nemotron_h", head_dim=8, layers_block_type=["mamba", "attention"], mamba_num_heads=4, mamba_head_dim=8,
        ssm_state_size=8, chunk_size=4, n_groups=1, status=(NONE, EXACT),
    ),
    # encoder-decoders, through the interface
    seq2seq("t5", T5),
    seq2seq("mt5", T5, feed_forward_proj="gated-gelu"),
    seq2seq("umt5", T5),
    seq2seq("switch_transformers", T5, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, num_experts=2),
    seq2seq("bart"),
    seq2seq("mbart"),
    seq2seq("pegasus"),
    seq2seq("marian"),
    seq2seq("m2m_100"),
    seq2seq("blenderbot"),
    seq2seq("blenderbot-small"),
    seq2seq("plbart"),
    seq2seq("nllb-moe", num_experts=2, encoder_sparse_step=2, decoder_sparse_step=2),
    seq2seq("t5gemma", {}, vocab_size=101, encoder=T5GEMMA, decoder=T5GEMMA),
    seq2seq(  # one softmax over the decoder's and the encoder's tokens
        "t5gemma2", {}, vocab_size=101, decoder=T5GEMMA2, eoi_token_index=99, image_token_index=98,
        encoder={"text_config": T5GEMMA2, "vision_config": TINY_VISION},
    ),
    # fused attention outside of the interface
    decoder("falcon", COMMON, alibi=False, new_decoder_architecture=False, multi_query=True),
    decoder("falcon", COMMON, alibi=False, new_decoder_architecture=True, num_kv_heads=2, variant="grouped"),
    # eager attention outside of the interface
    encoder("deberta", status=DENSE, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=8),
    encoder("deberta-v2", status=DENSE, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=8),
    encoder("mpnet", status=DENSE),
    encoder("rembert", status=DENSE, input_embedding_size=16, output_embedding_size=16),
    encoder("roformer", status=DENSE, embedding_size=32),
    encoder("squeezebert", status=DENSE, embedding_size=32, reports="raw scores"),
    encoder("megatron-bert", status=DENSE),
    encoder("big_bird", status=DENSE, attention_type="original_full"),
    seq2seq("fsmt", BART, status=DENSE, src_vocab_size=101, tgt_vocab_size=101, langs=["en", "de"]),
    seq2seq("bigbird_pegasus", status=DENSE_ENCODER, attention_type="original_full"),
    # what the model reports, in a layout of its own
    encoder("longformer", attention_window=4, status=DENSE, reports="band"),
    seq2seq(
        "led", BART, attention_window=4, max_encoder_position_embeddings=64, max_decoder_position_embeddings=64,
        status=DENSE, reports="band",
    ),
    seq2seq("longt5", T5, local_radius=4, status=DENSE_ENCODER, reports="blocks"),
    decoder("bloom", COMMON, status=DENSE, n_head=4, n_layer=2),
    decoder("mpt", {}, vocab_size=101, d_model=32, n_layers=2, n_heads=4, max_seq_len=64, status=DENSE),
    decoder("openai-gpt", GPT, status=DENSE),
    decoder("xlnet", {}, vocab_size=101, d_model=32, n_layer=2, n_head=4, d_inner=48, pad_token_id=0, status=DENSE),
    decoder("xlm", {}, vocab_size=101, emb_dim=32, n_layers=2, n_heads=4, pad_index=0, status=DENSE),
    decoder(
        "gpt_neo", {}, vocab_size=101, hidden_size=32, num_layers=2, num_heads=4, max_position_embeddings=64,
        window_size=5, attention_types=[[["global", "local"], 1]], status=DENSE,
    ),
    decoder(
        "xglm", {}, vocab_size=101, d_model=32, num_layers=2, attention_heads=4, ffn_dim=48,
        max_position_embeddings=64, status=DENSE,
    ),
)  # fmt: skip
