"""Binary quadratic programs: exact, by relaxation, by search."""
