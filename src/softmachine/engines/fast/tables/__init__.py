"""Large models as data: sparse rows and heads, interpreted by one function that is the same for all."""
