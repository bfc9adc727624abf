"""What the passes of a scheduler decide: due, start, settle, admit, judge, expire."""
