# %% [markdown]
# # 5  Learning rate
#
# Ask which single number to tune if you may tune only one, and everybody says the learning rate. This lecture asks
# how it should change while the run goes on, with the batch, and with what the loss does; which of the usual
# recipes can be derived; and which hold up when they are measured over seeds.
#
# Lecture 2 left two reasons for changing it: no fixed number suits both a steep corner and a plain (2.4), and
# noise leaves a floor that a smaller number lowers (2.5). You will also meet the cheapest way to ruin a run, which
# is to count in the wrong unit, and put two pieces of folklore on trial.

# %%
import numpy as np

from course_lib import data, models, optim, schedules
from course_lib.lectures import learning_rate as lab
from course_lib.ranges import Choice, Linear, Log
from course_lib.trials import at_the_end, compare, grid, tune
from course_lib.widgets import claim, explore, predict, questions

# %% [markdown]
# ## 5.1  What is a schedule?
#
# A function. Let $t = 0, 1, 2, \dots$ be the number of updates made so far. A **schedule** $s(t)$ is the factor by
# which the next update multiplies the learning rate, $\eta_t = \eta\, s(t)$, and its peak, as a rule, is 1. So
#
# $$s(t) = \tfrac12 \left( 1 + \cos(\pi t / T) \right)$$
#
# is a cosine from 1 to 0 over $T$ updates, and a warm-up over $W$ updates is $s(t) = \min(t/W, 1)$. (By that the first
# update, $t = 0$, moves nothing; some libraries begin at $1/W$.) Functions can be joined: `join(warmup(20),
# cosine(180), at=20)` is the first, and from update 20 on the second, counting from 0.
#
# Two numbers say much about a schedule: where it ends, and its mean factor, the **area**. For SGD, when the gradient
# changes slowly, the sum of the learning rates is how far the run walks; for Adam it bounds it.

# %% [markdown] tags=["predict"]
# **Predict.** A cosine and a straight line, both from 1 to 0: which has the larger area? Now spend the first 40 of
# 200 updates on a warm-up, with the cosine over the other 160: does the area grow, shrink, or stay?

# %% [markdown]
# Choose each `shape` in turn. Sliders that a shape has no use for do nothing.

# %%
explore(lab.gallery)

# %% [markdown]
# All three have the area $\tfrac12$: a cosine is symmetric about its middle, a warm-up is a triangle, and a triangle
# with a cosine covers half of $W + (T - W)$. So "cosine against linear" at one peak is a fair race over the same
# distance, while "cosine against constant" at one $\eta$ is not: the constant walks twice as far. Compare schedules
# each at its own best $\eta$, as lecture 3 compared optimizers.
#
# Each of these is equal to the scheduler of `torch.optim.lr_scheduler` where torch has it, which the tests hold to
# rounding. The difference is where the count lives. torch's scheduler is an object that you must step, so it can be
# stepped wrongly (5.3). Here $t$ is part of the optimizer's state: a schedule comes after an optimizer in a chain, and
# multiplies its steps.


# %% tags=["build"]
def scheduled(make, schedule):
    return lambda lr: optim.chain(make(lr), schedules.scale_by_schedule(schedule))


warmed = schedules.join(schedules.warmup(20), schedules.cosine(180), at=20)
[round(warmed(t), 3) for t in (0, 10, 20, 110, 199)]

# %% tags=["claim"]
cosine, line = (lab.gallery(shape, warmup_steps=0) for shape in ("cosine", "polynomial"))
claim("a cosine walks half as far as a constant", cosine.area, near=0.5, within=0.02)
claim("so does a straight line", line.area, near=0.5, within=0.02)
claim("a warm-up over 40 peaks at step 40", lab.gallery("cosine", warmup_steps=40).peak == (40, 1.0))

# %% [markdown]
# ## 5.2  What does decay do?
#
# In 2.5 a run of SGD on $\tfrac12\lambda\theta^2$ with gradient noise of variance $\sigma^2$ settled as a cloud of
# variance $\eta\sigma^2 / (\lambda(2 - \eta\lambda))$. As a loss that is a **noise floor**:
#
# $$\text{floor}(\eta) = \frac{\lambda}{2} \cdot \frac{\eta\, \sigma^2}{\lambda\,(2 - \eta\lambda)}
# = \frac{\eta\,\sigma^2}{2\,(2 - \eta\lambda)} .$$
#
# Now let $\eta$ fall while the run goes on. Does the loss follow the floor down?

# %% tags=["predict"]
below = predict(
    "eta from 0.5 to 0 on a cosine of 200 updates: how many times lower does the loss end than with 0.5 throughout?",
    Log(1, 1000),
    id="05.2",
)
below

# %%
explore(lab.noise_floor)

# %% [markdown]
# It follows for most of the run, and then it does not: by theory 18 times lower than the floor of 0.5, and not zero.
# The run needs some $1/(\eta_t\lambda)$ updates to forget where it was. While that is short, the loss is at the floor
# of the moment. Near the end $\eta_t$ is so small that the rest of the run is not long enough to forget, and the loss
# freezes. That is why the last tenth of this cosine, with $\eta$ below 2.5 % of its peak, matters so little, and why,
# with a smaller `curvature`, the loss freezes earlier. (Large models can gain much by decaying to 0 instead of to a
# tenth: Bergsma et al. 2025.)
#
# A network has such a floor only while its gradients are noisy. Below, SGD trains the network of 2.6, now with ReLU
# units, for four epochs in batches of 32, once on the digits as they are, once with a fifth of the training labels
# replaced by random ones, too many for it to agree with in four epochs. Each schedule gets the best of seven learning
# rates, chosen on seeds of its own; then eight new seeds are tested.

# %% tags=["build"]
names = ("constant", "step", "cosine", "linear")
made = {name: scheduled(optim.sgd, lab.decaying(name, steps=4 * 34)) for name in names}  # four epochs of 34 batches
how = {"epochs": 4, "batch": 32, "seeds": 8, "choose": "mean"}
noisy = tune(made, np.geomspace(0.1, 1.6, 7), data.with_label_noise(data.digits(), 0.2), **how)
noisy

# %% tags=["run"]
clean = tune(made, np.geomspace(0.1, 1.6, 7), data.digits(), **how)
clean

# %% [markdown]
# With false labels the constant learning rate loses to cosine and linear decay by a sixth or so in test loss and two
# points in accuracy, although it was allowed a smaller $\eta$: its best is 0.25, and theirs is 1. That is what decay
# buys: a start four times as fast *and* a low end, instead of a compromise. (Step decay buys less of it.)
#
# With clean labels the lead of decay is a few percent of the loss, and its interval reaches far to both sides. That is
# what one would expect, since the network comes to agree with nearly every example, and the gradients of single
# examples vanish, and the floor with them. But eight seeds cannot tell, which is less than having shown that decay is
# worth nothing there.

# %% tags=["claim"]
ground = lab.noise_floor()
below_floor = ground.rows["floor"][0] / ground.rows["theory"][-1]
claim("by theory decay ends 18 times below the first floor", below_floor, near=18, within=1.5)
gain = noisy.compare("constant", "linear", "loss")
claim("with false labels decay lowers the test loss", gain.mean, above=0.03)
claim("with clean labels by little, if at all", abs(clean.compare("constant", "linear", "loss").mean), below=0.02)
below.reveal(below_floor)

# %% [markdown]
# ## 5.3  What if the schedule counts the wrong thing?
#
# A scheduler made for epochs, `CosineAnnealingLR(optimizer, T_max=epochs)`, is to be stepped once an epoch. Two
# mistakes are made again and again:
#
# - `scheduler.step()` is called inside the loop over batches. With 20 batches an epoch it runs 20 times too fast.
# - $N$ processes train together. Under Hugging Face's Accelerate one `scheduler.step()` advances each process's own
#   schedule $N$ times, since it expects a length counted before the data are divided among them. Given a length in
#   optimizer updates it runs $N$ times too fast. (The mirror mistake, in plain distributed training: a length from
#   `len(loader)` before they are divided is $N$ times too long.)
#
# Nothing crashes. Move `kind` and `processes`. Then see what it costs: points of test accuracy after eight epochs of
# SGD in batches of 64, eight seeds, each schedule as it was meant, stepped per batch, and once for each of four
# processes.

# %% tags=["predict"]
hidden = predict(
    "Stepped per batch instead of per epoch: under which schedule does test accuracy suffer least?",
    Choice(("cosine", "linear", "step decay", "exponential")),
    id="05.3",
)
hidden

# %%
explore(lab.unit_curves)


# %% tags=["build"]
def counted(schedule):  # so many steps of it after every so many updates
    return lambda updates, steps: scheduled(optim.sgd, lambda t: schedule(steps * (t / updates).floor()))(0.4)


ends, ways = {}, {"updates": [17, 1, 17], "steps": [1, 1, 4]}  # as meant; per batch; once for each of 4 processes
for kind in ("cosine", "linear", "step decay", "exponential"):
    runs = grid(counted(lab.by_epoch(kind, 8)), ways, range(8), data.digits(), epochs=8, part="test")
    ends[kind] = 100 * at_the_end(runs, 3, "validation_accuracy")

# %% tags=["run"]
batch_cost = {kind: compare(meant, per_batch) for kind, (meant, per_batch, _) in ends.items()}
four_cost = {kind: compare(meant, four) for kind, (meant, _, four) in ends.items()}
{kind: f"{batch_cost[kind].mean:.1f} points per batch, {four_cost[kind].mean:.1f} by four" for kind in ends}

# %% [markdown]
# Stepped per batch, three of the four are near zero before the first epoch is over, and the run stands still from
# there: about 20, 40 and 50 points of accuracy are gone. Once for each of four processes it is 3 to 5 points, little
# enough to blame on something else.
#
# torch's cosine alone forgives both, and that is the worst case. Past its end it climbs again, so a schedule that
# runs many times too fast (17 times on the digits, which have 17 batches) swings between 1 and 0, its mean factor is
# still $\tfrac12$, and the accuracy is not distinguishable from that of the right one. A mistake that costs nothing
# on this problem is not found on this problem. So do not judge a schedule by the loss: **plot the learning rate that
# the optimizer used**, at every update.

# %% tags=["claim"]
points = {kind: cost.mean for kind, cost in batch_cost.items()}
claim("stepped per batch, three of four lose 15 points and more", sorted(points.values())[1], above=12)
claim("the cosine comes back, and hides it", batch_cost["cosine"].largest, below=1.5)
four = [cost.mean for kind, cost in four_cost.items() if kind != "cosine"]
claim("four processes cost a few points", min(four), above=1.5)
hidden.reveal(min(points, key=points.get))

# %% [markdown]
# ## 5.4  What does a warm-up do for Adam?
#
# Adam divides a mean of gradients by the root of a mean of squared ones, $\Delta = -\eta\, \hat m / (\sqrt{\hat v} +
# \varepsilon)$. At the first update both means are of a single gradient, so every coordinate moves by $\eta$, in a
# direction that one batch decided. Later the gradients in $\hat m$ cancel in part. If they are independent noise, the
# root mean square of the update is
#
# $$\eta\, \sqrt{\frac{1 - \beta_1}{1 + \beta_1} \cdot \frac{1 + \beta_1^t}{1 - \beta_1^t}}, \qquad t = 1, 2, \dots$$
#
# which is $\eta$ at first and $0.23\,\eta$ in the end. The hats are the bias correction; without it the update is
# multiplied by $(1 - \beta_1^t) / \sqrt{1 - \beta_2^t}$.

# %% [markdown] tags=["predict"]
# **Predict.** Without bias correction, is the first update longer or shorter than with it, and is the first one the
# worst in that respect? Then, for a network of three hidden layers: at which learning rates will a warm-up of 20
# updates lower the validation loss: below the best one, at the best, above it?

# %%
explore(lab.early_steps)

# %% [markdown]
# Leaving out the correction does not make updates short, though $m$ starts at zero: $v$ starts at zero as well, it
# is slower, and its root is in the denominator. The first update is 3.2 times as long as the corrected
# one, and the twelfth 6.6 times (of an update that has become shorter by itself). Switch `gradients` to `digits`:
# real gradients agree with each other a little, so the updates settle at a third of $\eta$ instead of a quarter. So
# there is something to warm up from. (In this picture the warm-up begins at $1/W$.)
#
# Is it worth it? Eight learning rates, with and without warm-up, with and without correction, eight seeds; a cosine
# takes the rest of three epochs, so that the areas are equal (5.1). Left is what to look at: the validation loss.


# %% tags=["build"]
def raw(t):  # undoes Adam's bias correction
    return lab.correction(t + 1)


plain = schedules.cosine(102)  # three epochs of 34 batches
warmed = schedules.join(schedules.warmup(20), schedules.cosine(82), at=20)
shapes = {"Adam": plain, "warm-up": warmed}
shapes |= {"raw": schedules.product(raw, plain), "raw, warm-up": schedules.product(raw, warmed)}
made = {name: scheduled(optim.adam, shape) for name, shape in shapes.items()}

# %% tags=["run"]
lrs, how = np.geomspace(1e-3, 0.128, 8), {"epochs": 3, "batch": 32, "seeds": 8, "choose": "mean"}
deep = tune(made, lrs, data.digits(), model=lambda seed: models.mlp((64, 32, 32, 32, 10), seed=seed), **how)
gain = np.log(deep.losses["Adam"] / deep.losses["warm-up"]).mean(axis=1)  # what warm-up gains at each learning rate
deep

# %% [markdown]
# Not on this network, at a learning rate that you would want. At the four below the best the warm-up makes things
# *worse*, although the areas are equal. At the best, eight seeds show no difference; over 24 others it costs 5 to 10 %
# of the loss, as far as even those can tell. Only at eight times the best does it help, by a quarter or so: a run that
# takes too large steps survives its beginning better, and still ends far above the best.
#
# What the correction does is plain. Without it ("raw") the best learning rate is several times lower, and a warm-up
# does not bring it back, since $v$ takes not 20 but some $1/(1 - \beta_2) = 1000$ updates to fill.
#
# Why, then, does everybody warm up? Because there are networks where the first updates do harm that the rest of the run
# does not repair: transformers with the norm after the residual sum (Xiong et al. 2020), very large batches (Goyal et
# al. 2017), any start with a large curvature (Gilmer et al. 2022). There the gain is that the run survives at all, or
# survives a higher peak. Where it would have survived anyway, as here, you pay for insurance.

# %% tags=["claim"]
early = lab.early_steps()
claim("uncorrected, the worst is 6.57 times too long", early.peak[1], near=6.57, within=0.05)
claim("a warm-up costs at learning rates below the best", -gain[:4].max(), above=0.005)
claim("and helps at 8 times the best", gain[7], above=0.1)

# %% [markdown]
# ## 5.5  If the batch grows, what must the learning rate do?
#
# Train for a fixed number of epochs, so $n / B$ updates of batch size $B$. While noise sets the learning rate:
#
# - **SGD: linear.** An update goes $\eta\, G$ along the full gradient $G$. To travel the same distance per epoch in
#   fewer updates, $\eta$ must grow in proportion to $B$; and then the noise, $\eta / B$, stays as it was (2.8).
# - **Adam: square root.** The denominator $\sqrt v$ is about the size of the batch's noise, $\sigma / \sqrt B$. So the
#   progress along the signal is $\eta\, G \sqrt B / \sigma$: each update already grows with $\sqrt B$. For the same
#   distance per epoch $\eta$ must grow by another $\sqrt B$ (Malladi et al. 2022, who scale $\beta_1$, $\beta_2$ and
#   $\varepsilon$ as well).
#
# Batches from 8 to 256, two epochs, 13 learning rates, six seeds. For each seed and batch the best learning rate is
# read off the validation loss.

# %% tags=["predict"]
growth = predict(
    "From batch 8 to batch 64: by what factor does Adam's best learning rate grow?", Log(0.5, 20), id="05.5"
)
growth

# %%
linear = lab.batch_rule("SGD")
linear

# %%
root = lab.batch_rule("Adam")
root

# %% [markdown]
# Up to 64 the best learning rate grows like $B$ to the power of 0.8 to 1 for SGD, depending on the seeds, and of about
# 0.5 for Adam, from 0.4 to 0.6. Six seeds do not fix either to a tenth, but nobody could mistake one for the other. On
# the right is what it costs to tune at batch 8 and follow the rule from there: little at first.
#
# Then SGD's rule breaks, and it breaks hard. From 64 to 256 its best learning rate hardly moves, staying near 1.2. Now
# curvature sets the limit, as in 2.8; at 128 the rule asks for more than twice that, and the loss explodes. Adam's rule
# holds to the end of the picture. Scaling too little costs some loss; scaling too much costs the run.

# %% tags=["claim"]
claim("SGD's best learning rate grows like the batch", linear.slope().mean, near=0.9, within=0.25)
claim("Adam's like its root", root.slope().mean, near=0.5, within=0.12)
claim("at batch 128 the linear rule breaks", np.log10(linear.followed[4]), above=1)
growth.reveal(float(np.exp(np.log(root.best[3] / root.best[0]).mean())))

# %% [markdown]
# ## 5.6  What if the schedule looks at the loss?
#
# **Reduce on plateau** is not a function of the step. It is a state machine: the learning rate $\eta$, the lowest loss
# yet $\ell^*$, and the number $b$ of observations in a row that were no better. At each new loss $\ell$:
#
# $$\ell < (1 - \vartheta)\,\ell^*: \ \ \ell^* \leftarrow \ell,\ b \leftarrow 0; \qquad
# \text{otherwise } b \leftarrow b + 1; \qquad
# b > \text{patience}: \ \ \eta \leftarrow \gamma\, \eta,\ b \leftarrow 0 .$$
#
# Here $\gamma$ is `factor` and $\vartheta$ is `threshold`, $10^{-4}$ as in torch. That sounds like what you would do by
# hand. Below it runs on a bowl with a steep direction, which has a noise floor, and a flat one, which takes long. The
# loss itself is computed exactly, and falls at every epoch until it is at the floor. But the machine sees it with an
# error of 10 %, as one does on a small validation set.

# %% [markdown] tags=["predict"]
# **Predict.** With patience 0, after how many epochs does the machine first see a plateau that is not there? From 0 to
# 20, which patience ends lowest? And if the measurement error is doubled, does the best patience grow?

# %%
explore(lab.plateau)


# %% tags=["build"]
def end(patience, noise):
    return np.mean([lab.plateau(patience, noise, seed=seed).end for seed in range(20)])


patiences = np.arange(21)
rows = {f"error {noise:.0%}": np.array([end(p, noise) for p in patiences]) for noise in (0.1, 0.2, 0.0)}
sweep = lab.Patience(patiences, rows)
sweep

# %% [markdown]
# The lowest of $k$ observations of one value is not a typical one but the luckiest, up to $\sqrt{2 \ln k}$ deviations
# too low on average. Against it an honest observation looks like no progress. So with patience 0 the first reduction
# comes after three epochs or so, and after fifteen the learning rate is at its minimum: the flat direction has hardly
# begun to move, and the loss ends nearly nine times higher than with patience 9. Too much patience costs, too, since
# the reduction comes late. With twice the error the best patience is 16.
#
# With no measurement error at all the result is surprising: the best patience is 0, and it ends higher than with an
# error of 10 %. The first reduction comes only at epoch 93 of 120: with a threshold of a hundredth of a percent almost
# any creep counts as progress. A larger `threshold` asks for more.
#
# So patience is not a matter of taste: it has to outlast the luck of one observation, and the threshold has to say how
# much progress counts as some. Or decide beforehand, by a schedule that does not look.

# %% tags=["claim"]
ten = sweep.rows["error 10%"]
claim("without patience the loss stays eight times higher", ten[0] / ten[9], above=5)
claim("too much patience costs too", ten[20] / ten[9], above=1.15)
claim("with no error at all it is worse than with 10 %", sweep.rows["error 0%"].min() / ten[9], above=1.3)

# %% [markdown]
# ## 5.7  Folklore on trial: "the LR finder gives you the learning rate"
#
# The **range test** goes back to Smith (2017), who raised the learning rate linearly over a few epochs and read off
# accuracy. The version in use is fastai's (Gugger 2018): 100 updates or so, while the learning rate grows geometrically
# from far too small to far too large, and a look at the loss. Its two common rules read a suggestion off the smoothed
# curve: *steepest*, where the loss falls fastest, and *minimum / 10*, a tenth of where it is lowest. It is nothing but
# training under the schedule $s(t) = r^t$ with $r > 1$, so `range_test` in the library is that, for many seeds at once.
#
# Before you look: what decides where the curve falls fastest? Is it a property of the network?

# %% tags=["predict"]
moved = predict(
    "The same test over the same range with 200 updates instead of 50. SGD's steepest-descent suggestion is then",
    Choice(("about the same", "several times lower", "several times higher")),
    id="05.7",
)
moved

# %%
explore(lab.range_curves)

# %% [markdown]
# Move `steps`: the suggestion moves. From 50 updates to 200 it falls to about a seventh. A curve falls where the sum of
# the learning rates so far has grown large enough to learn something; a test four times as slow has that sum at a
# quarter of the learning rate. The rest is smoothing: a mean over ten updates lags, and ten updates of a fast test are
# a large factor of $\eta$. Move `smoothing` and the suggestion moves, too. The best learning rate for training knows
# nothing of all this.
#
# So to the trial. For each optimizer: a true sweep of 13 learning rates on eight seeds; then eight new seeds, each
# trained with the best of the sweep and with what a range test on its own start and batches suggests. The **cost** of
# the suggestion is its test loss over that at the best, a geometric mean over seeds.


# %% tags=["build"]
def tested(make, lrs, batch):  # the test loss of seed k, trained at lrs[k]
    runs = grid(make, {"lr": lrs}, range(8), data.digits(), epochs=3, batch=batch, part="test", paired=True)
    return at_the_end(runs, 1)[0]


def on_trial(batch):
    best, costs = tune(lab.OPTIMIZERS, None, data.digits(), epochs=3, batch=batch, seeds=8, choose="mean"), {}
    for name, (make, _) in lab.OPTIMIZERS.items():
        for rule, lrs in lab.range_curves(name, batch).suggested.items():
            costs[name, rule] = np.exp(np.log(tested(make, lrs, batch) / best.loss[name]).mean())
    return best, costs


# %% tags=["run"]
best, small = on_trial(batch=64)
best

# %% tags=["run"]
large = on_trial(batch=256)[1]
{who: f"{small[who]:.2f} times the loss at batch 64, {large[who]:.2f} at 256" for who in small}

# %% [markdown]
# It depends on whom you ask, by which rule, and at which batch. At 64 and 256:
#
# - **SGD**: both suggestions are too low, three to eight times, and the loss is 1.7 to 3.5 times that of the best. From
#   batch 64 to 256 the best learning rate nearly doubles, and the suggestions stay where they are.
# - **Adam and momentum, minimum / 10**: within a fifth of the best loss in all four cases. That is a usable start.
# - **Steepest**: with batch 256 between 1.8 and 3.2 times the best loss, whatever the optimizer.
#
# Guilty, then, of overclaiming. What the test does find is the upper end: its lowest point lies within a factor of 2 or
# so (of 4 with other seeds) of where the sweep's loss has doubled, and that is worth 100 updates. The best learning
# rate is somewhere below; how far depends on the optimizer, the batch and the length of *your* run, and "a tenth" is a
# guess that happens to suit some of them. (Try other batches: the numbers are different.) Use the test to place a
# sweep, not to replace it.

# %% tags=["claim"]
fifty, longer = (lab.range_curves("SGD", steps=n).suggested["steepest"] for n in (50, 200))
claim("a longer test suggests several times less", np.exp(np.log(fifty / longer).mean()), above=4, below=12)
plain = [costs["SGD", rule] for costs in (small, large) for rule in ("steepest", "minimum / 10")]
claim("for SGD its suggestions cost", min(plain), above=1.3)
rest = [costs[name, "minimum / 10"] for costs in (small, large) for name in ("momentum", "Adam")]
claim("for the others a tenth of the minimum is good", max(rest), below=1.35)
moved.reveal("several times lower")

# %% [markdown]
# ## 5.8  Folklore on trial: "warm restarts escape local minima"
#
# Under **warm restarts** (SGDR, Loshchilov and Hutter 2017) the learning rate falls on a cosine, jumps back to its
# peak, and falls again. At each jump the loss rises, and the picture in one's head is a ball kicked out of its valley
# into a deeper one. If so, the ends of two cycles lie in different valleys with a ridge between them. That can
# be measured: walk on the straight line from one network to the other and look how far the training loss rises above
# the straight line between its ends, the **barrier**.
#
# Four cosines of three epochs each, SGD with $\eta = 0.6$, batches of 16, eight seeds. For scale, the barrier between
# networks of two different seeds, which began far apart; for the second half of the claim, that it helps, a single
# cosine over all twelve epochs.

# %% tags=["predict"]
ridge = predict(
    "The barrier between two ends of cycles, as a share of that between two seeds, on average", Linear(0, 1), id="05.8"
)
ridge

# %%
kicked = lab.restarts()
kicked

# %% [markdown]
# There is no barrier, in any seed, between any two cycles: on the way from one end to the next the loss falls all the
# time. Between two seeds it rises to some hundred times what it is at the ends. So in this network the ball stays in
# its valley. What rises at a restart is the noise floor of 5.2: a little here, and to nearly twice the loss if a fifth
# of the labels are wrong. When it sinks again the run is farther along the same valley.
#
# Nor is any help to be seen: with eight seeds the test accuracy is not distinguishable from that of one cosine of
# the same length, and with 24 others the single cosine is ahead by a third of a point. With wrong labels the runs
# stay in their valleys as well, and restarts are no better either. At $\eta = 0.9$, where some runs are near
# divergence, small barriers appear, less than a tenth of those between seeds; the accuracy is no better for it.
#
# On larger networks Gotmare et al. (2019) do see the path move over barriers, and still find no escape from one minimum
# into another. Keep apart what such a test can show: a straight line without a barrier proves that two networks lie in
# one valley; a barrier on it would not prove the opposite, since there may be a way around. What restarts do give is a
# usable network at the end of every cycle, and 5.9 has a cheaper way to that.

# %% tags=["claim"]
claim("between the ends of two cycles there is no barrier", kicked.barriers.max(), below=0.01)
claim("between two seeds there is", kicked.stranger_barriers.min(), above=0.05)
claim("and one cosine does as well", kicked.gain.largest, below=0.012)
ridge.reveal(float(kicked.barriers.mean() / kicked.stranger_barriers.mean()))

# %% [markdown]
# ## 5.9  Frontier: must you know when you will stop?
#
# *This section is recent research.* A cosine has to know its end. Stop it halfway and the learning rate is still high;
# want to go on, and it is zero. Two answers:
#
# - **Warm-up, stable, decay** (Hu et al. 2024; Hägele et al. 2024): stay at the peak, and branch off a short line to 0
#   whenever a model is wanted. One long run serves all lengths.
# - **Schedule-free** (Defazio et al. 2024): no decay at all; the model is a running average of where the run has been.
#
# And if you do know the end, need it be a cosine? Theory for the last iterate favors a straight line to zero (Defazio
# et al. 2023).
#
# SGD on the digits with a fifth of the labels redrawn, one, two and four epochs. Every plan has a single learning rate,
# chosen at four epochs. "Stable" spends the last fifth on its decay; "averaged" is schedule-free SGD.

# %% [markdown] tags=["predict"]
# **Predict.** Against a cosine made for exactly this length, how much higher is the test loss of each plan after one,
# two and four epochs? Which of them is clearly worse?


# %% tags=["build"]
def plans(epochs):
    steps, late = 34 * epochs, 34 * epochs // 5
    shapes = {"constant": schedules.constant(), "cosine": schedules.cosine(steps)}
    shapes |= {"linear": schedules.polynomial(steps)}
    shapes |= {"stable": schedules.warmup_stable_decay(0, steps - late, late)}
    made = {name: scheduled(optim.sgd, shape) for name, shape in shapes.items()}
    return made | {"averaged": lambda lr: optim.landing(optim.schedule_free(optim.sgd(lr)), steps)}


# %% tags=["run"]
noisy_digits, how = data.with_label_noise(data.digits(), 0.2), {"batch": 32, "seeds": 8, "choose": "mean"}
horizons = {4: tune(plans(4), np.geomspace(0.16, 2.5, 7), noisy_digits, epochs=4, **how)}
for epochs in (1, 2):
    known = {name: (make, [horizons[4].best(name)]) for name, make in plans(epochs).items()}
    horizons[epochs] = tune(known, None, noisy_digits, epochs=epochs, **how)
horizons[4]

# %% tags=["run"]
over = {
    name: [np.exp(np.log(horizons[n].loss[name] / horizons[n].loss["cosine"]).mean()) for n in (1, 2, 4)]
    for name in horizons[4].loss
}
{name: "test loss / cosine's: " + ", ".join(f"{ratio:.2f}" for ratio in ratios) for name, ratios in over.items()}

# %% [markdown]
# Only the constant learning rate is clearly worse, by about a fifth at every length. The others are within a few
# percent of the cosine, too little for eight seeds to tell. Over 24 others the straight line is ahead of the cosine by
# 1 or 2 %, the average by 3 to 7 %, and "stable" is level with it. These last two did not need to know the length in
# advance. To get a model at all three lengths, the cosine needs three separate runs, seven epochs in all; one stable
# run with a branch for each of the two shorter lengths needs 4.6.
#
# So the shape of the decay hardly matters here, as long as there is one. What the averaging does is the same thing by
# other means: the mean of a cloud of points lies closer to its center than nearly all of them (2.5).

# %% tags=["claim"]
claim("a constant learning rate pays at every horizon", min(over["constant"]), above=1.07)
free = max(over["stable"] + over["averaged"])
claim("plans that know no horizon lose next to nothing to the cosine", free, below=1.1)

# %% [markdown]
# ## Summary
#
# - A schedule is a function of the number of updates, multiplied onto the learning rate. Look at its area and its end;
#   compare schedules each at its own best learning rate.
# - Decay lowers the noise floor $\eta\sigma^2/(2(2 - \eta\lambda))$, until forgetting takes longer than the run still
#   lasts. Where the noise dies by itself, eight seeds could not see what it brings.
# - Plot the learning rate that was used. A schedule stepped per batch, or once for every process, ruins a run in
#   silence; torch's cosine even hides it.
# - Adam's first update is $\eta$ in every coordinate, four times a later one in pure noise. A warm-up is insurance: on
#   this network it helped only at learning rates that were too large anyway.
# - Best learning rate against batch: linear for SGD up to the curvature's limit, square root for Adam.
# - Reduce-on-plateau compares with the luckiest loss yet: patience has to outlast that luck.
# - The range test finds the upper end. The best learning rate it does not know.
# - In this network warm restarts stayed in their valley, and ended no better than one cosine.
# - With noisy gradients you need a decay; you need not know from the start when.

# %% [markdown]
# ## Exercises
#
# Replace each `...`. The cell after it says what it verified or, if it can, which mistake you made. All arguments are
# numbers, if nothing else is said.
#
# **1. Warm-up, then cosine.** Return the factor of update `t`, the number of updates made so far: a line from 0 that
# reaches 1 at `t = warm`, then half a cosine that reaches 0 at `t = total`.


# %% tags=["exercise"]
def warmup_cosine(t, warm, total):
    ### BEGIN SOLUTION
    if t < warm:
        return t / warm
    return (1 + np.cos(np.pi * (t - warm) / (total - warm))) / 2
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_warmup_cosine(warmup_cosine)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **2. Warm restarts.** Return the factor of update `t`: half a cosine from 1 toward 0 over `period` updates, then again
# from 1, each time over `growth` times as many (torch's `T_0` and `T_mult`; `growth` is a whole number of at least 1).


# %% tags=["exercise"]
def sgdr(t, period, growth):
    ### BEGIN SOLUTION
    while t >= period:
        t, period = t - period, period * growth
    return (1 + np.cos(np.pi * t / period)) / 2
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_sgdr(sgdr)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **3. Reduce on plateau.** One observation: return the new `lr`, `best` and `bad`. A loss is better if it is below
# `best`. The learning rate is multiplied by `factor` when more than `patience` observations in a row were no better.


# %% tags=["exercise"]
def observe(lr, best, bad, loss, factor, patience):
    ### BEGIN SOLUTION
    best, bad = (loss, 0) if loss < best else (best, bad + 1)
    return (factor * lr, best, 0) if bad > patience else (lr, best, bad)
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_plateau(observe)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **4. A range test's suggestion.** `lrs` and `losses` are numpy arrays, one entry for each update. Smooth the losses by
# $m_t = s\, m_{t-1} + (1 - s)\, \ell_t$ with $m_0 = 0$ and $s$ = `smoothing`, correct the bias, $\hat m_t = m_t / (1 -
# s^t)$ for $t = 1, 2, \dots$, and return a tenth of the learning rate where $\hat m$ is lowest.


# %% tags=["exercise"]
def suggest(lrs, losses, smoothing):
    ### BEGIN SOLUTION
    mean, curve = 0.0, []
    for t, loss in enumerate(losses, start=1):
        mean = smoothing * mean + (1 - smoothing) * loss
        curve.append(mean / (1 - smoothing**t))
    return lrs[np.argmin(curve)] / 10
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_suggest(suggest)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# **5. The learning rate for another batch.** `lr` was tuned for `batch`. Return what the rule of 5.5 gives for
# `new_batch`; `optimizer` is `"sgd"` or `"adam"`.


# %% tags=["exercise"]
def scaled_lr(lr, batch, new_batch, optimizer):
    ### BEGIN SOLUTION
    ratio = new_batch / batch
    return lr * (ratio if optimizer == "sgd" else np.sqrt(ratio))
    ### END SOLUTION


# %% tags=["exercise-check"]
verdict = lab.check_scaled_lr(scaled_lr)
### BEGIN HIDDEN TESTS
assert verdict.passed, verdict
### END HIDDEN TESTS
verdict

# %% [markdown]
# ## Interview questions
#
# Answer aloud before you unfold. Each answer is backed by a call that you can run.

# %%
questions("05_learning_rate")

# %% [markdown]
# ## References
#
# - L. N. Smith, *Cyclical Learning Rates for Training Neural Networks*, 2017: the range test. S. Gugger, *How Do You
#   Find a Good Learning Rate*, 2018: fastai's form of it. L. N. Smith, N. Topin, *Super-Convergence*, 2017: one cycle.
# - I. Loshchilov, F. Hutter, *SGDR: Stochastic Gradient Descent with Warm Restarts*, 2017.
# - P. Goyal et al., *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*, 2017: linear scaling and warm-up.
# - A. Gotmare, N. S. Keskar, C. Xiong, R. Socher, *A Closer Look at Deep Learning Heuristics: Learning Rate Restarts,
#   Warmup and Distillation*, 2019.
# - R. Xiong et al., *On Layer Normalization in the Transformer Architecture*, 2020. J. Gilmer et al., *A Loss Curvature
#   Perspective on Training Instabilities of Deep Learning Models*, 2022.
# - S. Malladi, K. Lyu, A. Panigrahi, S. Arora, *On the SDEs and Scaling Rules for Adaptive Gradient Algorithms*, 2022.
# - A. Defazio, A. Cutkosky, H. Mehta, K. Mishchenko, *Optimal Linear Decay Learning Rate Schedules and Further
#   Refinements*, 2023. A. Defazio et al., *The Road Less Scheduled*, 2024.
# - S. Hu et al., *MiniCPM*, 2024. A. Hägele et al., *Scaling Laws and Compute-Optimal Training Beyond Fixed Training
#   Durations*, 2024.
# - S. Bergsma et al., *Straight to Zero: Why Linearly Decaying the Learning Rate to Zero Works Best for LLMs*, 2025.
