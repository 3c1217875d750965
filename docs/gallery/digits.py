"""Digits: events as pictures

You will see handwritten digits as a table of images and pixels, its events drawn as pictures, and images whose hidden
half is filled in. The 1,797 digits come with scikit-learn.
"""

# %%
# Images are users, pixels are items, ink from 0 to 16 is the value. 100 images are kept aside.
import matplotlib.pyplot as plt
import numpy as np

import kolmogorov as km

digits = km.datasets.load("digits")
pixels = digits.values.reshape(1797, 64)
train = km.Observations.from_dense(16 * pixels[:-100], maximum=16)
model = km.KolmogorovModel(20, psi="soft", random_state=0).fit(train)
print(train)

# %%
# Every event is a picture: how dark each pixel is in it. An image is a mixture of them.
figure, axes = plt.subplots(2, 10, figsize=(7.5, 1.9), layout="constrained")
for event, ax in zip(np.argsort(-model.theta_.mean(axis=0)), axes.flat, strict=True):
    ax.imshow(model.psi_[:, event].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"{model.theta_[:, event].mean():.0%}", fontsize=8)
    ax.axis("off")
# picture: The twenty events as pictures, with their shares

# %%
# New images need no new fit: their mixture is found from the pixels that are seen. Of the 100 images kept aside the
# lower half is hidden, and predicted.
upper = pixels[-100:].copy()
upper[:, 32:] = np.nan
seen = km.Observations.from_dense(16 * upper, maximum=16)
filled = model.fold_in(seen) @ model.psi_.T

hidden = pixels[-100:, 32:]
error = np.sqrt(((filled[:, 32:] - hidden) ** 2).mean())
plain = np.sqrt(((pixels[:-100].mean(axis=0)[32:] - hidden) ** 2).mean())
print(f"error of hidden pixels {error:.3f}, of each pixel's mean {plain:.3f} (ink from 0 to 1)")

# %%
figure, axes = plt.subplots(3, 10, figsize=(7.5, 2.6), layout="constrained")
for column in range(10):
    for row, image in enumerate((upper[column], filled[column], pixels[-100 + column])):
        axes[row, column].imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        axes[row, column].set(xticks=[], yticks=[])
for ax, name in zip(axes[:, 0], ("seen", "filled in", "true"), strict=True):
    ax.set_ylabel(name)
# picture: Ten images: the upper half that is seen, the image filled in, and the true one

# %%
# **What it means.** Events are strokes and whole digits, and an unseen half follows from the half that is seen as far
# as a mixture of twenty pictures can say it. The hidden pixels were missing, not white: what is not observed is not a
# no.
