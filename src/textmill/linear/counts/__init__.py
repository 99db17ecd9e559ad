"""Models of counts: how often a word occurs in a text, whether it comes in bursts, and which distribution says so.

distributions   Poisson, negative binomial, binomial, Bernoulli, beta-binomial, and zero inflation of each
tables          counts with lengths, checked
fitting         one word, or every word and class of a table in one call
criticism       chi-square with pooling, tests of spread and zeros, likelihood ratio, Vuong, comparison
reading         counts from files: texts, bags, tables
bursts          which words burst, and pictures
"""
