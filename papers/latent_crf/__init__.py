"""Sun, Morency, Okanohara & Tsujii (2008): latent-dynamic CRFs for shallow parsing."""
