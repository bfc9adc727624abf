"""Sign in by OpenID Connect: the code flow with PKCE, a state and a nonce (extra headway[oidc])."""
