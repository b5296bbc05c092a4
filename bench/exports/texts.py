"""Networks over tokens and sound, of transformers: configurations only, so weights are random, of a fixed seed."""

from exports.made import SEED

TOKENS, KEPT = 128, 128  # of one prompt; of the cache before a token is decoded


def encoder(**config):
    """BERT's encoder over one text, whose last 28 tokens are masked."""
    import torch
    import transformers

    model = transformers.BertModel(transformers.BertConfig(return_dict=False, attn_implementation="eager", **config))

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)

    ids = torch.randint(0, model.config.vocab_size, (1, TOKENS))
    mask = (torch.arange(TOKENS) < 100).long()[None]
    return Encoder(), {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}


def bert_base():
    return encoder()


def minilm():
    """all-MiniLM-L6: six layers of 384."""
    return encoder(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)


def gpt2_model():
    import transformers

    return transformers.GPT2LMHeadModel(transformers.GPT2Config())


def llama_model():
    """162 M parameters: twelve layers of 768, a vocabulary of 32000."""
    import transformers

    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=32000, hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12,
        max_position_embeddings=2048))  # fmt: skip


def prefill(model):
    """A language model over a prompt: the logits of all tokens."""
    import torch

    class Prefill(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids):
            return self.model(input_ids=input_ids, use_cache=False).logits

    return Prefill(), {"input_ids": torch.randint(0, model.config.vocab_size, (1, TOKENS))}


def decode(model):
    """A language model over one token after a cache of earlier ones: its logits and the new cache."""
    import torch
    import transformers

    layers, heads = model.config.num_hidden_layers, model.config.num_attention_heads
    width = model.config.hidden_size // heads
    names = [f"past_{kind}_{i}" for i in range(layers) for kind in ("key", "value")]

    class Decode(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, position_ids, *past):
            cache = transformers.DynamicCache(list(zip(past[::2], past[1::2])))
            answer = self.model(input_ids=input_ids, position_ids=position_ids, past_key_values=cache, use_cache=True)
            return answer.logits, *(value for layer in cache.layers for value in (layer.keys, layer.values))

    inputs = {"input_ids": torch.randint(0, model.config.vocab_size, (1, 1)), "position_ids": torch.tensor([[KEPT]])}
    return Decode(), inputs | {name: torch.randn(1, heads, KEPT, width) for name in names}


def whisper_encoder():
    """The encoder of Whisper-tiny over 30 s of sound: its features."""
    import torch
    import transformers

    model = transformers.WhisperModel(transformers.WhisperConfig()).encoder  # the defaults are those of tiny

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_features):
            return self.model(input_features).last_hidden_state

    return Encoder(), {"input_features": torch.randn(1, 80, 3000)}


def lstm():
    import torch

    class Lstm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.LSTM(256, 256, 2, batch_first=True)

        def forward(self, input):
            return self.layers(input)[0]

    return Lstm(), {"input": torch.randn(1, 100, 256)}


NETWORKS = {
    "bert_base": bert_base,
    "minilm": minilm,
    "gpt2_prefill": lambda: prefill(gpt2_model()),
    "gpt2_decode": lambda: decode(gpt2_model()),
    "whisper_tiny_encoder": whisper_encoder,
    "llama160m_prefill": lambda: prefill(llama_model()),
    "llama160m_decode": lambda: decode(llama_model()),
    "lstm": lstm,
}


def network(name: str):
    """The network in eval mode and its inputs, by name."""
    import torch

    torch.manual_seed(SEED)
    model, inputs = NETWORKS[name]()
    return model.eval(), inputs
