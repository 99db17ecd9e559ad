"""The sample articles that ship with the package (CC0, see LICENSE.txt); `textmill.corpus.sample` reads them."""
