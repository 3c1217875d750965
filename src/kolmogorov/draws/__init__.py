"""Gibbs chains, and what they leave.

`plan`: what is sampled, and on which levels. `chain`: a sweep; `likelihood`: what answers mean; `gibbs`: its
kernels; `priors`: features and priors. `factors`, `start`: where chains begin; `sampler`: running them, on threads, a
GPU or a cluster. `posterior`: what they predict; `new_rows`: who is new; `convergence`: whether chains agree.
"""
