"""Gibbs chains, and what they leave.

`plan`: what is sampled, and on which levels. `gibbs`: kernels of conditional draws; `priors`: features and priors;
`likelihood`: what answers mean; `chain`: a sweep. `start`: where chains begin, and how many events a table tells apart;
`sampler`: running them, on threads, a GPU or a cluster. `posterior`: what they predict; `new_rows`: who is new;
`convergence`: whether chains agree.
"""
