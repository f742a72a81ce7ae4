# %% [markdown]
# # 4  Adaptive optimizers
#
# One learning rate for all weights is a poor compromise: some weights see a gradient in every step, others once in
# a thousand; some gradients are ten thousand times as large as others. The optimizers of this lecture give each
# weight a step length of its own, taken from the gradients that it has seen.
#
# You will find out how long their steps are, to the digit; what they forget and what it costs to remember; what
# weight decay turns into inside Adam; and where Adam fails. Then two sayings go on trial: that Adam needs no tuning,
# and that it generalizes worse than SGD. Both will need more than one sentence.

# %%
from functools import partial

import numpy as np
import torch

from course_lib import optim, schedules
from course_lib.lectures import adaptive as lab
from course_lib.ranges import Linear, Log
from course_lib.trials import tune
from course_lib.widgets import claim, explore, predict, questions

# %% [markdown]
# ## 4.1  Why does SGD starve rare features?
#
# Think of a model of words. The feature $x_j$ is 1 where an example contains word $j$, else 0, and the prediction is
# $w \cdot x$. With a squared error the gradient of $w_j$ is the error times $x_j$: nothing at all where the word is
# missing. A word in one of 300 texts gets one step where a word in every second text gets 150, and SGD makes both
# equally long.
#
# **AdaGrad** (Duchi, Hazan and Singer 2011) keeps a sum of squares for each weight and divides by its root:
#
# $$s_t = s_{t-1} + g_t^2, \qquad \theta_t = \theta_{t-1} - \eta\, \frac{g_t}{\sqrt{s_t} + \varepsilon} ,$$
#
# all of it coordinate by coordinate; $\varepsilon$ (eps) is a tiny number against division by zero. A weight that
# has seen few gradients has a small sum and takes long steps. Each weight has its own clock. What stands before $g_t$
# in a step, here $\eta / (\sqrt{s_t} + \varepsilon)$, is the weight's **effective learning rate**.

# %% [markdown] tags=["predict"]
# **Predict.** 40 features, present in between 1/2 and 1/333 of the examples; 3000 examples, one per step; each
# optimizer at the best of nine learning rates. SGD leaves an error of 0.40 in the rarest weights. What does AdaGrad
# leave? And why should RMSProp, which divides by a *running mean* of the squares, do better or worse?

# %%
explore(lab.rare_features)

# %% [markdown]
# AdaGrad halves the error that SGD leaves in the rare weights, 0.18 instead of 0.40, without doing worse on the
# frequent ones. SGD cannot simply take a larger $\eta$: the frequent features, which come many at a time, set the
# limit.
#
# RMSProp is in between, 0.29. Its running mean, over some 100 steps here, has forgotten a rare feature's last
# gradient when the next one comes, 300 steps later; so the step is a long one, however often the feature has been
# seen, and noise is never averaged away. Here, forgetting is a fault. (The picture holds two more, from 4.2 and 4.3.
# Adam remembers for 1000 steps, longer than the gap, and at 0.22 it is ahead of RMSProp.) Move `rarest` up to 0.3
# and the lead is gone: with no rare features there is nothing to win.

# %% tags=["claim"]
rare, level = lab.rare_features(), lab.rare_features(rarest=0.3)
claim("SGD leaves more error in the rare weights than AdaGrad", rare.against("SGD", "AdaGrad").margin, above=0.5)
claim("so does RMSProp, which forgets", rare.against("RMSProp", "AdaGrad").margin, above=0.5)
claim("with no rare features the lead is gone", level.against("SGD", "AdaGrad").largest, below=0.05)

# %% [markdown]
# ## 4.2  What does AdaGrad never do?
#
# Its sum can only grow, so its effective learning rates can only fall. **RMSProp** (Tieleman and Hinton 2012) puts a
# running mean in place of the sum,
#
# $$v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2, \qquad
# \theta_t = \theta_{t-1} - \eta\, \frac{g_t}{\sqrt{v_t} + \varepsilon} ,$$
#
# and forgets like $\beta_2^k$. **AdaDelta** (Zeiler 2012) does the same, and multiplies by a running root mean
# square of its own past steps in place of $\eta$. Its steps then have the units of $\theta$, whatever the units of
# the loss are.

# %% [markdown] tags=["predict"]
# **Predict.** After 100 steps with gradients of size 1, ten come that are 30 times as large; then all is as before.
# How long does each of the three need until its effective learning rate is half of what it was?

# %%
explore(lab.memory)

# %% [markdown]
# RMSProp spends 93 steps below half: $v - 1$ must fall from about 360 to 3, and each step multiplies it by $\beta_2 =
# 0.95$. AdaDelta takes longer, 238, since the root mean square of its own steps has shrunk as well. AdaGrad's sum holds
# the $10 \cdot 30^2 = 9000$ forever: it would take 9000 gradients of size 1 to add as much again. One bad batch at the
# start of a training, and every later step is shorter. On a convex problem with a fixed distribution that is what one
# wants (steps must shrink); for a network, whose gradients at the start say little about those at the end, it seldom
# is.

# %% tags=["claim"]
burst = lab.memory()
claim("RMSProp is back after about 93 steps", burst.recovers("RMSProp"), near=93, within=4)
claim("AdaDelta after about 238", burst.recovers("AdaDelta"), near=238, within=8)
claim("AdaGrad is not back at a fifth after 490", burst.rates["AdaGrad"][-1], below=0.2)

# %% [markdown]
# ## 4.3  How long is a step of Adam?
#
# **Adam** (Kingma and Ba 2015) is RMSProp with a running mean $m$ of the gradients on top:
#
# $$m_t = \beta_1 m_{t-1} + (1 - \beta_1)\, g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2)\, g_t^2 ,$$
#
# $$\hat m_t = \frac{m_t}{1 - \beta_1^t}, \qquad \hat v_t = \frac{v_t}{1 - \beta_2^t}, \qquad
# \theta_t = \theta_{t-1} - \eta\, \frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} ,$$
#
# with $\beta_1 = 0.9$, $\beta_2 = 0.999$, $\varepsilon = 10^{-8}$ and $\eta = 0.001$ unless told otherwise. The hats
# are the *bias correction*. Both means start at 0, so after $t$ steps the weights in them sum to $1 - \beta^t$ only,
# and dividing by that makes them means again.

# %% tags=["predict"]
worst = predict(
    "Without the hats the first step is sqrt(10) = 3.16 times too long. How many times too long is the worst?",
    Log(1, 1000),
    id="04.3",
)
worst

# %%
explore(lab.first_steps)

# %% [markdown]
# With the hats, the first step is $\eta\, g / \sqrt{g^2}$: **$\eta$ in every coordinate, whatever the gradient**, as
# long as that is large beside $\varepsilon$. Drag `scale` over 18 orders of magnitude. While the gradients keep their
# sign and size, every step is $\eta$.
#
# Without, the step is too long by $(1 - \beta_1^t) / \sqrt{1 - \beta_2^t}$. At $t = 1$ that is $0.1 / \sqrt{0.001}$,
# the 3.16 that everybody quotes. But $m$ fills up within ten steps or so, and $v$ takes a thousand: the factor
# *grows*, to 6.57 at step 12, is still above 2 after 287 steps, and within 5 % only after 2374. Most short
# trainings would be over. With $\beta_2 = 0.99$ it is a matter of 200 steps.
#
# Once the gradients are noise, $\hat m$ averages them and steps are shorter than $\eta$ (move `noise`). So $\eta$ is
# about the longest step that Adam takes, with one kind of exception: gradients that grow all of a sudden, or come after
# a long silence. They find $v$ as good as empty, as the first ones do without the hats, and the steps reach almost the
# same $6.57\,\eta$. (No sequence of gradients brings them above $7.27\,\eta$.) Bias correction is for the start, not
# for a sudden rise.

# %% tags=["claim"]
start = lab.first_steps()
claim("the first step is lr", start.adam[0], near=1, within=1e-4)
claim("without the correction steps stay twice too long for 287", start.steps_above(2), near=287, within=3)
claim("a sudden rise makes almost as long a step", lab.longest_after_a_rise(1e6), above=6, below=start.worst[1])
worst.reveal(start.worst[1])

# %% [markdown]
# ## 4.4  In which units is the learning rate?
#
# Multiply the loss by $c$, which changes nothing about the problem. All gradients are multiplied by $c$; $\hat m$
# too; $\sqrt{\hat v}$ too; and the quotient stays what it was, but for $\varepsilon$. SGD's steps are $c$ times as
# long. Below, the same noisy bowl is minimized with 61 values of $c$, over 18 orders of magnitude, at one $\eta$.

# %% [markdown] tags=["predict"]
# **Predict.** Over what range of $c$ does SGD bring the value down tenfold? Over what range does Adam, and where does
# that range end? What does Adam become when $\varepsilon$ is 1?

# %%
explore(lab.rescaled)

# %% [markdown]
# SGD works for $c$ from 0.03 to 1; above 2 it diverges. Adam and RMSProp give the same end, to a tenth of a percent,
# for all $c$ from $10^{-4}$ to $10^6$, and work down to where gradients are as small as $\varepsilon$. There
# $\sqrt{\hat v}$ no longer counts beside it, the step is $\eta\, \hat m / \varepsilon$, and Adam is SGD with momentum
# at the learning rate $\eta / \varepsilon$. Drag `eps`: the edge follows.
#
# So SGD's $\eta$ has units (a length per slope), and Adam's is a length. $\varepsilon$ has units again, those of a
# gradient: it is a statement about which gradients are too small to be believed. In the network of 4.6, with the decay
# that is set there, all $\sqrt{\hat v}$ are above $10^{-6}$, and $10^{-8}$ is nothing; in a large model it may be
# something, since a gradient of length 1 over seven billion weights has a root mean square of $1.2 \cdot 10^{-5}$, and
# less later on (Wortsman et al. 2023); and in float16 $10^{-8}$ *is* zero (lecture 10).
#
# What Adam does not survive is a rotation (3.8): it scales *axes*.

# %% tags=["claim"]
units = lab.rescaled()
claim("Adam's end is the same over ten decades of c", units.spread("Adam", 1e-4, 1e6), below=1.01)
claim("SGD works up to c of about 1", units.works("SGD")[1], above=0.5, below=2.0)
moved = lab.rescaled(eps=1e-5).works("Adam")[0] / units.works("Adam")[0]
claim("eps 1000 times as large moves the edge 1000-fold", moved, near=1000, within=300)

# %% [markdown]
# ## 4.5  How many learning rates has a network?
#
# Five optimizers train one network on the handwritten digits, from the same weights on the same batches, each at a
# learning rate that suits it. `lr_scale` multiplies all of them. The effective learning rate of a weight is its step
# over its gradient; between the two thin lines of a color lie 80 % of the weights.

# %% [markdown] tags=["predict"]
# **Predict.** How wide is that band for SGD? Of momentum? Of the adaptive ones: a factor of 2, 20, or 2000? Toward the
# end gradients shrink. In which direction does that move the effective learning rates of AdaGrad, RMSProp and Adam?

# %%
explore(lab.digits_race)

# %% [markdown]
# SGD has one learning rate; momentum's differ by a factor of two, since some gradients turn more often than others.
# Those of the adaptive ones are spread over a factor of ten to twenty. AdaGrad's fall from the first step to the last,
# as 4.2 said they must, here to about a fifth. RMSProp's and Adam's fall at first, and from about step 60 on they
# *rise*: gradients have shrunk with the loss, and the root in the denominator shrinks after them. RMSProp forgets the
# large ones; Adam's $\hat v$, after 120 steps a mean over nearly all of them, is diluted by the small ones. SGD's steps
# shrink with the gradients, Adam's do not, and that is one reason to let $\eta$ fall (lecture 5).
#
# Who ends lowest here depends on the seed, and one seed settles nothing. 4.10 and 4.11 do it properly.

# %% tags=["claim"]
race = lab.digits_race()
adaptive = ("AdaGrad", "RMSProp", "Adam")
claim("momentum's effective learning rates differ twofold or so", race.spread("momentum"), below=4)
claim("the adaptive ones' by ten and more", min(race.spread(name) for name in adaptive), above=7)
fall = race.effective["AdaGrad"][0, 1] / race.effective["AdaGrad"][-1, 1]
claim("AdaGrad's fall to about a fifth", fall, near=5, within=1.5)

# %% [markdown]
# ## 4.6  What does weight decay become inside Adam?
#
# For plain SGD, adding $\tfrac{\lambda}{2} |\theta|^2$ to the loss and shrinking the weights by $\eta\lambda$ a step
# are the same thing. ($\lambda$ is now the decay.) With momentum they differ a little, since L2 enters the velocity; in
# Adam they differ much. With **L2** the gradient is $g + \lambda\theta$, and what is added there is divided by the root
# like everything else: the weight loses about
#
# $$\eta\,\lambda\,\theta \,/ \sqrt{\hat v} .$$
#
# **AdamW** (Loshchilov and Hutter 2019) leaves the gradient alone, and subtracts $\eta\,\lambda\,\theta$ separately.
# Below, a network is trained on the digits. In each step the same gradients and weights are given to Adam, to Adam with
# L2 and to AdamW, and the difference that decay makes is recorded for each of the 2368 weights.
#
# 128 weights belong to four pixels that no image has inked. Their gradient is exactly zero.

# %% tags=["predict"]
blank = predict(
    "Weights of blank pixels, L2 inside Adam: lambda is raised 1000-fold. How many times faster do they shrink?",
    Log(0.5, 2000),
    id="04.6",
)
blank

# %%
explore(lab.shrinkage)

# %% [markdown]
# Each dot is a weight. AdamW takes the same share of all. L2 inside Adam takes $1/\sqrt{\hat v}$ times as much: the
# dots lie on the theory's line, slope $-1.01$, and the shares differ more than 100-fold from the 5th to the 95th
# percentile. The weights with *large* gradients, those that the training uses, are regularized least. (The theory is
# about the mean. In this one step a few weights lie off the line, and those at the lower edge even grew.)
#
# And the blank pixels: their gradient is $\lambda\theta$ alone, so its root is $\lambda|\theta|$, and $\lambda$
# cancels. They move by $\eta$ a step toward 0 whatever $\lambda$ is; only whether it is zero counts. Raise `decay` and
# watch those crosses slide along the line. (Their share *over* $\eta\lambda$ falls as $\lambda$ grows.)
#
# In `torch.optim`, `weight_decay` means L2 in `Adam`, unless it is told `decoupled_weight_decay=True`, and the other
# thing in `AdamW`. A value of 0.01, copied from one to the other, is a different experiment.

# %% tags=["claim"]
lost = lab.shrinkage()
claim("L2 inside Adam takes 1 / root of a weight: the slope is -1", lost.slope, near=-1, within=0.05)
claim("AdamW takes the same share of every weight", np.ptp(lost.decoupled) / lost.lr / lost.decay, below=0.05)
strong, weak = (lab.shrinkage(decay) for decay in (1e-2, 1e-5))
factor = np.median(strong.coupled[strong.blank]) / np.median(weak.coupled[weak.blank])
claim("blank pixels do not see lambda", factor, near=1, within=0.1)
blank.reveal(float(factor))

# %% [markdown]
# ## 4.7  Can Adam fail on a convex problem?
#
# The point $x$ lives between $-1$ and $1$, and the slopes repeat in threes: $C$, $-1$, $-1$, with $C > 2$. In a round
# they sum to more than 0, so the best place is $-1$. Everything is convex, linear even. Reddi, Kale and Kumar (2018)
# chose $\beta_1 = 0$, $\beta_2 = 1/(1 + C^2)$, and a learning rate that falls like $1/\sqrt t$.
#
# Their **AMSGrad** divides by the root of the largest $v$ so far in place of the last (torch then corrects it for
# bias): once the correction is over, learning rates may fall, never rise. Right in the picture is the average
# **regret**: by how much the loss, a step, is above that of staying at $-1$ all the time.

# %% [markdown] tags=["predict"]
# **Predict.** $C = 3$. Where does Adam go? What happens if its memory $\beta_2$ is longer, 0.9? And with momentum,
# $\beta_1 = 0.9$?

# %%
explore(lab.adam_counterexample)

# %% [markdown]
# To $+1$, the worst point there is. The large slope is divided by a root that it has just made large itself, and so
# counts for little more than one; by the time the two small ones come, $v$ has forgotten it, and they count for
# one each. One against two. AMSGrad remembers, and arrives. So does SGD.
#
# One can compute what a round comes to (call it the *drift*) and it says where Adam ends, for each $C$ and $\beta_2$:
# at $C = 3$ Adam fails for every $\beta_2$ below 0.47, not only at the published 0.1. With $\beta_2 = 0.9$ it
# arrives. With $\beta_1 = 0.9$ it arrives as well, even at the published $\beta_2$: $m$ is then nearly the mean of the
# round, and that has the right sign.
#
# So it takes memories, in $v$ and in $m$, that are shorter than the time between the gradients that matter. With
# $\beta_2 = 0.999$ that sounds harmless, until large gradients are rare: set `period` to 101 and `excess` to 1.01 ($C$
# is `excess` times (`period` $- 1$), so 101), $\beta_1 = 0.9$, $\beta_2 = 0.99$, 6000 steps. It is the second sequence
# of the paper: the round favors $-1$ by a hair, Adam ends at $+0.50$, AMSGrad at $-0.91$, while SGD swings widely at
# this learning rate, around $-0.6$ at the end. The usual $\beta_2$ is large, so it takes very rare gradients to catch
# Adam. But a $\beta_2$ lowered "to adapt faster" moves toward this picture.

# %% tags=["claim"]
paths = lab.adam_counterexample().paths
claim("Adam goes to the worst point", paths["Adam"][-1], above=0.9)
claim("AMSGrad to the best", paths["AMSGrad"][-1], below=-0.9)
claim("theory tells where Adam ends, over 1320 settings", lab.counterexample_map().agreement, above=0.97)
rounds = lab.adam_counterexample(1.01, 101, 0.9, 0.99, steps=6000).paths
claim("a rare large slope catches Adam at 0.99 too", rounds["Adam"][-1] - rounds["AMSGrad"][-1], above=1)

# %% [markdown]
# ## 4.8  What do Adam's relatives change, and what do they keep?
#
# | | changes | to |
# |---|---|---|
# | AMSGrad | $\hat v$ | the largest $v$ so far |
# | NAdam (Dozat 2016) | $\hat m$ | Nesterov's look-ahead, with a $\beta_1$ that begins at half its value |
# | RAdam (Liu et al. 2020) | the first steps | five of plain momentum (torch), then a factor $r_t$ up to 1 |
# | Lion (Chen et al. 2023) | the quotient | the *sign* of a momentum: every step is $\eta$ |
# | Adafactor (Shazeer and Stern 2018) | $v$ of a matrix | a row's and a column's mean, multiplied |
#
# And what do they keep? Count the tensors of their states, for a matrix of any shape:

# %% [markdown] tags=["predict"]
# **Predict.** Bytes a parameter, in float32, for SGD, momentum, Adam, AMSGrad, Lion, and for Adafactor on a
# $512 \times 128$ matrix? Then: with gradients that are pure noise, how long are the steps of Adam, NAdam and Lion
# after a while, in units of $\eta$? How long is RAdam's *first* step?

# %%
explore(lab.state_bytes)

# %%
explore(lab.early_steps)

# %% [markdown]
# SGD keeps nothing, momentum and Lion 4 bytes, Adam 8: for a model of seven billion parameters 56 GB, more than the
# parameters themselves. AMSGrad keeps 12. Adafactor keeps $n + m$ numbers for $nm$ parameters, here 0.04 bytes a
# parameter. Shampoo and SOAP (4.12) keep matrices, in float64 here, and how much that is depends on the shape.
#
# With pure noise Adam's steps settle at $\sqrt{(1 - \beta_1)/(1 + \beta_1)} = 0.23\,\eta$, the root mean square of
# such a running mean. NAdam's are two and a half times as long after 300 steps: its $\beta_1$ is still on its way
# up, which takes thousands. Lion's are more than four times as long. Where gradients are mostly noise, a learning
# rate tuned for one is wrong for the other by about such factors; Lion's authors advise to divide Adam's by 3 to 10.
# (Where they agree, as with `signal` at 3, all steps are near $\eta$.)
#
# And RAdam: its authors argue that the *variance* of $1/\sqrt{\hat v}$ is huge while few gradients are in it, so it
# waits until five are and then lets in the quotient slowly. Its factor $r_t$ does not look at gradients: it is a
# function of $t$ and $\beta_2$, a warm-up. Ma and Yarats (2021) refute the argument, explain warm-up by the size of the
# first updates, and find a linear one over $2/(1 - \beta_2)$ steps as good; the two factors never differ by more than
# 0.24. But look at the five steps before, and drag `scale` to 1000: they are SGD's, in SGD's units. With gradients of
# size 1000 RAdam's first step is nearly a thousand times $\eta$.

# %% tags=["claim"]
kept, noise = lab.state_bytes(), lab.early_steps(signal=0.0)
names = ("SGD", "momentum", "Lion", "Adam", "AMSGrad")
claim("bytes a parameter: 0, 4, 4, 8, 12", [kept.per_parameter(name) for name in names] == [0, 4, 4, 8, 12])
claim("on noise Adam's steps settle at 0.23 lr", noise.settled("Adam"), near=(0.1 / 1.9) ** 0.5, within=0.03)
loud = lab.early_steps(signal=0.0, scale=1000.0).sizes["RAdam"][0]
claim("RAdam's first step is in SGD's units", loud, above=500)

# %% [markdown]
# ## 4.9  Is your Adam an Adam?
#
# An optimizer with a mistake still trains, somehow, and no test of yours turns red. `check_adam`, `check_adamw` and
# `check_rmsprop` run yours beside the course's on gradients that are tiny, huge, sparse, zero and of changing sign, and
# where they part they say which mistake has the same numbers. They take a function as below, a class as in
# `torch.optim`, or a `Transform`.
#
# Here is one, with a line that is not quite right. Change it, or hand in your own.


# %% [markdown] tags=["predict"]
# **Predict.** Read `mine`. Which mistake will be named? Once it is fixed: is it an Adam with weight decay, an AdamW,
# both or neither?


# %% tags=["build"]
def mine(theta, grad, state, lr, b1, b2, eps, decay=0.0):
    grad = grad + decay * theta
    t = state.get("t", 0) + 1
    m = b1 * state.get("m", 0.0) + (1 - b1) * grad
    v = b2 * state.get("v", 0.0) + (1 - b2) * grad**2
    step = m / (1 - b1**t) / np.sqrt(v / (1 - b2**t) + eps)
    return theta - lr * step, {"t": t, "m": m, "v": v}


lab.check_adam(mine)

# %% [markdown]
# `eps` is inside the root. With $\varepsilon = 10^{-8}$ it then acts as $10^{-4}$ does outside: by 4.4, the edge moves
# by four orders of magnitude, and nobody sees it until gradients are small.
#
# Asked whether it is an AdamW, the suite names two mistakes at once: the decay, too, is in the wrong place. torch's
# `Adam` is an Adam and not an AdamW either, for the one reason of 4.6.

# %% tags=["claim"]
claim("your line is named", lab.check_adam(mine).mistake == "eps inside the root")
claim("torch's Adam is an Adam", lab.check_adam(torch.optim.Adam).passed)
claim("and no AdamW", lab.check_adamw(torch.optim.Adam).mistake == "coupled decay")

# %% [markdown]
# ## 4.10  Folklore on trial: "Adam needs no tuning"
#
# Four tasks: the digits; the digits with a deeper network; the digits with the loss multiplied by 100; and MNIST-1D,
# noisy one-dimensional shapes. Adam and SGD with momentum 0.9 get the same budget: nine learning rates over four
# decades, for each of four seeds. `tune` chooses on validation, for each seed by itself, and tests the choice on a
# fresh run, so that the interval holds the luck of tuning, too. An optimizer with one learning rate is not tuned.

# %% tags=["predict"]
price = predict(
    "Averaged over the four tasks: how many points of test accuracy does the default cost?", Linear(0, 90), id="04.10"
)
price

# %% tags=["build"]
momentum = partial(optim.sgd, beta=0.9)
pair = {"SGD": (momentum, np.logspace(-4, 0, 9)), "Adam": (optim.adam, np.logspace(-5, -1, 9))}
three = pair | {"Adam at 0.001": (optim.adam, [1e-3])}
trials = {name: tune(three, None, epochs=5, seeds=4, **task) for name, task in lab.tasks().items()}
trials["digits"]

# %%
trials["digits, loss x 100"]

# %% [markdown]
# *The default is no tuning, and it shows.* Against tuning, 0.001 costs between 13 and 23 points on every task. These
# trainings are short, five epochs, and 0.001 is too small for a short training (in 4.11, with 14 epochs, it misses far
# less). *Nor is Adam's good range wider than SGD's*: look at the valleys.
#
# But one thing holds. SGD's best $\eta$ moves by a factor of 100 from the digits to the loss times 100; Adam's does not
# move at all. Now take the digits' best to the other tasks:

# %% tags=["build"]
known = {name: trials["digits"].best(name) for name in pair}
fixed = {name: (pair[name][0], [lr]) for name, lr in known.items()}
carried = {name: tune(fixed, None, epochs=5, seeds=4, **task) for name, task in lab.tasks().items()}
lost = {(n, name): (trials[name].accuracy[n] - carried[name].accuracy[n]).mean() for name in carried for n in pair}
{key: round(100 * points, 1) for key, points in lost.items()}

# %% [markdown]
# For the loss times 100, SGD's learning rate is a disaster, and Adam's costs nothing: by 4.4 it is the same run again.
# To the deeper network and to MNIST-1D both carry at no more than a few points. So: tune Adam once per kind of problem
# and length of run, and rescaling will not undo it. (Width may: Yang et al. 2022.) That is worth much, and it is not
# "needs no tuning".

# %% tags=["claim"]
costs = [trial.compare("Adam", "Adam at 0.001").mean for trial in trials.values()]
claim("the default costs points on every task", min(costs), above=0.08)
scaled = trials["digits, loss x 100"]
claim("SGD's best learning rate moves with the loss's units", known["SGD"] / scaled.best("SGD"), above=20)
claim("Adam's does not", known["Adam"] / scaled.best("Adam"), above=0.3, below=3.5)
price.reveal(100 * float(np.mean(costs)))

# %% [markdown]
# ## 4.11  Folklore on trial: "Adam generalizes worse than SGD"
#
# Wilson et al. (2017) found adaptive methods behind SGD in test accuracy, and the sentence stuck. Choi et al. (2019)
# then showed that the order depends on what is tuned. Same rules as before, six seeds, 14 epochs: on the digits, where
# both fit the whole training set, and on MNIST-1D with 1000 examples, where such a network gets less than half of the
# test right, and so has much room to generalize badly.

# %% [markdown] tags=["predict"]
# **Predict.** SGD's test accuracy minus Adam's, in points, on each: the sign, and whether six seeds can tell it from 0?

# %% tags=["build"]
tasks = lab.tasks()
digits_trial = tune(pair, None, epochs=14, seeds=6, **tasks["digits"])
shapes_trial = tune(pair, None, epochs=14, seeds=6, **tasks["MNIST-1D"])
digits_trial

# %%
shapes_trial

# %% [markdown]
# On the digits Adam is ahead by about half a point. On MNIST-1D SGD is ahead by about four. So the saying is true here?
#
# Look at what was tuned. The lowest validation *loss* stops Adam at a learning rate ten times below the one with the
# best validation *accuracy*: this network is overconfident long before it is worse. Choose by accuracy instead
# (`by="accuracy"`), and with 24 seeds, in the tests of this lecture, SGD's lead is about one point. So the lead changes
# sign with the task and shrinks with what one chooses by, and it is much smaller than the effect of the learning rate
# in 4.10. A convolutional network on natural images, where the saying comes from, is another task again.
#
# What is certain is how it gets confirmed too easily: tune SGD, take Adam at 0.001, and you have your result.

# %% tags=["claim"]
leads = [trial.compare("SGD", "Adam").mean for trial in (digits_trial, shapes_trial)]
claim("on the digits Adam is ahead, by less than two points", -leads[0], above=0, below=0.02)
claim("on MNIST-1D SGD is ahead, by a few", leads[1], above=0.01, below=0.08)

# %% [markdown]
# ## 4.12  Frontier: what if a matrix were treated as a matrix?
#
# *This section is recent research.* Adam sees a weight matrix as a list of numbers. Three that do otherwise, and one
# without a matrix that joins the race:
#
# - **Shampoo** (Gupta, Koren and Singer 2018): AdaGrad with a matrix for the rows, $L = \sum g g^\top$, and one for the
#   columns, $R = \sum g^\top g$; the step is $-\eta\, L^{-1/4} g\, R^{-1/4}$.
# - **SOAP** (Vyas et al. 2024): Adam, run in the basis of the eigenvectors of $L$ and $R$.
# - **Muon** (Jordan et al. 2024): momentum, every singular value of which is set to about 1. No second moment.
# - **Schedule-free** (Defazio et al. 2024): no matrix; an average over the run takes the place of the falling $\eta$.
#
# First a problem made for them: $\tfrac12 |A (W - W^*) B|^2$ over a matrix $W$, once with $A$ and $B$ diagonal, once
# with all of it randomly rotated, left and right. Then a small network on the digits, three epochs, each optimizer at
# its own best of six learning rates, which falls linearly to 0 but where the name says otherwise.

# %% [markdown] tags=["predict"]
# **Predict.** Which of momentum, Adam, Muon, Shampoo and SOAP end higher on the turned problem than on the straight
# one, and by how much? Who is ahead on the network, and by as much as on the matrix?

# %%
matrix = lab.matrix_race()
matrix


# %% tags=["build"]
def fall(make):
    line = schedules.scale_by_schedule(schedules.polynomial(3 * 34))  # to 0 over three epochs of 34 batches
    return lambda lr: optim.chain(make(lr), line)


def averaged(lr):
    return optim.landing(optim.schedule_free(optim.adam(lr, b1=0.0)), 3 * 34)


made = {"Adam": fall(optim.adam), "Muon": fall(optim.muon), "schedule-free": averaged}
made |= {"SOAP": fall(partial(optim.soap, b1=0.9, b2=0.9))}  # forgets faster than its authors' 0.95: runs are short
lrs = 0.2 * 0.5 ** np.arange(6.0)[::-1]
network = tune(
    made | {"Shampoo": (fall(optim.shampoo), 16 * lrs)}, lrs, tasks["digits"]["data"], epochs=3, batch=32, seeds=6
)
network

# %% [markdown]
# Momentum, Muon and Shampoo know no axes: the turned problem is the same to them, and so are their curves, but for
# rounding. Adam ends hundreds of times higher. SOAP, which begins as Adam does and must find the axes on its way, ends
# two to seven times higher. And Shampoo ends hundreds of times lower than all: the curvature of this problem is a
# matrix for the rows times one for the columns, with the same eigenvectors as Shampoo's two, so that its steps undo
# most of it.
#
# On the network the picture is another. Over 32 seeds SOAP, Shampoo and schedule-free Adam end 10 to 25 % below Adam's
# test loss; Muon is level with it. Eight of these seeds at a time show anything from a quarter below to level. In
# accuracy no lead is more than about a point, and few can be told from zero.
#
# Read such results, these too, with 4.10 in mind: 102 steps, a network of 2400 parameters, each tuned on six learning
# rates and nothing else. In large language models Muon and SOAP save steps at equal loss by their authors' account;
# a benchmark that tunes all alike finds smaller gains than claimed (Wen et al. 2025).

# %% tags=["claim"]
claim("Adam minds the turn", matrix.loses("Adam"), above=50)
claim("Shampoo does not", matrix.loses("Shampoo"), near=1, within=0.1)
ratio = {name: np.exp(np.log(row / network.loss["Adam"]).mean()) for name, row in network.loss.items()}
claim("SOAP ends below Adam on the network", ratio["SOAP"], below=0.95)
claim("Muon is level with it", ratio["Muon"], near=1, within=0.15)

# %% [markdown]
# ## Summary
#
# - AdaGrad divides by the root of a sum of squares, and feeds rare features; its sum never forgets. RMSProp and
#   AdaDelta forget, and pay for it where gradients are rare.
# - Adam's first step is $\eta$ in every coordinate. Without bias correction steps are too long by
#   $(1-\beta_1^t)/\sqrt{1-\beta_2^t}$: 3.16 at first, 6.57 at step 12, over 2 for 287 steps.
# - Adam does not see the units of the loss, down to gradients of the size of $\varepsilon$. It does see the axes.
# - L2 inside Adam takes $\eta\lambda/\sqrt{\hat v}$ of a weight, AdamW $\eta\lambda$. A weight without gradient moves
#   by $\eta$ under L2, whatever $\lambda$ is.
# - With a memory shorter than the time between important gradients, Adam may go to the worst point; AMSGrad does not.
# - Bytes of state a parameter: SGD 0, momentum and Lion 4, Adam 8, AMSGrad 12, Adafactor next to none.
# - RAdam's rectification is a warm-up, and its first five steps are in SGD's units.
# - Adam needs tuning: its good range is as narrow as SGD's, and the default cost 13 to 23 points. But the good range
#   stays where it is when the loss changes its units.
# - At equal budgets, who generalizes better depended on the task and on what the learning rate was chosen by.

# %% [markdown]
# ## Exercises
#
# Replace each `...`. The cell after it says what it verified or, if it can, which mistake you made. Arrays are numpy
# arrays of one shape, the rest are numbers; the caller still needs the old arrays.
#
# **1. AdaGrad.** Return the new `theta` and the new `total`, the sum of squares; `eps` outside the root.


# %% tags=["exercise"]
def adagrad(theta, total, grad, lr, eps):
    ### BEGIN SOLUTION
    total = total + grad**2
    return theta - lr * grad / (np.sqrt(total) + eps), total
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_adagrad_step(adagrad)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **2. Adam.** `state` is `{}` before the first step. Return the new `theta` and a new `state` with what you want to
# find there next time. It is judged on gradients that are tiny, huge,
# sparse, zero and of changing sign.


# %% tags=["exercise"]
def adam(theta, grad, state, lr, b1, b2, eps):
    ### BEGIN SOLUTION
    t = state.get("t", 0) + 1
    m = b1 * state.get("m", 0.0) + (1 - b1) * grad
    v = b2 * state.get("v", 0.0) + (1 - b2) * grad**2
    step = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps)
    return theta - lr * step, {"t": t, "m": m, "v": v}
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_adam(adam)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **3. AdamW.** The same with decoupled weight decay: the learning rate multiplies the decay. Use your `adam`.


# %% tags=["exercise"]
def adamw(theta, grad, state, lr, b1, b2, eps, decay):
    ### BEGIN SOLUTION
    moved, state = adam(theta, grad, state, lr, b1, b2, eps)
    return moved - lr * decay * theta, state
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_adamw(adamw)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. AMSGrad.** `t` is 1 in the first step. Keep in `peak` the largest `square` so far, coordinate by coordinate,
# before any correction; divide by the root of the *corrected* peak, plus `eps`. Return the new `theta`, `mean`,
# `square` and `peak`.


# %% tags=["exercise"]
def amsgrad(theta, mean, square, peak, grad, t, lr, b1, b2, eps):
    ### BEGIN SOLUTION
    mean = b1 * mean + (1 - b1) * grad
    square = b2 * square + (1 - b2) * grad**2
    peak = np.maximum(peak, square)
    step = mean / (1 - b1**t) / (np.sqrt(peak / (1 - b2**t)) + eps)
    return theta - lr * step, mean, square, peak
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_amsgrad_step(amsgrad)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Answer aloud before you unfold. Each answer is backed by a call that you can run.

# %%
questions("04_adaptive")

# %% [markdown]
# ## References
#
# - J. Duchi, E. Hazan, Y. Singer, *Adaptive Subgradient Methods for Online Learning and Stochastic Optimization*, 2011.
# - T. Tieleman, G. Hinton, *Neural Networks for Machine Learning*, lecture 6.5, 2012: RMSProp.
# - M. D. Zeiler, *ADADELTA: An Adaptive Learning Rate Method*, 2012.
# - D. P. Kingma, J. Ba, *Adam: A Method for Stochastic Optimization*, 2015.
# - T. Dozat, *Incorporating Nesterov Momentum into Adam*, 2016.
# - A. C. Wilson et al., *The Marginal Value of Adaptive Gradient Methods in Machine Learning*, 2017.
# - S. J. Reddi, S. Kale, S. Kumar, *On the Convergence of Adam and Beyond*, 2018.
# - N. Shazeer, M. Stern, *Adafactor: Adaptive Learning Rates with Sublinear Memory Cost*, 2018.
# - V. Gupta, T. Koren, Y. Singer, *Shampoo: Preconditioned Stochastic Tensor Optimization*, 2018.
# - I. Loshchilov, F. Hutter, *Decoupled Weight Decay Regularization*, 2019.
# - D. Choi et al., *On Empirical Comparisons of Optimizers for Deep Learning*, 2019.
# - L. Liu et al., *On the Variance of the Adaptive Learning Rate and Beyond*, 2020: RAdam.
# - J. Ma, D. Yarats, *On the Adequacy of Untuned Warmup for Adaptive Optimization*, 2021.
# - X. Chen et al., *Symbolic Discovery of Optimization Algorithms*, 2023: Lion.
# - G. Yang et al., *Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter Transfer*, 2022.
# - M. Wortsman et al., *Small-scale Proxies for Large-scale Transformer Training Instabilities*, 2023.
# - S. Greydanus, D. Kobak, *Scaling Down Deep Learning with MNIST-1D*, 2024.
# - A. Defazio et al., *The Road Less Scheduled*, 2024.
# - K. Jordan et al., *Muon: An Optimizer for Hidden Layers in Neural Networks*, 2024.
# - N. Vyas et al., *SOAP: Improving and Stabilizing Shampoo using Adam*, 2024.
# - K. Wen, D. Hall, T. Ma, P. Liang, *Fantastic Pretraining Optimizers and Where to Find Them*, 2025.
