"""proxsdca beside other solvers of the same problems, and how far each case is from the floor."""
