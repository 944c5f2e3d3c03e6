"""
The optimizer that fits the resolver's networks: Adam with decoupled weight decay, one learning-rate cycle.

Kingma and Ba (2015); Loshchilov and Hutter (2019), "Decoupled weight decay regularization".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Parameters = dict[str, npt.NDArray[np.float32]]

_WARM_UP = 0.3
_START = 1 / 25


class Adam:
    """Changes *parameters* in place, step by step."""

    def __init__(
        self, parameters: Parameters, *, steps: int, learning_rate: float, weight_decay: float
    ) -> None:
        self._parameters = parameters
        self._steps = steps
        self._learning_rate = learning_rate
        self._weight_decay = weight_decay
        self._mean = {name: np.zeros_like(values) for name, values in parameters.items()}
        self._square = {name: np.zeros_like(values) for name, values in parameters.items()}
        self._step = 0

    def step(self, gradients: Parameters) -> None:
        """Move every parameter against its gradient."""
        self._step += 1
        rate = self._learning_rate * self._cycle()
        first, second = 1 - 0.9**self._step, 1 - 0.999**self._step
        for name, values in self._parameters.items():
            gradient = gradients[name]
            mean, square = self._mean[name], self._square[name]
            mean *= 0.9
            mean += 0.1 * gradient
            square *= 0.999
            square += 0.001 * gradient * gradient
            values *= 1 - rate * self._weight_decay
            values -= rate * (mean / first) / (np.sqrt(square / second) + 1e-8)

    def _cycle(self) -> float:
        """The learning rate's share: up along a cosine, then down to nothing."""
        done = self._step / self._steps
        if done < _WARM_UP:
            return _START + (1 - _START) * (1 - math.cos(math.pi * done / _WARM_UP)) / 2
        return (1 + math.cos(math.pi * min(1.0, (done - _WARM_UP) / (1 - _WARM_UP)))) / 2
