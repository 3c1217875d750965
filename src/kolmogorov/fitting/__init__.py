"""How factors are found: normal equations, half-steps, the objective, engines, several starts, checkpoints."""
