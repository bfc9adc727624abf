"""Checks of what authors pass: values, signatures, XComs."""
