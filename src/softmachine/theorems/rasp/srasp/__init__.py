"""S-RASP, by average-hard attention or softmax."""
