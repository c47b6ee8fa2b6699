"""The networks of `sweep` in TensorFlow: the modules of networks_torch.py, with their weights, run by
TensorFlow's operators on channels-last images."""
import math

import tensorflow as tf
import torch

from harness.peer import THREADS
from models import networks_torch, resnet_torch

tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(THREADS)
nn = torch.nn
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)  # the axes of an image, to channels last and back


class Network:
    """A network as a function (x) → scores. Its first call must be eager: variables are made then."""

    def __init__(self, name, training):
        self._module = networks_torch.made(name)
        self._training, self._made = training, {}

    @property
    def variables(self):
        return list(self._made.values())

    def __call__(self, x):
        return self.run(self._module, x)

    def run(self, module, x):
        return RUN[type(module)](self, module, x)

    def weight(self, parameter, *axes):
        """The variable of a parameter, with its axes in this order."""
        if parameter not in self._made:
            value = parameter.detach().permute(axes or tuple(range(parameter.dim()))).numpy()
            self._made[parameter] = tf.Variable(value)
        return self._made[parameter]

    def _chain(self, modules, x):
        for module in modules:
            x = self.run(module, x)
        return x

    def _convolution(self, module, x):
        padding, stride = [(p, p) for p in (0, *module.padding, 0)], module.stride
        if module.groups == 1:
            weight = self.weight(module.weight, 2, 3, 1, 0)
            y = tf.nn.conv2d(x, weight, stride, padding)
        else:  # each channel is a group
            weight = self.weight(module.weight, 2, 3, 0, 1)
            y = tf.nn.depthwise_conv2d(x, weight, (1, *stride, 1), padding)
        return y if module.bias is None else tf.nn.bias_add(y, self.weight(module.bias))

    def _larger(self, module, x):
        batch, height, width, _ = x.shape
        shape = batch, 2 * height, 2 * width, module.out_channels
        weight = self.weight(module.weight, 2, 3, 1, 0)
        return tf.nn.bias_add(tf.nn.conv2d_transpose(x, weight, shape, 2, "VALID"),
                              self.weight(module.bias))

    def _batch_normalization(self, module, x):
        kept = {} if self._training else {"mean": tf.zeros(module.num_features),
                                          "variance": tf.ones(module.num_features)}
        return tf.compat.v1.nn.fused_batch_norm(
            x, self.weight(module.weight), self.weight(module.bias), **kept, epsilon=module.eps,
            is_training=self._training)[0]

    def _normalization(self, module, x):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, self.weight(module.bias),
                                         self.weight(module.weight), module.eps)

    def _pool(self, module, x):
        padding = [(p, p) for p in (0, module.padding, module.padding, 0)]
        return tf.nn.max_pool2d(x, module.kernel_size, module.stride, padding)

    def _dense(self, module, x):
        y = tf.tensordot(x, self.weight(module.weight, 1, 0), 1)
        return tf.nn.bias_add(y, self.weight(module.bias))

    def _residual(self, module, x):
        return self.run(module.last, self.run(module.main, x) + self.run(module.side, x))

    def _unet(self, module, x):
        kept = []
        for down in module.down:
            x = self.run(down, tf.nn.max_pool2d(kept[-1], 2, 2, "VALID") if kept else x)
            kept.append(x)
        for up, joined, beside in zip(module.up, module.joined, reversed(kept[:-1])):
            x = self.run(joined, tf.concat([beside, self.run(up, x)], -1))
        return self.run(module.scores, x)

    def _attention(self, module, x):
        batch, length, width = x.shape
        heads = networks_torch.HEADS
        q, k, v = (tf.transpose(tf.reshape(part, (batch, length, heads, width // heads)),
                                (0, 2, 1, 3)) for part in tf.split(self.run(module.inner, x), 3, -1))
        scores = tf.matmul(q, k, transpose_b=True) / math.sqrt(width // heads)
        if module.causal:
            scores += (tf.linalg.band_part(tf.ones((length, length)), -1, 0) - 1) * 1e9
        x = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), (0, 2, 1, 3))
        return self.run(module.outer, tf.reshape(x, (batch, length, width)))

    def _transformer(self, module, x):
        x = self.run(module.body, self.run(module.words, x) + self.weight(module.places))
        if module.causal:
            return tf.reshape(self.run(module.scores, x), (-1, module.classes))
        return self.run(module.scores, tf.reduce_mean(x, 1))

    def _lstm(self, module, x):
        x, cells = self.run(module.words, x), module.cells
        for layer in range(cells.num_layers):
            x = self._cells(*(getattr(cells, f"{part}_l{layer}") for part in
                              ("weight_ih", "weight_hh", "bias_ih", "bias_hh")), x)
        return tf.reshape(self.run(module.scores, x), (-1, module.scores.out_features))

    def _cells(self, of_input, of_state, bias, other_bias, x):
        of_state = self.weight(of_state, 1, 0)
        gates = tf.tensordot(x, self.weight(of_input, 1, 0), 1)
        gates += self.weight(bias) + self.weight(other_bias)

        def step(state, gates):
            i, f, g, o = tf.split(gates + state[0] @ of_state, 4, -1)
            memory = tf.sigmoid(f) * state[1] + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(memory), memory

        zeros = tf.zeros((x.shape[0], of_state.shape[0]))
        return tf.transpose(tf.scan(step, tf.transpose(gates, (1, 0, 2)), (zeros, zeros))[0],
                            (1, 0, 2))

    def _flat(self, module, x):
        x = tf.transpose(x, FIRST) if len(x.shape) == 4 else x
        return tf.reshape(x, (x.shape[0], -1))


RUN = {
    nn.Sequential: Network._chain,
    nn.Identity: lambda network, module, x: x,
    nn.Conv2d: Network._convolution,
    nn.ConvTranspose2d: Network._larger,
    nn.BatchNorm2d: Network._batch_normalization,
    nn.LayerNorm: Network._normalization,
    nn.ReLU: lambda network, module, x: tf.nn.relu(x),
    nn.ReLU6: lambda network, module, x: tf.nn.relu6(x),
    nn.GELU: lambda network, module, x: tf.nn.gelu(x),
    nn.MaxPool2d: Network._pool,
    nn.AdaptiveAvgPool2d: lambda network, module, x: tf.reduce_mean(x, (1, 2), keepdims=True),
    nn.Flatten: Network._flat,
    nn.Linear: Network._dense,
    nn.Embedding: lambda network, module, x: tf.gather(network.weight(module.weight), x),
    networks_torch.Residual: Network._residual,
    networks_torch.UNet: Network._unet,
    networks_torch.Attention: Network._attention,
    networks_torch.Transformer: Network._transformer,
    networks_torch.LSTM: Network._lstm,
    resnet_torch.Block: lambda network, module, x: tf.nn.relu(
        network.run(module.main, x) + network.run(module.side, x)),
}


def inputs(name, batch):
    x = networks_torch.inputs(name, batch).numpy()
    return tf.constant(x.transpose(LAST) if x.ndim == 4 else x)


def labels(name, batch):
    return tf.constant(networks_torch.labels(name, batch).numpy())


def optimizer(name):
    rate = networks_torch.RATES[networks_torch.NETWORKS[name].adam]
    if networks_torch.NETWORKS[name].adam:
        return tf.keras.optimizers.AdamW(rate, weight_decay=0.01, epsilon=1e-8)
    return tf.keras.optimizers.SGD(rate, momentum=0.9)


def train_step(name, batch):
    """A function that makes one step and returns the loss."""
    network, updates, x, classes = (Network(name, True), optimizer(name), inputs(name, batch),
                                    labels(name, batch))
    network(x)
    updates.build(network.variables)

    @tf.function
    def step(x, classes):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=classes, logits=network(x)))
        updates.apply_gradients(zip(tape.gradient(loss, network.variables), network.variables))
        return loss

    return lambda: step(x, classes).numpy()


def inference(name, batch):
    """A function that returns the scores, with an image's channels before its pixels."""
    network, x = Network(name, False), inputs(name, batch)
    network(x)
    run = tf.function(network)

    def scores():
        y = run(x).numpy()
        return y.transpose(FIRST) if y.ndim == 4 else y

    return scores
