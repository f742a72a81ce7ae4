# %% [markdown]
# # 1  Backpropagation
#
# A *network* is a function with adjustable numbers, its *parameters*, computed in stages, its *layers*. The *loss* is
# one number that says how wrong its answers are. Training asks, for every parameter: if it increases slightly, does the
# loss go up or down, and how fast? A model has millions of parameters, and the question is asked again at each of
# thousands of steps. This lecture builds the machine that answers, first on single numbers, then on arrays, and finds
# out what an answer costs, when it can be trusted, and what happens to it on the way down a deep stack of layers.
#
# You need calculus (derivatives, the chain rule) and Python. In section 1.9 the machine reads real handwritten
# digits.
#
# **How to read a cell.** Run each code cell, from the top. *Predict* comes before a run: choose an answer, say how
# sure you are, press Commit; where there is only a question, note your answer on paper. A `claim` is the
# lecture's own check of what it has just said, with the number measured. The exercises at the end are yours.

# %%
import numpy as np
import torch

from course_lib.autograd import Array, Value, gradient_gaps
from course_lib.lectures import backprop as lab
from course_lib.ranges import Choice, Log
from course_lib.widgets import Curve, claim, explore, predict, questions

# %% [markdown]
# ## 1.1  What must a computer remember to differentiate?
#
# Take $L = a\,b + c$ with $a = 2$, $b = -1.5$, $c = 0.5$. A computer evaluates it in two operations: first
# $d = a\,b$, then $L = d + c$. Each operation knows how its result answers to its own inputs; these are its *local
# slopes*:
#
# $$\frac{\partial d}{\partial a} = b, \qquad \frac{\partial d}{\partial b} = a, \qquad
# \frac{\partial L}{\partial d} = 1, \qquad \frac{\partial L}{\partial c} = 1 .$$
#
# The chain rule multiplies slopes along the way: $\partial L / \partial a = (\partial L / \partial d)\, (\partial d /
# \partial a)$. We call $\partial L / \partial v$ the gradient with respect to $v$ or, for short, $v$'s gradient, for
# inputs and intermediate results alike.

# %% tags=["predict"]
steepest = predict(
    "a, b or c: which one, raised by 0.001, changes L = a*b + c the most?", Choice(("a", "b", "c")), id="01.1"
)
steepest

# %% [markdown]
# So it is enough to remember, for every number, what it was made from and the slopes. Here is the whole idea in a
# class: multiplication and addition store parents and slopes while they compute, and `send` hands a gradient back
# to the parents, each time multiplied by the slope on the way.


# %% tags=["build"]
class Number:
    def __init__(self, data, parents=(), slopes=()):
        self.data, self.parents, self.slopes = data, parents, slopes
        self.grad = 0.0

    def __add__(self, other):
        return Number(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Number(self.data * other.data, (self, other), (other.data, self.data))

    def send(self, gradient):
        self.grad += gradient
        for parent, slope in zip(self.parents, self.slopes, strict=True):
            parent.send(slope * gradient)


a, b, c = Number(2.0), Number(-1.5), Number(0.5)
(a * b + c).send(1.0)

# %% [markdown]
# The course's engine, `course_lib.autograd.Value`, is this class with more operations and a better `send`, and it can
# be drawn. In each box: the operation, the value, and below it the number's own gradient $\partial L / \partial v$.
# On each edge: the slope. Drag $a$ through 0 and watch which gradients follow. Then choose `tanh(a*b + c)`, a single
# *neuron* (a sum of weighted inputs, bent by a curve), and make its input large.

# %%
explore(lab.expression_graph)

# %% [markdown]
# Read it from right to left. The result's gradient is 1: it moves with itself. Every other gradient is the one
# further right times the slope on the edge. A sum hands its gradient on unchanged, a product exchanges its factors,
# and a *saturated* tanh, far out where its curve is flat, lets almost nothing through: with $ab + c = -2.5$ its slope
# is $1 - \tanh^2(2.5) = 0.027$.
#
# Values are computed from left to right, gradients from right to left, hence *reverse mode*; in networks it is called
# backpropagation. It answers for all inputs in one sweep.

# %% tags=["claim"]
slopes = lab.expression_graph("a*b + c", a=2.0, b=-1.5, c=0.5).grads()
claim("the graph's gradients are those of `Number`", slopes == {"a": a.grad, "b": b.grad, "c": c.grad})
flat = lab.expression_graph("tanh(a*b + c)", a=2.0, b=-1.5, c=0.5).grads()["c"]
claim("a tanh on top leaves 3 % of c's gradient", flat, near=0.027, within=0.001)
steepest.reveal("b")

# %% [markdown]
# ## 1.2  What happens to a value that is used twice?
#
# In $a \cdot a + a \cdot b$ the input $a$ reaches the result on three edges. Raise $a$ a little, and all three
# contribute at once, so its gradient is the sum over all paths from $a$ to the result:
#
# $$\frac{\partial L}{\partial a} = \sum_{\text{paths}} \ \prod_{\text{edges}} \text{slope} .$$

# %% [markdown] tags=["predict"]
# **Predict.** With $a = 2$ and $b = -1.5$, what is the gradient of $a$ in $a \cdot a + a \cdot b$? And: the loop
# below doubles a number 60 times, $y \leftarrow y + y$. How many paths lead from the first $y$ to the last, and how
# long would `send` above take to walk them, at ten million paths a second?

# %%
lab.expression_graph("a*a + a*b", a=2.0, b=-1.5)

# %%
x = Value(1.0)
y = x
for _ in range(60):
    y = y + y
y.backward()
x.grad, len(y.ancestry())

# %% [markdown]
# Two edges of slope 2 and one of slope $-1.5$: the gradient is $2 + 2 - 1.5 = 2.5$. Gradients *accumulate*: that is
# what the `+=` in `send` is for, and forgetting it is the classic mistake of a first engine.
#
# Sixty doublings have $2^{60} \approx 10^{18}$ paths, and `send` walks each one; at ten million a second it would need
# 3,600 years. `Value.backward` visits each *number* once, and there are 61. The only rule is that a number may not pass
# its gradient on until every number computed from it has delivered its share. A number is always made after its
# parents, so the order of creation, reversed, obeys it: `backward` is two short loops in
# `course_lib/autograd/scalar.py`.

# %% tags=["claim"]
twice = lab.expression_graph("a*a + a*b", a=2.0, b=-1.5).grads()
claim("a, used three times, gets the sum of three shares", twice == {"a": 2.5, "b": 2.0})
claim("61 nodes, and 2^60 paths through them", (len(y.ancestry()), x.grad) == (61, 2.0**60))

# %% [markdown]
# ## 1.3  How do you know that the gradients are right?
#
# An engine that is wrong still trains, only worse, and nobody notices. So compare with something independent. One
# way is another engine: random graphs of additions, products, quotients, powers, exponentials, logarithms and
# $\max(x, 0)$, differentiated here and by `torch.autograd`, both in float64.

# %% [markdown] tags=["predict"]
# **Predict.** The largest difference over 200 random graphs: zero, about $10^{-16}$, or about $10^{-8}$?

# %%
agreement = lab.torch_agreement(200)
agreement.summary()

# %% [markdown]
# Not zero: the two add and multiply in a different order in places, and float64, with its 16 digits, rounds each result
# to about $10^{-16}$ of itself. But nothing like $10^{-8}$ either. A wrong derivative would show in the first digit.

# %% tags=["claim"]
worst = max(lab.torch_agreement(50, seed=seed).worst for seed in range(4))
claim("on 200 more graphs the engine agrees with torch to rounding", worst, below=1e-10)

# %% [markdown]
# ## 1.4  How small a step should a gradient check take?
#
# The other way needs no second engine. A slope is the limit of a quotient, so take a small step $h$ to either side:
#
# $$f'(x) \approx \frac{f(x + h) - f(x - h)}{2h} .$$
#
# How wrong is it? In $f(x \pm h) = f \pm h f' + \tfrac12 h^2 f'' \pm \tfrac16 h^3 f''' + \dots$ the even terms are
# the same on both sides and cancel, and what is left is $f' + \tfrac16 h^2 f''' + \dots$: an error of about $h^2$.
# The smaller $h$ the better, it seems. But the computer rounds $f$ to about $\epsilon = 2 \cdot 10^{-16}$ of its size
# (the *machine precision*), and the quotient divides that rounding by $2h$.

# %% tags=["predict"]
valley = predict(
    "Draw the error of the central difference of exp at 1 against h, both as powers of ten",
    Curve(xlabel="log10 of h", ylabel="log10 of the error", x=(-12, 0), y=(-16, 2)),
    id="01.4",
)
valley

# %%
explore(lab.difference_error)

# %% [markdown]
# The error is a V on these axes: from the right it falls like $h^2$, from the left like $\epsilon / h$. (A single
# point's rounding is a lottery; the curve is the root mean square over 129 points and steps close by, so its left arm
# is smooth.) The two lines meet where $h^2 = \epsilon / h$, that is at
#
# $$h = \epsilon^{1/3}, \qquad \text{where the error is about } \epsilon^{2/3} .$$
#
# In float64 that is $h = 6 \cdot 10^{-6}$ and ten good digits; in float32, $h = 5 \cdot 10^{-3}$ and five at best.
# Switch `dtype`, and see why gradients are checked in float64: in float32 a correct gradient and one that is wrong by
# a part in a hundred thousand look the same.

# %% tags=["claim"]
curve, coarse = (lab.difference_error("exp", dtype) for dtype in ("float64", "float32"))
claim("the best h is near eps^(1/3)", curve.best_step / curve.eps ** (1 / 3), above=0.25, below=4)
claim("in float32 as well", coarse.best_step / coarse.eps ** (1 / 3), above=0.25, below=4)
claim("and its error is near eps^(2/3)", curve.best_error, below=4 * curve.eps ** (2 / 3))
valley.reveal(np.log10([curve.steps, curve.errors]).T)

# %% [markdown]
# ## 1.5  When does a gradient lie?
#
# Two cases to know. The first is a *kink*, a point where the slope jumps: $\mathrm{relu}(x) = \max(x, 0)$ has none at
# 0; engines answer 0 there, by convention. The second is a choice between two branches, `where(x > 0, sqrt(x), 0)`.
# It computes *both* branches for every $x$ and keeps one. Its slope with respect to the branch not taken is 0, and
# that 0 is then multiplied by the branch's own slope.

# %% [markdown] tags=["predict"]
# **Predict.** What does a central difference say about relu at 0, and does a smaller $h$ help? And what is the
# gradient of `where(x > 0, sqrt(x), 0)` at $x = 0$, where the slope of the root is infinite and its branch is not
# taken?

# %%
kink = lab.difference_error("relu", x=0.0, h=0.7)
kink

# %%
explore(lab.where_trap)

# %% [markdown]
# At the kink the chord has slope $\tfrac12$ for every $h$: neither 0 nor 1, and no step cures it. Within $h$ of a kink
# the check is off by anything from 0 to half of the jump. So when it fails at a ReLU, move the point or shrink $h$: a
# kink's error goes away, a bug's stays.
#
# The second is nastier. The values are finite everywhere, and half of the gradients are NaN ("not a number": the
# marks on the lower edge), because $0 \cdot \infty$ is NaN, and $0 \cdot \text{NaN}$ is NaN as well. Tick `guarded`:
# a second `where` *inside* gives the branch a harmless input wherever it is not taken. Write
# `where(x > 0, sqrt(safe), 0)` with `safe = where(x > 0, x, 1)`. The first lines below show that torch needs this
# double `where` too.
#
# In torch you would not write the gradient check yourself. `torch.autograd.gradcheck` compares any function's gradient
# with central differences; give it float64, since it converts nothing. Its tolerances (`atol` 1e-5, `rtol` 1e-3) are
# far laxer than the ten digits of 1.4. Here it meets a hand-written backward with a wrong factor.


# %% tags=["build"]
zero = torch.zeros(1, requires_grad=True)
torch.where(zero > 0, zero.sqrt(), 0.0).sum().backward()


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * gradient  # should be 3


points = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
found = {f: torch.autograd.gradcheck(f, points, raise_exception=False) for f in (Cube.apply, torch.tanh)}
zero.grad, list(found.values())

# %% tags=["claim"]
claim("at the kink the check sees half of the slope", np.abs(kink.errors - 0.5).max(), below=1e-6)
claim("`where` lets NaN through on 101 of 201 points", lab.where_trap().nans == 101)
claim("a guard inside stops every one", lab.where_trap(guarded=True).nans == 0)

# %% [markdown]
# ## 1.6  What does a gradient cost?
#
# There is another way through the chain rule: from left to right. Let every number carry its own derivative with
# respect to *one* chosen input, $a + \dot a\,\delta$, and compute with pairs, where $\delta^2 = 0$. Then
#
# $$(a + \dot a \delta)(b + \dot b \delta) = ab + (\dot a b + a \dot b)\,\delta,$$
#
# which is the product rule. These are *dual numbers*, and this is *forward mode*: nothing has to be remembered, but a
# pass answers for one input. To compare, both modes run on numbers that count every addition and multiplication done
# with them. No clock is involved.

# %% tags=["predict"]
price = predict(
    "f of 32 inputs costs 1 to evaluate. What does its whole gradient cost, in reverse mode?", Log(1, 200), id="01.6"
)
price

# %%
explore(lab.gradient_cost)

# %% [markdown]
# Reverse mode costs five times the function itself, for two inputs or for thirty-two: one for the function, and for
# each of its operations two multiplications and two additions on the way back. That the price does not depend on the
# number of inputs is called the cheap gradient principle (Griewank & Walther 2008; Baur & Strassen 1983 prove at most
# three times the multiplications and divisions), and it is why networks with a billion parameters can be trained at
# all. Forward mode costs two to four times the function *for each input*.
#
# Turn it around, and the roles change: for one input and many outputs, forward mode wins. A loss is one number, so
# training is almost always the first case. The bill that reverse mode does send is memory: everything must be kept
# until the way back. Section 1.11 returns to that.

# %% tags=["claim"]
cost = lab.gradient_cost("network", 32)
claim("in reverse at most five times the function", (cost.reverse / cost.plain).max(), below=5.2)
claim("forward two to four times for each input", cost.forward_ratio, above=60, below=130)
price.reveal(cost.reverse_ratio)

# %% [markdown]
# ## 1.7  What changes when a node is a whole array?
#
# A Python object for every number is slow. `course_lib.autograd.Array` makes a node of a whole numpy array. The rules
# stay: values forward, gradients backward, sums where something is used twice. Two things are new. A local slope
# would be a matrix, far too large to store, so each operation stores a function instead, which carries a gradient
# back: for $C = A B$ that is $\bar A = \bar C B^\top$ and $\bar B = A^\top \bar C$, where a bar marks a gradient. And
# numpy *broadcasts*: adding a bias of shape `(3,)` to a *batch* (several examples, a row each) of shape `(4, 3)` uses
# each entry of the bias four times.

# %% [markdown] tags=["predict"]
# **Predict.** `bias` has shape `(3,)` and is added to a batch of four rows, and all twelve entries are summed up.
# What is the gradient of `bias`? And: a network takes 2 numbers through layers of 16, 16 and 1 neurons, each $x W +
# b$, the first two followed by relu; the loss is the mean of the squared errors at 100 points. Count the nodes that
# the array engine makes, parameters included. And the scalar engine: hundreds, thousands, or tens of thousands?

# %%
bias, batch = Array([0.0, 0.0, 0.0]), Array(np.ones((4, 3)))
(batch + bias).sum().backward()
engines = lab.two_engines(points=100)
bias.grad, engines.summary()

# %% [markdown]
# Each entry of the bias was used in four rows, so its gradient is 4: **the way back from a broadcast is a sum**. It
# is the same accumulation as in section 1.2, and forgetting it is the most common mistake in a hand-written backward
# pass; the exercises ask for it.
#
# Eighteen arrays: six parameters, three products, three sums, two relus, and four for the loss (minus, square, sum,
# divide). The scalar engine makes sixty-five thousand Python objects, and the same gradient to the last digit or two.
# The arithmetic is the same; what is saved is Python, and `make bench` measures how much on your machine. The same
# check as before, central differences, works for arrays: `gradient_gaps` changes every entry in turn.

# %% tags=["claim"]
inputs = np.random.default_rng(0).normal(size=(2, 3, 3))
gaps = gradient_gaps(lambda a, b: ((a @ b).tanh() + b[0]).sum(), inputs)
claim("the array engine passes a gradient check", max(gaps), below=1e-7)
claim("the two engines agree", engines.gap, below=1e-10)
claim("18 arrays do the work of tens of thousands of numbers", engines.scalar_nodes / engines.array_nodes, above=1000)

# %% [markdown]
# ## 1.8  What is left of the gradient at the bottom of a deep chain?
#
# Twenty layers of one neuron each, $h_l = \sigma(w\, h_{l-1})$ from $h_0 = 0.5$, with the sigmoid $\sigma(z) = 1/(1 +
# e^{-z})$. By the chain rule the gradient at the input is a product of twenty slopes,
#
# $$\frac{\partial h_{20}}{\partial h_0} = \prod_{l=1}^{20} w\, \sigma'(z_l), \qquad z_l = w\, h_{l-1},
# \qquad \sigma' = \sigma (1 - \sigma) .$$

# %% tags=["predict"]
left_over = predict("How much of a gradient of 1 arrives below 20 sigmoid layers with w = 1?", Log(1e-15, 1), id="01.8")
left_over

# %%
explore(lab.chain_shrinkage)

# %% [markdown]
# $\sigma (1 - \sigma)$ is largest at $\sigma = \tfrac12$, and there it is $\tfrac14$. So with $|w| \le 1$ every layer
# divides the gradient by four *at least*: after twenty layers at most $4^{-20} \approx 10^{-12}$ is left, and measured
# it is a tenth of that, since the neurons (the dots on the right) do not sit at the top of the curve. Under SGD such a
# layer's weights do not learn slowly; they do not learn.
#
# Larger weights alone do not save it: drag `weight` to 4 and the dots slide down the flank of the curve, into
# saturation. tanh has slope 1 at its best, relu has slope exactly 1 wherever it is on, and passes the gradient whole;
# with a weight of 2 it doubles it in each layer, the opposite trouble. Lecture 6 chooses weights so that neither
# happens.

# %% tags=["claim"]
sigmoid = lab.chain_shrinkage("sigmoid", depth=20)
claim("no sigmoid passes on more than a quarter", sigmoid.ratios.max(), below=0.2501)
claim("even with weights of 4 little arrives", lab.chain_shrinkage("sigmoid", depth=20, weight=4.0).total, below=1e-5)
claim("ReLU passes on all of it", lab.chain_shrinkage("relu", depth=20).total == 1.0)
left_over.reveal(sigmoid.total)

# %% [markdown]
# ## 1.9  Is this engine enough to read handwriting?
#
# The real thing: 1,797 images of handwritten digits, $8 \times 8$ pixels: 1,077 for training, 360 for the test, and 360
# for validation, that is for choosing settings; nothing is chosen here, so those stay unused. A network $64 \to 64 \to
# 10$ with ReLU turns an image into ten probabilities. Its loss is the *cross-entropy*: $-\log p$ of the right digit,
# averaged over the images (exercise 2 has the formula). Each step takes the next few images, a *minibatch*, and moves
# all parameters $\theta$ against their gradient $g$ by a *learning rate* $\eta$: $\theta \leftarrow \theta - \eta\, g$.
# The array engine, numpy, and nothing else.

# %% [markdown] tags=["predict"]
# **Predict.** The test accuracy after 20 epochs (passes over the training images).

# %%
explore(lab.digits_training)

# %% [markdown]
# Above 95 % after a few passes, 97 to 99 % in the end, depending on the seed (which fixes the split, the first
# weights and the order). Turn `lr` up to see it break, and `hidden` down to 2 to see how much two numbers can tell
# about a digit. That is looking, not choosing: an `lr` picked for its accuracy on the test images would spoil them as
# a test. torch would give the same gradients; it adds speed on large arrays, GPUs, and many more operations.

# %% tags=["claim"]
runs = [lab.digits_training(seed=seed) for seed in range(3)]
claim("three runs read the digits", min(run.accuracy for run in runs), above=0.94)
claim("untrained they guess", max(run.test[0] for run in runs), below=0.35)

# %% [markdown]
# ## 1.10  Folklore on trial: "backward twice doubles the gradients: that is a bug"
#
# Call `backward` twice without setting the gradients to zero in between, and the gradients of the parameters are
# doubled. Beginners report it as a bug of the library. Is it? The trial has three engines on one chain of operations:
# ours, torch (with `retain_graph=True`, or it would have thrown the graph away after the first call), and an engine
# that does not clear the gradients of its *inner* results before a new pass.

# %% [markdown] tags=["predict"]
# **Predict.** After 4 calls the input's gradient is 4 times the first in ours and torch. In the third engine, with a
# chain of 3 operations: also 4, or 12, or 20?

# %%
explore(lab.repeated_backward)

# %% [markdown]
# **Half right.** In the *leaves* (numbers made from nothing: inputs and parameters) adding up is the design: section
# 1.2 needs it inside one pass, and across passes it lets you split a batch that does not fit into memory. Divide each
# part's summed loss by the size of the *whole* batch, and four calls on four quarters give the gradient of the whole;
# the cell below prints by how much they differ. That is gradient accumulation, and it is why training loops call
# `zero_grad()` themselves.
#
# But there *is* a bug that looks like it. If inner gradients are kept as well, old ones travel down again with the new.
# The result's own gradient is set to 1 afresh in each call. Count the others in units of their right value: one
# operation below it, 1 is added in each call: $k$ after $k$ calls. Two below, each call adds what is now above it, $1 +
# 2 + \dots + k$; three below, the sum of those sums, $1 + 3 + 6 + 10 = 20$ for $k = 4$. After $n$ operations it is the
# entry $\binom{k + n - 1}{n}$ of Pascal's triangle. After two calls that is $n + 1$, so a short test with one operation
# sees the innocent 2. Doubling is not a bug; *more than* doubling is.

# %% tags=["claim"]
after = lab.repeated_backward(calls=4, depth=3)
counts = [round(float(kept[-1]), 6) for kept in (after.engine, after.torch, after.kept)]
claim("four calls: 4, 4, and 20 where inner gradients are kept", counts == [4, 4, 20])
claim("accumulated parts add up to the whole batch", lab.split_batch(parts=4).gap, below=1e-12)

# %% [markdown]
# ## 1.11  Frontier: how much of the forward pass must be kept?
#
# Reverse mode keeps every layer's output until the way back, and in large models these *activations*, not the
# weights, fill the memory. Activation checkpointing (Chen et al. 2016) keeps only the outputs at the borders of $s$
# segments. On the way back it computes one segment after the other again, from its border, and uses it at once. In
# torch it is `torch.utils.checkpoint`.
#
# `course_lib.autograd.checkpoint` does it, in a dozen lines. The experiment runs a chain of $n$ layers with it and
# counts how many layer outputs are alive at the same time.

# %% [markdown] tags=["predict"]
# **Predict.** With $n = 36$ layers: which number of segments needs the least memory, how much is that, and how many
# layer evaluations does it cost instead of 36?

# %%
explore(lab.checkpoint_memory)

# %% [markdown]
# At the worst moment the $s$ borders and one segment of $n/s$ layers are alive, $s + n/s$, which is smallest at $s =
# \sqrt n$. Thirty-six layers need 12 outputs instead of 36; a hundred and forty-four need 24. The price is one more
# forward pass, whatever $s$: every layer is computed twice. If a pass backward costs about twice a pass forward, that
# is a third more compute, for a third as much memory with 36 layers, a sixth with 144.

# %% tags=["claim"]
counted = lab.checkpoint_memory(36, 6)
claim("with 6 segments of 6 layers 12 outputs are alive", counted.peak.min() == counted.peak[counted.at] == 12)
claim("each layer is evaluated twice", counted.evaluations[counted.at] == 72)
claim("without segments all 36 are", lab.checkpoint_memory(36, 1).peak[0] == 36)

# %% [markdown]
# ## Summary
#
# - An operation stores its parents and its local slopes; the backward pass multiplies along edges and adds where
#   paths meet, each number once, latest first.
# - Used twice means added twice: `+=`, the sum after a broadcast, the accumulation over calls are one rule.
# - Reverse mode: five times the function for all inputs, and memory for everything. Forward mode: two to four times
#   for *each* input, and no memory.
# - Check gradients in float64 with $h \approx \epsilon^{1/3}$; ten digits is what you can get. Near a kink the check is
#   off by up to half of the jump: move the point. `where` over an infinite slope gives NaN, and a second `where` inside
#   cures it.
# - A sigmoid layer keeps a quarter of the gradient at best: deep chains vanish or explode by multiplication.
# - Doubled gradients after two backward calls are accumulation; more than doubled is a bug.

# %% [markdown]
# ## Exercises
#
# Four backward passes that every framework has and every interviewer may ask for. Arguments and results are numpy
# arrays (float64). A prefix `d` is a gradient: `dC` is $\partial L / \partial C$. Each check compares with
# torch.autograd on several shapes, and names the mistake if it knows it.
#
# **1. Matrix product.** $C = A B$, where $A$ is `(..., n, k)` and $B$ is `(..., k, m)`; the axes in front broadcast.
# Given `dC`, return `dA` and `dB` with the shapes of `A` and `B`. Start with two plain matrices and write out one
# entry: $C_{ij} = \sum_k A_{ik} B_{kj}$. Then think of section 1.7.


# %% tags=["exercise"]
def matmul_backward(A, B, dC):
    ### BEGIN SOLUTION
    grads = []
    for grad, like in ((dC @ B.swapaxes(-1, -2), A), (A.swapaxes(-1, -2) @ dC, B)):
        extra = grad.ndim - like.ndim
        stretched = [i + extra for i, n in enumerate(like.shape) if n < grad.shape[i + extra]]
        grads.append(grad.sum(axis=(*range(extra), *stretched)).reshape(like.shape))
    return tuple(grads)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_matmul(matmul_backward)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **2. Softmax and cross-entropy.** A row of `logits` `(rows, classes)` holds one example's outputs $z$: any numbers,
# one for each class. The *softmax* makes probabilities of them, positive and with sum 1: $p_j = e^{z_j} / \sum_k
# e^{z_k}$. `labels` `(rows,)` holds each row's right class as a whole number; as a row with a 1 in that place and 0
# elsewhere it is called *one-hot*. The *cross-entropy* is the mean over the rows of $-\log p_{\text{label}}$: 0 when
# the right class is certain. Return `dlogits`. On paper logarithm and exponentials cancel, and one short line is
# left. Mind rows near 1000, and rows near $-1000$.


# %% tags=["exercise"]
def softmax_cross_entropy_backward(logits, labels):
    ### BEGIN SOLUTION
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(labels)), labels] -= 1
    return p / len(labels)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_softmax_cross_entropy(softmax_cross_entropy_backward)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **3. LayerNorm.** Each row of `x` `(n, d)` is normalized over its own $d$ features, then scaled and shifted:
#
# $$\hat x = \frac{x - \mu}{\sqrt{v + \epsilon}}, \qquad y = \gamma\, \hat x + \beta,$$
#
# with $\mu$ the row's mean, $v$ its variance (divided by $d$, not $d - 1$), and $\epsilon$ a small constant that
# keeps the root above 0. `gamma` and `beta` are `(d,)`, the same for every row. Given `dy`, return `dx`, `dgamma` and
# `dbeta`. The input reaches $y$ on three paths: directly, through $\mu$, and through $v$.


# %% tags=["exercise"]
def layernorm_backward(x, gamma, eps, dy):
    ### BEGIN SOLUTION
    std = np.sqrt(x.var(axis=1, keepdims=True) + eps)
    xhat = (x - x.mean(axis=1, keepdims=True)) / std
    dxhat = dy * gamma
    along = (dxhat * xhat).mean(axis=1, keepdims=True)
    dx = (dxhat - dxhat.mean(axis=1, keepdims=True) - xhat * along) / std
    return dx, (dy * xhat).sum(axis=0), dy.sum(axis=0)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_layernorm(layernorm_backward)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. BatchNorm**, in training. The same formula, but each feature is normalized over the $n$ rows of the batch. Now
# the rows of a batch talk to each other, and so do their gradients. What changes, and what does not?


# %% tags=["exercise"]
def batchnorm_backward(x, gamma, eps, dy):
    ### BEGIN SOLUTION
    std = np.sqrt(x.var(axis=0) + eps)
    xhat = (x - x.mean(axis=0)) / std
    dgamma, dbeta = (dy * xhat).sum(axis=0), dy.sum(axis=0)
    dx = gamma / std * (dy - dbeta / len(x) - xhat * dgamma / len(x))
    return dx, dgamma, dbeta
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_batchnorm(batchnorm_backward)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Say your answer aloud before you unfold one. Each answer rests on a run that you can repeat. The follow-ups have no
# answers, on purpose: they are for the next conversation.

# %%
questions("01_backprop")

# %% [markdown]
# ## References
#
# - S. Linnainmaa (1970), *The representation of the cumulative rounding error of an algorithm as a Taylor expansion of
#   the local rounding errors*: reverse mode, before anyone applied it to networks. R. E. Wengert (1964), *A simple
#   automatic derivative evaluation program*: forward mode.
# - D. Rumelhart, G. Hinton, R. Williams (1986), *Learning representations by back-propagating errors*.
# - W. Baur, V. Strassen (1983), *The complexity of partial derivatives*: at most three times the multiplications and
#   divisions.
# - A. Griewank, A. Walther (2008), *Evaluating Derivatives*, chapters 3 and 12.
# - J. Dennis, R. Schnabel (1983), *Numerical Methods for Unconstrained Optimization and Nonlinear Equations*, section
#   5.6: the step of a difference.
# - T. Chen, B. Xu, C. Zhang, C. Guestrin (2016), *Training deep nets with sublinear memory cost*.
# - E. Alpaydin, C. Kaynak (1998), *Optical recognition of handwritten digits*, UCI; shipped with scikit-learn.
