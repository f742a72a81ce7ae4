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

# %%
import numpy as np

from course_lib.checks import gradient_descent as checks
from course_lib.controls import Log
from course_lib.experiments.batch_size import batch_sweep, generalization, linear_scaling
from course_lib.experiments.edge_of_stability import edge_of_stability, landscape
from course_lib.experiments.gradient_descent import bowl, contraction, iterations, step_sweep, walk
from course_lib.experiments.gradient_noise import gradient_variance, noise_ball, noise_scale, replacement
from course_lib.plots.batch_size import draw_batch_sweep, draw_generalization, draw_linear_scaling
from course_lib.plots.edge_of_stability import draw_edge, draw_plane
from course_lib.plots.gradient_descent import draw_bowl, draw_contraction, draw_iterations, draw_step_sweep, draw_walk
from course_lib.plots.gradient_noise import draw_gradient_variance, draw_noise_ball, draw_noise_scale, draw_replacement
from course_lib.widgets import explore, picture, predict, questions

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
limit = predict("With curvatures 1 and 10: above which learning rate does the run diverge?", Log(0.02, 2))
limit

# %% [markdown]
# Drag `lr` up slowly and watch the steep coordinate, $\theta_2$. Then change `kappa` and look for the limit
# again. On the right is, for every learning rate, what one step multiplies each coordinate by; the dashed line is
# the threshold.

# %%
explore(bowl, draw_bowl)

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

# %% tags=["check"]
below, above = (bowl(lr=share * 2 / 10, kappa=10.0, steps=100) for share in (0.999, 1.001))
assert not below.diverges
assert above.diverges
limit.reveal(above.threshold)

# %% [markdown]
# ## 2.2  How fast does each direction shrink?
#
# Near a minimum any smooth loss is a bowl, only turned and with more directions:
# $f(\theta) \approx \tfrac12 \theta^\top H \theta$, where $H$ is the matrix of second derivatives, the Hessian.
# Its eigenvectors are the axes of the bowl, its eigenvalues $\lambda_i$ the curvatures along them. The parameters
# you train are mixtures of those axes, and yet along each axis the run is on its own:
#
# $$\theta_i \leftarrow (1 - \eta\lambda_i)\, \theta_i
# \qquad\text{so after } t \text{ steps}\qquad |\theta_i| = |1 - \eta\lambda_i|^{\,t}\ \text{of its start.}$$

# %% [markdown] tags=["predict"]
# **Predict.** Below are five directions, curvatures from $1/\kappa$ to 1, turned at random. The largest curvature
# is 1, so the threshold is at $\eta = 2$. Which direction is the last to vanish at $\eta = 1$? Which is the first
# to vanish? And when you pass $\eta = 2$, how many of the five explode?

# %%
five = explore(contraction, draw_contraction)
five

# %% [markdown]
# On a logarithmic axis each component is a straight line, and the dots, which are the formula, lie on it. The
# flattest direction is always the last: with $\eta\lambda$ near 0 a step hardly touches it. At $\eta = 1$ the
# steepest is gone after a single step, since $1 - \eta\lambda = 0$. And just above 2 only one of five explodes;
# the other four go on converging while the loss goes to infinity. A run that diverges is usually a run in which
# *one direction* diverges.

# %% tags=["check"]
wild = contraction(lr=2.1, kappa=30.0)
assert np.allclose(five.result.measured, five.result.factors, rtol=1e-6)
assert five.result.measured.argmax() == 0  # the flattest is the slowest
assert np.allclose(wild.measured, wild.factors, rtol=1e-6)
assert sum(wild.measured > 1) == 1

# %% [markdown]
# ## 2.3  Which learning rate is best, and what does a ravine cost?
#
# The run is as slow as its slowest direction, so the rate to make small is $\max_i |1 - \eta\lambda_i|$. Raise
# $\eta$ and the flat directions gain while the steep one, past $\eta = 1/\lambda_{\max}$, begins to lose.

# %% [markdown] tags=["predict"]
# **Predict.** Sketch, on paper, the rate against $\eta$ for $\kappa = 10$, from 0 to 2.2 (in units of $1/\lambda_{\max}$).
# Where is its lowest point: nearer to 1, or nearer to 2? Then: if $\kappa$ doubles, how many more steps will the
# best learning rate need?

# %%
valley = explore(step_sweep, draw_step_sweep)
valley

# %%
growth = iterations()
picture(growth, draw_iterations)

# %% [markdown]
# The two arms of the V meet where both extreme directions shrink equally fast,
# $1 - \eta\lambda_{\min} = \eta\lambda_{\max} - 1$:
#
# $$\eta_{\text{best}} = \frac{2}{\lambda_{\min} + \lambda_{\max}}, \qquad
# \text{rate} = \frac{\kappa - 1}{\kappa + 1} \approx 1 - \frac{2}{\kappa} .$$
#
# For a ravine that is close to the threshold: the best step is just short of disaster. And for each factor $e$ of
# progress you pay about $\kappa / 2$ steps, so **the number of steps grows like $\kappa$**: double the condition
# number, double the bill. The cautious $\eta = 1/\lambda_{\max}$ costs up to twice as much again.
#
# Networks have condition numbers of thousands and more. What can be done about it is the subject of lectures 3, 4
# and 7.

# %% tags=["check"]
(lr, rate), (lr_theory, rate_theory) = valley.result.best, valley.result.best_predicted
assert abs(lr - lr_theory) < 0.006
assert abs(rate - rate_theory) < 0.006
assert abs(growth.slope - 1) < 0.02
assert 1.7 < growth.safe[-1] / growth.best[-1] < 2

# %% [markdown]
# ## 2.4  What changes when the ground is not a bowl?
#
# Everywhere else than at a minimum the curvatures change from place to place, and some may be negative. Four
# famous grounds to walk on: a ravine with $\kappa = 20$, Rosenbrock's bent valley, a saddle between two minima,
# and Beale's plain with steep corners.

# %% [markdown] tags=["predict"]
# **Predict.** On `saddle` the run starts a thousandth beside the ridge that leads straight into the saddle point,
# where the gradient is zero. Will it get stuck there, roll off at once, or hesitate? And what will its loss curve
# look like?

# %%
explore(walk, draw_walk)

# %% [markdown]
# It hesitates. At the saddle one curvature is $-1$, so a step multiplies the distance from the ridge by
# $1 + \eta$: a thousandth has to grow to about 1, and at $\eta = 0.1$ that takes some 70 steps, most of them on a
# plateau that looks like convergence. A flat loss curve is no proof of a minimum; it may be a saddle, and
# patience is cheaper than it looks.
#
# On `rosenbrock` the trouble is the ravine again: across the valley it is steep, so $\eta$ must be small, and
# along the floor there is hardly any slope. On `beale` try to find a learning rate that survives the corner it
# starts in and is not slow on the plain; one fixed number cannot be both, which is why schedules exist (lecture
# 5).

# %% tags=["check"]
saddle = walk("saddle", lr=0.1, steps=200)
waiting = np.flatnonzero(abs(saddle.gap - 0.25) < 0.01)  # the saddle point is 1/4 above the minima
assert len(waiting) >= 25
assert saddle.steps_to(1e-6) < 120
assert walk("ravine", lr=0.099).gap[-1] < 1e-2 < 1e6 < walk("ravine", lr=0.11).gap[-1]  # 2 / 20 is the threshold
assert walk("beale", lr=0.05).gap[-1] > 1e6
assert walk("beale", lr=0.01, steps=1000).gap[-1] > 1e-5

# %% [markdown]
# ## 2.5  Where does a noisy gradient leave you?
#
# A real loss is a mean over thousands of examples. Stochastic gradient descent (SGD) takes the gradient of a
# **batch** of $B$ of them instead: right on average, wrong each time. If the gradient of a single example
# scatters with variance $\sigma^2$ (sigma squared), that of a batch of independent ones scatters with
# $\sigma^2 / B$.
#
# In one direction of curvature $\lambda$ a step is then $\theta \leftarrow (1 - \eta\lambda)\,\theta - \eta\, n$,
# with $n$ the noise. The first part forgets, the second stirs. Below, 256 runs start at $\theta = 2$, with
# $\sigma = 1$.

# %% [markdown] tags=["predict"]
# **Predict.** The runs never come to rest; they end as a cloud around the minimum. You halve the learning rate:
# what happens to the cloud's variance, and what to the time it takes to get there? You multiply the batch by
# four: what happens to the variance?

# %%
cloud = explore(noise_ball, draw_noise_ball)
cloud

# %% [markdown]
# The cloud's variance $V$ stops changing when a step forgets as much as it stirs up:
# $V = (1 - \eta\lambda)^2\, V + \eta^2 \sigma^2 / B$. Solve for it:
#
# $$V = \frac{\eta\, \sigma^2}{B\, \lambda\, (2 - \eta\lambda)} .$$
#
# For small $\eta$ that is proportional to $\eta / B$. Halve the learning rate and you halve the cloud, but
# forgetting takes twice as long. This is the whole case for **decaying** the learning rate: large while you are
# far away, small at the end. And at $\eta = 2/\lambda$ the formula divides by zero, which is the threshold of 2.1
# again.

# %% tags=["check"]
assert abs(cloud.result.measured / cloud.result.predicted - 1) < 0.05
half, four = noise_ball(lr=0.15), noise_ball(batch=16)
assert 0.4 < half.measured / cloud.result.measured < 0.5
assert abs(four.measured / cloud.result.measured - 1 / 4) < 0.03
assert np.isinf(noise_ball(lr=2.0).predicted)

# %% [markdown]
# ## 2.6  What does a larger batch buy, and does it matter how it is drawn?
#
# From here on the data are real: 1077 handwritten digits to train on, and a small network (64 inputs, 32 tanh
# units, 10 classes). Its gradient has 2410 components, so "variance" is now a matrix $\Sigma$, and its trace
# $\mathrm{tr}\,\Sigma$ is the mean squared distance between one example's gradient and the full one.

# %% [markdown] tags=["predict"]
# **Predict.** (a) From $B = 1$ to $B = 512$, by what factor does the mean squared error of the gradient fall? (b)
# In practice one shuffles and goes through the data, so an example cannot come twice in an epoch. Does that beat
# independent draws, lose to them, or make no difference to the training loss after five epochs?

# %%
variance = gradient_variance()
picture(variance, draw_gradient_variance)

# %%
drawn = replacement()
picture(drawn, draw_replacement)

# %% [markdown]
# (a) By 512: the error falls as $1/B$, with no bend. Note what that means for the *distance* from the truth, its
# root: to halve it you need four times the examples, and the fifth bit of accuracy costs 256 times what the first
# did. Without replacement the error falls a little faster at the end, by the factor $(n - B)/(n - 1)$: a batch
# that is the whole data set has no error at all.
#
# (b) Shuffling wins, on every seed. With independent draws about a third of the examples ($1/e$) is missed in any
# epoch and others come twice; with a shuffle each has its turn, and what one batch pulls too far the others of
# the epoch pull back.

# %% tags=["check"]
assert abs(variance.slope + 1) < 0.03
assert np.allclose(variance.distinct, variance.predicted_distinct, rtol=0.25)
assert drawn.comparison.higher == 0  # the loss with replacement is higher: the interval over seeds excludes zero
assert all(drawn.independent > drawn.distinct)

# %% [markdown]
# ## 2.7  How large a batch is worth its price?
#
# Compare the noise with the signal. The full gradient $G$ has squared length $|G|^2$, the noise of a batch
# $\mathrm{tr}\,\Sigma / B$; they are equal at
#
# $$B_{\text{noise}} = \frac{\mathrm{tr}\,\Sigma}{|G|^2} ,$$
#
# the **gradient noise scale**, a number of examples. Below it a batch is mostly noise and doubling it nearly
# doubles the progress of a step. Above it the gradient is nearly exact and more examples are wasted. If that is
# right, then reaching a given loss takes
#
# $$S(B) = S_{\min} \left( 1 + \frac{B_{\text{crit}}}{B} \right) \text{ steps,}$$
#
# with a critical batch $B_{\text{crit}}$ near the noise scale (McCandlish et al. 2018).

# %% tags=["predict"]
worth = predict("1077 digits, training loss to 0.15: up to about which batch size do larger batches pay?", Log(1, 1000))
worth

# %%
scale = noise_scale()
picture(scale, draw_noise_scale)

# %% [markdown]
# The noise scale is no constant: it grows more than twentyfold as the loss falls, since the gradient shrinks
# while the examples go on disagreeing. Early in training small batches are enough; late, they are mostly noise.
#
# The line needs the gradient of every example. The circles need only the mean squared length of batch gradients
# at two sizes, here 8 and 128: since $\mathbb{E}|g_B|^2 = |G|^2 + \mathrm{tr}\,\Sigma / B$, two sizes give two
# equations for two unknowns. The crosses show what happens if you forget that a batch's own $|g|^2$ contains
# noise: they never get past the batch size you measured with.
#
# Now the law itself. For each batch size, 24 networks race to a training loss of 0.15 (eight learning rates,
# three seeds), and the best learning rate counts.

# %%
sweep = batch_sweep()
picture(sweep, draw_batch_sweep)

# %% [markdown]
# Two regimes. Up to a batch of about 32 doubling it halves the steps: the same number of examples, fewer steps,
# and on parallel hardware that is time for free. From a few hundred on the steps hardly fall and you pay in
# examples. The bend of the fitted curve is at a critical batch of roughly 190, and the noise scale, averaged on
# the way to the target, is near 200. That they agree so well is luck; that they agree to a factor of two or so is
# the claim, and the noise scale could be measured without racing a single network.

# %% tags=["check"]
fewest, critical = sweep.fit
assert scale.naive.max() < 8.5 < 20 < scale.growth
assert np.allclose(scale.estimated[:6], scale.exact[:6], rtol=0.3)
assert np.allclose(sweep.steps, fewest * (1 + critical / sweep.batches), rtol=0.4)
assert max(abs(critical - 190), abs(sweep.noise_scale - 200)) < 40
assert sweep.examples[:5].max() < 1.6 * sweep.examples[:5].min()
assert sweep.examples[-1] > 2.5 * sweep.examples[0]
worth.reveal(critical)

# %% [markdown]
# ## 2.8  If the batch grows, must the learning rate grow too?
#
# The right half of the last picture already shows it: the best learning rate rises with the batch, and then
# stops. The usual rule says *multiply both by the same number*, which keeps $\eta / B$, and so the noise of 2.5,
# as it was. Put it to the test: train for three epochs with batches from 1 to 512, once with the learning rate
# that suits $B = 1$ and once with that times $B$.

# %% [markdown] tags=["predict"]
# **Predict.** Both curves start at the same point. Sketch them on paper: training loss after three epochs against the batch
# size. Where does each leave the level it started from?

# %%
scaling = linear_scaling()
picture(scaling, draw_linear_scaling)

# %% [markdown]
# With the learning rate kept, a batch of 512 takes 512 times fewer steps of the same length and gets almost
# nowhere. With the learning rate scaled, the loss stays where it was over nearly two orders of magnitude, and
# then breaks abruptly: at 256 it is several times higher, at 512 worse than guessing. The rule cannot hold for
# ever, for two reasons you have met. Curvature: $\eta$ runs into $2/\lambda_{\max}$. And signal: above the
# critical batch there is no noise left for a larger $\eta$ to average out. Scale linearly while the batch is well
# below the noise scale; beyond it, tune again.

# %% tags=["check"]
assert scaling.holds_to in (64, 128)
assert scaling.scaled[8] > 3 * scaling.scaled[0]
assert scaling.scaled[9] > np.log(10)
assert scaling.fixed[9] > 40 * scaling.fixed[0]

# %% [markdown]
# ## 2.9  What does a real network's loss look like?
#
# A network's loss lives over thousands of dimensions. To see any of it, train a network, pick two random
# directions $u$ and $v$, and draw $f(\theta + a u + b v)$ for $a$ and $b$ from $-1$ to 1. But how long should $u$
# be? In a ReLU network you may multiply a layer by 5 and divide the next by 5 without changing any output. A
# direction of fixed length is then small for one layer and large for the other.
#
# Li et al. (2018) give each unit's part of a direction the length of that unit's own weights: the
# *filter-normalized* plane.

# %% [markdown] tags=["predict"]
# **Predict.** Switch `normalized` off, then move `rescale`, which multiplies the first layer and divides the
# second. The network computes the same function throughout. Does its minimum look equally sharp? And with
# `normalized` on?

# %%
ground = explore(landscape, draw_plane)
ground

# %% [markdown]
# Without normalization you can make the same network's minimum look as sharp as you like: multiply one layer by 5
# and the loss nearby rises more than five times as much, though nothing has changed. With it, the picture does
# not move. So: a statement such as "this minimum is flatter" means nothing until you say in which units (Dinh et
# al. 2017). And a plane is two random directions out of thousands: it shows the typical direction, never the
# sharpest one, which section 2.11 will ask about.

# %% tags=["check"]
same = landscape(rescale=5.0)
assert np.allclose(same.losses, ground.result.losses, rtol=1e-3)
raw, sharper = landscape(normalized=False), landscape(rescale=5.0, normalized=False)
assert abs(raw.center - sharper.center) < 1e-4
assert sharper.rise > 5 * raw.rise

# %% [markdown]
# ## 2.10  Folklore on trial: "smaller batches generalize better"
#
# It is said often, with a reason attached: noise shakes the run out of sharp minima. To try it fairly, batches of
# 8 and of 128 get the same eight learning rates to choose from, by validation loss, and twelve seeds that played
# no part in the choice. What is compared is the accuracy on 360 test digits. There is one more thing to hold
# equal, and here people part ways: the number of **epochs**, so that both see as many examples, or the number of
# **steps**?

# %% [markdown] tags=["predict"]
# **Predict.** At equal epochs: is batch 8 ahead, batch 128, or can twelve seeds not tell? And at equal steps?

# %%
epochs, steps = generalization("equal epochs"), generalization("equal steps")
picture(epochs, draw_generalization)

# %%
picture(steps, draw_generalization)

# %% [markdown]
# At equal epochs the small batch is ahead by roughly a percentage point, and the interval excludes
# zero. Let both take equally many steps and the difference is gone: *not distinguishable*. The small batch was
# not in a better place, it had taken sixteen times as many steps. (With equal steps the large batch sees sixteen
# times the examples, which is its own way of being unequal. There is no neutral budget; say which you used.)
#
# So the sentence holds when epochs are what you pay for, and its usual explanation did not survive this test: on
# this network and these data. Hoffer et al. (2017) found the same on larger ones; there are reports both ways.
# Note how small the effect is beside what a careless learning rate does.

# %% tags=["check"]
assert epochs.comparison.higher == 0
assert 0.002 < epochs.comparison.mean < 0.015
assert steps.comparison.higher is None

# %% [markdown]
# ## 2.11  Frontier: how sharp a place does training choose?
#
# *This section is recent research.* By 2.1 a step of $\eta$ is stable only where the largest eigenvalue of the
# Hessian, the **sharpness**, is below $2/\eta$. So one would think: look at the problem, find its sharpness,
# choose $\eta$ below. For networks it works the other way round.
#
# Below is gradient descent *without noise*: all of 200 digits in every step, a network 64-32-32-10, squared
# error. Every fifth step the sharpness is measured by power iteration: multiply a vector by $H$ again and again,
# and it turns into the eigenvector that grows fastest. $H$ itself is never formed; $Hv$ is the gradient of
# $g \cdot v$, two backward passes (Pearlmutter 1994).

# %% [markdown] tags=["predict"]
# **Predict.** The sharpness starts near 2, and $2/\eta = 4$. Sketch its course over 800 steps on paper. Does it fall to a
# flat place, stay, or grow? If it reaches 4: does the run diverge?

# %%
training = explore(edge_of_stability, draw_edge)
training

# %% [markdown]
# The sharpness *rises* from 2 to 4, and there, where the bowl of 2.1 would explode, it stops and hovers, a few
# percent above $2/\eta$. The loss loses its smooth fall, every second step or so raises it, and over longer times
# it still goes down. Change `lr`: the sharpness goes to the new $2/\eta$. The learning rate does not have to fit
# the landscape; training moves until the landscape fits the learning rate. Cohen et al. (2021), who found this,
# call it the **edge of stability**.
#
# Why no explosion? When the sharp direction starts to oscillate, the oscillation itself pushes $\theta$ towards
# lower sharpness, by a third-derivative term that no quadratic has (Damian et al. 2023). Two things follow.
# Smoothness arguments that need $\eta < 2/\lambda_{\max}$ throughout do not describe how networks are trained.
# And a small $\eta$, 0.2 here, keeps the loss falling at every step, but takes you to a sharper place.

# %% tags=["check"]
run, slow = training.result, edge_of_stability(lr=0.2)
assert run.sharpness[0] < 2.5
assert 0.95 < run.hover < 1.1
assert run.rises > 0.25
assert run.losses[-1] < 0.5 * run.losses[run.arrival]
assert slow.arrival is None
assert all(np.diff(slow.losses) < 0)
assert slow.sharpness[-1] > 1.5 * run.sharpness[-20:].mean()

# %% [markdown]
# ## Summary
#
# - A step multiplies the component along each eigenvector of the Hessian by $1 - \eta\lambda_i$. Above
#   $\eta = 2/\lambda_{\max}$ one direction grows, and that is divergence.
# - The best fixed learning rate is $2/(\lambda_{\min}+\lambda_{\max})$, its rate $(\kappa-1)/(\kappa+1)$: the
#   number of steps grows like $\kappa$.
# - With noise the iterate ends as a cloud of variance $\eta\sigma^2 / (B\lambda(2 - \eta\lambda))$: smaller
#   $\eta$ or larger $B$ shrink it.
# - The error of a batch's gradient falls as $1/B$; drawing without replacement beats drawing with.
# - A larger batch pays up to about the noise scale $\mathrm{tr}\,\Sigma/|G|^2$, which grows during training.
#   Scale the learning rate with the batch up to there.
# - Sharpness has no meaning without units, and full-batch training drives it to $2/\eta$ by itself.
# - "Smaller batches generalize better" held at equal epochs and was not distinguishable at equal steps.

# %% [markdown]
# ## Exercises
#
# Replace each `...`. The cell after it says what it verified or, if it can, which mistake you made. All arguments
# are numpy arrays or numbers.
#
# **1. The step.** Return where one step of gradient descent leads from `theta`. The caller still needs the old
# `theta`.


# %% tags=["exercise"]
def gradient_step(theta, grad, lr):
    ### BEGIN SOLUTION
    return theta - lr * grad
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = checks.check_gradient_step(gradient_step)
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
verdict = checks.check_best_step(best_step)
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
verdict = checks.check_minibatch_gradient(minibatch_gradient)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. Sharpness.** `hvp(v)` returns $Hv$; you never see $H$. Start from `v`, multiply `rounds` times, and return
# the eigenvalue of largest *size*, with its sign: for a vector of length 1 in its direction it is $v \cdot Hv$.
# Mind that 300 multiplications by 80 do not fit into a float.


# %% tags=["exercise"]
def sharpness(hvp, v, rounds):
    ### BEGIN SOLUTION
    for _ in range(rounds):
        v = hvp(v)
        v = v / np.linalg.norm(v)
    return v @ hvp(v)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = checks.check_sharpness(sharpness)
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
verdict = checks.check_noise_scale(noise_scale_of)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Answer aloud before you unfold. Each answer is backed by a call that you can run.

# %%
questions("02_gradient_descent")

# %% [markdown]
# ## References
#
# - B. T. Polyak, *Introduction to Optimization*, 1987, chapter 1: rates on quadratics.
# - H. Robbins, S. Monro, *A Stochastic Approximation Method*, 1951.
# - H. H. Rosenbrock, *An Automatic Method for Finding the Greatest or Least Value of a Function*, 1960. E. M. L.
#   Beale, *On an Iterative Method for Finding a Local Minimum of a Function of More than One Variable*, 1958.
# - B. A. Pearlmutter, *Fast Exact Multiplication by the Hessian*, 1994.
# - S. McCandlish, J. Kaplan, D. Amodei et al., *An Empirical Model of Large-Batch Training*, 2018.
# - P. Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017: linear scaling.
# - H. Li, Z. Xu, G. Taylor, C. Studer, T. Goldstein, *Visualizing the Loss Landscape of Neural Nets*, 2018.
# - L. Dinh, R. Pascanu, S. Bengio, Y. Bengio, *Sharp Minima Can Generalize for Deep Nets*, 2017.
# - N. S. Keskar et al., *On Large-Batch Training for Deep Learning: Generalization Gap and Sharp Minima*, 2017.
#   E. Hoffer, I. Hubara, D. Soudry, *Train Longer, Generalize Better*, 2017.
# - J. M. Cohen et al., *Gradient Descent on Neural Networks Typically Occurs at the Edge of Stability*, 2021. A.
#   Damian, E. Nichani, J. D. Lee, *Self-Stabilization*, 2023.
# - I. Goodfellow, *Efficient Per-Example Gradient Computations*, 2015.
