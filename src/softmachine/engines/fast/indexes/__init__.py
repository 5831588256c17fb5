"""What finds the best keys: groups, trees, tables; append-only arrays and the functions that work on them."""
