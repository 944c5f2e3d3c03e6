"""The trained network as the file that ships: ONNX, the large matrices kept in eight bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn

from replay.coreference.training.network import ReaderNetwork

OUTPUTS = (
    "tags",
    "preposition",
    "article_here",
    "article_there",
    "capital",
    "from_start",
    "to_start",
    "from_end",
    "to_end",
    "phrase_start",
    "phrase_end",
    "verdict",
)

_MATRIX_OF = {"Gather": 0, "MatMul": 1}
"""Which input of a node may be one."""
_LARGE = 10_000
"""Numbers of a matrix that is kept in eight bits."""


class _OneSequence(nn.Module):  # type: ignore[misc]
    """The network for one sequence without padding; pointers as their two halves."""

    def __init__(self, network: ReaderNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, roles: Tensor) -> tuple[Tensor, ...]:
        n = self.network
        x = n.encode(ids, roles, torch.ones_like(ids))
        return (
            n.tags(x)[0],
            n.preposition(x)[0],
            n.article_here(x)[0],
            n.article_there(x)[0],
            n.capital(x)[0, :, 0],
            n.from_start(x)[0],
            n.to_start(x)[0],
            n.from_end(x)[0],
            n.to_end(x)[0],
            n.phrase_start(x)[0],
            n.phrase_end(x)[0],
            n.judge(x),
        )


def export(network: ReaderNetwork, path: Path, *, in_eight_bits: bool = True) -> None:
    """
    Write *network* to *path*.

    Eight bits are how the large matrices are kept, a quarter of the space; ONNX Runtime makes single
    precision of them while it loads. To multiply in eight bits would take half the time, and give other
    readings with each version of ONNX Runtime and each kind of processor.
    """
    was_training = network.training
    network.eval()
    ids = torch.ones(1, 20, dtype=torch.long)
    torch.onnx.export(
        _OneSequence(network),
        (ids, torch.zeros_like(ids)),
        str(path),
        input_names=["ids", "roles"],
        output_names=list(OUTPUTS),
        dynamic_axes={"ids": {1: "length"}, "roles": {1: "length"}},
        dynamo=False,
    )
    network.train(was_training)
    if in_eight_bits:
        model = onnx.load(path)
        _keep_in_eight_bits(model.graph)
        onnx.save(model, path)


def load(path: Path) -> ReaderNetwork:
    """Return the network that *path* holds, as far as eight bits tell it, to be trained further."""
    graph = onnx.load(path).graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    state = {name.removeprefix("network."): value for name, value in values.items()}
    for name in [name for name in values if name.endswith(".whole")]:
        name = name.removesuffix(".whole")
        state[name.removeprefix("network.")] = values[f"{name}.whole"] * values[f"{name}.scale"]
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in state:
            # The exporter names a linear layer's matrix by a number, and its output by the layer.
            layer = node.output[0].removesuffix("/MatMul_output_0").strip("/").replace("/", ".")
            state[f"{layer}.weight"] = state.pop(node.input[1]).T
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    network = ReaderNetwork(len(state["words.weight"]), layers)
    known = network.state_dict().keys()
    network.load_state_dict({name: torch.tensor(state[name], dtype=torch.float) for name in known})
    return network


def _keep_in_eight_bits(graph: onnx.GraphProto) -> None:
    """Replace the large matrices of *graph* by whole numbers with a scale for each column, or each row of an
    embedding."""
    matrices = {tensor.name: tensor for tensor in graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        at = _MATRIX_OF.get(node.op_type)
        name = "" if at is None else node.input[at]
        values = numpy_helper.to_array(matrices[name]) if name in matrices else np.zeros(0)
        if values.ndim != 2 or values.size < _LARGE:
            nodes.append(node)
            continue
        is_embedding = node.op_type == "Gather"
        scale = np.abs(values).max(axis=1 if is_embedding else 0, keepdims=True) / 127
        whole = np.rint(values / np.maximum(scale, 1e-12)).astype(np.int8)
        for kind, kept in (("whole", whole), ("scale", scale.astype(np.float32))):
            graph.initializer.append(numpy_helper.from_array(kept, f"{name}.{kind}"))
        graph.initializer.remove(matrices.pop(name))
        if is_embedding:
            rows, scales, floats = (f"{name}.{kind}" for kind in ("rows", "scales", "floats"))
            nodes += [
                helper.make_node("Gather", [f"{name}.whole", node.input[1]], [rows], axis=0),
                helper.make_node("Gather", [f"{name}.scale", node.input[1]], [scales], axis=0),
                helper.make_node("Cast", [rows], [floats], to=onnx.TensorProto.FLOAT),
                helper.make_node("Mul", [floats, scales], list(node.output)),
            ]
        else:
            floats = f"{name}.floats"
            nodes += [
                helper.make_node("Cast", [f"{name}.whole"], [floats], to=onnx.TensorProto.FLOAT),
                helper.make_node("Mul", [floats, f"{name}.scale"], [name]),
                node,
            ]
    del graph.node[:]
    graph.node.extend(nodes)
