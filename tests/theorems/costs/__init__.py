"""The table of costs that test_costs.py holds theorems to."""
