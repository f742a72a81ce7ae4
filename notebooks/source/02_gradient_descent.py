# %% [markdown]
# # 2  Gradient descent
#
# Lecture 1 showed how to get the gradient. This one asks what to do with it. The recipe is one line long, and
# almost everything that later lectures repair - momentum, adaptive methods, schedules, normalization - repairs
# something that you can see going wrong here.
#
# You will find out when a learning rate is too large, exactly; why some problems take thousands of steps; what
# the noise of small batches does and what a larger batch is worth; and where training on real data settles, which
# is not where the textbook says.
#
# As in lecture 1: answer and commit where a cell asks you to predict, run the rest. A `claim` holds the text to what
# was measured. Your work is under *Exercises*.

# %%
import numpy as np

from course_lib.data import digits
from course_lib.lectures import gradient_descent as lab
from course_lib.optim import sgd
from course_lib.ranges import Log
from course_lib.trials import compare, tune
from course_lib.widgets import Curve, claim, explore, predict, questions

# %% [markdown]
# ## 2.1  When is a learning rate too large?
#
# Call $\theta$ (theta) the list of all parameters of a model, $f(\theta)$ its loss, and $g = \nabla f(\theta)$
# the gradient: the direction in which the loss rises fastest. Gradient descent walks the other way,
#
# $$\theta \leftarrow \theta - \eta\, g ,$$
#
# where the number $\eta$ (eta, `lr` in code) is the learning rate. To see what it does, take the simplest loss
# that has a minimum, a bowl with two curvatures:
#
# $$f(\theta) = \tfrac12 \left( \lambda_{\min}\, \theta_1^2 + \lambda_{\max}\, \theta_2^2 \right), \qquad
# g = (\lambda_{\min}\theta_1,\ \lambda_{\max}\theta_2) .$$
#
# A curvature $\lambda$ (lambda) says how quickly the slope grows as you walk away from the minimum. The ratio
# $\kappa = \lambda_{\max} / \lambda_{\min}$ (kappa) is the condition number: 1 for a round bowl, large for a
# ravine. Here $\lambda_{\min} = 1$, so $\lambda_{\max} = \kappa$.

# %% tags=["predict"]
limit = predict("With curvatures 1 and 10: above which learning rate does the run diverge?", Log(0.02, 2), id="02.1")
limit

# %% [markdown]
# Drag `lr` up slowly and watch the steep coordinate, $\theta_2$. Then change `kappa` and look for the limit
# again. On the right is, for every learning rate, what one step multiplies each coordinate by; the dashed line is
# the threshold.

# %%
explore(lab.bowl)

# %% [markdown]
# A step turns $\theta_2$ into $\theta_2 - \eta\lambda_{\max}\theta_2 = (1 - \eta\lambda_{\max})\,\theta_2$. It is
# multiplied by the same number every time. Between 0 and 1 that number makes it creep in, between $-1$ and 0 it
# jumps across the valley and lands lower, and below $-1$ it lands higher than it was. So the limit is where
# $1 - \eta\lambda_{\max} = -1$:
#
# $$\eta < \frac{2}{\lambda_{\max}} .$$
#
# It is not a rule of thumb. One part in a thousand below it the run converges, one part in a thousand above it
# leaves.

# %% tags=["claim"]
below, above = (lab.bowl(lr=share * 2 / 10, kappa=10.0, steps=100) for share in (0.99, 1.01))
claim("1 % below the threshold the run converges", not below.diverges)
claim("1 % above it diverges", above.diverges)
limit.reveal(above.threshold)

# %% [markdown]
# ## 2.2  How fast does each direction shrink?
#
# Near a minimum a smooth loss is a bowl, only turned and with more directions (unless a curvature is 0: then higher
# terms decide): $f(\theta) \approx \tfrac12 \theta^\top H \theta$, where $H$ is the matrix of second derivatives, the
# Hessian, and the minimum lies at 0. The gradient is $H\theta$. The eigenvectors $q_i$ of $H$ are the axes of the bowl,
# its eigenvalues $\lambda_i$ the curvatures along them: $H q_i = \lambda_i q_i$.
#
# In 2.1 the axes were the coordinates. In general each parameter has a share in all of them, so write $\theta$ as a
# mixture, $\theta = \sum_i c_i\, q_i$. A step makes of it
#
# $$\theta - \eta H \theta = \sum_i c_i\, q_i - \eta \sum_i c_i\, \lambda_i q_i
# = \sum_i (1 - \eta\lambda_i)\, c_i\, q_i .$$
#
# So along each axis the run is on its own, whatever the others do: $c_i \leftarrow (1 - \eta\lambda_i)\, c_i$, and
# after $t$ steps $|1 - \eta\lambda_i|^{\,t}$ of the component's size is left.

# %% [markdown] tags=["predict"]
# **Predict.** Below are five directions, curvatures from $1/\kappa$ to 1, randomly rotated. The largest curvature is 1,
# so the threshold is at $\eta = 2$. Which direction is the last to vanish at $\eta = 1$? Which is the first to vanish?
# And when you pass $\eta = 2$, how many of the five explode?

# %%
explore(lab.contraction)

# %% [markdown]
# On a logarithmic axis each component is a straight line, and the dots, which are the formula, lie on it. The
# flattest direction is always the last: with $\eta\lambda$ near 0 a step hardly touches it. At $\eta = 1$ the
# steepest is gone after a single step, since $1 - \eta\lambda = 0$. And just above 2 only one of five explodes;
# the other four go on converging while the loss goes to infinity. A run that diverges is usually a run in which
# *one direction* diverges.

# %% tags=["claim"]
five = lab.contraction(lr=1.0, kappa=30.0)
gap = np.abs(five.measured - five.factors).max()
claim("each direction shrinks by |1 - lr lambda|", gap, below=1e-5)
claim("at lr = 1 / largest the steepest is gone at once", five.measured[4], below=1e-6)
claim("the flattest is the slowest", five.measured.argmax() == 0)

# %% [markdown]
# ## 2.3  Which learning rate is best, and what does a ravine cost?
#
# The run is as slow as its slowest direction, so the quantity to minimize is $\max_i |1 - \eta\lambda_i|$, the
# **contraction factor**: the share of the error that a step leaves in the end. Raise $\eta$ and the flat directions
# gain while the steep one, past $\eta = 1/\lambda_{\max}$, begins to lose. Draw that factor before you see it. And ask
# yourself: if $\kappa$ doubles, how many more steps will the best learning rate need?

# %% tags=["predict"]
v_shape = predict(
    "Curvatures from 0.1 to 1, so kappa = 10: how much of the error does a step leave, for each learning rate?",
    Curve(xlabel="learning rate (1 / lambda_max)", ylabel="contraction factor", x=(0, 2.2), y=(0, 1.3)),
    id="02.3",
)
v_shape

# %%
explore(lab.step_sweep)

# %%
lab.iterations()

# %% [markdown]
# The two arms of the V meet where both extreme directions shrink equally fast,
# $1 - \eta\lambda_{\min} = \eta\lambda_{\max} - 1$:
#
# $$\eta_{\text{best}} = \frac{2}{\lambda_{\min} + \lambda_{\max}}, \qquad
# \text{factor} = \frac{\kappa - 1}{\kappa + 1} \approx 1 - \frac{2}{\kappa} .$$
#
# For a ravine that is close to the threshold: the best step is just short of disaster. And for each factor $e$ of
# progress you pay about $\kappa / 2$ steps, so **the number of steps grows like $\kappa$**: double the condition
# number, double the bill. The cautious $\eta = 1/\lambda_{\max}$ takes up to twice as many steps.
#
# In networks it is worse: beside a few large curvatures most are close to zero (Sagun et al. 2017), so that $\kappa$
# has hardly a bound. (A curvature of exactly 0 needs no progress; what hurts is the spread of the others, along the
# gradient.) What can be done about it is the subject of lectures 3, 4 and 7.

# %% tags=["claim"]
sweep, growth = lab.step_sweep(), lab.iterations()
claim("the best learning rate is 2 / (smallest + largest)", sweep.best[0], near=sweep.best_predicted[0], within=0.012)
claim("steps grow like kappa", growth.slope, near=1, within=0.04)
claim("1 / largest costs up to twice as many", growth.safe[-1] / growth.best[-1], above=1.5, below=2.1)
v_shape.reveal(list(zip(sweep.lrs, lab.step_sweep(kappa=10.0).rates, strict=True)))

# %% [markdown]
# ## 2.4  What changes when the surface is not a bowl?
#
# Away from a minimum the curvatures change from place to place, and some may be negative. Four surfaces to walk on:
#
# - `saddle`: $(x^2 - y^2)/2 + y^4/4$, a saddle at the origin between minima at $y = 1$ and $y = -1$;
# - `ravine`: the bowl of 2.1 with $\kappa = 20$;
# - `rosenbrock`: $(1 - x)^2 + 100\,(y - x^2)^2$, a bent valley;
# - `beale`: $(1.5 - x + xy)^2 + (2.25 - x + xy^2)^2 + (2.625 - x + xy^3)^2$, a plain with steep corners.

# %% [markdown] tags=["predict"]
# **Predict.** On `saddle` the run starts at $(-1.5, 0.001)$, a thousandth beside the ridge that leads straight into the
# saddle point, where the gradient is zero. Will it get stuck there, roll off at once, or hesitate? And what will its
# loss curve look like?

# %%
explore(lab.trajectory)

# %% [markdown]
# It hesitates. At the saddle one curvature is $-1$, so a step multiplies the distance from the ridge by
# $1 + \eta$: a thousandth has to grow to about 1, and at $\eta = 0.02$ that takes some 350 steps, and for about 130
# of them the loss looks as if it had converged. A flat loss curve is no proof of a minimum.
#
# On `rosenbrock` the trouble is the ravine again: across the valley it is steep, so $\eta$ must be small, and
# along the floor there is hardly any slope. On `beale` try to find a learning rate that survives the corner it
# starts in and is not slow on the plain; one fixed number cannot be both. That is one of two reasons for schedules
# (lecture 5); the other comes next.

# %% tags=["claim"]
saddle = lab.trajectory("saddle", lr=0.02)
waiting = np.sum(abs(saddle.gap - 0.25) < 0.01)  # the saddle point is 1/4 above the minima
claim("the run waits at the saddle for some 130 steps", waiting, near=130, within=25)
claim("and gets away", saddle.steps_to(1e-6), below=700)
claim("past 2 / 20 the ravine throws it out", lab.trajectory("ravine", lr=0.11).gap[-1], above=1e4)

# %% [markdown]
# ## 2.5  Where does a noisy gradient leave you?
#
# A real loss is a mean over thousands of examples. Stochastic gradient descent (SGD; Robbins and Monro 1951) takes the
# gradient of a **batch** of $B$ of them instead: right on average, wrong each time. If the gradient of a single example
# scatters with variance $\sigma^2$ (sigma squared), that of a batch of independent ones scatters with $\sigma^2 / B$.
#
# In one direction of curvature $\lambda$ a step is then $\theta \leftarrow (1 - \eta\lambda)\,\theta - \eta\, \xi$,
# with $\xi$ (xi) the noise. The first part forgets, the second stirs. Below, 256 runs start at $\theta = 2$, with
# $\sigma = 1$.

# %% [markdown] tags=["predict"]
# **Predict.** The runs never come to rest; they end as a cloud around the minimum. You halve the learning rate:
# what happens to the cloud's variance, and what to the time it takes to get there? You multiply the batch by
# four: what happens to the variance?

# %%
explore(lab.noise_ball)

# %% [markdown]
# The cloud's variance $V$ stops changing when a step forgets as much as it stirs up:
# $V = (1 - \eta\lambda)^2\, V + \eta^2 \sigma^2 / B$. Solve for it:
#
# $$V = \frac{\eta\, \sigma^2}{B\, \lambda\, (2 - \eta\lambda)} .$$
#
# For small $\eta$ that is proportional to $\eta / B$. Halve the learning rate and you halve the cloud, but
# forgetting takes twice as long. This is the second reason for **decaying** the learning rate: large while you are
# far away, small at the end. And at $\eta = 2/\lambda$ the formula divides by zero, which is the threshold of 2.1
# again.

# %% tags=["claim"]
cloud, half, four = lab.noise_ball(), lab.noise_ball(lr=0.15), lab.noise_ball(batch=16)
claim("the ball is as large as theory says", cloud.measured / cloud.predicted, near=1, within=0.1)
claim("half the learning rate, less than half the ball", half.measured / cloud.measured, above=0.35, below=0.55)
claim("four times the batch, a quarter of it", four.measured / cloud.measured, near=1 / 4, within=0.06)

# %% [markdown]
# ## 2.6  What does a larger batch buy, and does it matter how it is drawn?
#
# From here on the data are real: 1077 handwritten digits to train on, and a small network (64 inputs, 32 tanh units, 10
# classes: 2410 parameters). Losses are cross-entropies in *nats*, that is with the natural logarithm: guessing among
# ten classes costs $\ln 10 = 2.3$. A *seed* is the number that fixes all random draws of a run, its first weights and
# its batches; several seeds show what is luck. The gradient has 2410 components, so "variance" is now a matrix
# $\Sigma$, and its trace $\mathrm{tr}\,\Sigma$ is the mean squared distance between one example's gradient and the full
# one. By 2.5 the error of a batch's gradient is $\mathrm{tr}\,\Sigma / B$, if its examples are drawn independently.

# %% [markdown] tags=["predict"]
# **Predict.** In practice one shuffles and goes through the data, so an example cannot come twice in an epoch. (a)
# Nearly half of all digits, 512 of 1077, in one batch: is the error of its gradient the same as that of 512
# independent draws, about half of it, or near zero? (b) After five epochs, which has the lower training loss,
# independent draws or shuffling, or is there no difference?

# %%
variance = lab.gradient_variance()
variance

# %%
drawn = lab.replacement()
drawn

# %% [markdown]
# (a) About half. With independent draws the error falls as $1/B$, with no bend: to halve the *distance* from the
# truth, its root, you need four times the examples. Without replacement two examples of a batch are no longer
# independent. All $n$ deviations from the mean add up to zero, so that two different ones have covariance
# $-\Sigma/(n-1)$, and each of the $B$ in a batch meets $B - 1$ others:
#
# $$\frac{1}{B}\left(\mathrm{tr}\,\Sigma - (B - 1)\,\frac{\mathrm{tr}\,\Sigma}{n-1}\right)
# = \frac{\mathrm{tr}\,\Sigma}{B} \cdot \frac{n - B}{n - 1} .$$
#
# A batch that is the whole data set has no error at all.
#
# (b) Shuffling wins, on every seed. With independent draws about a third of the examples ($1/e$) is missed in any
# epoch and others come twice; with a shuffle each has its turn, and what one batch pulls too far the others of
# the epoch pull back.

# %% tags=["claim"]
claim("the error falls as 1 / B", variance.slope, near=-1, within=0.06)
kept = variance.distinct[-1] / variance.independent[-1]
claim("without replacement about half is left at B = 512", kept, above=0.3, below=0.75)
claim("drawing with replacement costs training loss", drawn.comparison.margin, above=0.5)

# %% [markdown]
# ## 2.7  How large a batch is worth its price?
#
# Compare the noise with the signal. The full gradient $G$ has squared length $|G|^2$, the noise of a batch
# $\mathrm{tr}\,\Sigma / B$; they are equal at
#
# $$B_{\text{noise}} = \frac{\mathrm{tr}\,\Sigma}{|G|^2} ,$$
#
# the **gradient noise scale**, a number of examples. (McCandlish et al. 2018 call it the simple one; in theirs the
# Hessian weights both, $\mathrm{tr}(H\Sigma) / (G^\top H G)$, which is the same if all curvatures are.) What it says
# about a step: let the curvature be $\lambda$ in all directions. The batch's gradient $g_B$ is $G$ on average, and
# $\mathbb{E}|g_B|^2 = |G|^2 + \mathrm{tr}\,\Sigma / B$, so a step changes the loss on average by
#
# $$-\eta\, |G|^2 + \tfrac12 \eta^2 \lambda \left( |G|^2 + \frac{\mathrm{tr}\,\Sigma}{B} \right),
# \qquad\text{least at}\qquad \eta = \frac{1/\lambda}{1 + B_{\text{noise}} / B} .$$
#
# Put that $\eta$ in: the loss falls by $|G|^2 / 2\lambda$, divided by the same $1 + B_{\text{noise}} / B$. A step
# brings so much less, and reaching a given loss takes so many more of them:
#
# $$S(B) = S_{\min} \left( 1 + \frac{B_{\text{crit}}}{B} \right) \text{ steps,}\qquad
# B\, S(B) = S_{\min} \left( B + B_{\text{crit}} \right) \text{ examples,}$$
#
# with a critical batch $B_{\text{crit}}$ near the noise scale (McCandlish et al. 2018). Well below it doubling the
# batch halves the steps at the same number of examples, well above it the steps stay and the examples double.

# %% [markdown] tags=["predict"]
# **Predict.** The noise scale belongs to a place, not to a network. From the first step down to a loss of 0.07: does
# it rise, fall or stay?

# %%
scale = lab.noise_scale()
scale

# %% [markdown]
# It rises more than twentyfold, since the gradient shrinks while the examples go on disagreeing. Early in training
# small batches are enough; late, they are mostly noise.
#
# The line needs the gradient of every example (Goodfellow 2015 gets all their lengths from one backward pass). The
# circles need only the mean squared length of batch gradients at two sizes, here 8 and 128: two sizes give two
# equations for the two unknowns $|G|^2$ and $\mathrm{tr}\,\Sigma$. The last two circles are off by up to a half: there
# $|G|^2$ is a small difference of two large noisy numbers, and 200 batches of each size are too few. The crosses show
# what happens if you forget that a batch's own $|g|^2$ contains noise: they never get past the batch size you measured
# with.
#
# Now the law itself. For each batch size, 30 networks race to a training loss of 0.15 (ten learning rates, three
# seeds), and the best learning rate counts. At the critical batch you pay twice the examples that a small batch
# needs. On the last picture it lies somewhere between the noise scales on the way.

# %% tags=["predict"]
worth = predict(
    "Down to a loss of 0.15: which batch size costs twice the examples of a small one?", Log(1, 1000), id="02.7"
)
worth

# %%
sweep = lab.batch_sweep()
sweep

# %% [markdown]
# Two regimes. Up to a batch of about 32 doubling it halves the steps: the same number of examples, fewer steps,
# and on parallel hardware that is time for free. From a few hundred on the steps hardly fall and you pay in
# examples. The bend of the fitted curve is at a critical batch of roughly 160, and the noise scale, averaged on
# the way to the target, is near 210. The derivation supposed one curvature and one best step after the other, so a
# factor of two between them would be no surprise. The noise scale could be measured without racing a single network.

# %% tags=["claim"]
fewest, critical = sweep.fit
claim("the noise scale grows many times over during training", scale.growth, above=15)
claim("the critical batch is of the noise scale's size", critical / sweep.noise_scale, above=0.4, below=1.6)
claim("up to batch 32 the price in examples hardly rises", sweep.examples[4] / sweep.examples[0], below=1.8)
worth.reveal(critical)

# %% [markdown]
# ## 2.8  If the batch grows, must the learning rate grow too?
#
# The right half of the last picture shows it, and so does the best step of 2.7, $(1/\lambda)/(1 + B_{\text{noise}}/B)$.
# For small batches it is proportional to $B$; from about 64 on it hardly grows any more, though the race had learning
# rates up to 20 to choose from. The usual rule says *multiply both by the same number*, which keeps $\eta / B$, and so
# the noise of 2.5, as it was. Put it to the test: train for three epochs with batches from 1 to 512, once with $\eta =
# 0.04$ throughout and once with $\eta = 0.04\,B$.

# %% tags=["predict"]
holds = predict(
    "Learning rate 0.04 B: up to which batch does the loss stay within 1.5 times that of batch 1?",
    Log(1, 512),
    id="02.8",
)
holds

# %%
scaling = lab.linear_scaling()
scaling

# %% [markdown]
# Both curves start as one run, $\eta = 0.04$ and $B = 1$. With the learning rate kept, a batch of 512 takes 512 times
# fewer steps of the same length and gets almost nowhere. With the learning rate scaled, the loss stays where it was up
# to batch 64, but for a wobble, and then breaks: at 256 it is several times higher, at 512 as bad as guessing. The rule
# cannot hold forever, for two reasons you have met. Curvature: $\eta$ runs into $2/\lambda_{\max}$. And signal: above
# the noise scale a larger batch has hardly any noise left to remove, so it earns no larger $\eta$. Scale linearly while
# the batch is well below the noise scale; beyond it, tune again.

# %% tags=["claim"]
scaled, fixed = scaling.scaled / scaling.scaled[0], scaling.fixed / scaling.fixed[0]
claim("with lr scaled the loss at batch 64 is that of batch 1", scaled[6], below=2)
claim("at batch 512 it is not", scaled[9], above=10)
claim("with lr kept batch 512 gets almost nowhere", fixed[9], above=20)
holds.reveal(scaling.holds_to)

# %% [markdown]
# ## 2.9  What does a real network's loss look like?
#
# A network's loss lives over thousands of dimensions. To see any of it, take a trained network, here 64 inputs, 32
# ReLU units and 10 classes after 300 steps on the digits. Pick two random directions $u$ and $v$ and draw
# $f(\theta + a u + b v)$ for $a$ and $b$ from $-1$ to 1. The faster the loss rises around the middle, the *sharper* the
# minimum looks. How long $u$ and $v$ should be is the question: Li et al. (2018) give each unit's part of a
# direction the length of that unit's own weights, the *filter-normalized* plane. The alternative is to take
# $u$ and $v$ as drawn.
#
# Since $\mathrm{relu}(5x) = 5\,\mathrm{relu}(x)$, you may multiply all weights and biases of the first layer by 5 and
# divide the weights of the second by 5: not one output changes.

# %% [markdown] tags=["predict"]
# **Predict.** `rescale` does that: it multiplies the first layer and divides the second. With `normalized` off, move
# it. Does the minimum look as sharp as before, sharper, or flatter? And with `normalized` on?

# %%
explore(lab.landscape)

# %% [markdown]
# Without normalization you can make the same network's minimum look as sharp as you like: multiply one layer by 5 and
# the loss nearby rises more than five times as much, though nothing has changed. A direction of fixed length is now
# small for one layer and large for the other. With normalization its length goes along with the weights, and the
# picture does not move. So a statement such as "this minimum is flatter" means nothing until you say in which units
# (Dinh et al. 2017). And a plane is two random directions out of thousands: it shows the typical direction, almost
# never the sharpest one, which section 2.11 will ask about.

# %% tags=["claim"]
plain, same = lab.landscape(), lab.landscape(rescale=5.0)
claim("normalized, the picture does not move", np.abs(same.losses / plain.losses - 1).max(), below=0.01)
raw, sharper = lab.landscape(normalized=False), lab.landscape(rescale=5.0, normalized=False)
claim("as drawn, the same minimum looks sharper", sharper.rise / raw.rise, above=4)

# %% [markdown]
# ## 2.10  Folklore on trial: "smaller batches generalize better"
#
# It is said often, with a reason attached: noise shakes the run out of sharp minima (Keskar et al. 2017). To try it
# fairly, batches of 8 and of 128 get the same eight learning rates to choose from, by the loss on *validation* digits
# (neither trained on nor tested on), and twelve seeds that played no part in the choice. What is compared is the
# accuracy on 360 test digits, seed by seed, with the 95 % interval of the mean difference: a range made so that it
# misses the true difference once in twenty such trials.
#
# There is one more thing to hold equal, and here people part ways: the number of **epochs**, so that both see as many
# examples, or the number of **steps**? Six epochs of batch 8 are as many steps as 96 epochs of batch 128.

# %% [markdown] tags=["predict"]
# **Predict.** At equal epochs: is batch 8 ahead, batch 128, or can twelve seeds not tell? And at equal steps?

# %% tags=["build"]
lrs, plan = 0.08 * 2.0 ** np.arange(8), {"model": lab.tanh_mlp, "seeds": 12, "choose": "mean"}
small = tune({"batch 8": sgd}, lrs, digits(), epochs=6, batch=8, **plan)
large = tune({"batch 128": sgd}, lrs, digits(), epochs=6, batch=128, **plan)
longer = tune({"batch 128": sgd}, lrs, digits(), epochs=96, batch=128, **plan)
epochs, steps = (compare(small.accuracy["batch 8"], other.accuracy["batch 128"]) for other in (large, longer))
[epochs.summary(), steps.summary()]

# %% [markdown]
# At equal epochs the small batch is ahead by about half a percentage point. Let both take equally many steps, sixteen
# times as many for the large batch as before, and the lead is gone: the large one is level, or a fraction of a point
# ahead. That does not show what the noise does to the place where a run ends, but the trial gives no support to "a
# better place" either. (With equal steps the large batch sees sixteen times the examples, which is its own way of
# being unequal. There is no neutral budget; say which you used.)
#
# The sentence holds when epochs are what you pay for, on this network and these data. Hoffer et al. (2017) found the
# same on larger ones: trained longer, large batches caught up (with an adapted learning rate and Ghost BatchNorm).

# %% tags=["claim"]
claim("at equal epochs batch 8 is ahead, by a point at most", epochs.mean, above=0, below=0.015)
claim("at equal steps its lead is gone", steps.mean, above=-0.012, below=0.003)

# %% [markdown]
# ## 2.11  Frontier: how sharp a place does training choose?
#
# *This section is recent research.* By 2.1 a step of $\eta$ is stable only where the largest eigenvalue of the Hessian,
# the **sharpness**, is below $2/\eta$. So one would think: look at the problem, find its sharpness, choose $\eta$
# below. For networks it works the other way around.
#
# Below is gradient descent *without noise*: all of 200 digits in every step, a network 64-32-32-10, squared
# error. Every fifth step the sharpness is measured by power iteration: multiply a vector by $H$ again and again,
# and it turns into the eigenvector that grows fastest. $H$ itself is never formed; $Hv$ is the gradient of
# $g \cdot v$, two backward passes (Pearlmutter 1994).

# %% tags=["predict"]
course = predict(
    "The sharpness starts near 2, and 2 / eta = 4. Its course over 800 steps? (At 4, does the run diverge?)",
    Curve(xlabel="step", ylabel="sharpness", x=(0, 800), y=(0, 8)),
    id="02.11",
)
course

# %%
explore(lab.edge_of_stability)

# %% [markdown]
# The sharpness *rises*. Near step 115 it passes $2/\eta = 4$, where the bowl of 2.1 would explode, and goes on to more
# than 5. There, near step 160, it crashes to below 3, while the loss, which had fallen smoothly, leaps to about three
# times its height and falls back. The sharpness climbs again, the next overshoot is smaller, and from step 300 on it
# hovers within a tenth or so of $2/\eta$. Some 40 % of the steps now raise the loss, in slow waves rather than a
# zigzag, and over longer times it still goes down. Change `lr`: the sharpness goes to the new $2/\eta$. In such
# training the learning rate does not have to fit the landscape; the run moves until the landscape fits the learning
# rate. Cohen et al. (2021), who found this, call it the **edge of stability**.
#
# Why no explosion? Above $2/\eta$ the component along the sharpest direction jumps from side to side and grows, as in
# 2.1, from something tiny at first: hence the overshoot. Once large, the oscillation itself pushes $\theta$ toward
# lower sharpness, by a third-derivative term that no quadratic has (Damian et al. 2023): hence the crash. Below
# $2/\eta$ the oscillation dies out and the sharpness rises again, and so on, in smaller waves. Two things follow.
# Smoothness arguments that need $\eta < 2/\lambda_{\max}$ throughout do not describe how full-batch gradient descent
# trains networks. (With minibatches the sharpness settles below $2/\eta$: Andreyev and Beneventano 2024.) And a small
# $\eta$, 0.2 here, keeps the loss falling at every step, but takes you to a sharper place.

# %% tags=["claim"]
run, slow = lab.edge_of_stability(lr=0.5, steps=800), lab.edge_of_stability(lr=0.2)
late = run.sharpness[run.moments >= 300] / run.threshold
claim("the sharpness passes 2 / lr", run.peak[1] / run.threshold, above=1.15)
claim("and then hovers about it", late.mean(), near=1, within=0.15)
claim("many steps raise the loss", run.rises, above=0.2, below=0.6)
claim("a small learning rate ends in a sharper place", slow.sharpness[-1] / run.sharpness[-20:].mean(), above=1.25)
course.reveal(list(zip(run.moments, run.sharpness, strict=True)))

# %% [markdown]
# ## Summary
#
# - A step multiplies the component along each eigenvector of the Hessian by $1 - \eta\lambda_i$. Above
#   $\eta = 2/\lambda_{\max}$ one direction grows, and that is divergence.
# - The best fixed learning rate is $2/(\lambda_{\min}+\lambda_{\max})$, its contraction factor $(\kappa-1)/(\kappa+1)$:
#   the number of steps grows like $\kappa$.
# - With noise the iterate ends as a cloud of variance $\eta\sigma^2 / (B\lambda(2 - \eta\lambda))$: smaller
#   $\eta$ or larger $B$ shrink it.
# - The error of a batch's gradient falls as $1/B$; drawing without replacement beats drawing with.
# - A larger batch pays up to about the noise scale $\mathrm{tr}\,\Sigma/|G|^2$, which grows during training.
#   Scale the learning rate with the batch up to there.
# - Sharpness has no meaning without units, and full-batch training drives it to $2/\eta$ by itself.
# - "Smaller batches generalize better" held at equal epochs, on these data. At equal steps the verdict hung on the
#   budget: not distinguishable at six epochs, the large batch ahead at four.

# %% [markdown]
# ## Exercises
#
# Replace each `...`. The cell after it says what it verified or, if it can, which mistake you made. All arguments
# are numpy arrays or numbers.
#
# **1. The step.** Return where one step of gradient descent leads from `theta`. The caller still needs the old
# `theta`. Both are arrays of one shape, whatever it is.


# %% tags=["exercise"]
def gradient_step(theta, grad, lr):
    ### BEGIN SOLUTION
    return theta - lr * grad
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_gradient_step(gradient_step)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **2. The best fixed step.** `eigenvalues` are those of a Hessian, all positive, in no particular order. Return
# the fixed learning rate with which gradient descent converges fastest.


# %% tags=["exercise"]
def best_step(eigenvalues):
    ### BEGIN SOLUTION
    return 2 / (eigenvalues.min() + eigenvalues.max())
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_best_step(best_step)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **3. A batch's gradient.** A linear model predicts $x \cdot w$. The loss of one example is
# $\tfrac12 (x \cdot w - y)^2$, that of a batch the mean over its examples. `X` is $(n, d)$, `y` is $(n,)$, `rows`
# the $B$ row numbers of the batch, some of them perhaps twice. Return the gradient with respect to `w`, shape
# $(d,)$.


# %% tags=["exercise"]
def minibatch_gradient(X, y, w, rows):
    ### BEGIN SOLUTION
    residual = X[rows] @ w - y[rows]
    return X[rows].T @ residual / len(rows)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_minibatch_gradient(minibatch_gradient)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. Sharpness.** `hvp(v)` returns $Hv$; you never see $H$. Start from `v`, multiply `rounds` times, and return
# the eigenvalue of largest *size*, with its sign: for a vector of length 1 in its direction it is $v \cdot Hv$.
# Mind that 300 multiplications by 80 do not fit into a float, and that rebuilding $H$ column by column takes as many
# products as there are parameters.


# %% tags=["exercise"]
def sharpness(hvp, v, rounds):
    ### BEGIN SOLUTION
    for _ in range(rounds):
        v = hvp(v)
        v = v / np.linalg.norm(v)
    return v @ hvp(v)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_sharpness(sharpness)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **5. The noise scale from two batch sizes.** You measured the mean of $|g|^2$ over many batches of size `small`,
# and over many of size `big`: `norm_small` and `norm_big`. Use
# $\mathbb{E}|g_B|^2 = |G|^2 + \mathrm{tr}\,\Sigma / B$ to return $\mathrm{tr}\,\Sigma / |G|^2$.


# %% tags=["exercise"]
def noise_scale_of(small, big, norm_small, norm_big):
    ### BEGIN SOLUTION
    signal = (big * norm_big - small * norm_small) / (big - small)
    trace = (norm_small - norm_big) / (1 / small - 1 / big)
    return trace / signal
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_noise_scale(noise_scale_of)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Answer aloud before you unfold. Each answer is backed by a call that you can run; the follow-ups are left open.

# %%
questions("02_gradient_descent")

# %% [markdown]
# ## References
#
# - B. T. Polyak, *Introduction to Optimization*, 1987, chapter 1: rates on quadratics.
# - H. Robbins, S. Monro, *A Stochastic Approximation Method*, 1951.
# - H. H. Rosenbrock, *An Automatic Method for Finding the Greatest or Least Value of a Function*, 1960. E. M. L.
#   Beale, *On an Iterative Method for Finding a Local Minimum of a Function of More than One Variable*, 1958.
# - L. Sagun, U. Evci, V. U. Guney, Y. Dauphin, L. Bottou, *Empirical Analysis of the Hessian of Over-Parametrized
#   Neural Networks*, 2017.
# - B. A. Pearlmutter, *Fast Exact Multiplication by the Hessian*, 1994.
# - S. McCandlish, J. Kaplan, D. Amodei et al., *An Empirical Model of Large-Batch Training*, 2018.
# - P. Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017: linear scaling.
# - H. Li, Z. Xu, G. Taylor, C. Studer, T. Goldstein, *Visualizing the Loss Landscape of Neural Nets*, 2018.
# - L. Dinh, R. Pascanu, S. Bengio, Y. Bengio, *Sharp Minima Can Generalize for Deep Nets*, 2017.
# - N. S. Keskar et al., *On Large-Batch Training for Deep Learning: Generalization Gap and Sharp Minima*, 2017.
#   E. Hoffer, I. Hubara, D. Soudry, *Train Longer, Generalize Better*, 2017.
# - J. M. Cohen et al., *Gradient Descent on Neural Networks Typically Occurs at the Edge of Stability*, 2021. A.
#   Damian, E. Nichani, J. D. Lee, *Self-Stabilization*, 2023. A. Andreyev, P. Beneventano, *Edge of Stochastic
#   Stability*, 2024.
# - I. Goodfellow, *Efficient Per-Example Gradient Computations*, 2015.
