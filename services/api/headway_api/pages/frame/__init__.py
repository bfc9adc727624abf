"""What all pages share: addresses, the template around them, forms, changes, sign-in."""
