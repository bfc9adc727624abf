"""Who makes a request, what that account may do, and how it signs in and out."""
