"""Language models of transformers: their hidden states, and what their layers know.

A model and texts in, NumPy arrays out; transformers, PyTorch and datasets are imported when they
are needed, since they are optional (pip install 'toydepth[llm]'). The public API:

- `load`           a folder, a GGUF file or an id of the hub -> `LanguageModel`
- `read_texts`     a file, a folder, JSON Lines or a corpus of the hub -> `Texts`
- `hidden_states`  the states of the texts' tokens after every block -> `Batch` after `Batch`
- `read_out`       what the last block and the head read in each layer's state; `LossSums`
- `trace`          causal tracing of a fact -> `Trace`
- `UnknownArchitecture`  a model that `read_out` or `trace` cannot step into

What model or text do not allow is a `SettingError` (`toydepth.settings`).
"""

from toydepth.probe.language.blocks import UnknownArchitecture
from toydepth.probe.language.language_model import LanguageModel
from toydepth.probe.language.load import load
from toydepth.probe.language.readout import LossSums, read_out
from toydepth.probe.language.texts import Texts, read_texts
from toydepth.probe.language.token_states import Batch, hidden_states
from toydepth.probe.language.tracing import Trace, trace

__all__ = [
    "Batch",
    "LanguageModel",
    "LossSums",
    "Texts",
    "Trace",
    "UnknownArchitecture",
    "hidden_states",
    "load",
    "read_out",
    "read_texts",
    "trace",
]
