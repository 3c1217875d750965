"""The paper's alternating descent: normal equations, half-steps, the objective, several starts."""
