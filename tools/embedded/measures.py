"""How like two images are: PSNR and SSIM, of batches (n, 3, height, width) of 0..1."""

import torch
import torch.nn.functional as F


def psnr(a, b):
    return -10 * (a - b).square().mean((1, 2, 3)).clamp(min=1e-10).log10()


def ssim(a, b):
    """Of Wang et al. 2004: Gaussian window of deviation 1.5, 11 pixels wide, colours averaged."""
    at = torch.arange(11) - 5.0
    window = torch.exp(-(at**2) / (2 * 1.5**2))
    window = window / window.sum()

    def blurred(x):
        n, c, height, width = x.shape
        x = x.reshape(n * c, 1, height, width)
        x = F.conv2d(F.conv2d(x, window.view(1, 1, -1, 1)), window.view(1, 1, 1, -1))
        return x.view(n, c, *x.shape[2:])

    a_mean, b_mean = blurred(a), blurred(b)
    a_variance = blurred(a * a) - a_mean**2
    b_variance = blurred(b * b) - b_mean**2
    covariance = blurred(a * b) - a_mean * b_mean
    means = (2 * a_mean * b_mean + 0.01**2) / (a_mean**2 + b_mean**2 + 0.01**2)
    contrasts = (2 * covariance + 0.03**2) / (a_variance + b_variance + 0.03**2)
    return (means * contrasts).mean((1, 2, 3))
