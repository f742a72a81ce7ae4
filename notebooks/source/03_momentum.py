# %% [markdown]
# # 3  Momentum
#
# Lecture 2 left a quarrel (2.3): the learning rate that suits the steep direction of a ravine starves the flat one, and
# the bill grows like the condition number. This lecture gives the iterate a memory and asks what that buys, exactly:
# where it is stable, when it oscillates, how fast it can be made, and where its guarantees end.
#
# You will also put an optimizer of your own into the same diagram, find out which of several conventions it
# follows, and see what is left of all this when the gradients are noisy. That is less than most people think.

# %%
import numpy as np

from course_lib import data, optim
from course_lib.lectures import momentum as lab
from course_lib.ranges import Choice, Linear, Log
from course_lib.trials import at_the_end, grid
from course_lib.widgets import Order, claim, explore, predict, questions

# %% [markdown]
# ## 3.1  When does momentum oscillate?
#
# One direction of a bowl is enough: $f(x) = \tfrac{\lambda}{2} x^2$, where $\lambda$ (lambda) is the curvature,
# so the gradient is $g = \lambda x$. **Heavy ball** (after Polyak 1964) keeps a velocity $v$ and moves along it:
#
# $$v_t = \beta v_{t-1} + g_t, \qquad x_t = x_{t-1} - \eta\, v_t .$$
#
# The learning rate is $\eta$ (eta), and $\beta$ (beta), from 0 to 1, is how much of its velocity the iterate
# keeps: a gradient that is $k$ steps old still counts with the weight $\beta^k$. At $\beta = 0$ this is gradient
# descent.
#
# Two numbers, $x_t$ and $x_{t-1}$, fix everything that follows, so a step is a $2 \times 2$ matrix. In the long run
# each step multiplies the distance to the minimum, on average, by the absolute value of its larger eigenvalue, the
# spectral radius. Call that the **contraction factor**: what a step leaves of the error. Small is fast.

# %% [markdown] tags=["predict"]
# **Predict.** With $\lambda = 1$ and $\beta = 0.9$ you raise $\eta$ from 0.01 to 0.1. Does the distance shrink faster,
# more slowly, or equally fast in the long run? And when you raise it from 0.001 to 0.01?

# %% [markdown]
# Drag `lr`. The dashed lines are theory: $\pm$ factor$^t$, and the same on a logarithmic axis.

# %%
explore(lab.contraction)

# %% [markdown]
# From 0.01 to 0.1 the factor does not change; only the oscillation gets quicker. Write a step without $v$, $x_{t+1} =
# (1 + \beta - \eta\lambda)\, x_t - \beta\, x_{t-1}$, and the eigenvalues are the roots of
#
# $$r^2 - (1 + \beta - \eta\lambda)\, r + \beta = 0 .$$
#
# Their product is $\beta$. If they are a complex pair, both have the same size, so that size is $\sqrt\beta$,
# **whatever $\eta$ is**; $\eta$ only decides how fast the pair turns. They are a complex pair exactly when
#
# $$(1 - \sqrt{\eta\lambda})^2 < \beta ,$$
#
# and then the run is *under-damped*: it swings through the minimum and back. At $\eta = 0.001$ it does not: the
# eigenvalues are real, the larger one is near 1, and there a larger $\eta$ does help. Drag `lr` to the right end and
# they are real again, but negative: $x$ changes sides at every step, as with plain descent above $\eta\lambda = 1$, and
# beyond 3.8 it diverges. (Near both borders of the complex region the curve lies above its dashed line: there the two
# eigenvalues nearly coincide, a *double root*, and such a pair decays like $t \cdot$ factor$^t$ for a while.)

# %% tags=["claim"]
tiny, slow, fast = (lab.contraction(lr=lr, beta=0.9) for lr in (0.001, 0.01, 0.1))
claim("a complex pair leaves sqrt(beta) a step, whatever lr is", fast.rate - slow.rate, near=0, within=1e-9)
claim("with a tiny lr there is no oscillation", tiny.crossings == 0 < slow.crossings < fast.crossings)
claim("and it is slower", tiny.rate - slow.rate, above=0.01)

# %% [markdown]
# ## 3.2  Which settings converge, and how fast?
#
# Only the product $\eta\lambda$ and $\beta$ count, so all that heavy ball can do on one direction fits into one
# picture, a **phase diagram**. Below, 6000 settings were run for 240 steps each; the color is the contraction factor
# that was measured. The lines are theory. On the right are the two eigenvalues at the setting you choose, and the curve
# they run along as $\eta\lambda$ changes, the *root locus*.

# %% tags=["predict"]
limit = predict(
    "Gradient descent diverges above eta lambda = 2. Where does heavy ball with beta = 0.9?", Linear(0, 5), id="03.2"
)
limit

# %% [markdown]
# Keep `beta` at 0.8 and drag `lr` from one end to the other. Watch the two eigenvalues meet, part, run around a circle,
# meet again on the other side, and leave the unit circle. Then switch `method`.

# %%
explore(lab.phase)

# %% [markdown]
# On a bowl, momentum does not make a learning rate more dangerous; it makes more of them legal. The run converges
# exactly for
#
# $$0 \le \beta < 1, \qquad 0 < \eta\lambda < 2\,(1 + \beta) ,$$
#
# because at the limit the eigenvalue $-1$ solves the equation of 3.1: $1 + (1 + \beta - \eta\lambda) + \beta = 0$. At
# $\beta = 0.9$ that is 3.8. (A negative $\beta$ above $-1$ would be stable, too; nobody uses one.)
#
# Inside the dashed curve colors change only from bottom to top: there the factor is $\sqrt\beta$. So a large $\beta$ is
# a broad guarantee at a modest speed. With $\beta = 0.9$ a step leaves 0.949 of the error in every direction with
# $\eta\lambda$ between 0.0026 and 3.8, be it flat or steep, a range of curvatures of more than 1400. That is what a
# ravine needs.

# %% tags=["claim"]
claim("measured contraction factors are theory's over the whole plane", lab.phase().error, below=0.03)
inside, outside = lab.phase(0.99 * 3.8, 0.9).rate, lab.phase(1.01 * 3.8, 0.9).rate
claim("1 % inside 2 (1 + beta) it converges", inside, below=1)
claim("1 % outside it does not", outside, above=1)
limit.reveal(2 * (1 + 0.9))

# %% [markdown]
# ## 3.3  What does momentum buy in a ravine?
#
# A ravine has curvatures from $\mu$ (mu) to $L$, with the condition number $\kappa = L/\mu$ (kappa). All must
# fall into the dashed region at once, with $\beta$ as small as possible. Both ends then lie on its edge,
# $1 - \sqrt{\eta\mu} = \sqrt\beta = \sqrt{\eta L} - 1$, and solving for the two unknowns gives (Polyak 1964)
#
# $$\eta = \frac{4}{(\sqrt L + \sqrt\mu)^2}, \qquad
# \beta = \left( \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1} \right)^{2}, \qquad
# \text{factor} = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1} \approx 1 - \frac{2}{\sqrt\kappa} .$$
#
# The best that plain descent can do is the same with $\kappa$ for $\sqrt\kappa$.

# %% tags=["predict"]
bill = predict(
    "kappa = 1000: plain descent at its best takes 3180 steps to 1/1000. How many does heavy ball take?",
    Log(10, 5000),
    id="03.3",
)
bill

# %%
explore(lab.tuning)

# %%
steps = lab.growth()
steps

# %% [markdown]
# The lowest of 12000 measured points is where Polyak's formula says. And the number of steps grows like $\sqrt\kappa$
# instead of $\kappa$: at $\kappa = 1000$, 189 steps instead of 3180. (The measured exponent is a little above
# $\tfrac12$: at the best setting the two eigenvalues coincide, and a double root decays like $t\, r^t$.)
#
# Note two things about that best point. It lies in a corner: a little more $\eta$ and the run diverges. And it needs
# $\mu$, which nobody knows for a network. The convention is to take $\beta = 0.9$ and to tune $\eta$: from 3.2, that
# leaves 0.949 a step of every ravine up to $\kappa$ = 1400. That is insurance against a large $\kappa$, not speed:
# below $\kappa \approx 38$ plain descent at its own best is faster. (With `method` at Nesterov the cross is the usual
# setting of 3.5, which is not the best one for bowls.)

# %% tags=["claim"]
best, predicted = lab.tuning().best, lab.tuning().predicted
claim("the fastest of 12000 settings is Polyak's", np.abs(np.subtract(best, predicted)[1:]).max(), below=0.04)
claim("steps grow like sqrt(kappa)", steps.slope("heavy ball"), above=0.48, below=0.62)
saved = steps.rows["gradient descent"][-1] / steps.rows["heavy ball"][-1]
claim("at kappa = 1000 a seventeenth of the steps", saved, near=17, within=2)
bill.reveal(int(steps.rows["heavy ball"][-1]))

# %% [markdown]
# ## 3.4  Does your own optimizer do what you think it does?
#
# The diagram needs nothing but runs, so any optimizer can be put into it. `own_phase` takes a function `(theta,
# velocity, grad, lr, beta)` that returns the new `theta` and `velocity`, arrays of shape (1,). (A class `(params, lr,
# momentum)` with `step` and `zero_grad`, as in torch, will do too, or a function `(lr, beta)` that makes one of
# `course_lib.optim`'s transforms.) It runs 288 settings and compares the contraction factors with those of methods that
# it knows. If your optimizer returns nothing, NaN or another shape, changes what it is given, or raises, the last line
# of the error says so in a sentence.
#
# Two candidates, each a slip away from heavy ball. Change them, or write your own.


# %% [markdown] tags=["predict"]
# **Predict.** `averaged`, below, keeps a mean of gradients instead of a sum. `stale` steps with the velocity from
# before this gradient. How does the diagram of each differ from heavy ball's: is it the same, shifted, or another
# one? Which loses more of the region where runs converge?


# %% tags=["build"]
def averaged(theta, velocity, grad, lr, beta):
    velocity = beta * velocity + (1 - beta) * grad
    return theta - lr * velocity, velocity


def stale(theta, velocity, grad, lr, beta):
    return theta - lr * velocity, beta * velocity + grad


# %%
average, late = lab.own_phase(averaged), lab.own_phase(stale)
average

# %%
late

# %% [markdown]
# `averaged` is heavy ball with $\eta(1 - \beta)$ for $\eta$: the same diagram, moved to the right, nothing lost.
# Whoever copies a learning rate from a paper with one convention into code with the other is wrong by a factor of
# 10 at $\beta = 0.9$, and both will train, somehow.
#
# `stale` is another method. One step of delay, and the region where it converges shrinks: it uses a gradient when
# it is already old. Nothing crashes, no loss is NaN at a small learning rate, and the code looks right. The
# diagram shows it at a glance. (The same delay comes back in lecture 15, when workers send gradients late.)

# %% tags=["claim"]
claim("an average of gradients is heavy ball at eta (1 - beta)", average.behaves_as == "heavy ball at eta (1 - beta)")
claim("`stale` is none of the methods it knows", late.behaves_as is None)
claim("it loses a third of the plane", average.stable - late.stable, above=0.2)

# %% [markdown]
# ## 3.5  What does Nesterov change?
#
# Nesterov (1983) takes the gradient not where the iterate is, but where its velocity is about to carry it:
#
# $$v_t = \beta v_{t-1} - \eta\, \nabla f(\theta_{t-1} + \beta v_{t-1}), \qquad \theta_t = \theta_{t-1} + v_t .$$
#
# Frameworks have the gradient only at the parameters they hold. So torch writes, with the gradient $g_t$ at its
# $\theta$,
#
# $$v_t = \beta v_{t-1} + g_t, \qquad \theta_t = \theta_{t-1} - \eta\, (g_t + \beta v_t) ,$$
#
# and nothing looks ahead anywhere.

# %% [markdown] tags=["predict"]
# **Predict.** Is torch's form an approximation of the first, a different method, or the same? If it is the same,
# why do the two paths differ?

# %%
explore(lab.two_forms)

# %% [markdown]
# It is the same iteration, to rounding, while $\eta$ is constant. torch's parameters *are* the look-ahead point:
# call $\tilde\theta = \theta + \beta v$, write the first form in $\tilde\theta$ and $-v/\eta$, and the second appears
# (the $v$ of the first form is $-\eta$ times torch's). What you save at the end of training is $\tilde\theta$, and
# as $v \to 0$ the difference dies.
#
# On a bowl the look-ahead is a brake that knows the curvature. Where heavy ball's eigenvalues have the size
# $\sqrt\beta$, Nesterov's have $\sqrt{\beta(1 - \eta\lambda)}$, as long as they are complex (at $\beta = 0.9$ for
# $\eta\lambda$ from 0.0028 to 1): steep directions are damped more. In the diagram of 3.2, with `method` at Nesterov,
# colors now change from left to right as well. The price is stability: beyond $\eta\lambda = 1$ the eigenvalues are
# real and grow fast, and the run diverges from $\eta\lambda = 2(1+\beta)/(1+2\beta)$ on, 1.36 at $\beta = 0.9$. The
# usual setting $\eta = 1/L$ and
#
# $$\beta = \frac{\sqrt\kappa - 1}{\sqrt\kappa + 1}$$
#
# has the factor $1 - 1/\sqrt\kappa$: $\sqrt\kappa$ again, in the long run half as fast as heavy ball's best. (In 3.3,
# to a thousandth at $\kappa = 1000$, it is 255 steps instead of 189: heavy ball has a double root at the steep end too,
# where its error falls like $2t\,r^t$, and that costs it part of its lead.) So why should anyone want it?

# %% tags=["claim"]
forms = lab.two_forms()
claim("the two forms are one iteration", forms.apart.max(), below=1e-11)
claim("but at different points", forms.between.max(), above=0.1)
claim(
    "Nesterov leaves less of the error after a step",
    lab.phase(0.5, 0.8, "Nesterov").rate / lab.phase(0.5, 0.8).rate,
    below=0.75,
)

# %% [markdown]
# ## 3.6  What is a setting worth that is perfect on every bowl?
#
# Here is a function whose curvature is never below 1 or above 25: 25 everywhere, except between 1 and 2, where it
# is 1. Its slope is
#
# $$f'(x) = 25x \ (x < 1), \qquad x + 24 \ (1 \le x < 2), \qquad 25x - 24 \ (x \ge 2) .$$
#
# It is convex, smooth enough, and has one minimum, at 0. By 3.3, heavy ball's best for curvatures between 1 and 25
# is $\eta = 1/9$, $\beta = 4/9$, and on every bowl with such curvatures a step then leaves $2/3$ of the error.

# %% tags=["predict"]
fate = predict(
    "Heavy ball with that setting starts at 3.3. After 120 steps it is",
    Choice(("at the minimum", "still on its way", "at infinity", "cycling forever")),
    id="03.6",
)
fate

# %%
explore(lab.cycle)

# %% [markdown]
# It cycles through three places, $-1.80$, $2.12$, $0.65$, forever (Lessard, Recht and Packard 2016). At $2.12$ the
# slope is only 29; on a bowl of curvature 25 it would be 53. The nearly flat stretch between 1 and 2 has left it too
# small to stop the momentum that carried the iterate there. Of starting points spread over the picture about one in
# eight is caught. Nesterov, with its own setting for the same two curvatures, arrives from all of them, and there is a
# proof that it always does on such functions.
#
# Move `lr` down by a twentieth, to 0.105, and the cycle is gone. That is the moral: heavy ball's proof is about
# *quadratics*, its best point lies in a corner of the stable region, and a corner found for one kind of function is
# a bad place to be on another.

# %% tags=["claim"]
starts = [lab.cycle(float(x)) for x in np.linspace(-4, 4, 81)]
caught = sum(run.cycles for run in starts)
claim("about one start in eight is caught", caught / len(starts), above=0.05, below=0.2)
claim("Nesterov arrives from all of them", max(abs(run.nesterov[-1]) for run in starts), below=1e-5)
claim("at lr = 0.105 none is", not any(lab.cycle(float(x), lr=0.105).cycles for x in np.linspace(-4, 4, 81)))
fate.reveal("cycling forever")

# %% [markdown]
# ## 3.7  Where does the learning rate belong?
#
# Textbooks and libraries write the same method in at least three ways:
#
# - *outside* (torch): $v \leftarrow \beta v + g$, $\ \theta \leftarrow \theta - \eta v$;
# - *inside* (Polyak, Sutskever): $v \leftarrow \beta v + \eta g$, $\ \theta \leftarrow \theta - v$;
# - *dampened*: $v \leftarrow \beta v + (1 - d)\, g$, with dampening $d$, in torch from the second gradient on.
#
# Under a constant slope of 1 the velocity of the first grows to $1 + \beta + \beta^2 + \dots = 1/(1 - \beta)$, so
# the steps grow to $\eta / (1 - \beta)$, the **effective learning rate**.

# %% [markdown] tags=["predict"]
# **Predict.** After 45 steps the learning rate is divided by 10. How long does each of the three take until its
# steps are as short as they should be? Which two were indistinguishable until then?

# %%
explore(lab.conventions)

# %% [markdown]
# Until $\eta$ changes, outside and inside are the same to rounding: one velocity is $\eta$ times the other. When
# it drops, the outside form obeys at once, since $\eta$ multiplies the whole velocity. The inside form still
# carries gradients that were multiplied by the old $\eta$, and needs some 40 steps to forget them. A warm-up, a
# restart or a decay therefore means slightly different things in different libraries. And dampening with
# $d = \beta$ turns the sum into a mean: the effective learning rate is $\eta$ itself, ten times less.
#
# Change $\beta$ in a sweep and you change the effective learning rate with it. Hold $\eta/(1-\beta)$ fixed, or you
# compare learning rates and call it momentum.

# %% tags=["claim"]
ways = lab.conventions()
same, parted = ways.apart
claim("until lr changes the two are one iteration", same, below=1e-11)
claim("afterwards they part", parted, above=0.01)
claim("inside, an old lr lingers for many steps", ways.settling("inside"), above=25)

# %% [markdown]
# ## 3.8  Who wins on a surface?
#
# Five optimizers start together: SGD, momentum, Nesterov, and two that lecture 4 is about, RMSProp and Adam. They
# divide each coordinate's step by a running mean of that coordinate's gradient size. The arrows show the direction
# of the latest steps, three times as long; below right is what each step amounts to, its length over the
# gradient's: the learning rate with which plain descent would have stepped as far.

# %% tags=["predict"]
podium = predict(
    "Rosenbrock's valley, 150 steps, each at its own best learning rate: who ends lowest?",
    Order("SGD", "momentum", "Adam"),
    id="03.8",
)
podium

# %%
explore(lab.race)

# %%
valley = lab.lr_sweep("rosenbrock")
valley

# %% [markdown]
# With one learning rate for all, the race tells you whom that learning rate suits. SGD's $\eta$ has units: it
# turns a slope into a length. Adam's $\eta$ *is* a length: its first step is $\eta$ in every coordinate, whatever
# the slope. In the sweep each has its own best, and they are more than two orders of magnitude apart. So a fair
# race tunes each; then momentum beats plain SGD here about a hundredfold, at an effective learning rate ten times
# the one you set.
#
# Three warnings. RMSProp's best is a needle: an eighth more or less and it ends fifty times higher, so you would not
# find it on a coarser grid. Momentum's best is the last one before disaster, as in 3.3: an eighth more and the run
# diverges, here at a learning rate where SGD still gains, which cannot happen on a bowl. And `ravine` lies along the
# axes, which is a gift to a method that scales axes one by one: choose `turned ravine`, the same one turned by 45
# degrees. SGD, momentum and Nesterov run exactly as before; RMSProp's tuned end rises from $10^{-63}$ to $10^{-13}$,
# level with Nesterov's. Note also who comes last on the turned ravine, each tuned: momentum, at $\beta = 0.9$. Its
# $\kappa$ is 20, and 3.3 said what that means. (Add `noise`, and the order begins to depend on the seed. That is the
# next section.)

# %% tags=["claim"]
straight, turned = (lab.lr_sweep(name).best("RMSProp")[1] for name in ("ravine", "turned ravine"))
claim("RMSProp's win is the axes': turned, it ends far higher", np.log10(turned / straight), above=20)
claim("momentum beats SGD in the valley", valley.best("SGD")[1] / valley.best("momentum")[1], above=20)
claim("Adam wants a much larger lr", valley.best("Adam")[0] / valley.best("momentum")[0], above=50)
podium.reveal([name for name in valley.ranking if name in ("SGD", "momentum", "Adam")])

# %% [markdown]
# ## 3.9  Folklore on trial: "momentum makes training smoother"
#
# The usual picture: the velocity averages gradients, noise cancels, the curve gets smooth. Which curve? Train a
# network (64 inputs, 32 tanh units, 10 classes) on the digits with batches of 16, twelve seeds, three ways on the
# very same batches: plain SGD with $\eta = 0.3$; momentum 0.9 with the same *effective* learning rate,
# $\eta = 0.03$; momentum with the same $\eta = 0.3$. Three measures over the last 100 of 200 steps:
#
# - *jumps*: how far the loss of the batch jumps from one step to the next. That is the curve on your screen.
# - *rises*: how many of the steps raise the training loss, over the data and not the batch.
# - *ends*: the training loss at the end.

# %% [markdown] tags=["predict"]
# **Predict.** Against plain SGD, is each of the three lower, higher or not distinguishable: with the same
# effective learning rate, and with the same learning rate?

# %%
smooth = lab.smoothness()
smooth

# %%
{
    (name, m): round(smooth.against_plain(m, k).mean, 3)
    for k, name in enumerate(("same effective lr", "same lr"), 1)
    for m in ("jumps", "rises", "ends")
}

# %% [markdown]
# With the same effective learning rate the curve on your screen is as rough as before: its jumps are the same to a
# few percent. At such a learning rate they come from the batches, an easy one here and a hard one there, and no
# memory changes that. Nor is the end any lower. What did get smoother is the path: plain SGD raises the training
# loss in about 35 of 100 steps, momentum in about 11.
#
# With the same $\eta$, that is, after "switching momentum on" as people do, all three get worse. It was a tenfold
# larger learning rate.
#
# So the sentence is true of the path, false of the loss curve, and the opposite of true for whoever forgets
# $1/(1-\beta)$.

# %% tags=["claim"]
jumps, rises = smooth.against_plain("jumps", 1), smooth.against_plain("rises", 1)
claim("at one effective lr the jumps differ by little", jumps.largest / smooth.jumps[0].mean(), below=0.2)
claim("plain SGD raises the training loss more often", rises.margin, above=0.5)
worse = min(smooth.against_plain(measure, 2).margin for measure in ("jumps", "rises", "ends"))
claim("at the same lr momentum is worse by all three", worse, above=0.5)

# %% [markdown]
# ## 3.10  Frontier: when is momentum worth anything at all?
#
# *This section is recent research.* If momentum with $\eta$ does the same as SGD with $\eta/(1-\beta)$, what is it
# for? In 3.3 it won against curvature. But with small batches it is usually the *noise* that limits the learning
# rate, not the curvature (2.5).
#
# Test it: ten effective learning rates for each, eight seeds, about 130 steps. Once with batches of 8, once of 256.

# %% [markdown] tags=["predict"]
# **Predict.** Each at its best: by what factor is momentum's training loss lower with a batch of 8? With 256?
# Where do the two curves over the effective learning rate lie on each other?

# %% tags=["build"]
effective = 0.1 * 2 ** np.arange(10.0)
both = {"plain": optim.sgd, "momentum": lambda lr: optim.sgd((1 - 0.9) * lr, beta=0.9)}


def losses(make, batch, epochs):
    how = {"model": lab.tanh_mlp, "batch": batch, "epochs": epochs, "part": "train"}
    runs = grid(make, {"lr": effective}, range(8), data.digits(), **how)
    return np.exp(np.log(at_the_end(runs, len(effective))).mean(axis=1))


# %% tags=["run"]
small = lab.LossByRate(effective, {name: losses(make, batch=8, epochs=1) for name, make in both.items()})
small

# %% tags=["run"]
large = lab.LossByRate(effective, {name: losses(make, batch=256, epochs=28) for name, make in both.items()})
large

# %% [markdown]
# With batches of 8 the two curves have their lowest points side by side, and momentum's is lower by a tenth or so. With
# batches of 256 they coincide at small learning rates (momentum is a little behind: its first steps are short, while
# the velocity fills). From an effective learning rate of about 3 on they part: plain descent's curve flattens,
# momentum's falls on, and each at its best, momentum ends about three times lower. The two best lie no more than a
# factor of two apart, and at 51.2 both are worse. So momentum brought more progress at long steps, rather than much
# longer ones.
#
# All this is training loss. On held-out images momentum's lead with large batches is gone. Each at the learning rate
# with its lowest mean test loss, momentum's is the higher one with batches of 256, by about 0.02 of 0.1; with batches
# of 8 the two are within 0.04, at about 0.2. (Choice and comparison share images and seeds.) With learning rates chosen
# on other images, the two are within two points of each other in test accuracy: what momentum brought here was speed.
#
# That is what a remedy for curvature looks like: plain descent with steps so long overshoots in the steep directions
# again and again. While noise sets the learning rate, momentum is another way of writing $\eta$ (Wang et al. 2024 prove
# it for small $\eta$; Kidambi et al. 2018 construct problems where it cannot beat SGD at any setting). Shallue et al.
# (2019) find the same in large networks: no difference at small batches, and momentum extends how far a growing batch
# still helps. It costs one buffer and did no harm here, which is a good reason to leave it on and a poor one to believe
# in it.

# %% tags=["claim"]
claim("with batches of 8 momentum brings little", small.gain, near=1.1, within=0.3)
claim("with batches of 256 its loss is a fraction", large.gain, above=2)
early = np.abs(large.rows["plain"][:3] / large.rows["momentum"][:3] - 1).max()
claim("at small effective learning rates the two are one curve", early, below=0.15)

# %% [markdown]
# ## Summary
#
# - Heavy ball on curvature $\lambda$ is a $2 \times 2$ map: stable iff $0 \le \beta < 1$ and $0 < \eta\lambda <
#   2(1+\beta)$; under-damped iff $(1 - \sqrt{\eta\lambda})^2 < \beta$, and then its contraction factor is $\sqrt\beta$
#   whatever $\eta$ is.
# - Tuned for curvatures from $\mu$ to $L$ its contraction factor is $(\sqrt\kappa - 1)/(\sqrt\kappa + 1)$: steps grow
#   like $\sqrt\kappa$, not $\kappa$.
# - Nesterov damps steep directions more, up to $\eta\lambda = 1$. torch's form is the same iteration, in terms of
#   the look-ahead point.
# - On a convex function that is not a bowl, heavy ball with its best setting may cycle forever; Nesterov converges.
# - The effective learning rate is $\eta/(1-\beta)$. With $\eta$ inside the velocity a change of $\eta$ is obeyed
#   late.
# - A race at one learning rate compares learning rates. Tune each, then compare.
# - At equal effective learning rate momentum smooths the path, not the loss curve; and with small batches it brought
#   little. On these data it was a remedy for curvature, not for noise.

# %% [markdown]
# ## Exercises
#
# Replace each `...`. The cell after it says what it verified or, if it can, which mistake you made. `theta`,
# `velocity` and `grad` are numpy arrays of one shape, the rest are numbers.
#
# **1. Heavy ball.** Return the new `theta` and the new `velocity`, in torch's form: learning rate outside, no
# dampening. The caller still needs the old arrays. When it passes, try
# `own_phase(heavy_ball)`.


# %% tags=["exercise"]
def heavy_ball(theta, velocity, grad, lr, beta):
    ### BEGIN SOLUTION
    velocity = beta * velocity + grad
    return theta - lr * velocity, velocity
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_heavy_ball_step(heavy_ball)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **2. Nesterov.** The same for Nesterov's method in torch's form.


# %% tags=["exercise"]
def nesterov(theta, velocity, grad, lr, beta):
    ### BEGIN SOLUTION
    velocity = beta * velocity + grad
    return theta - lr * (grad + beta * velocity), velocity
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_nesterov_step(nesterov)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **3. The best setting.** Curvatures lie between `mu` and `L`. Return the learning rate and the beta with which
# heavy ball converges fastest on such a bowl.


# %% tags=["exercise"]
def best_setting(mu, L):
    ### BEGIN SOLUTION
    kappa = L / mu
    lr = 4 / (np.sqrt(L) + np.sqrt(mu)) ** 2
    return lr, ((np.sqrt(kappa) - 1) / (np.sqrt(kappa) + 1)) ** 2
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_best_setting(best_setting)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. The contraction factor.** Return what a heavy-ball step leaves of the error in the long run, on $\tfrac12$
# `curvature` $x^2$: the spectral radius. It should hold for real and for complex eigenvalues, and for runs that
# diverge.


# %% tags=["exercise"]
def rate(lr, beta, curvature):
    ### BEGIN SOLUTION
    step = np.array([[1 + beta - lr * curvature, -beta], [1, 0]])
    return np.abs(np.linalg.eigvals(step)).max()
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_rate(rate)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Answer aloud before you unfold. Each answer is backed by a call that you can run.

# %%
questions("03_momentum")

# %% [markdown]
# ## References
#
# - B. T. Polyak, *Some Methods of Speeding Up the Convergence of Iteration Methods*, 1964: heavy ball.
# - Y. Nesterov, *A Method of Solving a Convex Programming Problem with Convergence Rate $O(1/k^2)$*, 1983;
#   *Introductory Lectures on Convex Optimization*, 2004, section 2.2.
# - I. Sutskever, J. Martens, G. Dahl, G. Hinton, *On the Importance of Initialization and Momentum in Deep
#   Learning*, 2013: the look-ahead form.
# - L. Lessard, B. Recht, A. Packard, *Analysis and Design of Optimization Algorithms via Integral Quadratic
#   Constraints*, 2016: the cycle.
# - G. Goh, *Why Momentum Really Works*, Distill, 2017: a phase diagram that one can drag.
# - R. Kidambi, P. Netrapalli, P. Jain, S. Kakade, *On the Insufficiency of Existing Momentum Schemes for
#   Stochastic Optimization*, 2018.
# - C. J. Shallue et al., *Measuring the Effects of Data Parallelism on Neural Network Training*, 2019.
# - R. Wang, S. Malladi, T. Wang, K. Lyu, Z. Li, *The Marginal Value of Momentum for Small Learning Rate SGD*, 2024.
